// cuLibrary* and cuKernel*: code that belongs to no context, loaded into each one on first use there.
#include "runtime/simulator/driver/FatBinary.h"
#include "runtime/simulator/driver/Jit.h"

#include <cstring>

using namespace tessera::sim::driver;

namespace {

/// The module of a library in a context, loaded when it is not there yet.
CUresult moduleIn(const std::shared_ptr<Context> &context, Library &library, CUmodule *module) {
  std::lock_guard lock(library.mutex);
  CUmodule &known = library.modules[context->handle];
  if (!known || !state().modules.find(known)) {
    known = nullptr;
    JitOptions options;
    if (CUresult result = loadModule(context, library.code.data(), library.code.size(), options, &known);
        result != CUDA_SUCCESS)
      return result;
    if (std::shared_ptr<LoadedModule> loaded = state().modules.find(known))
      loaded->maxRegisters = library.maxRegisters;
  }
  *module = known;
  return CUDA_SUCCESS;
}

template <typename Body> CUresult withLibrary(CUlibrary handle, Body body) {
  return inContext([&](std::shared_ptr<Context> &context) -> CUresult {
    std::shared_ptr<Library> library = state().libraries.find(handle);
    if (!library)
      return CUDA_ERROR_INVALID_HANDLE;
    CUmodule module = nullptr;
    if (CUresult result = moduleIn(context, *library, &module); result != CUDA_SUCCESS)
      return result;
    return body(*library, module);
  });
}

template <typename Body> CUresult withKernel(CUkernel handle, Body body) {
  return inContext([&](std::shared_ptr<Context> &) -> CUresult {
    std::shared_ptr<Kernel> kernel = state().kernels.find(handle);
    return kernel ? body(*kernel) : CUDA_ERROR_INVALID_HANDLE;
  });
}

/// Runs the body with the device's primary context current, which kernel attributes of a device are kept in.
template <typename Body> CUresult onDevice(CUdevice ordinal, Body body) {
  return withDevice(ordinal, [&](Device &) -> CUresult {
    CUcontext primary = nullptr;
    if (CUresult result = cuDevicePrimaryCtxRetain(&primary, ordinal); result != CUDA_SUCCESS)
      return result;
    contextStack().push_back(primary);
    CUresult result = body();
    contextStack().pop_back();
    cuDevicePrimaryCtxRelease(ordinal);
    return result;
  });
}

/// Where a context is current the code is loaded there at once, so that its errors and logs come from this call.
CUresult load(CUlibrary *handle, const void *code, size_t available, CUjit_option *options, void **values,
              unsigned count, CUlibraryOption *libraryOptions, void **libraryValues, unsigned libraryCount) {
  return initialised([&]() -> CUresult {
    if (!handle || !code || (count && (!options || !values)) || (libraryCount && (!libraryOptions || !libraryValues)))
      return CUDA_ERROR_INVALID_VALUE;
    for (unsigned i = 0; i < libraryCount; ++i) // both are about keeping the image in place; a copy is as good
      if (libraryOptions[i] < 0 || libraryOptions[i] >= CU_LIBRARY_NUM_OPTIONS)
        return CUDA_ERROR_INVALID_VALUE;
    JitOptions jit(count, options, values);
    auto library = std::make_shared<Library>();
    library->maxRegisters = jit.maxRegisters();
    library->code = copyOfImage(code, available);
    std::shared_ptr<Context> context;
    if (currentContext(&context) == CUDA_SUCCESS && context->stickyError() == CUDA_SUCCESS) {
      CUmodule module = nullptr;
      if (CUresult result = loadModule(context, code, available, jit, &module); result != CUDA_SUCCESS)
        return result;
      library->modules[context->handle] = module;
    } else if (jit.status() != CUDA_SUCCESS) {
      return jit.status();
    }
    *handle = state().libraries.add(std::move(library));
    return CUDA_SUCCESS;
  });
}

} // namespace

namespace tessera::sim::driver {

CUfunction functionOfKernel(CUfunction handle) {
  std::shared_ptr<Kernel> kernel = state().kernels.find(reinterpret_cast<CUkernel>(handle));
  if (!kernel)
    return handle;
  CUfunction function = nullptr;
  cuKernelGetFunction(&function, reinterpret_cast<CUkernel>(handle));
  return function;
}

} // namespace tessera::sim::driver

