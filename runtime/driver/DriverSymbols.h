// The table of driver entry points that Tessera resolves, and the struct of pointers made from it.
//
// X(member, exported): `member` is the name in cuda.h, whose macros give it the type of its newest version; `exported`
// is the symbol that is looked up, spelled out because a newer header must not ask an older driver for what it does not
// have. The only header of runtime/driver that needs cuda.h; include it from sources, not from public headers.
#pragma once

#include <cuda.h>

/// Without one of these a library is no CUDA driver that Tessera can use.
#define TESSERA_DRIVER_SYMBOLS(X)                                                                                      \
  X(cuInit, "cuInit")                                                                                                  \
  X(cuDriverGetVersion, "cuDriverGetVersion")                                                                          \
  X(cuGetErrorName, "cuGetErrorName")                                                                                  \
  X(cuGetErrorString, "cuGetErrorString")                                                                              \
  X(cuDeviceGet, "cuDeviceGet")                                                                                        \
  X(cuDeviceGetCount, "cuDeviceGetCount")                                                                              \
  X(cuDeviceGetName, "cuDeviceGetName")                                                                                \
  X(cuDeviceGetAttribute, "cuDeviceGetAttribute")                                                                      \
  X(cuDeviceTotalMem, "cuDeviceTotalMem_v2")                                                                           \
  X(cuDeviceGetUuid, "cuDeviceGetUuid_v2")                                                                             \
  X(cuDevicePrimaryCtxRetain, "cuDevicePrimaryCtxRetain")                                                              \
  X(cuDevicePrimaryCtxRelease, "cuDevicePrimaryCtxRelease_v2")                                                         \
  X(cuCtxGetCurrent, "cuCtxGetCurrent")                                                                                \
  X(cuCtxSetCurrent, "cuCtxSetCurrent")                                                                                \
  X(cuCtxSynchronize, "cuCtxSynchronize")                                                                              \
  X(cuModuleLoadDataEx, "cuModuleLoadDataEx")                                                                          \
  X(cuModuleUnload, "cuModuleUnload")                                                                                  \
  X(cuModuleGetFunction, "cuModuleGetFunction")                                                                        \
  X(cuModuleGetGlobal, "cuModuleGetGlobal_v2")                                                                         \
  X(cuFuncGetAttribute, "cuFuncGetAttribute")                                                                          \
  X(cuFuncSetAttribute, "cuFuncSetAttribute")                                                                          \
  X(cuOccupancyMaxActiveBlocksPerMultiprocessor, "cuOccupancyMaxActiveBlocksPerMultiprocessor")                        \
  X(cuLaunchKernel, "cuLaunchKernel")                                                                                  \
  X(cuMemAlloc, "cuMemAlloc_v2")                                                                                       \
  X(cuMemFree, "cuMemFree_v2")                                                                                         \
  X(cuMemAllocHost, "cuMemAllocHost_v2")                                                                               \
  X(cuMemFreeHost, "cuMemFreeHost")                                                                                    \
  X(cuMemcpyHtoD, "cuMemcpyHtoD_v2")                                                                                   \
  X(cuMemcpyDtoH, "cuMemcpyDtoH_v2")                                                                                   \
  X(cuMemcpyHtoDAsync, "cuMemcpyHtoDAsync_v2")                                                                         \
  X(cuMemcpyDtoHAsync, "cuMemcpyDtoHAsync_v2")                                                                         \
  X(cuMemcpyDtoDAsync, "cuMemcpyDtoDAsync_v2")                                                                         \
  X(cuMemsetD8Async, "cuMemsetD8Async")                                                                                \
  X(cuMemsetD32Async, "cuMemsetD32Async")                                                                              \
  X(cuPointerGetAttribute, "cuPointerGetAttribute")                                                                    \
  X(cuStreamCreate, "cuStreamCreate")                                                                                  \
  X(cuStreamDestroy, "cuStreamDestroy_v2")                                                                             \
  X(cuStreamSynchronize, "cuStreamSynchronize")                                                                        \
  X(cuStreamWaitEvent, "cuStreamWaitEvent")                                                                            \
  X(cuStreamIsCapturing, "cuStreamIsCapturing")                                                                        \
  X(cuEventCreate, "cuEventCreate")                                                                                    \
  X(cuEventDestroy, "cuEventDestroy_v2")                                                                               \
  X(cuEventRecord, "cuEventRecord")                                                                                    \
  X(cuEventQuery, "cuEventQuery")                                                                                      \
  X(cuEventSynchronize, "cuEventSynchronize")                                                                          \
  X(cuEventElapsedTime, "cuEventElapsedTime")

/// Null where the driver does not export it; whoever calls one checks and refuses with the driver's version.
#define TESSERA_DRIVER_OPTIONAL_SYMBOLS(X)                                                                             \
  X(cuLaunchKernelEx, "cuLaunchKernelEx")                                                                              \
  X(cuTensorMapEncodeTiled, "cuTensorMapEncodeTiled")

namespace tessera {

/// One pointer for each entry point. Filled once when the driver is opened, then constant.
struct DriverSymbols {
#define TESSERA_MEMBER(member, exported) decltype(&::member) member = nullptr;
  TESSERA_DRIVER_SYMBOLS(TESSERA_MEMBER)
  TESSERA_DRIVER_OPTIONAL_SYMBOLS(TESSERA_MEMBER)
#undef TESSERA_MEMBER
};

} // namespace tessera
