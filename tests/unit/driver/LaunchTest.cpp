// Launches on the simulator: parameters, limits, and faults with the codes of a GPU.
#include "tests/unit/driver/SimulatorFixture.h"

#include <nlohmann/json.hpp>

#include <vector>

using namespace tessera::test;

namespace {

class SimulatorLaunch : public Simulator {
protected:
  CUresult shaped(CUfunction function, unsigned gridX, unsigned gridY, unsigned blockX, unsigned blockY,
                  unsigned shared = 0) {
    return cuLaunchKernel(function, gridX, gridY, 1, blockX, blockY, 1, shared, nullptr, nullptr, nullptr);
  }
};

TEST_F(SimulatorLaunch, SaxpyWithEitherFormOfParameters) {
  constexpr unsigned Count = 300;
  CUfunction function = kernel(Saxpy, "saxpy");
  std::vector<float> x(Count, 3), y(Count, 1);
  CUdeviceptr deviceX = allocate(4 * Count), deviceY = allocate(4 * Count);
  ASSERT_EQ(cuMemcpyHtoD(deviceX, x.data(), 4 * Count), CUDA_SUCCESS);
  ASSERT_EQ(cuMemcpyHtoD(deviceY, y.data(), 4 * Count), CUDA_SUCCESS);
  struct {
    CUdeviceptr y, x;
    float a;
    unsigned n;
  } packed = {deviceY, deviceX, 2, Count};
  void *parameters[] = {&packed.y, &packed.x, &packed.a, &packed.n};
  size_t bytes = sizeof(packed);
  void *extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, &packed, CU_LAUNCH_PARAM_BUFFER_SIZE, &bytes, CU_LAUNCH_PARAM_END};
  EXPECT_EQ(cuLaunchKernel(function, 3, 1, 1, 128, 1, 1, 0, nullptr, parameters, nullptr), CUDA_SUCCESS);
  EXPECT_EQ(cuLaunchKernel(function, 3, 1, 1, 128, 1, 1, 0, nullptr, nullptr, extra), CUDA_SUCCESS);
  CUlaunchConfig config = {};
  config.gridDimX = 3, config.gridDimY = config.gridDimZ = 1;
  config.blockDimX = 128, config.blockDimY = config.blockDimZ = 1;
  EXPECT_EQ(cuLaunchKernelEx(&config, function, parameters, nullptr), CUDA_SUCCESS);
  ASSERT_EQ(cuMemcpyDtoH(y.data(), deviceY, 4 * Count), CUDA_SUCCESS);
  EXPECT_EQ(y, std::vector<float>(Count, 1 + 3 * 2 * 3));

