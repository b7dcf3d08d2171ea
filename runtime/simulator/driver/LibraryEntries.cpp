// cuLibrary* and cuKernel*: code that belongs to no context, loaded into each one on first use there.
#include "runtime/simulator/driver/State.h"

#include <fstream>
#include <iterator>

using namespace tessera::sim::driver;

namespace {

/// The module of a library in a context, loaded when it is not there yet.
CUresult moduleIn(const std::shared_ptr<Context> &context, Library &library, CUmodule *module) {
  std::lock_guard lock(library.mutex);
  CUmodule &known = library.modules[context->handle];
  if (!known || !state().modules.find(known)) {
    known = nullptr;
    if (CUresult result = cuModuleLoadDataEx(&known, library.code.c_str(), 0, nullptr, nullptr); result != CUDA_SUCCESS)
      return result;
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
                           CUlibraryOption *, void **, unsigned) {
  return inContext([&](std::shared_ptr<Context> &context) -> CUresult {
    if (!handle || !code)
      return CUDA_ERROR_INVALID_VALUE;
    CUmodule module = nullptr;
    if (CUresult result = cuModuleLoadDataEx(&module, code, count, options, values); result != CUDA_SUCCESS)
      return result;
    auto library = std::make_shared<Library>();
    library->code = static_cast<const char *>(code);
    library->modules[context->handle] = module;
    *handle = state().libraries.add(std::move(library));
    return CUDA_SUCCESS;
  });
}

CUresult cuLibraryLoadFromFile(CUlibrary *handle, const char *path, CUjit_option *options, void **values,
                               unsigned count, CUlibraryOption *libraryOptions, void **libraryValues,
                               unsigned libraryCount) {
  return inContext([&](std::shared_ptr<Context> &) -> CUresult {
    if (!path)
      return CUDA_ERROR_INVALID_VALUE;
    std::ifstream file(path, std::ios::binary);
    if (!file)
      return CUDA_ERROR_FILE_NOT_FOUND;
    std::string code{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
    return cuLibraryLoadData(handle, code.c_str(), options, values, count, libraryOptions, libraryValues, libraryCount);
  });
}

CUresult cuLibraryUnload(CUlibrary handle) {
  return inContext([&](std::shared_ptr<Context> &) -> CUresult {
    std::shared_ptr<Library> library = state().libraries.remove(handle);
    if (!library)
      return CUDA_ERROR_INVALID_HANDLE;
    auto kernels = state().kernels.removeIf([&](const Kernel &kernel) { return kernel.libraryHandle == handle; });
    std::lock_guard lock(library->mutex);
    for (const auto &[context, module] : library->modules)
      cuModuleUnload(module);
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

} // extern "C"
