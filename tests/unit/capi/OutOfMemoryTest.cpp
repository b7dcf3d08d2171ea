// Host memory that runs out at every single allocation in turn: each call returns a code, and works again afterwards.
#include "tests/unit/capi/Capi.h"

#include <cstdlib>
#include <new>

namespace {
thread_local long allocationsLeft = -1; // -1: no end
thread_local bool failOnce = false;     // memory is back after the first failure
thread_local bool failed = false;
} // namespace

void *operator new(size_t bytes) {
  if (allocationsLeft == 0) {
    failed = true;
    if (failOnce)
      allocationsLeft = -1;
    throw std::bad_alloc();
  }
  if (allocationsLeft > 0)
    --allocationsLeft;
  if (void *memory = std::malloc(bytes ? bytes : 1))
    return memory;
  throw std::bad_alloc();
}
void operator delete(void *memory) noexcept { std::free(memory); }
void operator delete(void *memory, size_t) noexcept { std::free(memory); }

namespace tessera::capi {
namespace {

using COutOfMemory = fakes::Test;

/// Lets the first, second, ... allocation of the call fail until it succeeds; how many did. Once with every later one,
/// and once with that one only.
template <typename Call> int failEachAllocation(Call &&call) {
  for (int failing = 0; failing < 5000; ++failing)
    for (bool once : {false, true}) {
      failOnce = once;
      failed = false;
      allocationsLeft = failing;
      const tessera_code code = call();
      allocationsLeft = -1;
      if (code == TESSERA_OK)
        return failing;
      EXPECT_TRUE(failed) << tessera_last_error();
      EXPECT_EQ(code, TESSERA_OUT_OF_MEMORY) << "allocation " << failing << ": " << tessera_last_error();
      EXPECT_STREQ(tessera_last_error(), "out of host memory");
    }
  ADD_FAILURE() << "never succeeded";
  return 0;
}

TEST_F(COutOfMemory, SpecsAndTexts) {
  const tessera_spec spec = bf16Spec();
  TextHandle text;
  EXPECT_GT(failEachAllocation([&] {
              tessera_text *made = nullptr;
              const tessera_code code = tessera_spec_to_text(&spec, &made);
              text.reset(made);
              return code;
            }),
            0);
  EXPECT_EQ(tessera_text_string(text.get()), AttentionSpec{}.text());
}

TEST_F(COutOfMemory, AFailureThatCannotBeToldInFullIsStillOne) {
  const tessera_spec spec = bf16Spec(100);
  failOnce = false;
  allocationsLeft = 0;
  const tessera_code code = tessera_spec_validate(&spec);
  allocationsLeft = -1;
  EXPECT_EQ(code, TESSERA_OUT_OF_MEMORY);
  EXPECT_EQ(tessera_spec_validate(&spec), TESSERA_UNSUPPORTED);
}

TEST_F(COutOfMemory, DevicesAndBuffers) {
  DeviceHandle device;
  EXPECT_GT(failEachAllocation([&] {
              tessera_device *made = nullptr;
              const tessera_code code = tessera_device_open("cuda:0", &made);
              device.reset(made);
              return code;
            }),
            0);
  BufferHandle buffer;
  EXPECT_GT(failEachAllocation([&] {
              tessera_buffer *made = nullptr;
              const tessera_code code = tessera_buffer_allocate(device.get(), 64, &made);
              buffer.reset(made);
              return code;
            }),
            0);
  tessera_device_info info = TESSERA_DEVICE_INFO_INIT;
  EXPECT_EQ(failEachAllocation([&] { return tessera_device_get_info(device.get(), &info); }), 0);
}

TEST_F(COutOfMemory, EnginesAndKernels) {
  tessera_engine_options options = TESSERA_ENGINE_OPTIONS_INIT;
  options.cache_mode = TESSERA_CACHE_OFF;
  EngineHandle engine;
  EXPECT_GT(failEachAllocation([&] {
              tessera_engine *made = nullptr;
              const tessera_code code = tessera_engine_create(&options, &made);
              engine.reset(made);
              return code;
            }),
            0);
  DeviceHandle device = openDevice();
  const tessera_spec spec = bf16Spec();
  const tessera_problem extents = problem(1, 1, 1, 1, 1);
  KernelHandle kernel = prepare(engine, device, spec);
  // From memory: reading an image needs nlohmann::json, whose destructor allocates and may not fail.
  EXPECT_GT(failEachAllocation([&] {
              tessera_kernel *made = nullptr;
              const tessera_code code =
                  tessera_engine_prepare(engine.get(), &spec, &extents, device.get(), nullptr, &made);
              kernel.reset(made);
              return code;
            }),
            0);
  tessera_kernel_info info = TESSERA_KERNEL_INFO_INIT;
  EXPECT_GT(failEachAllocation([&] { return tessera_kernel_get_info(kernel.get(), &info); }), 0);
  TextHandle text;
  EXPECT_GT(failEachAllocation([&] {
              tessera_text *made = nullptr;
              const tessera_code code =
                  tessera_engine_explain(engine.get(), &spec, &extents, device.get(), nullptr, &made);
              text.reset(made);
              return code;
            }),
            0);
}

TEST_F(COutOfMemory, ALaunchAllocatesNothing) {
  EngineHandle engine = createEngine();
  DeviceHandle device = openDevice();
  KernelHandle kernel = prepare(engine, device, bf16Spec());
  tessera_tensor tensor;
  ASSERT_EQ(tessera_tensor_contiguous(reinterpret_cast<void *>(0x1000), TESSERA_BF16, 1, 1, 1, 128, &tensor),
            TESSERA_OK);
  tessera_launch_arguments arguments = TESSERA_LAUNCH_ARGUMENTS_INIT;
  arguments.q = arguments.k = arguments.v = arguments.o = &tensor;
  EXPECT_EQ(failEachAllocation([&] { return tessera_kernel_launch(kernel.get(), &arguments, nullptr); }), 0);
}

} // namespace
} // namespace tessera::capi
