// cuLaunch*: kernels and host functions into streams.
#include "runtime/simulator/driver/Launch.h"
#include "runtime/simulator/driver/State.h"

using namespace tessera::sim;
using namespace tessera::sim::driver;

namespace {

CUresult submit(LaunchRequest request, CUstream streamHandle) {
  return inContext([&](std::shared_ptr<Context> &current) -> CUresult {
    std::shared_ptr<Stream> stream = findStream(*current, streamHandle);
    if (!stream || stream->context.lock() != current)
      return CUDA_ERROR_INVALID_HANDLE;
    KernelWork work;
    if (CUresult result = makeLaunch(*current, request, &work); result != CUDA_SUCCESS)
      return result;
    return enqueue(*stream, makeWork(*current, std::move(work)));
  });
}

} // namespace

extern "C" {

CUresult cuLaunchKernel(CUfunction function, unsigned gridX, unsigned gridY, unsigned gridZ, unsigned blockX,
                        unsigned blockY, unsigned blockZ, unsigned sharedBytes, CUstream stream, void **parameters,
                        void **extra) {
  return guarded([&] {
    LaunchRequest request;
    request.handle = function;
    request.config.grid = {gridX, gridY, gridZ};
    request.config.block = {blockX, blockY, blockZ};
    request.config.dynamicSharedBytes = sharedBytes;
    request.parameters = parameters;
    request.extra = extra;
    return submit(std::move(request), stream);
  });
}

CUresult cuLaunchKernelEx(const CUlaunchConfig *launch, CUfunction function, void **parameters, void **extra) {
  return guarded([&]() -> CUresult {
    if (!launch || (launch->numAttrs && !launch->attrs))
      return CUDA_ERROR_INVALID_VALUE;
    LaunchRequest request;
    request.handle = function;
    request.config.grid = {launch->gridDimX, launch->gridDimY, launch->gridDimZ};
    request.config.block = {launch->blockDimX, launch->blockDimY, launch->blockDimZ};
    request.config.dynamicSharedBytes = launch->sharedMemBytes;
    request.parameters = parameters;
    request.extra = extra;
    for (unsigned i = 0; i < launch->numAttrs; ++i)
      if (CUresult result = readAttribute(launch->attrs[i].id, launch->attrs[i].value, &request);
          result != CUDA_SUCCESS)
        return result;
    return submit(std::move(request), launch->hStream);
  });
}

CUresult cuLaunchCooperativeKernel(CUfunction function, unsigned gridX, unsigned gridY, unsigned gridZ, unsigned blockX,
                                   unsigned blockY, unsigned blockZ, unsigned sharedBytes, CUstream stream,
                                   void **parameters) {
  return guarded([&] {
    LaunchRequest request;
    request.handle = function;
    request.config.grid = {gridX, gridY, gridZ};
    request.config.block = {blockX, blockY, blockZ};
    request.config.dynamicSharedBytes = sharedBytes;
    request.parameters = parameters;
    request.cooperative = true;
    return submit(std::move(request), stream);
  });
}

CUresult cuLaunchHostFunc(CUstream handle, CUhostFn function, void *data) {
  return inStream(handle, [&](Context &context, Stream &stream) -> CUresult {
    if (!function)
      return CUDA_ERROR_INVALID_VALUE;
    return enqueue(stream, makeWork(context, HostWork{function, data}));
  });
}

} // extern "C"
