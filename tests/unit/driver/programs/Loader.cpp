// The other way in: dlopen of libcuda.so.1 and cuGetProcAddress, as frameworks do it. Prints the devices' names and
// "passed".
#include "Kernels.h"

#include <cuda.h>
#include <dlfcn.h>

#include <cstdio>

namespace {

CUresult (*getProcAddress)(const char *, void **, int, cuuint64_t, CUdriverProcAddressQueryResult *);

template <typename Function> bool resolve(Function *&function, const char *name) {
  CUdriverProcAddressQueryResult status;
  return getProcAddress(name, reinterpret_cast<void **>(&function), CUDA_VERSION, CU_GET_PROC_ADDRESS_DEFAULT,
                        &status) == CUDA_SUCCESS;
}

} // namespace

int main() {
  void *library = dlopen("libcuda.so.1", RTLD_NOW);
  if (!library) {
    std::puts(dlerror());
    return 1;
  }
  getProcAddress = reinterpret_cast<decltype(getProcAddress)>(dlsym(library, "cuGetProcAddress_v2"));
  if (!getProcAddress)
    return 2;
  decltype(cuInit) *init;
  decltype(cuDeviceGetCount) *getCount;
  decltype(cuDeviceGetName) *getName;
  decltype(cuDevicePrimaryCtxRetain) *retain;
  decltype(cuCtxSetCurrent) *setCurrent;
  decltype(cuMemAlloc) *allocate;
  decltype(cuMemcpyDtoH) *copyOut;
  decltype(cuMemsetD32Async) *fill;
  decltype(cuModuleLoadDataEx) *load;
  decltype(cuModuleGetFunction) *getFunction;
  decltype(cuLaunchKernelEx) *launch;
  if (!resolve(init, "cuInit") || !resolve(getCount, "cuDeviceGetCount") || !resolve(getName, "cuDeviceGetName") ||
      !resolve(retain, "cuDevicePrimaryCtxRetain") || !resolve(setCurrent, "cuCtxSetCurrent") ||
      !resolve(allocate, "cuMemAlloc") || !resolve(copyOut, "cuMemcpyDtoH") || !resolve(fill, "cuMemsetD32Async") ||
      !resolve(load, "cuModuleLoadDataEx") || !resolve(getFunction, "cuModuleGetFunction") ||
      !resolve(launch, "cuLaunchKernelEx"))
    return 3;
  int devices = 0;
  CUcontext context;
  CUmodule module;
  CUfunction reduce;
  CUdeviceptr in, sum;
  if (init(0) || getCount(&devices) || devices < 1)
    return 4;
  for (int i = 0; i < devices; ++i) {
    char name[256];
    if (getName(name, sizeof(name), i))
      return 5;
    std::printf("device %d: %s\n", i, name);
  }
  if (retain(&context, devices - 1) || setCurrent(context) || load(&module, Kernels, 0, nullptr, nullptr) ||
      getFunction(&reduce, module, "reduce") || allocate(&in, 4096) || allocate(&sum, 4) ||
      fill(in, 3, 1024, nullptr) || fill(sum, 0, 1, nullptr))
    return 6;
  unsigned n = 1024, total = 0;
  void *parameters[] = {&sum, &in, &n};
  CUlaunchConfig config = {};
  config.gridDimX = 4, config.gridDimY = config.gridDimZ = 1;
  config.blockDimX = 256, config.blockDimY = config.blockDimZ = 1;
  if (launch(&config, reduce, parameters, nullptr) || copyOut(&total, sum, 4) || total != 3072)
    return 7;
  std::puts("passed");
}
