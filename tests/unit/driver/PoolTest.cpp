// Memory pools and stream-ordered allocation on the simulator.
#include "tests/unit/driver/SimulatorFixture.h"

using namespace tessera::test;

namespace {

class SimulatorPool : public Simulator {
protected:
  CUmemoryPool create(size_t maxSize = 0) {
    CUmemPoolProps properties = {};
    properties.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
    properties.location = {CU_MEM_LOCATION_TYPE_DEVICE, device};
    properties.maxSize = maxSize;
    CUmemoryPool pool = nullptr;
    EXPECT_EQ(cuMemPoolCreate(&pool, &properties), CUDA_SUCCESS);
    return pool;
  }
  cuuint64_t attribute(CUmemoryPool pool, CUmemPool_attribute which) {
    cuuint64_t value = ~cuuint64_t(0);
    EXPECT_EQ(cuMemPoolGetAttribute(pool, which, &value), CUDA_SUCCESS);
    return value;
  }
};

TEST_F(SimulatorPool, TheDefaultPoolIsOneAndCurrentUntilAnotherIs) {
  CUmemoryPool first = nullptr, second = nullptr, own = create();
  ASSERT_EQ(cuDeviceGetDefaultMemPool(&first, device), CUDA_SUCCESS);
  ASSERT_EQ(cuDeviceGetMemPool(&second, device), CUDA_SUCCESS);
  EXPECT_EQ(first, second);
  ASSERT_EQ(cuDeviceSetMemPool(device, own), CUDA_SUCCESS);
  ASSERT_EQ(cuDeviceGetMemPool(&second, device), CUDA_SUCCESS);
  EXPECT_EQ(second, own);
  EXPECT_EQ(cuMemPoolDestroy(first), CUDA_ERROR_INVALID_VALUE) << "the default one stays";
  EXPECT_EQ(cuMemPoolDestroy(own), CUDA_SUCCESS);
  EXPECT_EQ(cuMemPoolDestroy(own), CUDA_ERROR_INVALID_VALUE);
  ASSERT_EQ(cuDeviceGetMemPool(&second, device), CUDA_SUCCESS);
  EXPECT_EQ(second, first) << "the default one again";
}

TEST_F(SimulatorPool, AllocationsAreCountedAndNamedByTheirPool) {
  CUmemoryPool pool = create();
  CUstream handle = stream();
  CUdeviceptr first = 0, second = 0;
  ASSERT_EQ(cuMemAllocFromPoolAsync(&first, 1000, pool, handle), CUDA_SUCCESS);
  ASSERT_EQ(cuMemAllocFromPoolAsync(&second, 24, pool, handle), CUDA_SUCCESS);
  EXPECT_EQ(attribute(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT), 1024u);
  CUmemoryPool named = nullptr;
  EXPECT_EQ(cuPointerGetAttribute(&named, CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE, first), CUDA_SUCCESS);
  EXPECT_EQ(named, pool);
  EXPECT_EQ(cuMemFreeAsync(first, handle), CUDA_SUCCESS);
  EXPECT_EQ(cuMemFreeAsync(first, handle), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemFree(second), CUDA_SUCCESS) << "the blocking form frees it as well";
  EXPECT_EQ(attribute(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT), 0u);
  EXPECT_EQ(attribute(pool, CU_MEMPOOL_ATTR_USED_MEM_HIGH), 1024u);
  cuuint64_t zero = 0, one = 1;
  EXPECT_EQ(cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_USED_MEM_HIGH, &one), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_USED_MEM_HIGH, &zero), CUDA_SUCCESS);
  EXPECT_EQ(attribute(pool, CU_MEMPOOL_ATTR_USED_MEM_HIGH), 0u);
  EXPECT_EQ(cuMemPoolTrimTo(pool, 0), CUDA_SUCCESS);
  EXPECT_EQ(cuMemPoolDestroy(pool), CUDA_SUCCESS);
}

