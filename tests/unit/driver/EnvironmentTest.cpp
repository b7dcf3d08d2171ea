// What a program that knows nothing of the simulator meets: devices and options from the environment, and calls before
// cuInit.
#include "runtime/simulator/driver/SimulatorApi.h"

#include <cuda.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

namespace {

/// Each case runs in a child process, since a process initialises the driver once.
void inChild(void (*body)()) {
  EXPECT_EXIT(
      {
        body();
        std::exit(testing::Test::HasFailure());
      },
      testing::ExitedWithCode(0), "");
}

TEST(SimulatorEnvironment, NothingWorksBeforeInit) {
  inChild([] {
    int count = 0, version = 0;
    CUdevice device = 0;
    CUcontext context = nullptr;
    CUdeviceptr memory = 0;
    EXPECT_EQ(cuDeviceGetCount(&count), CUDA_ERROR_NOT_INITIALIZED);
    EXPECT_EQ(cuDeviceGet(&device, 0), CUDA_ERROR_NOT_INITIALIZED);
    EXPECT_EQ(cuDevicePrimaryCtxRetain(&context, 0), CUDA_ERROR_NOT_INITIALIZED);
    EXPECT_EQ(cuCtxGetCurrent(&context), CUDA_ERROR_NOT_INITIALIZED);
    EXPECT_EQ(cuMemAlloc(&memory, 4), CUDA_ERROR_NOT_INITIALIZED);
    EXPECT_EQ(cuStreamSynchronize(nullptr), CUDA_ERROR_NOT_INITIALIZED);
    EXPECT_EQ(cuDriverGetVersion(&version), CUDA_SUCCESS);
  });
}

TEST(SimulatorEnvironment, WithoutAWishThereIsOneA100) {
  inChild([] {
    unsetenv("TESSERA_SIM");
    int count = 0, value = 0;
    ASSERT_EQ(cuInit(0), CUDA_SUCCESS);
    ASSERT_EQ(cuDeviceGetCount(&count), CUDA_SUCCESS);
    EXPECT_EQ(count, 1);
    ASSERT_EQ(cuDeviceGetAttribute(&value, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, 0), CUDA_SUCCESS);
    EXPECT_EQ(value, 8);
  });
}

TEST(SimulatorEnvironment, DevicesAreThoseOfTheVariableInItsOrder) {
  inChild([] {
    setenv("TESSERA_SIM", "h100,a100,a100", 1);
    int count = 0;
    ASSERT_EQ(cuInit(0), CUDA_SUCCESS);
    ASSERT_EQ(cuInit(0), CUDA_SUCCESS);
    ASSERT_EQ(cuDeviceGetCount(&count), CUDA_SUCCESS);
    EXPECT_EQ(count, 3) << "once, however often the driver is initialised";
    for (auto [ordinal, major] : {std::pair{0, 9}, {1, 8}, {2, 8}}) {
      int value = 0;
      ASSERT_EQ(cuDeviceGetAttribute(&value, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, ordinal), CUDA_SUCCESS);
      EXPECT_EQ(value, major) << ordinal;
    }
  });
}

TEST(SimulatorEnvironment, UnknownDeviceIsNoDevice) {
  inChild([] {
    setenv("TESSERA_SIM", "a100,v100", 1);
    EXPECT_EQ(cuInit(0), CUDA_ERROR_NO_DEVICE);
  });
}

TEST(SimulatorEnvironment, OptionsAreTakenOrRefused) {
  inChild([] {
    setenv("TESSERA_SIM_OPTIONS", R"({"seed": 42})", 1);
    ASSERT_EQ(cuInit(0), CUDA_SUCCESS);
    EXPECT_NE(std::string(tessera_sim_options()).find("\"seed\":42"), std::string::npos) << tessera_sim_options();
  });
  inChild([] {
    setenv("TESSERA_SIM_OPTIONS", R"({"sede": 42})", 1);
    EXPECT_EQ(cuInit(0), CUDA_ERROR_INVALID_VALUE);
  });
}

} // namespace
