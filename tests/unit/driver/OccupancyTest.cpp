// Occupancy queries and cooperative launches on the simulator.
#include "tests/unit/driver/SimulatorFixture.h"

using namespace tessera::test;

namespace {

/// Every block adds one to a counter and waits until all have: deadlocks unless all blocks are resident and take turns.
constexpr const char *GridBarrier = R"(
.version 8.0
.target sm_80
.address_size 64
.visible .entry grid_barrier(.param .u64 counter, .param .u64 seen)
{
  .reg .pred %p<2>;
  .reg .b32 %r<6>;
  .reg .b64 %rd<5>;
  ld.param.u64 %rd1, [counter];
  ld.param.u64 %rd2, [seen];
  mov.u32 %r1, %nctaid.x;
  mov.u32 %r2, %ctaid.x;
  atom.release.gpu.global.add.u32 %r3, [%rd1], 1;
wait:
  ld.acquire.gpu.global.u32 %r4, [%rd1];
  setp.lt.u32 %p1, %r4, %r1;
  @%p1 bra wait;
  mul.wide.u32 %rd3, %r2, 4;
  add.s64 %rd4, %rd2, %rd3;
  st.global.u32 [%rd4], %r4;
  ret;
}
)";

/// Counts in the word that cooperative groups take for the grid's barrier, and tells where it is.
constexpr const char *Workspace = R"(
.version 8.0
.target sm_80
.address_size 64
.visible .entry workspace(.param .u64 out)
{
  .reg .pred %p<2>;
  .reg .b32 %r<4>;
  .reg .b64 %rd<3>;
  ld.param.u64 %rd1, [out];
  mov.u32 %r1, %envreg2;
  mov.u32 %r2, %envreg1;
  mov.b64 %rd2, {%r1, %r2};
  st.global.u64 [%rd1], %rd2;
  setp.eq.s64 %p1, %rd2, 0;
  @%p1 bra done;
  atom.global.add.u32 %r3, [%rd2+4], 1;
  st.global.u32 [%rd1+8], %r3;
done:
  ret;
}
)";

class SimulatorOccupancy : public Simulator {};

TEST_F(SimulatorOccupancy, CooperativeBlocksAreAllResidentAndMeet) {
  constexpr unsigned Blocks = 6;
  CUfunction function = kernel(GridBarrier, "grid_barrier");
  CUdeviceptr counter = allocate(4), seen = allocate(4 * Blocks);
  ASSERT_EQ(cuMemsetD32(counter, 0, 1), CUDA_SUCCESS);
  void *parameters[] = {&counter, &seen};
  ASSERT_EQ(cuLaunchCooperativeKernel(function, Blocks, 1, 1, 1, 1, 1, 0, nullptr, parameters), CUDA_SUCCESS);
  ASSERT_EQ(cuCtxSynchronize(), CUDA_SUCCESS) << tessera_sim_report();
  unsigned values[Blocks] = {};
  ASSERT_EQ(cuMemcpyDtoH(values, seen, sizeof(values)), CUDA_SUCCESS);
  for (unsigned value : values)
    EXPECT_EQ(value, Blocks);
}

TEST_F(SimulatorOccupancy, CooperativeGridsHaveAZeroedWorkspaceAndOthersNone) {
  CUfunction function = kernel(Workspace, "workspace");
  CUdeviceptr out = allocate(16);
  void *parameters[] = {&out};
  uint64_t seen[2] = {1, 1};
  ASSERT_EQ(launch(function, nullptr, parameters), CUDA_SUCCESS);
  ASSERT_EQ(cuCtxSynchronize(), CUDA_SUCCESS) << tessera_sim_report();
  ASSERT_EQ(cuMemcpyDtoH(seen, out, 16), CUDA_SUCCESS);
  EXPECT_EQ(seen[0], 0u);
  for (int round = 0; round < 2; ++round) {
    ASSERT_EQ(cuLaunchCooperativeKernel(function, 1, 1, 1, 1, 1, 1, 0, nullptr, parameters), CUDA_SUCCESS);
    ASSERT_EQ(cuCtxSynchronize(), CUDA_SUCCESS) << tessera_sim_report();
    ASSERT_EQ(cuMemcpyDtoH(seen, out, 16), CUDA_SUCCESS);
    EXPECT_NE(seen[0], 0u);
    EXPECT_EQ(uint32_t(seen[1]), 0u);
  }
}