extern "C" {

CUresult cuLibraryLoadData(CUlibrary *handle, const void *code, CUjit_option *options, void **values, unsigned count,
                           CUlibraryOption *libraryOptions, void **libraryValues, unsigned libraryCount) {
  return load(handle, code, UnknownLength, options, values, count, libraryOptions, libraryValues, libraryCount);
}

CUresult cuLibraryLoadFromFile(CUlibrary *handle, const char *path, CUjit_option *options, void **values,
                               unsigned count, CUlibraryOption *libraryOptions, void **libraryValues,
                               unsigned libraryCount) {
  return initialised([&]() -> CUresult {
    std::string code;
    if (CUresult result = readImage(path, &code); result != CUDA_SUCCESS)
      return result;
    return load(handle, code.data(), code.size(), options, values, count, libraryOptions, libraryValues, libraryCount);
  });
}

CUresult cuLibraryUnload(CUlibrary handle) {
  return initialised([&]() -> CUresult {
    if (CUresult result = refuseDuringCapture(); result != CUDA_SUCCESS)
      return result;
    std::shared_ptr<Library> library = state().libraries.remove(handle);
    if (!library)
      return CUDA_ERROR_INVALID_HANDLE;
    auto kernels = state().kernels.removeIf([&](const Kernel &kernel) { return kernel.libraryHandle == handle; });
    std::lock_guard lock(library->mutex);
    for (const auto &[context, module] : library->modules)
      unloadModule(module);
    return CUDA_SUCCESS;
  });
}

CUresult cuLibraryGetModule(CUmodule *result, CUlibrary handle) {
  return withLibrary(handle, [&](Library &, CUmodule module) -> CUresult {
    if (!result)
      return CUDA_ERROR_INVALID_VALUE;
    *result = module;
    return CUDA_SUCCESS;
  });
}

CUresult cuLibraryGetKernel(CUkernel *kernelHandle, CUlibrary handle, const char *name) {
  return withLibrary(handle, [&](Library &library, CUmodule module) -> CUresult {
    if (!kernelHandle || !name)
      return CUDA_ERROR_INVALID_VALUE;
    CUfunction function = nullptr;
    if (CUresult result = cuModuleGetFunction(&function, module, name); result != CUDA_SUCCESS)
      return result;
    std::lock_guard lock(library.mutex);
    CUkernel &known = library.kernels[name];
    if (!known) {
      auto kernel = std::make_shared<Kernel>();
      kernel->libraryHandle = handle;
      kernel->name = name;
      known = state().kernels.add(std::move(kernel));
    }
    *kernelHandle = known;
    return CUDA_SUCCESS;
  });
}

CUresult cuLibraryGetKernelCount(unsigned *count, CUlibrary handle) {
  return withLibrary(handle, [&](Library &, CUmodule module) { return cuModuleGetFunctionCount(count, module); });
}

CUresult cuLibraryEnumerateKernels(CUkernel *kernels, unsigned count, CUlibrary handle) {
  return withLibrary(handle, [&](Library &, CUmodule moduleHandle) -> CUresult {
    std::shared_ptr<LoadedModule> module = state().modules.find(moduleHandle);
    if (!kernels || !module)
      return CUDA_ERROR_INVALID_VALUE;
    const auto &infos = module->code->kernels();
    for (unsigned i = 0; i < count && i < infos.size(); ++i)
      if (CUresult result = cuLibraryGetKernel(&kernels[i], handle, infos[i].name.c_str()); result != CUDA_SUCCESS)
        return result;
    return CUDA_SUCCESS;
  });
}

/// PTX has no managed variables here (Module refuses .attribute(.managed)), so none is found.
CUresult cuLibraryGetManaged(CUdeviceptr *, size_t *, CUlibrary handle, const char *name) {
  return withLibrary(
      handle, [&](Library &, CUmodule) -> CUresult { return name ? CUDA_ERROR_NOT_FOUND : CUDA_ERROR_INVALID_VALUE; });
}

CUresult cuLibraryGetUnifiedFunction(void **, CUlibrary handle, const char *symbol) {
  return withLibrary(handle, [&](Library &, CUmodule) -> CUresult {
    return symbol ? CUDA_ERROR_NOT_FOUND : CUDA_ERROR_INVALID_VALUE;
  });
}

CUresult cuLibraryGetGlobal(CUdeviceptr *address, size_t *bytes, CUlibrary handle, const char *name) {
  return withLibrary(handle,
                     [&](Library &, CUmodule module) { return cuModuleGetGlobal_v2(address, bytes, module, name); });
}

CUresult cuKernelGetLibrary(CUlibrary *library, CUkernel handle) {
  return withKernel(handle, [&](Kernel &kernel) -> CUresult {
    if (!library)
      return CUDA_ERROR_INVALID_VALUE;
    *library = kernel.libraryHandle;
    return CUDA_SUCCESS;
  });
}

CUresult cuKernelGetName(const char **name, CUkernel handle) {
  return withKernel(handle, [&](Kernel &kernel) -> CUresult {
    if (!name)
      return CUDA_ERROR_INVALID_VALUE;
    *name = kernel.name.c_str();
    return CUDA_SUCCESS;
  });
}

CUresult cuKernelGetFunction(CUfunction *function, CUkernel handle) {
  return withKernel(handle, [&](Kernel &kernel) {
    return withLibrary(kernel.libraryHandle, [&](Library &, CUmodule module) {
      return cuModuleGetFunction(function, module, kernel.name.c_str());
    });
  });
}

CUresult cuKernelGetParamInfo(CUkernel handle, size_t index, size_t *offset, size_t *bytes) {
  CUfunction function = nullptr;
  CUresult result = cuKernelGetFunction(&function, handle);
  return result == CUDA_SUCCESS ? cuFuncGetParamInfo(function, index, offset, bytes) : result;
}

CUresult cuKernelGetAttribute(int *value, CUfunction_attribute attribute, CUkernel handle, CUdevice ordinal) {
  return onDevice(ordinal, [&]() -> CUresult {
    CUfunction function = nullptr;
    CUresult result = cuKernelGetFunction(&function, handle);
    return result == CUDA_SUCCESS ? cuFuncGetAttribute(value, attribute, function) : result;
  });
}

CUresult cuKernelSetAttribute(CUfunction_attribute attribute, int value, CUkernel handle, CUdevice ordinal) {
  return onDevice(ordinal, [&]() -> CUresult {
    CUfunction function = nullptr;
    CUresult result = cuKernelGetFunction(&function, handle);
    return result == CUDA_SUCCESS ? cuFuncSetAttribute(function, attribute, value) : result;
  });
}

CUresult cuKernelSetCacheConfig(CUkernel handle, CUfunc_cache config, CUdevice ordinal) {
  return onDevice(ordinal, [&]() -> CUresult {
    CUfunction function = nullptr;
    CUresult result = cuKernelGetFunction(&function, handle);
    return result == CUDA_SUCCESS ? cuFuncSetCacheConfig(function, config) : result;
  });
}

} // extern "C"
