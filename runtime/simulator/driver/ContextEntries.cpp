// cuCtx*: the current context of a thread, contexts of the caller's own, and waiting for all of one.
#include "runtime/simulator/driver/State.h"

#include <algorithm>

using namespace tessera::sim::driver;

extern "C" {

CUresult cuCtxGetCurrent(CUcontext *handle) {
  return initialised([&]() -> CUresult {
    if (!handle)
      return CUDA_ERROR_INVALID_VALUE;
    const std::vector<CUcontext> &stack = contextStack();
    *handle = stack.empty() ? nullptr : stack.back();
    return CUDA_SUCCESS;
  });
}

CUresult cuCtxSetCurrent(CUcontext handle) {
  return initialised([&]() -> CUresult {
    std::vector<CUcontext> &stack = contextStack();
    if (handle && !state().contexts.find(handle))
      return CUDA_ERROR_INVALID_CONTEXT;
    if (!stack.empty())
      stack.pop_back();
    if (handle)
      stack.push_back(handle);
    return CUDA_SUCCESS;
  });
}

CUresult cuCtxPushCurrent_v2(CUcontext handle) {
  return initialised([&]() -> CUresult {
    if (!state().contexts.find(handle))
      return CUDA_ERROR_INVALID_CONTEXT;
    contextStack().push_back(handle);
    return CUDA_SUCCESS;
  });
}

CUresult cuCtxPopCurrent_v2(CUcontext *handle) {
  return initialised([&]() -> CUresult {
    std::vector<CUcontext> &stack = contextStack();
    if (stack.empty())
      return CUDA_ERROR_INVALID_CONTEXT;
    if (handle)
      *handle = stack.back();
    stack.pop_back();
    return CUDA_SUCCESS;
  });
}

// cuda.h of CUDA 13 does not declare this form any more, but programs built with an older one ask for it.
__attribute__((visibility("default"))) CUresult cuCtxCreate_v2(CUcontext *handle, unsigned flags, CUdevice ordinal) {
  return withDevice(ordinal, [&](Device &device) -> CUresult {
    if (!handle || (flags & ~unsigned(CU_CTX_FLAGS_MASK)))
      return CUDA_ERROR_INVALID_VALUE;
    CUcontext fresh = reinterpret_cast<CUcontext>(freshHandle());
    makeContext(device, fresh, flags);
    contextStack().push_back(fresh);
    *handle = fresh;
    return CUDA_SUCCESS;
  });
}

CUresult cuCtxCreate_v4(CUcontext *handle, CUctxCreateParams *parameters, unsigned flags, CUdevice ordinal) {
  if (parameters && (parameters->numExecAffinityParams != 0 || parameters->cigParams))
    return CUDA_ERROR_NOT_SUPPORTED;
  return cuCtxCreate_v2(handle, flags, ordinal);
}

CUresult cuCtxDestroy_v2(CUcontext handle) {
  return initialised([&]() -> CUresult {
    std::shared_ptr<Context> context = state().contexts.find(handle);
    if (!context || handle == context->device.primaryHandle)
      return CUDA_ERROR_INVALID_CONTEXT;
    destroyContext(handle);
    std::vector<CUcontext> &stack = contextStack();
    if (!stack.empty() && stack.back() == handle)
      stack.pop_back();
    return CUDA_SUCCESS;
  });
}

CUresult cuCtxGetDevice(CUdevice *device) {
  return guarded([&]() -> CUresult {
    std::shared_ptr<Context> context;
    if (CUresult result = currentContext(&context); result != CUDA_SUCCESS)
      return result;
    if (!device)
      return CUDA_ERROR_INVALID_VALUE;
    *device = context->device.ordinal;
    return CUDA_SUCCESS;
  });
}

CUresult cuCtxGetFlags(unsigned *flags) {
  return inContext([&](std::shared_ptr<Context> &context) -> CUresult {
    if (!flags)
      return CUDA_ERROR_INVALID_VALUE;
    *flags = context->flags;
    return CUDA_SUCCESS;
  });
}

CUresult cuCtxGetApiVersion(CUcontext handle, unsigned *version) {
  return initialised([&]() -> CUresult {
    if (!version)
      return CUDA_ERROR_INVALID_VALUE;
    std::shared_ptr<Context> context = state().contexts.find(handle                   ? handle
                                                             : contextStack().empty() ? nullptr
                                                                                      : contextStack().back());
    if (!context)
      return CUDA_ERROR_INVALID_CONTEXT;
    *version = 3020;
    return CUDA_SUCCESS;
  });
}

CUresult cuCtxGetStreamPriorityRange(int *least, int *greatest) {
  return inContext([&](std::shared_ptr<Context> &) -> CUresult {
    if (least)
      *least = 0;
    if (greatest)
      *greatest = -5;
    return CUDA_SUCCESS;
  });
}

CUresult cuCtxSynchronize() {
  return inContext([&](std::shared_ptr<Context> &context) -> CUresult {
    if (CUresult result = refuseDuringCapture(); result != CUDA_SUCCESS)
      return result;
    std::vector<std::shared_ptr<Stream>> streams = {context->legacy};
    {
      std::lock_guard lock(context->mutex);
      for (const auto &entry : context->perThread)
        streams.push_back(entry.second);
    }
    state().streams.forEach([&](const std::shared_ptr<Stream> &stream) {
      if (stream->context.lock() == context)
        streams.push_back(stream);
    });
    for (const std::shared_ptr<Stream> &stream : streams) {
      CUresult result = waitFor(*context, *stream);
      if (result != CUDA_SUCCESS)
        return result;
    }
    return CUDA_SUCCESS;
  });
}

} // extern "C"
