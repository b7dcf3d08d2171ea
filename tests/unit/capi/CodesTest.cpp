// Every code of the C interface, reached by the failure that it stands for; TESSERA_OUT_OF_MEMORY has a test of its
// own.
#include "tests/unit/capi/Capi.h"

#include "runtime/image/CompilerInterface.h"

#include <set>

namespace tessera::capi {
namespace {

using CCodes = fakes::Test;

TEST_F(CCodes, EachFailureHasItsCode) {
  DeviceHandle device = openDevice();
  EngineHandle engine = createEngine();
  tessera_device *none = nullptr;
  EXPECT_EQ(tessera_device_open("gpu", &none), TESSERA_INVALID_ARGUMENT);
  EXPECT_EQ(tessera_device_open("cuda:99", &none), TESSERA_NO_DEVICE);
  EXPECT_EQ(tessera_device_open("cuda:3", &none), TESSERA_UNSUPPORTED) << "compute capability 7.5";

  const tessera_spec spec = bf16Spec(), oddSpec = bf16Spec(100);
  const tessera_problem extents = problem(1, 1, 1, 1, 1);
  tessera_kernel *kernel = nullptr;
  auto prepareWith = [&](const EngineHandle &with, const tessera_spec &asked) {
    return tessera_engine_prepare(with.get(), &asked, &extents, device.get(), nullptr, &kernel);
  };
  EXPECT_EQ(prepareWith(engine, oddSpec), TESSERA_UNSUPPORTED);
  EXPECT_STRNE(tessera_last_hint(), "") << "a remedy";
  EXPECT_EQ(prepareWith(createEngine(TESSERA_POLICY_BUNDLE_ONLY), spec), TESSERA_NOT_FOUND);
  EXPECT_EQ(prepareWith(createEngine(TESSERA_POLICY_CACHE_ONLY), spec), TESSERA_NOT_FOUND);
  EXPECT_EQ(tessera_kernel_load("no image", 8, device.get(), &kernel), TESSERA_FILE);
  fakes::compiler().fail = TESSERA_COMPILE_FAILED;
  EXPECT_EQ(prepareWith(engine, spec), TESSERA_COMPILE_ERROR);
  fakes::compiler().fail = 0;
  fakes::compiler().garbage = true;
  EXPECT_EQ(prepareWith(engine, spec), TESSERA_INTERNAL);
  EXPECT_EQ(kernel, nullptr);
  fakes::compiler().garbage = false;
  EXPECT_EQ(prepareWith(engine, spec), TESSERA_OK) << "a failure is not remembered: " << tessera_last_error();
  KernelHandle owned(kernel);

  fakes::driver().failLaunches = 700;
  char memory[1024];
  tessera_tensor tensor;
  ASSERT_EQ(tessera_tensor_contiguous(reinterpret_cast<void *>((uintptr_t(memory) + 15) / 16 * 16), TESSERA_BF16, 1, 1,
                                      1, 128, &tensor),
            TESSERA_OK);
  tessera_launch_arguments arguments = TESSERA_LAUNCH_ARGUMENTS_INIT;
  arguments.q = arguments.k = arguments.v = arguments.o = &tensor;
  EXPECT_EQ(tessera_kernel_launch(kernel, &arguments, nullptr), TESSERA_DRIVER_ERROR);
  EXPECT_NE(std::string(tessera_last_error()).find("700"), std::string::npos) << tessera_last_error();
  fakes::driver().failLaunches = 0;
  EXPECT_EQ(tessera_kernel_launch(kernel, &arguments, nullptr), TESSERA_OK);
}

TEST_F(CCodes, EachCodeHasANameOfItsOwn) {
  std::set<std::string> names;
  for (tessera_code code = TESSERA_OK; code <= TESSERA_OUT_OF_MEMORY; ++code)
    EXPECT_TRUE(names.insert(tessera_code_name(code)).second) << code;
  EXPECT_FALSE(names.contains("unknown code"));
  EXPECT_STREQ(tessera_code_name(TESSERA_OUT_OF_MEMORY + 1), "unknown code");
  EXPECT_STREQ(tessera_code_name(-1), "unknown code");
}

} // namespace
} // namespace tessera::capi
