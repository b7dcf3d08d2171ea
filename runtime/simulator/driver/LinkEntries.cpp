// cuLink*: PTX to PTX. A GPU's linker makes machine code of several inputs; here one input goes through as it is.
#include "runtime/simulator/driver/FatBinary.h"
#include "runtime/simulator/driver/Jit.h"

#include <fmt/format.h>

using namespace tessera::sim;
using namespace tessera::sim::driver;

namespace tessera::sim::driver {

struct Linker {
  std::weak_ptr<Context> context;
  JitOptions options; ///< points into the caller's arrays, which the driver too wants to live as long as the link
  std::mutex mutex;
  std::vector<std::string> names; ///< of the inputs
  std::string ptx;
  bool complete = false;
};

} // namespace tessera::sim::driver

namespace {

template <typename Body> CUresult withLinker(CUlinkState handle, Body body) {
  return inContext([&](std::shared_ptr<Context> &context) -> CUresult {
    std::shared_ptr<Linker> linker = state().linkers.find(handle);
    if (!linker)
      return CUDA_ERROR_INVALID_HANDLE;
    std::lock_guard lock(linker->mutex);
    return body(*context, *linker);
  });
}

CUresult addInput(Context &context, Linker &linker, CUjitInputType type, const void *data, size_t bytes,
                  std::string name) {
  if (linker.complete)
    return CUDA_ERROR_INVALID_VALUE;
  switch (type) {
  case CU_JIT_INPUT_PTX:
  case CU_JIT_INPUT_FATBINARY:
    break;
  case CU_JIT_INPUT_CUBIN:
  case CU_JIT_INPUT_OBJECT:
  case CU_JIT_INPUT_LIBRARY:
  case CU_JIT_INPUT_NVVM:
    linker.options.finish("", fmt::format("the simulator links PTX; {} is something else", name));
    return type == CU_JIT_INPUT_CUBIN ? CUDA_ERROR_NO_BINARY_FOR_GPU : CUDA_ERROR_NOT_SUPPORTED;
  default:
    return CUDA_ERROR_INVALID_VALUE;
  }
  if (!linker.names.empty()) {
    linker.options.finish(
        "", fmt::format("the simulator links one input of PTX; {} came after {}", name, linker.names.front()));
    return CUDA_ERROR_NOT_SUPPORTED;
  }
  std::string why;
  if (CUresult result = ptxOfImage(data, bytes, context.device.profile, &linker.ptx, &why); result != CUDA_SUCCESS) {
    linker.options.finish("", why);
    return result;
  }
  // The text is tried here, so that its errors come from the call that brought it, as they do on a GPU.
  auto tried = Module::load(linker.ptx, context.device.profile, context.device.memory);
  if (!tried) {
    linker.options.finish("", fmt::format("{}: {}", name, tried.status().text()));
    return CUDA_ERROR_INVALID_PTX;
  }
  linker.names.push_back(std::move(name));
  return CUDA_SUCCESS;
}

} // namespace

extern "C" {

CUresult cuLinkCreate_v2(unsigned count, CUjit_option *options, void **values, CUlinkState *handle) {
  return inContext([&](std::shared_ptr<Context> &context) -> CUresult {
    if (!handle || (count && (!options || !values)))
      return CUDA_ERROR_INVALID_VALUE;
    auto linker = std::make_shared<Linker>();
    linker->context = context;
    linker->options = JitOptions(count, options, values);
    if (linker->options.status() != CUDA_SUCCESS)
      return linker->options.status();
    *handle = state().linkers.add(std::move(linker));
    return CUDA_SUCCESS;
  });
}

CUresult cuLinkAddData_v2(CUlinkState handle, CUjitInputType type, void *data, size_t bytes, const char *name,
                          unsigned count, CUjit_option *options, void **values) {
  return withLinker(handle, [&](Context &context, Linker &linker) -> CUresult {
    if (!data || bytes == 0 || (count && (!options || !values)))
      return CUDA_ERROR_INVALID_VALUE;
    return addInput(context, linker, type, data, bytes, name ? name : "an input without name");
  });
}

CUresult cuLinkAddFile_v2(CUlinkState handle, CUjitInputType type, const char *path, unsigned count,
                          CUjit_option *options, void **values) {
  return withLinker(handle, [&](Context &context, Linker &linker) -> CUresult {
    if (count && (!options || !values))
      return CUDA_ERROR_INVALID_VALUE;
    std::string content;
    if (CUresult result = readImage(path, &content); result != CUDA_SUCCESS)
      return result;
    return addInput(context, linker, type, content.data(), content.size(), path);
  });
}

/// The result is the PTX, which lives until the link is destroyed.
CUresult cuLinkComplete(CUlinkState handle, void **image, size_t *bytes) {
  return withLinker(handle, [&](Context &context, Linker &linker) -> CUresult {
    if (!image || linker.complete || linker.names.empty())
      return CUDA_ERROR_INVALID_VALUE;
    linker.complete = true;
    *image = linker.ptx.data();
    if (bytes)
      *bytes = linker.ptx.size() + 1;
    linker.options.finish(fmt::format("{} for simulated {}", linker.names.front(), context.device.profile.name), "");
    return CUDA_SUCCESS;
  });
}

CUresult cuLinkDestroy(CUlinkState handle) {
  return inContext([&](std::shared_ptr<Context> &) -> CUresult {
    return state().linkers.remove(handle) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
  });
}

} // extern "C"
