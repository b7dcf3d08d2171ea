// Null pointers in every place of every function: refused by name, and no crash.
#include "tests/unit/capi/Capi.h"

namespace tessera::capi {
namespace {

struct CArguments : fakes::Test {
  EngineHandle engine = createEngine();
  DeviceHandle device = openDevice();
  KernelHandle kernel = prepare(engine, device, bf16Spec());
  tessera_spec spec = bf16Spec();
  tessera_problem extents = problem(1, 1, 1, 1, 1);
  tessera_tensor tensor = {nullptr, TESSERA_BF16, 0, {}, {}};

  /// InvalidArgument that names the argument.
  static void refused(const char *name, tessera_code code) {
    EXPECT_EQ(code, TESSERA_INVALID_ARGUMENT) << name;
    EXPECT_EQ(std::string(tessera_last_error()), std::string(name) + " is NULL");
  }
};

TEST_F(CArguments, NullIsRefusedByName) {
  tessera_device *newDevice;
  refused("name", tessera_device_open(nullptr, &newDevice));
  EXPECT_EQ(newDevice, nullptr);
  refused("device", tessera_device_open("cuda:0", nullptr));
  tessera_device_info deviceInfo = TESSERA_DEVICE_INFO_INIT;
  refused("device", tessera_device_get_info(nullptr, &deviceInfo));
  refused("info", tessera_device_get_info(device.get(), nullptr));
  refused("device", tessera_device_synchronize(nullptr));
  refused("device", tessera_stream_synchronize(nullptr, nullptr));

  tessera_buffer *buffer;
  refused("device", tessera_buffer_allocate(nullptr, 1, &buffer));
  refused("buffer", tessera_buffer_allocate(device.get(), 1, nullptr));
  ASSERT_EQ(tessera_buffer_allocate(device.get(), 16, &buffer), TESSERA_OK);
  BufferHandle owned(buffer);
  char byte = 0;
  refused("buffer", tessera_buffer_upload(nullptr, &byte, 1, 0));
  refused("source", tessera_buffer_upload(buffer, nullptr, 1, 0));
  refused("buffer", tessera_buffer_download(nullptr, &byte, 1, 0));
  refused("destination", tessera_buffer_download(buffer, nullptr, 1, 0));
  refused("buffer", tessera_buffer_upload_async(nullptr, &byte, 1, 0, nullptr));
  refused("source", tessera_buffer_upload_async(buffer, nullptr, 1, 0, nullptr));
  refused("buffer", tessera_buffer_download_async(nullptr, &byte, 1, 0, nullptr));
  refused("destination", tessera_buffer_download_async(buffer, nullptr, 1, 0, nullptr));
  refused("buffer", tessera_buffer_fill_async(nullptr, 0, nullptr));

  tessera_text *text;
  refused("spec", tessera_spec_validate(nullptr));
  refused("spec", tessera_spec_to_text(nullptr, &text));
  refused("text", tessera_spec_to_text(&spec, nullptr));
  refused("text", tessera_spec_from_text(nullptr, &spec));
  refused("spec", tessera_spec_from_text("v1:", nullptr));

  refused("engine", tessera_engine_create(nullptr, nullptr));
  tessera_kernel *made;
  refused("engine", tessera_engine_prepare(nullptr, &spec, &extents, device.get(), nullptr, &made));
  refused("spec", tessera_engine_prepare(engine.get(), nullptr, &extents, device.get(), nullptr, &made));
  refused("problem", tessera_engine_prepare(engine.get(), &spec, nullptr, device.get(), nullptr, &made));
  refused("device", tessera_engine_prepare(engine.get(), &spec, &extents, nullptr, nullptr, &made));
  EXPECT_EQ(made, nullptr);
  refused("kernel", tessera_engine_prepare(engine.get(), &spec, &extents, device.get(), nullptr, nullptr));
  refused("engine", tessera_engine_explain(nullptr, &spec, &extents, device.get(), nullptr, &text));
  refused("spec", tessera_engine_explain(engine.get(), nullptr, &extents, device.get(), nullptr, &text));
  refused("problem", tessera_engine_explain(engine.get(), &spec, nullptr, device.get(), nullptr, &text));
  refused("device", tessera_engine_explain(engine.get(), &spec, &extents, nullptr, nullptr, &text));
  refused("text", tessera_engine_explain(engine.get(), &spec, &extents, device.get(), nullptr, nullptr));
  tessera_counters counters = TESSERA_COUNTERS_INIT;
  refused("engine", tessera_engine_get_counters(nullptr, &counters));
  refused("counters", tessera_engine_get_counters(engine.get(), nullptr));

  refused("tensor", tessera_tensor_contiguous(nullptr, TESSERA_F16, 1, 1, 1, 1, nullptr));
  refused("tensor", tessera_tensor_head_major(nullptr, TESSERA_F16, 1, 1, 1, 1, nullptr));
  refused("rows", tessera_rows_contiguous(nullptr, 1, 1, 1, nullptr));
  tessera_rows rows;
  refused("device", tessera_tensor_from_dlpack(nullptr, &byte, &tensor));
  refused("dltensor", tessera_tensor_from_dlpack(device.get(), nullptr, &tensor));
  refused("tensor", tessera_tensor_from_dlpack(device.get(), &byte, nullptr));
  refused("device", tessera_rows_from_dlpack(nullptr, &byte, &rows));
  refused("dltensor", tessera_rows_from_dlpack(device.get(), nullptr, &rows));
  refused("rows", tessera_rows_from_dlpack(device.get(), &byte, nullptr));
  uint32_t bytes;
  refused("q", tessera_access_bytes(nullptr, &tensor, &tensor, &tensor, &bytes));
  refused("k", tessera_access_bytes(&tensor, nullptr, &tensor, &tensor, &bytes));
  refused("v", tessera_access_bytes(&tensor, &tensor, nullptr, &tensor, &bytes));
  refused("o", tessera_access_bytes(&tensor, &tensor, &tensor, nullptr, &bytes));
  refused("bytes", tessera_access_bytes(&tensor, &tensor, &tensor, &tensor, nullptr));

  refused("image", tessera_kernel_load(nullptr, 1, device.get(), &made));
  refused("device", tessera_kernel_load(&byte, 1, nullptr, &made));
  refused("kernel", tessera_kernel_load(&byte, 1, device.get(), nullptr));
  tessera_launch_arguments arguments = TESSERA_LAUNCH_ARGUMENTS_INIT;
  refused("kernel", tessera_kernel_launch(nullptr, &arguments, nullptr));
  refused("arguments", tessera_kernel_launch(kernel.get(), nullptr, nullptr));
  refused("q", tessera_kernel_launch(kernel.get(), &arguments, nullptr));
  arguments.q = arguments.k = arguments.v = &tensor;
  refused("o", tessera_kernel_launch(kernel.get(), &arguments, nullptr));
  tessera_kernel_info info = TESSERA_KERNEL_INFO_INIT;
  refused("kernel", tessera_kernel_get_info(nullptr, &info));
  refused("info", tessera_kernel_get_info(kernel.get(), nullptr));
}

TEST_F(CArguments, NullWithinEngineOptionsIsRefusedByName) {
  auto check = [](const char *member, auto change) {
    tessera_engine_options options = TESSERA_ENGINE_OPTIONS_INIT;
    change(options);
    tessera_engine *created;
    refused((std::string("tessera_engine_options.") + member).c_str(), tessera_engine_create(&options, &created));
  };
  static const char *paths[] = {nullptr};
  static tessera_embedded_bundle unnamed = {nullptr, "bytes", 5}, empty = {"name", nullptr, 5};
  check("bundles", [](auto &options) { options.bundle_count = 1; });
  check("bundles[0]", [](auto &options) { options.bundles = paths, options.bundle_count = 1; });
  check("embedded_bundles", [](auto &options) { options.embedded_bundle_count = 1; });
  check("embedded_bundles[0].name",
        [](auto &options) { options.embedded_bundles = &unnamed, options.embedded_bundle_count = 1; });
  check("embedded_bundles[0].data",
        [](auto &options) { options.embedded_bundles = &empty, options.embedded_bundle_count = 1; });
}

TEST_F(CArguments, DestroyingNullDoesNothingAndGettersAnswer) {
  tessera_device_destroy(nullptr);
  tessera_buffer_destroy(nullptr);
  tessera_engine_destroy(nullptr);
  tessera_kernel_destroy(nullptr);
  tessera_text_destroy(nullptr);
  EXPECT_STREQ(tessera_text_string(nullptr), "");
  EXPECT_EQ(tessera_buffer_data(nullptr), nullptr);
  EXPECT_EQ(tessera_buffer_bytes(nullptr), 0u);
}

TEST_F(CArguments, NumbersThatAreNoneOfTheEnumeratorsAreRefused) {
  tessera_engine *created;
  tessera_engine_options options = TESSERA_ENGINE_OPTIONS_INIT;
  options.policy = 3;
  EXPECT_EQ(tessera_engine_create(&options, &created), TESSERA_INVALID_ARGUMENT);
  EXPECT_STREQ(tessera_last_error(), "tessera_engine_options.policy 3 is none of TESSERA_POLICY_...");
  options = TESSERA_ENGINE_OPTIONS_INIT;
  options.cache_mode = -1;
  EXPECT_EQ(tessera_engine_create(&options, &created), TESSERA_INVALID_ARGUMENT);
  options = TESSERA_ENGINE_OPTIONS_INIT;
  options.warn_user = &options;
  EXPECT_EQ(tessera_engine_create(&options, &created), TESSERA_INVALID_ARGUMENT);
  tessera_launch_arguments arguments = TESSERA_LAUNCH_ARGUMENTS_INIT;
  arguments.q = arguments.k = arguments.v = arguments.o = &tensor;
  tensor.dtype = 0;
  EXPECT_EQ(tessera_kernel_launch(kernel.get(), &arguments, nullptr), TESSERA_INVALID_ARGUMENT);
  EXPECT_STREQ(tessera_last_error(), "q: tessera_tensor.dtype 0 is no element type");
  tensor.dtype = TESSERA_BF16;
  tensor.reserved = 1;
  EXPECT_EQ(tessera_kernel_launch(kernel.get(), &arguments, nullptr), TESSERA_INVALID_ARGUMENT);
}

} // namespace
} // namespace tessera::capi
