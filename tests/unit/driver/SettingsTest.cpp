// Settings of contexts and streams: limits, cache preferences, flags, attributes, peers, pointers to devices.
#include "tests/unit/driver/SimulatorFixture.h"

#include <set>

using namespace tessera::test;

namespace {

class SimulatorSettings : public Simulator {};

TEST_F(SimulatorSettings, LimitsAreThoseOfTheContext) {
  size_t value = 0;
  EXPECT_EQ(cuCtxGetLimit(&value, CU_LIMIT_STACK_SIZE), CUDA_SUCCESS);
  EXPECT_EQ(value, 1024u);
  EXPECT_EQ(cuCtxGetLimit(&value, CU_LIMIT_MALLOC_HEAP_SIZE), CUDA_SUCCESS);
  EXPECT_EQ(value, size_t(8) << 20);
  EXPECT_EQ(cuCtxSetLimit(CU_LIMIT_PRINTF_FIFO_SIZE, 1 << 22), CUDA_SUCCESS);
  EXPECT_EQ(cuCtxSetLimit(CU_LIMIT_STACK_SIZE, 5000), CUDA_SUCCESS);
  EXPECT_EQ(cuCtxGetLimit(&value, CU_LIMIT_PRINTF_FIFO_SIZE), CUDA_SUCCESS);
  EXPECT_EQ(value, size_t(1) << 22);
  EXPECT_EQ(cuCtxGetLimit(&value, CU_LIMIT_STACK_SIZE), CUDA_SUCCESS);
  EXPECT_EQ(value, 5008u) << "rounded up to 16";
  CUcontext own = nullptr;
  ASSERT_EQ(cuCtxCreate(&own, nullptr, 0, device), CUDA_SUCCESS);
  EXPECT_EQ(cuCtxGetLimit(&value, CU_LIMIT_STACK_SIZE), CUDA_SUCCESS);
  EXPECT_EQ(value, 1024u);
  EXPECT_EQ(cuCtxDestroy(own), CUDA_SUCCESS);
  EXPECT_EQ(cuCtxGetLimit(nullptr, CU_LIMIT_STACK_SIZE), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuCtxGetLimit(&value, CUlimit(99)), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuCtxGetLimit(&value, CU_LIMIT_DEV_RUNTIME_SYNC_DEPTH), CUDA_ERROR_UNSUPPORTED_LIMIT);
  EXPECT_EQ(cuCtxSetLimit(CU_LIMIT_MAX_L2_FETCH_GRANULARITY, 256), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuCtxSetLimit(CU_LIMIT_SHMEM_SIZE, 1), CUDA_ERROR_UNSUPPORTED_LIMIT);
}

TEST_F(SimulatorSettings, CacheAndFlags) {
  CUfunc_cache cache = CU_FUNC_CACHE_PREFER_L1;
  EXPECT_EQ(cuCtxSetCacheConfig(CU_FUNC_CACHE_PREFER_SHARED), CUDA_SUCCESS);
  EXPECT_EQ(cuCtxGetCacheConfig(&cache), CUDA_SUCCESS);
  EXPECT_EQ(cache, CU_FUNC_CACHE_PREFER_SHARED);
  EXPECT_EQ(cuCtxSetCacheConfig(CUfunc_cache(9)), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuFuncSetCacheConfig(kernel(Minimal, "nothing"), CUfunc_cache(9)), CUDA_ERROR_INVALID_VALUE);
  unsigned flags = 0;
  EXPECT_EQ(cuCtxSetFlags(CU_CTX_SCHED_BLOCKING_SYNC), CUDA_SUCCESS);
  EXPECT_EQ(cuCtxGetFlags(&flags), CUDA_SUCCESS);
  EXPECT_EQ(flags, unsigned(CU_CTX_SCHED_BLOCKING_SYNC));
  EXPECT_EQ(cuCtxSetFlags(0xffff), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuDevicePrimaryCtxSetFlags(device, CU_CTX_MAP_HOST), CUDA_SUCCESS);
  EXPECT_EQ(cuCtxGetFlags(&flags), CUDA_SUCCESS);
  EXPECT_EQ(flags, unsigned(CU_CTX_MAP_HOST)) << "of the active primary context too";
  EXPECT_EQ(cuDevicePrimaryCtxSetFlags(device, 0), CUDA_SUCCESS);
}

TEST_F(SimulatorSettings, IdsTellContextsApart) {
  unsigned long long first = 0, second = 0;
  CUcontext own = nullptr;
  EXPECT_EQ(cuCtxGetId(nullptr, &first), CUDA_SUCCESS);
  ASSERT_EQ(cuCtxCreate(&own, nullptr, 0, device), CUDA_SUCCESS);
  EXPECT_EQ(cuCtxGetId(own, &second), CUDA_SUCCESS);
  EXPECT_NE(first, second);
  EXPECT_EQ(cuCtxGetId(context, &second), CUDA_SUCCESS);
  EXPECT_EQ(first, second);
  CUdevice which = -1;
  EXPECT_EQ(cuCtxGetDevice_v2(&which, context), CUDA_SUCCESS);
  EXPECT_EQ(which, device);
  EXPECT_EQ(cuCtxSynchronize_v2(context), CUDA_SUCCESS);
  EXPECT_EQ(cuCtxSynchronize_v2(bogus<CUcontext>()), CUDA_ERROR_INVALID_CONTEXT);
  EXPECT_EQ(cuCtxDestroy(own), CUDA_SUCCESS);
}

TEST_F(SimulatorSettings, PeersHaveNoAccessButCopiesWork) {
  int other = -1, can = 1;
  ASSERT_EQ(tessera_sim_find_device("rtx3090", &other), 0);
  CUdeviceptr here = allocate(4), there = 0;
  CUcontext second = nullptr;
  ASSERT_EQ(cuCtxCreate(&second, nullptr, 0, other), CUDA_SUCCESS);
  ASSERT_EQ(cuMemAlloc(&there, 4), CUDA_SUCCESS);
  EXPECT_EQ(cuCtxEnablePeerAccess(context, 0), CUDA_ERROR_PEER_ACCESS_UNSUPPORTED);
  EXPECT_EQ(cuCtxDisablePeerAccess(context), CUDA_ERROR_PEER_ACCESS_NOT_ENABLED);
  EXPECT_EQ(cuDeviceCanAccessPeer(&can, device, other), CUDA_SUCCESS);
  EXPECT_EQ(can, 0);
  EXPECT_EQ(cuDeviceGetP2PAttribute(&can, CU_DEVICE_P2P_ATTRIBUTE_ACCESS_SUPPORTED, device, other), CUDA_SUCCESS);
  EXPECT_EQ(can, 0);
  EXPECT_EQ(cuDeviceGetP2PAttribute(&can, CU_DEVICE_P2P_ATTRIBUTE_ACCESS_SUPPORTED, device, device),
            CUDA_ERROR_INVALID_DEVICE);
  unsigned value = 77;
  ASSERT_EQ(cuMemcpyHtoD(there, &value, 4), CUDA_SUCCESS);
  EXPECT_EQ(cuMemcpyPeer(here, context, there, second, 4), CUDA_SUCCESS);
  EXPECT_EQ(cuMemcpyPeer(here, context, there, bogus<CUcontext>(), 4), CUDA_ERROR_INVALID_CONTEXT);
  value = 0;
  ASSERT_EQ(cuMemcpyDtoH(&value, here, 4), CUDA_SUCCESS);
  EXPECT_EQ(value, 77u);
  EXPECT_EQ(cuCtxDestroy(second), CUDA_SUCCESS);
}

TEST_F(SimulatorSettings, StreamAttributes) {
  CUstream first = stream(), second = stream();
  CUstreamAttrValue value = {};
  EXPECT_EQ(cuStreamGetAttribute(first, CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY, &value), CUDA_SUCCESS);
  EXPECT_EQ(value.syncPolicy, CU_SYNC_POLICY_AUTO);
  value.syncPolicy = CU_SYNC_POLICY_YIELD;
  EXPECT_EQ(cuStreamSetAttribute(first, CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY, &value), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamCopyAttributes(second, first), CUDA_SUCCESS);
  value = {};
  EXPECT_EQ(cuStreamGetAttribute(second, CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY, &value), CUDA_SUCCESS);
  EXPECT_EQ(value.syncPolicy, CU_SYNC_POLICY_YIELD);
  value.priority = -99;
  EXPECT_EQ(cuStreamSetAttribute(first, CU_LAUNCH_ATTRIBUTE_PRIORITY, &value), CUDA_SUCCESS);
  int priority = 0;
  EXPECT_EQ(cuStreamGetPriority(first, &priority), CUDA_SUCCESS);
  EXPECT_EQ(priority, -5) << "within the range";
  EXPECT_EQ(cuStreamSetAttribute(first, CU_LAUNCH_ATTRIBUTE_COOPERATIVE, &value), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuStreamGetAttribute(first, CU_LAUNCH_ATTRIBUTE_PRIORITY, nullptr), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuStreamCopyAttributes(bogus<CUstream>(), first), CUDA_ERROR_INVALID_HANDLE);
}

TEST_F(SimulatorSettings, EventsOfAWholeContext) {
  CUevent mark = event();
  EXPECT_EQ(cuCtxRecordEvent(context, mark), CUDA_SUCCESS);
  EXPECT_EQ(cuCtxWaitEvent(context, mark), CUDA_SUCCESS);
  EXPECT_EQ(cuEventSynchronize(mark), CUDA_SUCCESS);
  EXPECT_EQ(cuCtxRecordEvent(context, bogus<CUevent>()), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(cuCtxRecordEvent(bogus<CUcontext>(), mark), CUDA_ERROR_INVALID_CONTEXT);
}

TEST_F(SimulatorSettings, DevicesAreFoundByTheirBusId) {
  char id[32];
  CUdevice found = -1;
  ASSERT_EQ(cuDeviceGetPCIBusId(id, sizeof(id), device), CUDA_SUCCESS);
  EXPECT_EQ(cuDeviceGetByPCIBusId(&found, id), CUDA_SUCCESS);
  EXPECT_EQ(found, device);
  EXPECT_EQ(cuDeviceGetPCIBusId(id, 5, device), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuDeviceGetByPCIBusId(&found, "0001:00:00.0"), CUDA_ERROR_INVALID_DEVICE);
  EXPECT_EQ(cuDeviceGetByPCIBusId(&found, "nonsense"), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(SimulatorSettings, EveryDeviceAttributeHasAnAnswer) {
  for (int attribute = 1; attribute < CU_DEVICE_ATTRIBUTE_MAX; ++attribute) {
    int value = -77;
    EXPECT_EQ(cuDeviceGetAttribute(&value, CUdevice_attribute(attribute), device), CUDA_SUCCESS) << attribute;
    EXPECT_NE(value, -77) << attribute;
  }
  int value = 0;
  EXPECT_EQ(cuDeviceGetAttribute(&value, CU_DEVICE_ATTRIBUTE_MAX, device), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuDeviceGetAttribute(&value, CUdevice_attribute(0), device), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuDeviceGetAttribute(&value, CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE, device), CUDA_SUCCESS);
  EXPECT_NEAR(value, 1593000, 1000) << "A100 80GB";
  EXPECT_EQ(cuDeviceGetAttribute(&value, CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH, device), CUDA_SUCCESS);
  EXPECT_EQ(value, 1);
  CUdevprop properties = {};
#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Wdeprecated-declarations" // old programs call it
  EXPECT_EQ(cuDeviceGetProperties(&properties, device), CUDA_SUCCESS);
#pragma clang diagnostic pop
  EXPECT_EQ(properties.SIMDWidth, 32);
}

TEST_F(SimulatorSettings, EveryErrorHasANameAndAText) {
  const char *name = nullptr, *text = nullptr;
  std::set<std::string> names;
  for (int code = 0; code < 1000; ++code) {
    CUresult known = cuGetErrorName(CUresult(code), &name);
    EXPECT_EQ(cuGetErrorString(CUresult(code), &text), known);
    EXPECT_EQ(known == CUDA_SUCCESS, name != nullptr) << code;
    if (known == CUDA_SUCCESS)
      names.insert(name);
  }
  EXPECT_GE(names.size(), 100u) << "as many as cuda.h has";
  EXPECT_TRUE(names.contains("CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE"));
}

} // namespace
