// Contexts of the simulator: primary and own, current and stacked, alive and destroyed.
#include "tests/unit/driver/SimulatorFixture.h"

#include <thread>

using namespace tessera::test;

namespace {

class SimulatorContext : public Simulator {};

TEST_F(SimulatorContext, PrimaryIsOneAndCounted) {
  CUcontext again = nullptr;
  EXPECT_EQ(cuDevicePrimaryCtxRetain(&again, device), CUDA_SUCCESS);
  EXPECT_EQ(again, context);
  unsigned flags = 1;
  int active = 0;
  EXPECT_EQ(cuDevicePrimaryCtxGetState(device, &flags, &active), CUDA_SUCCESS);
  EXPECT_EQ(active, 1);
  EXPECT_EQ(cuDevicePrimaryCtxRelease(device), CUDA_SUCCESS);
  EXPECT_EQ(cuCtxSynchronize(), CUDA_SUCCESS) << "one retain is left";
  EXPECT_EQ(cuDevicePrimaryCtxRelease(device), CUDA_SUCCESS);
  EXPECT_EQ(cuDevicePrimaryCtxGetState(device, &flags, &active), CUDA_SUCCESS);
  EXPECT_EQ(active, 0);
  EXPECT_EQ(cuCtxSynchronize(), CUDA_ERROR_CONTEXT_IS_DESTROYED);
  EXPECT_EQ(cuDevicePrimaryCtxRelease(device), CUDA_ERROR_INVALID_CONTEXT);
  EXPECT_EQ(cuDevicePrimaryCtxRetain(&context, device), CUDA_SUCCESS); // for TearDown
  EXPECT_EQ(context, again) << "the handle of a primary context stays";
}

TEST_F(SimulatorContext, NullAndForeignArgumentsAreRefused) {
  EXPECT_EQ(cuDevicePrimaryCtxRetain(nullptr, device), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuDevicePrimaryCtxRetain(&context, 999), CUDA_ERROR_INVALID_DEVICE);
  EXPECT_EQ(cuDevicePrimaryCtxGetState(device, nullptr, nullptr), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuDevicePrimaryCtxSetFlags(device, 0xffff), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuDevicePrimaryCtxSetFlags(device, CU_CTX_SCHED_YIELD), CUDA_SUCCESS);
  EXPECT_EQ(cuDevicePrimaryCtxSetFlags(device, 0), CUDA_SUCCESS);
  EXPECT_EQ(cuCtxGetCurrent(nullptr), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuCtxSetCurrent(bogus<CUcontext>()), CUDA_ERROR_INVALID_CONTEXT);
  EXPECT_EQ(cuCtxPushCurrent(bogus<CUcontext>()), CUDA_ERROR_INVALID_CONTEXT);
  EXPECT_EQ(cuCtxDestroy(bogus<CUcontext>()), CUDA_ERROR_INVALID_CONTEXT);
  EXPECT_EQ(cuCtxDestroy(context), CUDA_ERROR_INVALID_CONTEXT) << "a primary context is released, not destroyed";
}

TEST_F(SimulatorContext, StackGrowsAndShrinks) {
  CUcontext current = nullptr;
  EXPECT_EQ(cuCtxPushCurrent(context), CUDA_SUCCESS);
  EXPECT_EQ(cuCtxSetCurrent(nullptr), CUDA_SUCCESS); // takes the top away
  EXPECT_EQ(cuCtxGetCurrent(&current), CUDA_SUCCESS);
  EXPECT_EQ(current, context);
  EXPECT_EQ(cuCtxPopCurrent(&current), CUDA_SUCCESS);
  EXPECT_EQ(current, context);
  EXPECT_EQ(cuCtxPopCurrent(&current), CUDA_ERROR_INVALID_CONTEXT);
  EXPECT_EQ(cuCtxGetCurrent(&current), CUDA_SUCCESS);
  EXPECT_EQ(current, nullptr);
}

TEST_F(SimulatorContext, WithoutOneNothingWorks) {
  ASSERT_EQ(cuCtxSetCurrent(nullptr), CUDA_SUCCESS);
  CUdeviceptr address;
  CUdevice which;
  CUstream handle;
  EXPECT_EQ(cuMemAlloc(&address, 1), CUDA_ERROR_INVALID_CONTEXT);
  EXPECT_EQ(cuCtxGetDevice(&which), CUDA_ERROR_INVALID_CONTEXT);
  EXPECT_EQ(cuCtxSynchronize(), CUDA_ERROR_INVALID_CONTEXT);
  EXPECT_EQ(cuStreamCreate(&handle, 0), CUDA_ERROR_INVALID_CONTEXT);
  EXPECT_EQ(cuStreamSynchronize(nullptr), CUDA_ERROR_INVALID_CONTEXT);
}

TEST_F(SimulatorContext, CurrentIsOfTheThread) {
  std::thread([&] {
    CUcontext current = context;
    EXPECT_EQ(cuCtxGetCurrent(&current), CUDA_SUCCESS);
    EXPECT_EQ(current, nullptr);
    EXPECT_EQ(cuCtxSetCurrent(context), CUDA_SUCCESS);
    EXPECT_EQ(cuCtxSynchronize(), CUDA_SUCCESS);
  }).join();
}

TEST_F(SimulatorContext, OwnContextTakesItsObjectsAlong) {
  CUcontext own = nullptr, current = nullptr;
  ASSERT_EQ(cuCtxCreate(&own, nullptr, 0, device), CUDA_SUCCESS);
  EXPECT_NE(own, context);
  EXPECT_EQ(cuCtxGetCurrent(&current), CUDA_SUCCESS);
  EXPECT_EQ(current, own);
  unsigned version = 0;
  EXPECT_EQ(cuCtxGetApiVersion(own, &version), CUDA_SUCCESS);
  CUdeviceptr address = allocate(100);
  CUstream ownStream = stream();
  CUevent ownEvent = event();
  CUmodule ownModule = load(Minimal);
  CUfunction ownKernel = kernel(Minimal, "nothing");
  EXPECT_EQ(cuCtxDestroy(own), CUDA_SUCCESS);
  EXPECT_EQ(cuCtxGetCurrent(&current), CUDA_SUCCESS);
  EXPECT_EQ(current, context) << "the former one is current again";
  EXPECT_EQ(cuMemFree(address), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuStreamSynchronize(ownStream), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(cuEventQuery(ownEvent), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(cuModuleUnload(ownModule), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(launch(ownKernel), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(cuCtxCreate(nullptr, nullptr, 0, device), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuCtxCreate(&own, nullptr, 0, 999), CUDA_ERROR_INVALID_DEVICE);
}

TEST_F(SimulatorContext, KernelsAndStreamsOfAnotherContextAreRefused) {
  CUfunction foreign = kernel(Minimal, "nothing");
  CUstream foreignStream = stream();
  CUcontext own = nullptr;
  ASSERT_EQ(cuCtxCreate(&own, nullptr, 0, device), CUDA_SUCCESS);
  CUfunction ours = kernel(Minimal, "nothing");
  EXPECT_EQ(launch(foreign), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(launch(ours, foreignStream), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(launch(ours), CUDA_SUCCESS);
  EXPECT_EQ(cuCtxDestroy(own), CUDA_SUCCESS);
}

TEST_F(SimulatorContext, ResetForgetsEverything) {
  CUdeviceptr address = allocate(100);
  CUstream handle = stream();
  EXPECT_EQ(cuDevicePrimaryCtxReset(device), CUDA_SUCCESS);
  EXPECT_EQ(cuMemFree(address), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuStreamSynchronize(handle), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(cuMemFree(allocate(100)), CUDA_SUCCESS) << "the context itself works on";
}

TEST_F(SimulatorContext, FactsOfTheCurrentOne) {
  CUdevice which = -1;
  EXPECT_EQ(cuCtxGetDevice(&which), CUDA_SUCCESS);
  EXPECT_EQ(which, device);
  EXPECT_EQ(cuCtxGetDevice(nullptr), CUDA_ERROR_INVALID_VALUE);
  unsigned flags = 9;
  EXPECT_EQ(cuCtxGetFlags(&flags), CUDA_SUCCESS);
  EXPECT_EQ(cuCtxGetFlags(nullptr), CUDA_ERROR_INVALID_VALUE);
  int least = 9, greatest = 9;
  EXPECT_EQ(cuCtxGetStreamPriorityRange(&least, &greatest), CUDA_SUCCESS);
  EXPECT_LT(greatest, least);
}

} // namespace