TEST_F(SimulatorOccupancy, CooperativeGridsBeyondTheDeviceAreRefused) {
  CUfunction function = kernel(Minimal, "nothing");
  int perSm = 0, sms = 0;
  ASSERT_EQ(cuOccupancyMaxActiveBlocksPerMultiprocessor(&perSm, function, 1024, 0), CUDA_SUCCESS);
  ASSERT_EQ(cuDeviceGetAttribute(&sms, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, device), CUDA_SUCCESS);
  auto most = unsigned(perSm * sms);
  EXPECT_EQ(cuLaunchCooperativeKernel(function, most, 1, 1, 1024, 1, 1, 0, nullptr, nullptr), CUDA_SUCCESS);
  EXPECT_EQ(cuLaunchCooperativeKernel(function, most + 1, 1, 1, 1024, 1, 1, 0, nullptr, nullptr),
            CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE);
  CUlaunchAttribute attribute = {};
  attribute.id = CU_LAUNCH_ATTRIBUTE_COOPERATIVE;
  attribute.value.cooperative = 1;
  CUlaunchConfig config = {};
  config.gridDimX = most + 1, config.gridDimY = config.gridDimZ = 1;
  config.blockDimX = 1024, config.blockDimY = config.blockDimZ = 1;
  config.attrs = &attribute;
  config.numAttrs = 1;
  EXPECT_EQ(cuLaunchKernelEx(&config, function, nullptr, nullptr), CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE);
  attribute.value.cooperative = 0;
  EXPECT_EQ(cuLaunchKernelEx(&config, function, nullptr, nullptr), CUDA_SUCCESS);
}

TEST_F(SimulatorOccupancy, PotentialBlockSizeFillsAnSm) {
  CUfunction function = kernel(Minimal, "nothing");
  int grid = 0, block = 0, perSm = 0;
  ASSERT_EQ(cuOccupancyMaxPotentialBlockSize(&grid, &block, function, nullptr, 0, 0), CUDA_SUCCESS);
  EXPECT_EQ(block, 1024);
  EXPECT_EQ(grid, 2 * 108);
  ASSERT_EQ(cuOccupancyMaxActiveBlocksPerMultiprocessor(&perSm, function, block, 0), CUDA_SUCCESS);
  EXPECT_EQ(perSm * block, 2048) << "all threads of an SM";
  ASSERT_EQ(cuOccupancyMaxPotentialBlockSize(&grid, &block, function, nullptr, 0, 100), CUDA_SUCCESS);
  EXPECT_LE(block, 100);
  auto sharedOfThreads = [](int threads) { return size_t(threads) * 256; };
  ASSERT_EQ(cuFuncSetAttribute(function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 160 << 10), CUDA_SUCCESS);
  ASSERT_EQ(cuOccupancyMaxPotentialBlockSizeWithFlags(&grid, &block, function, sharedOfThreads, 0, 0, 0), CUDA_SUCCESS);
  EXPECT_LE(block * 256, 160 << 10);
  EXPECT_EQ(cuOccupancyMaxPotentialBlockSize(nullptr, &block, function, nullptr, 0, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuOccupancyMaxPotentialBlockSize(&grid, &block, function, nullptr, 0, -1), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuOccupancyMaxPotentialBlockSizeWithFlags(&grid, &block, function, nullptr, 0, 0, 8),
            CUDA_ERROR_INVALID_VALUE);
}

TEST_F(SimulatorOccupancy, ClustersAreForHopper) {
  CUfunction function = kernel(Minimal, "nothing");
  CUlaunchConfig config = {};
  config.gridDimX = config.gridDimY = config.gridDimZ = 1;
  config.blockDimX = 128, config.blockDimY = config.blockDimZ = 1;
  int clusters = 0;
  EXPECT_EQ(cuOccupancyMaxActiveClusters(&clusters, function, &config), CUDA_ERROR_NOT_SUPPORTED);
  EXPECT_EQ(cuOccupancyMaxPotentialClusterSize(&clusters, function, &config), CUDA_ERROR_NOT_SUPPORTED);
  EXPECT_EQ(cuOccupancyMaxPotentialClusterSize(&clusters, function, nullptr), CUDA_ERROR_INVALID_VALUE);
}

} // namespace