  EXPECT_EQ(cuLaunchKernel(function, 3, 1, 1, 128, 1, 1, 0, nullptr, nullptr, nullptr), CUDA_ERROR_INVALID_VALUE)
      << "no parameters";
  EXPECT_EQ(cuLaunchKernel(function, 3, 1, 1, 128, 1, 1, 0, nullptr, parameters, extra), CUDA_ERROR_INVALID_VALUE)
      << "both";
  bytes = 20;
  EXPECT_EQ(cuLaunchKernel(function, 3, 1, 1, 128, 1, 1, 0, nullptr, nullptr, extra), CUDA_ERROR_INVALID_VALUE)
      << "too few bytes";
  EXPECT_EQ(cuLaunchKernelEx(nullptr, function, parameters, nullptr), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(SimulatorLaunch, ShapesBeyondTheDeviceAreRefused) {
  CUfunction function = kernel(Minimal, "nothing");
  EXPECT_EQ(shaped(function, 1, 1, 1024, 1), CUDA_SUCCESS);
  EXPECT_EQ(shaped(function, 1, 1, 1025, 1), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(shaped(function, 1, 1, 64, 32), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(shaped(function, 0, 1, 1, 1), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(shaped(function, 1, 1, 0, 1), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(shaped(function, 1, 65536, 1, 1), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(shaped(function, 0x80000000u, 1, 1, 1), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(shaped(function, 1, 1, 1, 1, 48 * 1024), CUDA_SUCCESS);
  EXPECT_EQ(shaped(function, 1, 1, 1, 1, 48 * 1024 + 1), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(launch(bogus<CUfunction>()), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(launch(nullptr), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(launch(function, bogus<CUstream>()), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(cuCtxSynchronize(), CUDA_SUCCESS);
}

TEST_F(SimulatorLaunch, LaunchBoundsAreKept) {
  CUfunction bounded = kernel(Saxpy, "bounded"), exact = kernel(Saxpy, "exact");
  EXPECT_EQ(shaped(bounded, 1, 1, 128, 1), CUDA_SUCCESS);
  EXPECT_EQ(shaped(bounded, 1, 1, 129, 1), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(shaped(exact, 1, 1, 64, 2), CUDA_SUCCESS);
  EXPECT_EQ(shaped(exact, 1, 1, 128, 1), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(SimulatorLaunch, MoreRegistersThanTheDeviceHasIsOutOfResources) {
  std::string text = manyRegisters(150);
  CUfunction function = kernel(text.c_str(), "many");
  int registers = 0, most = 0;
  ASSERT_EQ(cuFuncGetAttribute(&registers, CU_FUNC_ATTRIBUTE_NUM_REGS, function), CUDA_SUCCESS);
  ASSERT_EQ(cuFuncGetAttribute(&most, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, function), CUDA_SUCCESS);
  EXPECT_GE(registers, 150);
  EXPECT_LE(most, 65536 / 150);
  CUdeviceptr memory = allocate(4096);
  ASSERT_EQ(cuMemsetD8(memory, 0, 4096), CUDA_SUCCESS);
  void *parameters[] = {&memory};
  EXPECT_EQ(cuLaunchKernel(function, 1, 1, 1, 512, 1, 1, 0, nullptr, parameters, nullptr),
            CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES);
  EXPECT_EQ(cuLaunchKernel(function, 1, 1, 1, unsigned(most), 1, 1, 0, nullptr, parameters, nullptr), CUDA_SUCCESS);
}

TEST_F(SimulatorLaunch, ClustersNeedHopper) {
  CUlaunchAttribute attribute = {};
  attribute.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
  attribute.value.clusterDim = {2, 1, 1};
  CUlaunchConfig config = {};
  config.gridDimX = 4, config.gridDimY = config.gridDimZ = 1;
  config.blockDimX = 32, config.blockDimY = config.blockDimZ = 1;
  config.attrs = &attribute;
  config.numAttrs = 1;
  CUfunction function = kernel(Minimal, "nothing");
  EXPECT_EQ(cuLaunchKernelEx(&config, function, nullptr, nullptr), CUDA_ERROR_INVALID_CLUSTER_SIZE);
  attribute.value.clusterDim = {1, 1, 1};
  EXPECT_EQ(cuLaunchKernelEx(&config, function, nullptr, nullptr), CUDA_SUCCESS);
  attribute.id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_EVENT;
  EXPECT_EQ(cuLaunchKernelEx(&config, function, nullptr, nullptr), CUDA_ERROR_NOT_SUPPORTED);
  config.attrs = nullptr;
  EXPECT_EQ(cuLaunchKernelEx(&config, function, nullptr, nullptr), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(SimulatorLaunch, FaultShowsAtTheNextSynchronisationAndStays) {
  CUdeviceptr memory = allocate(4), outside = memory + 4096;
  CUfunction store = kernel(Faults, "store");
  CUstream handle = stream();
  void *wrong[] = {&outside}, *right[] = {&memory};
  EXPECT_EQ(launch(store, handle, wrong), CUDA_SUCCESS) << "a launch is asynchronous";
  EXPECT_EQ(launch(store, handle, right), CUDA_SUCCESS) << "and so is the next";
  EXPECT_EQ(cuStreamSynchronize(handle), CUDA_ERROR_ILLEGAL_ADDRESS);
  EXPECT_EQ(cuCtxSynchronize(), CUDA_ERROR_ILLEGAL_ADDRESS);
  CUdeviceptr more = 0;
  EXPECT_EQ(cuMemAlloc(&more, 4), CUDA_ERROR_ILLEGAL_ADDRESS) << "the context is lost";
  EXPECT_EQ(launch(store, handle, right), CUDA_ERROR_ILLEGAL_ADDRESS);
  EXPECT_EQ(cuDevicePrimaryCtxReset(device), CUDA_SUCCESS);
  EXPECT_EQ(cuMemAlloc(&more, 4), CUDA_SUCCESS) << "until it is reset";
}

TEST_F(SimulatorLaunch, FaultNeedNotStay) {
  ASSERT_EQ(tessera_sim_configure(R"({"sticky": false})"), 0);
  CUdeviceptr memory = allocate(4), outside = memory + 4096;
  CUfunction store = kernel(Faults, "store");
  void *wrong[] = {&outside}, *right[] = {&memory};
  EXPECT_EQ(launch(store, nullptr, wrong), CUDA_SUCCESS);
  EXPECT_EQ(cuCtxSynchronize(), CUDA_ERROR_ILLEGAL_ADDRESS);
  EXPECT_EQ(cuCtxSynchronize(), CUDA_SUCCESS);
  EXPECT_EQ(launch(store, nullptr, right), CUDA_SUCCESS);
  unsigned value = 0;
  EXPECT_EQ(cuMemcpyDtoH(&value, memory, 4), CUDA_SUCCESS);
  EXPECT_EQ(value, 5u);
}

TEST_F(SimulatorLaunch, WorkBehindAFaultNeverRuns) {
  ASSERT_EQ(tessera_sim_configure(R"({"sticky": false})"), 0);
  CUdeviceptr memory = allocate(4), outside = memory + 4096;
  CUfunction store = kernel(Faults, "store");
  void *wrong[] = {&outside}, *right[] = {&memory};
  ASSERT_EQ(cuMemsetD32(memory, 1, 1), CUDA_SUCCESS);
  EXPECT_EQ(launch(store, nullptr, wrong), CUDA_SUCCESS);
  EXPECT_EQ(launch(store, nullptr, right), CUDA_SUCCESS);
  EXPECT_EQ(cuCtxSynchronize(), CUDA_ERROR_ILLEGAL_ADDRESS);
  unsigned value = 0;
  EXPECT_EQ(cuMemcpyDtoH(&value, memory, 4), CUDA_SUCCESS);
  EXPECT_EQ(value, 1u);
}

TEST_F(SimulatorLaunch, EveryFaultHasItsCode) {
  ASSERT_EQ(tessera_sim_configure(R"({"sticky": false})"), 0);
  CUdeviceptr misaligned = allocate(16) + 2;
  void *parameters[] = {&misaligned};
  EXPECT_EQ(launch(kernel(Faults, "store"), nullptr, parameters), CUDA_SUCCESS);
  EXPECT_EQ(cuCtxSynchronize(), CUDA_ERROR_MISALIGNED_ADDRESS);
  EXPECT_EQ(launch(kernel(Faults, "stop")), CUDA_SUCCESS);
  EXPECT_EQ(cuCtxSynchronize(), CUDA_ERROR_LAUNCH_FAILED);
}

TEST_F(SimulatorLaunch, BlockingCopyReportsTheFaultBeforeIt) {
  CUdeviceptr memory = allocate(4), outside = memory + 4096;
  void *wrong[] = {&outside};
  unsigned value = 0;
  EXPECT_EQ(launch(kernel(Faults, "store"), nullptr, wrong), CUDA_SUCCESS);
  EXPECT_EQ(cuMemcpyDtoH(&value, memory, 4), CUDA_ERROR_ILLEGAL_ADDRESS);
}

TEST_F(SimulatorLaunch, ReportNamesWhatHappened) {
  CUdeviceptr outside = allocate(4) + 4096;
  void *wrong[] = {&outside};
  EXPECT_EQ(launch(kernel(Faults, "store"), nullptr, wrong), CUDA_SUCCESS);
  auto report = nlohmann::json::parse(tessera_sim_report());
  EXPECT_EQ(report["kernel"], "store");
  EXPECT_EQ(report["device"], "a100");
  ASSERT_EQ(report["findings"].size(), 1u) << report.dump(2);
  EXPECT_TRUE(report["findings"][0]["fatal"].get<bool>());
  EXPECT_GT(report["findings"][0]["line"].get<int>(), 0);
  EXPECT_NE(report["findings"][0]["text"].get<std::string>(), "");
}

TEST_F(SimulatorLaunch, CountersAreThoseOfTheLaunch) {
  CUfunction function = kernel(Minimal, "nothing");
  EXPECT_EQ(shaped(function, 10, 1, 64, 1), CUDA_SUCCESS);
  auto counters = nlohmann::json::parse(tessera_sim_counters());
  EXPECT_EQ(counters["kernel"], "nothing");
  EXPECT_GE(counters["warp_instructions"].get<int>(), 20);
  EXPECT_GT(counters["modelled_microseconds"].get<double>(), 0);
  ASSERT_EQ(tessera_sim_configure(R"({"counters": false})"), 0);
  EXPECT_EQ(shaped(function, 10, 1, 64, 1), CUDA_SUCCESS);
  EXPECT_STREQ(tessera_sim_counters(), "{}");
}

TEST_F(SimulatorLaunch, UninitialisedReadFailsUnlessChecksAreOff) {
  ASSERT_EQ(tessera_sim_configure(R"({"sticky": false})"), 0);
  CUdeviceptr from = allocate(4), to = allocate(4);
  void *parameters[] = {&to, &from};
  CUfunction function = kernel(CopyWord, "copy_word");
  EXPECT_EQ(launch(function, nullptr, parameters), CUDA_SUCCESS);
  EXPECT_EQ(cuCtxSynchronize(), CUDA_ERROR_LAUNCH_FAILED);
  ASSERT_EQ(tessera_sim_configure(R"({"fail_on_findings": false})"), 0);
  EXPECT_EQ(launch(function, nullptr, parameters), CUDA_SUCCESS);
  EXPECT_EQ(cuCtxSynchronize(), CUDA_SUCCESS);
  EXPECT_NE(nlohmann::json::parse(tessera_sim_report())["findings"].size(), 0u);
  ASSERT_EQ(tessera_sim_configure(R"({"fail_on_findings": true, "checks": false})"), 0);
  EXPECT_EQ(launch(function, nullptr, parameters), CUDA_SUCCESS);
  EXPECT_EQ(cuCtxSynchronize(), CUDA_SUCCESS);
}

} // namespace
