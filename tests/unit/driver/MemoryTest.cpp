// Allocation on the simulator, and what pointers say about themselves.
#include "tests/unit/driver/SimulatorFixture.h"

using namespace tessera::test;

namespace {

class SimulatorMemory : public Simulator {};

TEST_F(SimulatorMemory, BlocksAreAlignedAndCounted) {
  size_t before = 0, during = 0, after = 0, total = 0;
  ASSERT_EQ(cuMemGetInfo(&before, &total), CUDA_SUCCESS);
  CUdeviceptr address = allocate(1 << 20);
  EXPECT_EQ(address % 256, 0u);
  ASSERT_EQ(cuMemGetInfo(&during, &total), CUDA_SUCCESS);
  EXPECT_GE(before - during, size_t(1) << 20);
  EXPECT_EQ(cuMemFree(address), CUDA_SUCCESS);
  ASSERT_EQ(cuMemGetInfo(&after, nullptr), CUDA_SUCCESS);
  EXPECT_EQ(before, after);
  EXPECT_EQ(total, size_t(80) << 30);
}

TEST_F(SimulatorMemory, WrongRequestsAreRefused) {
  CUdeviceptr address = 0;
  EXPECT_EQ(cuMemAlloc(&address, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemAlloc(nullptr, 4), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemAlloc(&address, size_t(81) << 30), CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_EQ(cuMemAlloc(&address, SIZE_MAX), CUDA_ERROR_OUT_OF_MEMORY);
}

TEST_F(SimulatorMemory, OnlyWholeLiveAllocationsAreFreed) {
  CUdeviceptr address = allocate(100);
  EXPECT_EQ(cuMemFree(0), CUDA_SUCCESS);
  EXPECT_EQ(cuMemFree(address + 4), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemFree(1234), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemFree(address), CUDA_SUCCESS);
  EXPECT_EQ(cuMemFree(address), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(SimulatorMemory, StreamOrderedFormsDoTheSame) {
  CUdeviceptr address = 0;
  CUstream handle = stream();
  EXPECT_EQ(cuMemAllocAsync(&address, 64, handle), CUDA_SUCCESS);
  EXPECT_EQ(cuMemFreeAsync(address, handle), CUDA_SUCCESS);
  EXPECT_EQ(cuMemFreeAsync(address, handle), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemFreeAsync(0, handle), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemAllocAsync(&address, 0, handle), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemAllocAsync(&address, 64, bogus<CUstream>()), CUDA_ERROR_INVALID_HANDLE);
}

TEST_F(SimulatorMemory, PitchedRowsFit) {
  CUdeviceptr address = 0;
  size_t pitch = 0;
  ASSERT_EQ(cuMemAllocPitch(&address, &pitch, 700, 3, 4), CUDA_SUCCESS);
  EXPECT_EQ(pitch, 1024u);
  EXPECT_EQ(cuMemsetD8(address, 1, 3 * pitch), CUDA_SUCCESS);
  EXPECT_EQ(cuMemAllocPitch(&address, &pitch, 700, 3, 5), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemAllocPitch(&address, &pitch, size_t(1) << 40, size_t(1) << 40, 4), CUDA_ERROR_OUT_OF_MEMORY);
}

TEST_F(SimulatorMemory, HostMemoryIsOrdinaryMemory) {
  void *memory = nullptr;
  ASSERT_EQ(cuMemAllocHost(&memory, 1000), CUDA_SUCCESS);
  static_cast<char *>(memory)[999] = 1;
  EXPECT_EQ(cuMemFreeHost(memory), CUDA_SUCCESS);
  EXPECT_EQ(cuMemFreeHost(memory), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemFreeHost(nullptr), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemHostAlloc(&memory, 16, CU_MEMHOSTALLOC_PORTABLE), CUDA_SUCCESS);
  EXPECT_EQ(cuMemFreeHost(memory), CUDA_SUCCESS);
  EXPECT_EQ(cuMemHostAlloc(&memory, 16, 0xf0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemAllocHost(nullptr, 16), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemAllocHost(&memory, 0), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(SimulatorMemory, PointersTellTheirKindAndRange) {
  CUdeviceptr address = allocate(1000), start = 0;
  unsigned type = 0;
  size_t bytes = 0;
  int ordinal = -1;
  EXPECT_EQ(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, address + 5), CUDA_SUCCESS);
  EXPECT_EQ(type, unsigned(CU_MEMORYTYPE_DEVICE));
  EXPECT_EQ(cuPointerGetAttribute(&start, CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, address + 5), CUDA_SUCCESS);
  EXPECT_EQ(start, address);
  EXPECT_EQ(cuPointerGetAttribute(&bytes, CU_POINTER_ATTRIBUTE_RANGE_SIZE, address + 5), CUDA_SUCCESS);
  EXPECT_EQ(bytes, 1000u);
  EXPECT_EQ(cuPointerGetAttribute(&ordinal, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, address), CUDA_SUCCESS);
  EXPECT_EQ(ordinal, device);
  EXPECT_EQ(cuMemGetAddressRange(&start, &bytes, address + 999), CUDA_SUCCESS);
  EXPECT_EQ(start, address);
  EXPECT_EQ(cuMemGetAddressRange(&start, &bytes, address + 1000), CUDA_ERROR_NOT_FOUND);
  EXPECT_EQ(cuPointerGetAttribute(nullptr, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, address), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, 16), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_P2P_TOKENS, address), CUDA_ERROR_NOT_SUPPORTED);
  void *host = nullptr;
  ASSERT_EQ(cuMemAllocHost(&host, 64), CUDA_SUCCESS);
  EXPECT_EQ(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, CUdeviceptr(host) + 63), CUDA_SUCCESS);
  EXPECT_EQ(type, unsigned(CU_MEMORYTYPE_HOST));
  EXPECT_EQ(cuMemFreeHost(host), CUDA_SUCCESS);
}

TEST_F(SimulatorMemory, ManyAttributesOfUnknownMemoryAreZero) {
  unsigned type = 7;
  CUcontext owner = context;
  CUpointer_attribute attributes[] = {CU_POINTER_ATTRIBUTE_MEMORY_TYPE, CU_POINTER_ATTRIBUTE_CONTEXT};
  void *data[] = {&type, &owner};
  EXPECT_EQ(cuPointerGetAttributes(2, attributes, data, 16), CUDA_SUCCESS);
  EXPECT_EQ(type, 0u);
  EXPECT_EQ(owner, nullptr);
  EXPECT_EQ(cuPointerGetAttributes(2, attributes, data, allocate(16)), CUDA_SUCCESS);
  EXPECT_EQ(type, unsigned(CU_MEMORYTYPE_DEVICE));
  EXPECT_EQ(owner, context);
  EXPECT_EQ(cuPointerGetAttributes(0, attributes, data, 16), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(SimulatorMemory, DevicesHaveAddressesOfTheirOwn) {
  int other = 0;
  ASSERT_EQ(tessera_sim_find_device("h100", &other), 0);
  CUcontext otherContext = nullptr;
  ASSERT_EQ(cuDevicePrimaryCtxRetain(&otherContext, other), CUDA_SUCCESS);
  CUdeviceptr here = allocate(256);
  ASSERT_EQ(cuCtxSetCurrent(otherContext), CUDA_SUCCESS);
  CUdeviceptr there = allocate(256);
  EXPECT_NE(here, there);
  int ordinal = -1;
  EXPECT_EQ(cuPointerGetAttribute(&ordinal, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, here), CUDA_SUCCESS);
  EXPECT_EQ(ordinal, device);
  // A copy between them goes by the addresses alone.
  unsigned value = 77, back = 0;
  EXPECT_EQ(cuMemcpyHtoD(here, &value, 4), CUDA_SUCCESS);
  EXPECT_EQ(cuMemcpyPeer(there, otherContext, here, context, 4), CUDA_SUCCESS);
  EXPECT_EQ(cuMemcpyDtoH(&back, there, 4), CUDA_SUCCESS);
  EXPECT_EQ(back, 77u);
  ASSERT_EQ(cuCtxSetCurrent(context), CUDA_SUCCESS);
  EXPECT_EQ(cuDevicePrimaryCtxRelease(other), CUDA_SUCCESS);
}

} // namespace
