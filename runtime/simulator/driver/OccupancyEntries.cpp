// cuOccupancy*: how many blocks of a kernel fit, and which shape of launch fills an SM.
#include "runtime/simulator/driver/Launch.h"
#include "runtime/simulator/driver/State.h"

#include <algorithm>

using namespace tessera::sim;
using namespace tessera::sim::driver;

namespace {

template <typename Body> CUresult withFunction(CUfunction handle, Body body) {
  return inContext([&](std::shared_ptr<Context> &context) -> CUresult {
    std::shared_ptr<Function> function = state().functions.find(functionOfKernel(handle));
    return function ? body(*context, *function) : CUDA_ERROR_INVALID_HANDLE;
  });
}

bool areFlags(unsigned flags) { return !(flags & ~unsigned(CU_OCCUPANCY_DISABLE_CACHING_OVERRIDE)); }

/// The cluster that a launch asks for, and whether the device and the grid can have it.
CUresult clusterOf(const CUlaunchConfig &config, const Function &function, LaunchRequest *request) {
  if (config.numAttrs && !config.attrs)
    return CUDA_ERROR_INVALID_VALUE;
  for (unsigned i = 0; i < config.numAttrs; ++i)
    if (CUresult result = readAttribute(config.attrs[i].id, config.attrs[i].value, request); result != CUDA_SUCCESS)
      return result;
  const auto &required = function.info->requiredCluster;
  if (required[0] && request->config.cluster.count() == 1)
    request->config.cluster = {required[0], required[1], required[2]};
  return CUDA_SUCCESS;
}

} // namespace

extern "C" {

CUresult cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *blocks, CUfunction handle, int threads,
                                                              size_t dynamicShared, unsigned flags) {
  return withFunction(handle, [&](Context &context, Function &function) -> CUresult {
    if (!blocks || threads <= 0 || !areFlags(flags))
      return CUDA_ERROR_INVALID_VALUE;
    *blocks = int(activeBlocks(function, context.device.profile, unsigned(threads), dynamicShared));
    return CUDA_SUCCESS;
  });
}

CUresult cuOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, CUfunction handle, int threads,
                                                     size_t dynamicShared) {
  return cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(blocks, handle, threads, dynamicShared, 0);
}

/// The largest block that keeps most threads on an SM; of equals the larger block.
CUresult cuOccupancyMaxPotentialBlockSizeWithFlags(int *minGrid, int *blockSize, CUfunction handle,
                                                   CUoccupancyB2DSize sharedOfThreads, size_t dynamicShared, int limit,
                                                   unsigned flags) {
  return withFunction(handle, [&](Context &context, Function &function) -> CUresult {
    if (!minGrid || !blockSize || limit < 0 || !areFlags(flags))
      return CUDA_ERROR_INVALID_VALUE;
    const DeviceProfile &profile = context.device.profile;
    int most = maxThreads(function, profile.limits);
    if (limit)
      most = std::min(most, limit);
    int bestThreads = 0, bestBlocks = 0;
    for (int threads = (most + 31) / 32 * 32; threads > 0; threads -= 32) {
      int tried = std::min(threads, most);
      size_t shared = dynamicShared;
      if (sharedOfThreads) {
        HostFunctionScope scope;
        shared = sharedOfThreads(tried);
      }
      int blocks = int(activeBlocks(function, profile, unsigned(tried), shared));
      if (blocks * tried > bestBlocks * bestThreads) {
        bestBlocks = blocks;
        bestThreads = tried;
      }
    }
    if (bestBlocks == 0)
      return CUDA_ERROR_INVALID_VALUE;
    *blockSize = bestThreads;
    *minGrid = bestBlocks * int(profile.smCount);
    return CUDA_SUCCESS;
  });
}

CUresult cuOccupancyMaxPotentialBlockSize(int *minGrid, int *blockSize, CUfunction handle,
                                          CUoccupancyB2DSize sharedOfThreads, size_t dynamicShared, int limit) {
  return cuOccupancyMaxPotentialBlockSizeWithFlags(minGrid, blockSize, handle, sharedOfThreads, dynamicShared, limit,
                                                   0);
}

CUresult cuOccupancyAvailableDynamicSMemPerBlock(size_t *bytes, CUfunction handle, int blocks, int threads) {
  return withFunction(handle, [&](Context &context, Function &function) -> CUresult {
    const DeviceProfile &profile = context.device.profile;
    if (!bytes || blocks <= 0 || threads <= 0)
      return CUDA_ERROR_INVALID_VALUE;
    uint64_t fixed = function.info->staticSharedBytes;
    if (profile.blocksPerSm(unsigned(threads), function.registers, fixed) < unsigned(blocks))
      return CUDA_ERROR_INVALID_VALUE;
    uint64_t each = profile.limits.sharedBytesPerSm / unsigned(blocks);
    uint64_t taken = profile.limits.sharedBytesReservedPerBlock + fixed;
    *bytes = std::min<uint64_t>(each > taken ? each - taken : 0, profile.limits.sharedBytesPerBlock - fixed);
    return CUDA_SUCCESS;
  });
}

/// Clusters of one block are all there are below compute capability 9.0.
CUresult cuOccupancyMaxPotentialClusterSize(int *size, CUfunction handle, const CUlaunchConfig *config) {
  return withFunction(handle, [&](Context &context, Function &function) -> CUresult {
    if (!size || !config)
      return CUDA_ERROR_INVALID_VALUE;
    LaunchRequest request;
    if (CUresult result = clusterOf(*config, function, &request); result != CUDA_SUCCESS)
      return result;
    if (context.device.profile.limits.clusterBlocks <= 1)
      return CUDA_ERROR_NOT_SUPPORTED;
    *size = int(context.device.profile.limits.clusterBlocks);
    return CUDA_SUCCESS;
  });
}

CUresult cuOccupancyMaxActiveClusters(int *clusters, CUfunction handle, const CUlaunchConfig *config) {
  return withFunction(handle, [&](Context &context, Function &function) -> CUresult {
    if (!clusters || !config)
      return CUDA_ERROR_INVALID_VALUE;
    LaunchRequest request;
    if (CUresult result = clusterOf(*config, function, &request); result != CUDA_SUCCESS)
      return result;
    const DeviceProfile &profile = context.device.profile;
    if (profile.limits.clusterBlocks <= 1)
      return CUDA_ERROR_NOT_SUPPORTED;
    const Dim3 &cluster = request.config.cluster;
    uint64_t threads = Dim3{config->blockDimX, config->blockDimY, config->blockDimZ}.count();
    if (threads == 0 || threads > profile.limits.threadsPerBlock)
      return CUDA_ERROR_INVALID_VALUE;
    if (cluster.count() == 0 || cluster.count() > profile.limits.clusterBlocks)
      return CUDA_ERROR_INVALID_CLUSTER_SIZE;
    uint64_t blocks = activeBlocks(function, profile, unsigned(threads), config->sharedMemBytes);
    *clusters = int(blocks * profile.smCount / cluster.count());
    return CUDA_SUCCESS;
  });
}

} // extern "C"
