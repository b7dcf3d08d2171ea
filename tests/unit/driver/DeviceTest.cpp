// cuInit, cuDevice* and error texts of the simulator.
#include "tests/unit/driver/SimulatorFixture.h"

#include <dlfcn.h>

#include <cstring>

using namespace tessera::test;

namespace {

class SimulatorDevice : public Simulator {};

TEST_F(SimulatorDevice, VersionIsThatOfTheHeader) {
  int version = 0;
  EXPECT_EQ(cuDriverGetVersion(&version), CUDA_SUCCESS);
  EXPECT_EQ(version, CUDA_VERSION);
  EXPECT_EQ(cuDriverGetVersion(nullptr), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuInit(1), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(SimulatorDevice, DevicesAreCountedAndFound) {
  int h100 = 0, again = 0, count = 0;
  ASSERT_EQ(tessera_sim_find_device("h100", &h100), 0);
  ASSERT_EQ(tessera_sim_find_device("h100", &again), 0);
  EXPECT_EQ(h100, again);
  EXPECT_NE(h100, device);
  ASSERT_EQ(cuDeviceGetCount(&count), CUDA_SUCCESS);
  EXPECT_GT(count, h100);
  CUdevice handle = -1;
  EXPECT_EQ(cuDeviceGet(&handle, h100), CUDA_SUCCESS);
  EXPECT_EQ(cuDeviceGet(&handle, count), CUDA_ERROR_INVALID_DEVICE);
  EXPECT_EQ(cuDeviceGet(&handle, -1), CUDA_ERROR_INVALID_DEVICE);
  EXPECT_EQ(cuDeviceGet(nullptr, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuDeviceGetCount(nullptr), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(SimulatorDevice, FactsComeFromTheProfile) {
  struct {
    CUdevice_attribute attribute;
    int value;
  } facts[] = {
      {CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, 8},
      {CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, 0},
      {CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, 108},
      {CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK, 48 * 1024},
      {CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, 163 * 1024},
      {CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR, 164 * 1024},
      {CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK, 65536},
      {CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK, 1024},
      {CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR, 2048},
      {CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR, 32},
      {CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X, INT32_MAX},
      {CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y, 65535},
      {CU_DEVICE_ATTRIBUTE_WARP_SIZE, 32},
      {CU_DEVICE_ATTRIBUTE_CLOCK_RATE, 1410000},
      {CU_DEVICE_ATTRIBUTE_CLUSTER_LAUNCH, 0},
  };
  for (auto fact : facts) {
    int value = -1;
    EXPECT_EQ(cuDeviceGetAttribute(&value, fact.attribute, device), CUDA_SUCCESS);
    EXPECT_EQ(value, fact.value) << "attribute " << fact.attribute;
  }
  int value = 0;
  EXPECT_EQ(cuDeviceGetAttribute(nullptr, CU_DEVICE_ATTRIBUTE_WARP_SIZE, device), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuDeviceGetAttribute(&value, CUdevice_attribute(0), device), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuDeviceGetAttribute(&value, CU_DEVICE_ATTRIBUTE_MAX, device), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuDeviceGetAttribute(&value, CU_DEVICE_ATTRIBUTE_WARP_SIZE, 999), CUDA_ERROR_INVALID_DEVICE);
}

TEST_F(SimulatorDevice, NameIsCutToTheBuffer) {
  char name[256], small[8];
  ASSERT_EQ(cuDeviceGetName(name, sizeof(name), device), CUDA_SUCCESS);
  EXPECT_NE(std::string(name).find("A100"), std::string::npos);
  ASSERT_EQ(cuDeviceGetName(small, sizeof(small), device), CUDA_SUCCESS);
  EXPECT_EQ(std::strlen(small), 7u);
  EXPECT_EQ(cuDeviceGetName(name, 0, device), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuDeviceGetName(nullptr, 5, device), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(SimulatorDevice, UuidTellsDevicesApart) {
  int other = 0;
  ASSERT_EQ(tessera_sim_find_device("rtx4090", &other), 0);
  CUuuid first, second, again;
  ASSERT_EQ(cuDeviceGetUuid(&first, device), CUDA_SUCCESS);
  ASSERT_EQ(cuDeviceGetUuid(&again, device), CUDA_SUCCESS);
  ASSERT_EQ(cuDeviceGetUuid(&second, other), CUDA_SUCCESS);
  EXPECT_EQ(std::memcmp(&first, &again, sizeof(first)), 0);
  EXPECT_NE(std::memcmp(&first, &second, sizeof(first)), 0);
  EXPECT_EQ(cuDeviceGetUuid(nullptr, device), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(SimulatorDevice, MemoryCapabilityAndPeers) {
  size_t bytes = 0;
  EXPECT_EQ(cuDeviceTotalMem(&bytes, device), CUDA_SUCCESS);
  EXPECT_EQ(bytes, size_t(80) << 30);
  EXPECT_EQ(cuDeviceTotalMem(nullptr, device), CUDA_ERROR_INVALID_VALUE);
  int major = 0, minor = -1, can = -1;
  // Deprecated, but programs still call it.
  auto computeCapability =
      reinterpret_cast<CUresult (*)(int *, int *, CUdevice)>(dlsym(RTLD_DEFAULT, "cuDeviceComputeCapability"));
  ASSERT_NE(computeCapability, nullptr);
  EXPECT_EQ(computeCapability(&major, &minor, device), CUDA_SUCCESS);
  EXPECT_EQ(major, 8);
  EXPECT_EQ(minor, 0);
  EXPECT_EQ(cuDeviceCanAccessPeer(&can, device, device), CUDA_SUCCESS);
  EXPECT_EQ(can, 0);
  EXPECT_EQ(cuDeviceCanAccessPeer(&can, device, 999), CUDA_ERROR_INVALID_DEVICE);
}

TEST_F(SimulatorDevice, ResultsHaveNamesAndTexts) {
  const char *text = nullptr;
  EXPECT_EQ(cuGetErrorName(CUDA_ERROR_ILLEGAL_ADDRESS, &text), CUDA_SUCCESS);
  EXPECT_STREQ(text, "CUDA_ERROR_ILLEGAL_ADDRESS");
  EXPECT_EQ(cuGetErrorString(CUDA_ERROR_ILLEGAL_ADDRESS, &text), CUDA_SUCCESS);
  EXPECT_STREQ(text, "an illegal memory access was encountered");
  EXPECT_EQ(cuGetErrorName(CUresult(54321), &text), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(text, nullptr);
  EXPECT_EQ(cuGetErrorString(CUresult(54321), &text), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuGetErrorName(CUDA_SUCCESS, nullptr), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuGetErrorString(CUDA_SUCCESS, nullptr), CUDA_ERROR_INVALID_VALUE);
}

} // namespace
