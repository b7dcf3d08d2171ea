// cuModule*: PTX into modules, and what is in them.
#include "runtime/simulator/driver/FatBinary.h"
#include "runtime/simulator/driver/Jit.h"

#include <algorithm>
#include <cstdlib>

using namespace tessera::sim;
using namespace tessera::sim::driver;

namespace {

/// Registers that the assembler would give the kernel: what it needs, or what its launches or its load were promised,
/// whichever is less.
unsigned registersOf(const KernelInfo &info, unsigned wish, const DeviceLimits &limits) {
  unsigned allowed = limits.registersPerThread;
  if (wish)
    allowed = std::min(allowed, std::max(wish, 16u)); // an assembler gives no kernel less
  if (info.maxRegisters)
    allowed = std::min(allowed, info.maxRegisters);
  if (info.maxThreads) {
    unsigned threads = (info.maxThreads + 31) / 32 * 32 * std::max(1u, info.minBlocksPerSm);
    allowed = std::min(allowed, limits.registersPerSm / std::max(threads, 32u) / 8 * 8);
  }
  return std::clamp(info.registersPerThread, 1u, std::max(allowed, 1u));
}

CUresult load(CUmodule *handle, const void *image, size_t available, const JitOptions &options) {
  return inContext([&](std::shared_ptr<Context> &context) -> CUresult {
    return loadModule(context, image, available, options, handle);
  });
}

/// CUDA_MODULE_LOADING is "LAZY" unless it says otherwise. Here all code is loaded at once, whatever it is.
CUmoduleLoadingMode loadingMode() {
  const char *wish = std::getenv("CUDA_MODULE_LOADING");
  return wish && std::string_view(wish) == "EAGER" ? CU_MODULE_EAGER_LOADING : CU_MODULE_LAZY_LOADING;
}

} // namespace

bool tessera::sim::driver::unloadModule(CUmodule handle) {
  std::shared_ptr<LoadedModule> module = state().modules.remove(handle);
  if (!module)
    return false;
  auto functions = state().functions.removeIf([&](const Function &function) { return function.module == module; });
  return true;
}

extern "C" {

CUresult cuModuleLoadData(CUmodule *module, const void *image) { return load(module, image, UnknownLength, {}); }

CUresult cuModuleLoadDataEx(CUmodule *module, const void *image, unsigned count, CUjit_option *options, void **values) {
  if (count != 0 && (!options || !values))
    return CUDA_ERROR_INVALID_VALUE;
  return load(module, image, UnknownLength, JitOptions(count, options, values));
}

CUresult cuModuleLoadFatBinary(CUmodule *module, const void *image) { return load(module, image, UnknownLength, {}); }

CUresult cuModuleLoad(CUmodule *module, const char *path) {
  return inContext([&](std::shared_ptr<Context> &) -> CUresult {
    std::string content;
    if (CUresult result = readImage(path, &content); result != CUDA_SUCCESS)
      return result;
    return load(module, content.data(), content.size(), {});
  });
}

CUresult cuModuleGetLoadingMode(CUmoduleLoadingMode *mode) {
  if (!mode)
    return CUDA_ERROR_INVALID_VALUE;
  *mode = loadingMode();
  return CUDA_SUCCESS;
}

CUresult cuModuleUnload(CUmodule handle) {
  return inContext([&](std::shared_ptr<Context> &) -> CUresult {
    if (CUresult result = refuseDuringCapture(); result != CUDA_SUCCESS)
      return result;
    return unloadModule(handle) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
  });
}

CUresult cuModuleGetFunction(CUfunction *handle, CUmodule moduleHandle, const char *name) {
  return inContext([&](std::shared_ptr<Context> &context) -> CUresult {
    if (!handle || !name)
      return CUDA_ERROR_INVALID_VALUE;
    std::shared_ptr<LoadedModule> module = state().modules.find(moduleHandle);
    if (!module)
      return CUDA_ERROR_INVALID_HANDLE;
    const KernelInfo *info = module->code->findKernel(name);
    if (!info)
      return CUDA_ERROR_NOT_FOUND;
    std::lock_guard lock(module->mutex);
    CUfunction &known = module->functions[name];
    if (!known) {
      const DeviceLimits &limits = context->device.profile.limits;
      auto function = std::make_shared<Function>();
      function->context = module->context;
      function->module = module;
      function->moduleHandle = moduleHandle;
      function->info = info;
      function->registers = registersOf(*info, module->maxRegisters, limits);
      function->maxDynamicShared = std::max(0, int(limits.sharedBytesPerBlockDefault) - int(info->staticSharedBytes));
      known = state().functions.add(std::move(function));
    }
    *handle = known;
    return CUDA_SUCCESS;
  });
}

CUresult cuModuleGetFunctionCount(unsigned *count, CUmodule handle) {
  return inContext([&](std::shared_ptr<Context> &) -> CUresult {
    std::shared_ptr<LoadedModule> module = state().modules.find(handle);
    if (!module || !count)
      return module ? CUDA_ERROR_INVALID_VALUE : CUDA_ERROR_INVALID_HANDLE;
    *count = unsigned(module->code->kernels().size());
    return CUDA_SUCCESS;
  });
}

CUresult cuModuleEnumerateFunctions(CUfunction *functions, unsigned count, CUmodule handle) {
  return inContext([&](std::shared_ptr<Context> &) -> CUresult {
    std::shared_ptr<LoadedModule> module = state().modules.find(handle);
    if (!module || !functions)
      return module ? CUDA_ERROR_INVALID_VALUE : CUDA_ERROR_INVALID_HANDLE;
    const auto &kernels = module->code->kernels();
    for (unsigned i = 0; i < count && i < kernels.size(); ++i)
      if (CUresult result = cuModuleGetFunction(&functions[i], handle, kernels[i].name.c_str()); result != CUDA_SUCCESS)
        return result;
    return CUDA_SUCCESS;
  });
}

CUresult cuModuleGetGlobal_v2(CUdeviceptr *address, size_t *bytes, CUmodule handle, const char *name) {
  return inContext([&](std::shared_ptr<Context> &) -> CUresult {
    if (!name)
      return CUDA_ERROR_INVALID_VALUE;
    std::shared_ptr<LoadedModule> module = state().modules.find(handle);
    if (!module)
      return CUDA_ERROR_INVALID_HANDLE;
    const GlobalInfo *global = module->code->findGlobal(name);
    if (!global)
      return CUDA_ERROR_NOT_FOUND;
    if (address)
      *address = global->address;
    if (bytes)
      *bytes = global->size;
    return CUDA_SUCCESS;
  });
}

CUresult cuFuncIsLoaded(CUfunctionLoadingState *loading, CUfunction handle) {
  return initialised([&]() -> CUresult {
    if (!loading)
      return CUDA_ERROR_INVALID_VALUE;
    if (!state().functions.find(functionOfKernel(handle)))
      return CUDA_ERROR_INVALID_HANDLE;
    *loading = CU_FUNCTION_LOADING_STATE_LOADED;
    return CUDA_SUCCESS;
  });
}

CUresult cuFuncLoad(CUfunction handle) {
  return initialised([&]() -> CUresult {
    return state().functions.find(functionOfKernel(handle)) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
  });
}

} // extern "C"
