// What every test of the simulator's driver API starts from: an a100 with its primary context current and no errors
// left over.
#pragma once

#include "runtime/simulator/driver/SimulatorApi.h"
#include "tests/unit/driver/Kernels.h"

#include <cuda.h>
#include <gtest/gtest.h>

#include <string>

namespace tessera::test {

class Simulator : public testing::Test {
protected:
  void SetUp() override {
    ASSERT_EQ(cuInit(0), CUDA_SUCCESS);
    ASSERT_EQ(tessera_sim_reset(), 0);
    ASSERT_EQ(tessera_sim_configure(R"({"print": false, "threads": 1})"), 0) << tessera_sim_last_error();
    ASSERT_EQ(tessera_sim_find_device("a100", &device), 0);
    ASSERT_EQ(cuDevicePrimaryCtxRetain(&context, device), CUDA_SUCCESS);
    ASSERT_EQ(cuCtxSetCurrent(context), CUDA_SUCCESS);
  }
  void TearDown() override {
    EXPECT_EQ(cuCtxSetCurrent(nullptr), CUDA_SUCCESS);
    EXPECT_EQ(cuDevicePrimaryCtxRelease(device), CUDA_SUCCESS);
    EXPECT_EQ(tessera_sim_reset(), 0);
  }

  CUmodule load(const char *ptx) {
    CUmodule module = nullptr;
    EXPECT_EQ(cuModuleLoadData(&module, ptx), CUDA_SUCCESS);
    return module;
  }
  CUfunction kernel(const char *ptx, const char *name) {
    CUfunction function = nullptr;
    EXPECT_EQ(cuModuleGetFunction(&function, load(ptx), name), CUDA_SUCCESS) << name;
    return function;
  }
  CUdeviceptr allocate(size_t bytes) {
    CUdeviceptr address = 0;
    EXPECT_EQ(cuMemAlloc(&address, bytes), CUDA_SUCCESS);
    return address;
  }
  CUstream stream() {
    CUstream handle = nullptr;
    EXPECT_EQ(cuStreamCreate(&handle, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
    return handle;
  }
  CUevent event(unsigned flags = CU_EVENT_DEFAULT) {
    CUevent handle = nullptr;
    EXPECT_EQ(cuEventCreate(&handle, flags), CUDA_SUCCESS);
    return handle;
  }
  /// One thread, no parameters.
  CUresult launch(CUfunction function, CUstream stream = nullptr, void **parameters = nullptr) {
    return cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, stream, parameters, nullptr);
  }

  int device = 0;
  CUcontext context = nullptr;
};

/// Looks like a handle and is none.
template <typename Handle> Handle bogus() { return reinterpret_cast<Handle>(uintptr_t(0x1234'5678'9ab0)); }

} // namespace tessera::test
