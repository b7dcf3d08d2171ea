// Engines, kernels and devices through the C interface, with the fake driver and the fake compiler.
#include "tests/unit/capi/Capi.h"

#include <cstdlib>
#include <cstring>

extern "C" const char *launchInC(const char *deviceName, void *addresses[5]);

namespace tessera::capi {
namespace {

using CEngine = fakes::Test;

TEST_F(CEngine, ProgramInC99ReachesTheDriverWithItsValues) {
  FakeDriverState &driver = fakes::driver();
  driver.parameterCount = int(allArguments().size());
  for (Argument argument : allArguments())
    driver.parameterBytes[unsigned(argument)] = byteSize(typeOf(argument));
  void *addresses[5] = {};
  const char *failed = launchInC("cuda:0", addresses);
  ASSERT_EQ(failed, nullptr) << failed << ": " << tessera_last_error();
  ASSERT_EQ(driver.launches, 1);
  auto value = [&](Argument argument) { return driver.values[unsigned(argument)]; };
  auto address = [&](int i) { return uint64_t(uintptr_t(addresses[i])); };
  EXPECT_EQ(value(Argument::Q), address(0));
  EXPECT_EQ(value(Argument::K), address(1));
  EXPECT_EQ(value(Argument::V), address(2));
  EXPECT_EQ(value(Argument::O), address(3));
  EXPECT_EQ(value(Argument::Lse), address(4));
  EXPECT_EQ(value(Argument::QRow), 6 * 64u);
  EXPECT_EQ(value(Argument::KBatch), 77 * 3 * 64u);
  EXPECT_EQ(value(Argument::VRow), 64u) << "head major";
  EXPECT_EQ(value(Argument::VHead), 77 * 64u);
  EXPECT_EQ(value(Argument::LseHead), 200u);
  EXPECT_EQ(value(Argument::Group), 2u);
  EXPECT_EQ(value(Argument::SeqlenKv), 77u);
  EXPECT_EQ(driver.grid[0], 4 * 6 * 2u);
  EXPECT_EQ(driver.block[0], 128u);
}

TEST_F(CEngine, KernelInfoSaysTheSameAsTheCppInterface) {
  EngineHandle engine = createEngine();
  DeviceHandle device = openDevice();
  KernelHandle kernel = prepare(engine, device, bf16Spec());
  ASSERT_TRUE(kernel) << tessera_last_error();
  tessera_kernel_info info = TESSERA_KERNEL_INFO_INIT, again = TESSERA_KERNEL_INFO_INIT;
  ASSERT_EQ(tessera_kernel_get_info(kernel.get(), &info), TESSERA_OK);
  ASSERT_EQ(tessera_kernel_get_info(kernel.get(), &again), TESSERA_OK);
  EXPECT_EQ(info.text, again.text) << "the strings belong to the kernel";

  Result<Kernel> same = fakes::engine().prepare({}, {1, 4, 2, 100, 150}, fakes::device());
  ASSERT_TRUE(same.ok()) << same.status().text();
  const KernelInfo expected = same->info();
  EXPECT_EQ(info.spec, expected.spec.text());
  EXPECT_EQ(info.schedule, expected.schedule.text());
  EXPECT_EQ(info.schedule_reason, expected.scheduleReason);
  EXPECT_EQ(info.target, expected.target);
  EXPECT_EQ(info.device, expected.device);
  EXPECT_EQ(info.bundle, expected.bundle);
  EXPECT_EQ(info.entry, expected.entry);
  EXPECT_EQ(info.code, expected.code);
  EXPECT_EQ(info.assembler, expected.assembler);
  EXPECT_EQ(info.source, TESSERA_SOURCE_COMPILER);
  EXPECT_EQ(info.ptx_version, expected.ptxVersion);
  EXPECT_EQ(info.registers, int32_t(*expected.registers));
  EXPECT_EQ(info.shared_bytes, expected.sharedBytes);
  EXPECT_EQ(info.block_threads, expected.blockThreads);
  EXPECT_EQ(info.blocks_per_sm, int32_t(*expected.blocksPerSm));
  EXPECT_EQ(info.origin, TESSERA_SOURCE_COMPILER);
  EXPECT_GT(info.compile_ms, 0);
  EXPECT_EQ(info.read_ms, 0);
  EXPECT_NE(std::string(info.text).find(info.schedule), std::string::npos);
}

TEST_F(CEngine, SecondPrepareComesFromMemoryAndIsCounted) {
  EngineHandle engine = createEngine();
  DeviceHandle device = openDevice();
  KernelHandle first = prepare(engine, device, bf16Spec()), second = prepare(engine, device, bf16Spec());
  tessera_kernel_info info = TESSERA_KERNEL_INFO_INIT;
  ASSERT_EQ(tessera_kernel_get_info(second.get(), &info), TESSERA_OK);
  EXPECT_EQ(info.source, TESSERA_SOURCE_MEMORY);
  EXPECT_EQ(info.origin, TESSERA_SOURCE_COMPILER);
  tessera_counters counters = TESSERA_COUNTERS_INIT;
  ASSERT_EQ(tessera_engine_get_counters(engine.get(), &counters), TESSERA_OK);
  EXPECT_EQ(counters.memory_hits, 1u);
  EXPECT_EQ(counters.compiles, 1u);
  EXPECT_EQ(counters.loaded_kernels, 1u);
  EXPECT_EQ(counters.failures, 0u);
  EXPECT_EQ(counters.cache_stores, 0u);
}

TEST_F(CEngine, DeviceInfoSaysTheSameAsTheCppInterface) {
  for (const char *name : {"cuda:1", "sim:rtx4090"}) {
    DeviceHandle device = openDevice(name);
    tessera_device_info info = TESSERA_DEVICE_INFO_INIT;
    ASSERT_EQ(tessera_device_get_info(device.get(), &info), TESSERA_OK);
    Device expected = fakes::device(name);
    EXPECT_STREQ(info.name, name);
    EXPECT_EQ(info.gpu, expected.info().name);
    EXPECT_EQ(info.target, expected.target().name);
    EXPECT_EQ(info.ordinal, expected.context()->ordinal());
    EXPECT_EQ(info.simulated, expected.simulated());
    EXPECT_EQ(info.runs_cubins, expected.runsCubins());
    EXPECT_EQ(info.major, expected.info().major);
    EXPECT_EQ(info.minor, expected.info().minor);
    EXPECT_EQ(info.memory_bytes, expected.info().memoryBytes);
    EXPECT_EQ(info.shared_bytes_per_block, expected.info().sharedBytesPerBlock);
    EXPECT_EQ(info.driver_version, expected.context()->driver().version());
    EXPECT_EQ(std::memcmp(info.uuid, expected.info().uuid.data(), 16), 0);
  }
}

TEST_F(CEngine, ImageIsLoadedFromItsBytes) {
  const std::string bytes = *fakes::image().serialize();
  DeviceHandle device = openDevice();
  tessera_kernel *loaded = nullptr;
  ASSERT_EQ(tessera_kernel_load(bytes.data(), bytes.size(), device.get(), &loaded), TESSERA_OK) << tessera_last_error();
  KernelHandle kernel(loaded);
  tessera_kernel_info info = TESSERA_KERNEL_INFO_INIT;
  ASSERT_EQ(tessera_kernel_get_info(kernel.get(), &info), TESSERA_OK);
  EXPECT_EQ(info.source, TESSERA_SOURCE_IMAGE);
  EXPECT_EQ(tessera_kernel_load(bytes.data(), bytes.size() - 1, device.get(), &loaded), TESSERA_FILE);
  EXPECT_EQ(loaded, nullptr);
}

TEST_F(CEngine, ExplainWithAScheduleThatIsGiven) {
  EngineHandle engine = createEngine();
  DeviceHandle device = openDevice();
  const tessera_spec spec = bf16Spec();
  const tessera_problem extents = problem(1, 1, 1, 1, 1);
  tessera_prepare_options options = TESSERA_PREPARE_OPTIONS_INIT;
  options.schedule = "v1:q64,kv32,w4,s1,lazy8,add,qsmem,online";
  tessera_text *text = nullptr;
  ASSERT_EQ(tessera_engine_explain(engine.get(), &spec, &extents, device.get(), &options, &text), TESSERA_OK);
  TextHandle owned(text);
  EXPECT_NE(std::string(tessera_text_string(text)).find(options.schedule), std::string::npos)
      << tessera_text_string(text);
  options.schedule = "v1:q64";
  EXPECT_EQ(tessera_engine_explain(engine.get(), &spec, &extents, device.get(), &options, &text),
            TESSERA_INVALID_ARGUMENT);
  EXPECT_EQ(text, nullptr);
  EXPECT_EQ(fakes::compiler().compiles, 0);
}

TEST_F(CEngine, WarningsReachTheCallersFunction) {
  tessera_engine_options options = TESSERA_ENGINE_OPTIONS_INIT;
  options.cache_mode = TESSERA_CACHE_READ_WRITE;
  options.cache_directory = "/dev/null/no-folder-can-be-made-here";
  std::string warnings;
  options.warn = [](const char *message, void *user) { *static_cast<std::string *>(user) += message; };
  options.warn_user = &warnings;
  tessera_engine *created = nullptr;
  ASSERT_EQ(tessera_engine_create(&options, &created), TESSERA_OK) << tessera_last_error();
  EngineHandle engine(created);
  EXPECT_TRUE(prepare(engine, openDevice(), bf16Spec())) << tessera_last_error();
  EXPECT_NE(warnings.find(options.cache_directory), std::string::npos) << warnings;
}

TEST_F(CEngine, OptionsReachTheEngine) {
  tessera_engine_options options = TESSERA_ENGINE_OPTIONS_INIT;
  options.cache_mode = TESSERA_CACHE_OFF;
  options.compiler_library = "/no/such/compiler.so";
  tessera_engine *created = nullptr;
  ASSERT_EQ(tessera_engine_create(&options, &created), TESSERA_OK);
  EngineHandle engine(created);
  EXPECT_FALSE(prepare(engine, openDevice(), bf16Spec()));
  EXPECT_NE(std::string(tessera_last_error()).find(options.compiler_library), std::string::npos)
      << tessera_last_error();

  options.compiler_library = nullptr;
  options.max_kernels = 1;
  ASSERT_EQ(tessera_engine_create(&options, &created), TESSERA_OK);
  engine.reset(created);
  DeviceHandle device = openDevice();
  for (uint32_t dim : {64, 128, 64})
    EXPECT_TRUE(prepare(engine, device, bf16Spec(dim))) << tessera_last_error();
  EXPECT_EQ(fakes::compiler().compiles, 3);
}

TEST_F(CEngine, BundlesAreAskedFor) {
  const char *paths[] = {"/no/such.tsb"};
  tessera_engine_options options = TESSERA_ENGINE_OPTIONS_INIT;
  options.bundles = paths;
  options.bundle_count = 1;
  tessera_engine *engine = nullptr;
  EXPECT_EQ(tessera_engine_create(&options, &engine), TESSERA_FILE);
  EXPECT_NE(std::string(tessera_last_error()).find("/no/such.tsb"), std::string::npos) << tessera_last_error();

  const tessera_embedded_bundle embedded = {"linked in", "not a bundle", 12};
  options = TESSERA_ENGINE_OPTIONS_INIT;
  options.embedded_bundles = &embedded;
  options.embedded_bundle_count = 1;
  EXPECT_EQ(tessera_engine_create(&options, &engine), TESSERA_FILE);
  EXPECT_NE(std::string(tessera_last_error()).find("linked in"), std::string::npos) << tessera_last_error();
  EXPECT_EQ(engine, nullptr);
}

/// Memory that can be read back, which the fakes have not.
TEST_F(CEngine, BuffersMoveBytesOnTheSimulator) {
  setenv("TESSERA_SIM_LIBRARY", SIMULATOR, 1);
  DeviceHandle device = openDevice("sim:a100");
  tessera_buffer *made = nullptr;
  ASSERT_EQ(tessera_buffer_allocate(device.get(), 64, &made), TESSERA_OK) << tessera_last_error();
  BufferHandle buffer(made);
  const char bytes[] = "there and back", none = 0;
  char back[64] = {};
  ASSERT_EQ(tessera_buffer_fill_async(made, '*', nullptr), TESSERA_OK) << tessera_last_error();
  ASSERT_EQ(tessera_buffer_upload(made, bytes, 5, 16), TESSERA_OK) << tessera_last_error();
  ASSERT_EQ(tessera_buffer_download(made, back, 7, 15), TESSERA_OK) << tessera_last_error();
  EXPECT_STREQ(back, "*there*");
  ASSERT_EQ(tessera_buffer_upload_async(made, bytes, 14, 50, nullptr), TESSERA_OK) << tessera_last_error();
  ASSERT_EQ(tessera_buffer_download_async(made, back, 15, 49, nullptr), TESSERA_OK) << tessera_last_error();
  ASSERT_EQ(tessera_stream_synchronize(device.get(), nullptr), TESSERA_OK) << tessera_last_error();
  EXPECT_STREQ(back, "*there and back");
  EXPECT_EQ(tessera_buffer_upload(made, back, 64, 1), TESSERA_INVALID_ARGUMENT);
  EXPECT_NE(std::string(tessera_last_error()).find("64"), std::string::npos) << tessera_last_error();
  EXPECT_EQ(tessera_buffer_download(made, back, 1, SIZE_MAX), TESSERA_INVALID_ARGUMENT);
  EXPECT_EQ(tessera_buffer_upload(made, nullptr, 0, 0), TESSERA_OK) << "no bytes need no memory";
  device.reset(); // the buffer keeps what it needs
  EXPECT_EQ(tessera_buffer_upload(made, &none, 1, 0), TESSERA_OK) << tessera_last_error();
}

} // namespace
} // namespace tessera::capi