TEST_F(SimulatorPool, MaximumSizeHoldsAndMemoryOutlivesItsPool) {
  CUmemoryPool pool = create(1 << 20);
  CUdeviceptr memory = 0, more = 0;
  ASSERT_EQ(cuMemAllocFromPoolAsync(&memory, 1 << 20, pool, nullptr), CUDA_SUCCESS);
  EXPECT_EQ(cuMemAllocFromPoolAsync(&more, 1, pool, nullptr), CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_EQ(cuMemPoolDestroy(pool), CUDA_SUCCESS);
  EXPECT_EQ(cuMemAllocFromPoolAsync(&more, 1, pool, nullptr), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemsetD8(memory, 1, 1 << 20), CUDA_SUCCESS);
  EXPECT_EQ(cuMemFreeAsync(memory, nullptr), CUDA_SUCCESS);
}

TEST_F(SimulatorPool, AttributesComeBack) {
  CUmemoryPool pool = create();
  cuuint64_t threshold = ~cuuint64_t(0) - 1;
  int no = 0, value = 1;
  EXPECT_EQ(cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &threshold), CUDA_SUCCESS);
  EXPECT_EQ(attribute(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD), threshold);
  EXPECT_EQ(cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC, &no), CUDA_SUCCESS);
  EXPECT_EQ(cuMemPoolGetAttribute(pool, CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC, &value), CUDA_SUCCESS);
  EXPECT_EQ(value, 0);
  EXPECT_EQ(cuMemPoolGetAttribute(pool, CUmemPool_attribute(99), &threshold), CUDA_ERROR_INVALID_VALUE);
  CUmemAccess_flags flags;
  CUmemLocation here = {CU_MEM_LOCATION_TYPE_DEVICE, device};
  EXPECT_EQ(cuMemPoolGetAccess(&flags, pool, &here), CUDA_SUCCESS);
  EXPECT_EQ(flags, CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
  CUmemAccessDesc access = {here, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
  EXPECT_EQ(cuMemPoolSetAccess(pool, &access, 1), CUDA_SUCCESS);
  access.flags = CU_MEM_ACCESS_FLAGS_PROT_NONE;
  EXPECT_EQ(cuMemPoolSetAccess(pool, &access, 1), CUDA_ERROR_INVALID_DEVICE);
  EXPECT_EQ(cuMemPoolDestroy(pool), CUDA_SUCCESS);
}

TEST_F(SimulatorPool, WhatIsNotThereIsRefused) {
  CUmemPoolProps properties = {};
  CUmemoryPool pool = nullptr;
  EXPECT_EQ(cuMemPoolCreate(&pool, nullptr), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemPoolCreate(&pool, &properties), CUDA_ERROR_INVALID_VALUE);
  properties.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.location = {CU_MEM_LOCATION_TYPE_HOST, 0};
  EXPECT_EQ(cuMemPoolCreate(&pool, &properties), CUDA_ERROR_NOT_SUPPORTED);
  properties.location = {CU_MEM_LOCATION_TYPE_DEVICE, 999};
  EXPECT_EQ(cuMemPoolCreate(&pool, &properties), CUDA_ERROR_INVALID_DEVICE);
  properties.location.id = device;
  properties.handleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
  EXPECT_EQ(cuMemPoolCreate(&pool, &properties), CUDA_ERROR_NOT_SUPPORTED);
  EXPECT_EQ(cuMemPoolTrimTo(bogus<CUmemoryPool>(), 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuDeviceSetMemPool(device, bogus<CUmemoryPool>()), CUDA_ERROR_INVALID_VALUE);
  CUdeviceptr memory = 0;
  EXPECT_EQ(cuMemAllocAsync(&memory, 0, nullptr), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemAllocAsync(nullptr, 4, nullptr), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemAllocAsync(&memory, ~size_t(0), nullptr), CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_EQ(cuMemFreeAsync(0, nullptr), CUDA_ERROR_INVALID_VALUE);
}

} // namespace
