// Initialisation, version, and the names and texts of result codes.
#include "runtime/simulator/driver/SimulatorApi.h"
#include "runtime/simulator/driver/State.h"

#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>

using namespace tessera::sim::driver;

namespace {

struct ErrorText {
  CUresult code;
  const char *name, *text;
};

#define TESSERA_ERROR(code, text) {code, #code, text}
constexpr ErrorText Errors[] = {
    TESSERA_ERROR(CUDA_SUCCESS, "no error"),
    TESSERA_ERROR(CUDA_ERROR_INVALID_VALUE, "invalid argument"),
    TESSERA_ERROR(CUDA_ERROR_OUT_OF_MEMORY, "out of memory"),
    TESSERA_ERROR(CUDA_ERROR_NOT_INITIALIZED, "initialization error"),
    TESSERA_ERROR(CUDA_ERROR_DEINITIALIZED, "driver shutting down"),
    TESSERA_ERROR(CUDA_ERROR_NO_DEVICE, "no CUDA-capable device is detected"),
    TESSERA_ERROR(CUDA_ERROR_INVALID_DEVICE, "invalid device ordinal"),
    TESSERA_ERROR(CUDA_ERROR_INVALID_IMAGE, "device kernel image is invalid"),
    TESSERA_ERROR(CUDA_ERROR_INVALID_CONTEXT, "invalid device context"),
    TESSERA_ERROR(CUDA_ERROR_NO_BINARY_FOR_GPU, "no kernel image is available for execution on the device"),
    TESSERA_ERROR(CUDA_ERROR_INVALID_PTX, "a PTX JIT compilation failed"),
    TESSERA_ERROR(CUDA_ERROR_UNSUPPORTED_PTX_VERSION, "the provided PTX was compiled with an unsupported toolchain"),
    TESSERA_ERROR(CUDA_ERROR_INVALID_SOURCE, "device kernel image is invalid"),
    TESSERA_ERROR(CUDA_ERROR_FILE_NOT_FOUND, "file not found"),
    TESSERA_ERROR(CUDA_ERROR_INVALID_HANDLE, "invalid resource handle"),
    TESSERA_ERROR(CUDA_ERROR_ILLEGAL_STATE, "the operation cannot be performed in the present state"),
    TESSERA_ERROR(CUDA_ERROR_NOT_FOUND, "named symbol not found"),
    TESSERA_ERROR(CUDA_ERROR_NOT_READY, "device not ready"),
    TESSERA_ERROR(CUDA_ERROR_ILLEGAL_ADDRESS, "an illegal memory access was encountered"),
    TESSERA_ERROR(CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES, "too many resources requested for launch"),
    TESSERA_ERROR(CUDA_ERROR_LAUNCH_TIMEOUT, "the launch timed out and was terminated"),
    TESSERA_ERROR(CUDA_ERROR_PRIMARY_CONTEXT_ACTIVE, "cannot set while device is active in this process"),
    TESSERA_ERROR(CUDA_ERROR_CONTEXT_IS_DESTROYED, "context is destroyed"),
    TESSERA_ERROR(CUDA_ERROR_ASSERT, "device-side assert triggered"),
    TESSERA_ERROR(CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED,
                  "part or all of the requested memory range is already mapped"),
    TESSERA_ERROR(CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED, "pointer does not correspond to a registered memory region"),
    TESSERA_ERROR(CUDA_ERROR_ILLEGAL_INSTRUCTION, "an illegal instruction was encountered"),
    TESSERA_ERROR(CUDA_ERROR_MISALIGNED_ADDRESS, "misaligned address"),
    TESSERA_ERROR(CUDA_ERROR_LAUNCH_FAILED, "unspecified launch failure"),
    TESSERA_ERROR(CUDA_ERROR_NOT_PERMITTED, "operation not permitted"),
    TESSERA_ERROR(CUDA_ERROR_NOT_SUPPORTED, "operation not supported by the Tessera simulator"),
    TESSERA_ERROR(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, "operation not permitted when stream is capturing"),
    TESSERA_ERROR(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, "operation failed due to a previous error during capture"),
    TESSERA_ERROR(CUDA_ERROR_STREAM_CAPTURE_UNMATCHED, "capture was not ended in the stream in which it began"),
    TESSERA_ERROR(CUDA_ERROR_STREAM_CAPTURE_UNJOINED, "capturing stream has unjoined work"),
    TESSERA_ERROR(CUDA_ERROR_STREAM_CAPTURE_MERGE, "operation would result in a merge of separate capture sequences"),
    TESSERA_ERROR(CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD,
                  "attempt to terminate a thread-local capture sequence from another thread"),
    TESSERA_ERROR(CUDA_ERROR_CAPTURED_EVENT, "operation not permitted on an event last recorded in a capturing stream"),
    TESSERA_ERROR(CUDA_ERROR_STREAM_CAPTURE_ISOLATION, "dependency created on uncaptured work in another stream"),
    TESSERA_ERROR(CUDA_ERROR_STREAM_CAPTURE_IMPLICIT,
                  "operation would make the legacy stream depend on a capturing stream"),
    TESSERA_ERROR(CUDA_ERROR_INVALID_CLUSTER_SIZE, "cluster size is not possible on the device or for the grid"),
    TESSERA_ERROR(CUDA_ERROR_PROFILER_DISABLED, "profiler disabled while using an external profiling tool"),
    TESSERA_ERROR(CUDA_ERROR_PROFILER_NOT_INITIALIZED, "profiler not initialised"),
    TESSERA_ERROR(CUDA_ERROR_PROFILER_ALREADY_STARTED, "profiler already started"),
    TESSERA_ERROR(CUDA_ERROR_PROFILER_ALREADY_STOPPED, "profiler already stopped"),
    TESSERA_ERROR(CUDA_ERROR_STUB_LIBRARY, "the driver library is a stub"),
    TESSERA_ERROR(CUDA_ERROR_CALL_REQUIRES_NEWER_DRIVER, "the call requires a newer driver"),
    TESSERA_ERROR(CUDA_ERROR_DEVICE_UNAVAILABLE, "device is busy or unavailable"),
    TESSERA_ERROR(CUDA_ERROR_DEVICE_NOT_LICENSED, "device does not have a valid licence"),
    TESSERA_ERROR(CUDA_ERROR_CONTEXT_ALREADY_CURRENT, "context already current"),
    TESSERA_ERROR(CUDA_ERROR_MAP_FAILED, "mapping of a buffer object failed"),
    TESSERA_ERROR(CUDA_ERROR_UNMAP_FAILED, "unmapping of a buffer object failed"),
    TESSERA_ERROR(CUDA_ERROR_ARRAY_IS_MAPPED, "array is mapped"),
    TESSERA_ERROR(CUDA_ERROR_ALREADY_MAPPED, "resource already mapped"),
    TESSERA_ERROR(CUDA_ERROR_ALREADY_ACQUIRED, "resource already acquired"),
    TESSERA_ERROR(CUDA_ERROR_NOT_MAPPED, "resource not mapped"),
    TESSERA_ERROR(CUDA_ERROR_NOT_MAPPED_AS_ARRAY, "resource not mapped as array"),
    TESSERA_ERROR(CUDA_ERROR_NOT_MAPPED_AS_POINTER, "resource not mapped as pointer"),
    TESSERA_ERROR(CUDA_ERROR_ECC_UNCORRECTABLE, "uncorrectable memory error encountered"),
    TESSERA_ERROR(CUDA_ERROR_UNSUPPORTED_LIMIT, "limit is not supported on this device"),
    TESSERA_ERROR(CUDA_ERROR_CONTEXT_ALREADY_IN_USE, "exclusive context already in use by another thread"),
    TESSERA_ERROR(CUDA_ERROR_PEER_ACCESS_UNSUPPORTED, "peer access is not supported between these two devices"),
    TESSERA_ERROR(CUDA_ERROR_INVALID_GRAPHICS_CONTEXT, "invalid graphics context"),
    TESSERA_ERROR(CUDA_ERROR_NVLINK_UNCORRECTABLE, "uncorrectable link error encountered"),
    TESSERA_ERROR(CUDA_ERROR_JIT_COMPILER_NOT_FOUND, "PTX JIT compiler library not found"),
    TESSERA_ERROR(CUDA_ERROR_JIT_COMPILATION_DISABLED, "PTX JIT compilation is disabled"),
    TESSERA_ERROR(CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY, "the execution affinity is not supported by the device"),
    TESSERA_ERROR(CUDA_ERROR_UNSUPPORTED_DEVSIDE_SYNC,
                  "the code calls a synchronisation in the kernel that is not supported"),
    TESSERA_ERROR(CUDA_ERROR_CONTAINED, "contained memory error encountered"),
    TESSERA_ERROR(CUDA_ERROR_SHARED_OBJECT_SYMBOL_NOT_FOUND, "shared object symbol not found"),
    TESSERA_ERROR(CUDA_ERROR_SHARED_OBJECT_INIT_FAILED, "shared object initialisation failed"),
    TESSERA_ERROR(CUDA_ERROR_OPERATING_SYSTEM, "operating system call failed"),
    TESSERA_ERROR(CUDA_ERROR_LOSSY_QUERY, "the query cannot be answered without losing information"),
    TESSERA_ERROR(CUDA_ERROR_LAUNCH_INCOMPATIBLE_TEXTURING, "launch uses incompatible texturing mode"),
    TESSERA_ERROR(CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED, "peer access is already enabled"),
    TESSERA_ERROR(CUDA_ERROR_PEER_ACCESS_NOT_ENABLED, "peer access has not been enabled"),
    TESSERA_ERROR(CUDA_ERROR_TOO_MANY_PEERS, "peer resources exhausted"),
    TESSERA_ERROR(CUDA_ERROR_HARDWARE_STACK_ERROR, "hardware stack error"),
    TESSERA_ERROR(CUDA_ERROR_INVALID_ADDRESS_SPACE, "operation not supported on this address space"),
    TESSERA_ERROR(CUDA_ERROR_INVALID_PC, "invalid program counter"),
    TESSERA_ERROR(CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE, "too many blocks in cooperative launch"),
    TESSERA_ERROR(CUDA_ERROR_TENSOR_MEMORY_LEAK, "tensor memory not freed by the kernel"),
    TESSERA_ERROR(CUDA_ERROR_SYSTEM_NOT_READY, "system not yet initialised"),
    TESSERA_ERROR(CUDA_ERROR_SYSTEM_DRIVER_MISMATCH,
                  "system has unsupported combination of display driver and driver library"),
    TESSERA_ERROR(CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE,
                  "forward compatibility was attempted on hardware that does not support it"),
    TESSERA_ERROR(CUDA_ERROR_MPS_CONNECTION_FAILED, "the client failed to connect to the process server"),
    TESSERA_ERROR(CUDA_ERROR_MPS_RPC_FAILURE, "the process server could not be reached"),
    TESSERA_ERROR(CUDA_ERROR_MPS_SERVER_NOT_READY, "the process server is not ready for new clients"),
    TESSERA_ERROR(CUDA_ERROR_MPS_MAX_CLIENTS_REACHED, "the process server has its most clients"),
    TESSERA_ERROR(CUDA_ERROR_MPS_MAX_CONNECTIONS_REACHED, "the process server has its most device connections"),
    TESSERA_ERROR(CUDA_ERROR_MPS_CLIENT_TERMINATED, "the client was terminated by the process server"),
    TESSERA_ERROR(CUDA_ERROR_CDP_NOT_SUPPORTED, "launches from kernels are not supported on this device"),
    TESSERA_ERROR(CUDA_ERROR_CDP_VERSION_MISMATCH, "incompatible versions of launches from kernels"),
    TESSERA_ERROR(CUDA_ERROR_TIMEOUT, "wait operation timed out"),
    TESSERA_ERROR(CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE,
                  "the graph update was not performed because it included changes which violate its rules"),
    TESSERA_ERROR(CUDA_ERROR_EXTERNAL_DEVICE, "an error occurred in a device outside of the GPU"),
    TESSERA_ERROR(CUDA_ERROR_FUNCTION_NOT_LOADED, "the function has not been loaded"),
    TESSERA_ERROR(CUDA_ERROR_INVALID_RESOURCE_TYPE, "the resource type is not valid for this operation"),
    TESSERA_ERROR(CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION,
                  "the resources are insufficient or not valid for this operation"),
    TESSERA_ERROR(CUDA_ERROR_KEY_ROTATION, "key rotation is required"),
    TESSERA_ERROR(CUDA_ERROR_UNKNOWN, "unknown error"),
};
#undef TESSERA_ERROR

const ErrorText *findError(CUresult code) {
  for (const ErrorText &error : Errors)
    if (error.code == code)
      return &error;
  return nullptr;
}

} // namespace

extern "C" {

CUresult cuGetErrorName(CUresult error, const char **text) {
  if (!text)
    return CUDA_ERROR_INVALID_VALUE;
  const ErrorText *found = findError(error);
  *text = found ? found->name : nullptr;
  return found ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuGetErrorString(CUresult error, const char **text) {
  if (!text)
    return CUDA_ERROR_INVALID_VALUE;
  const ErrorText *found = findError(error);
  *text = found ? found->text : nullptr;
  return found ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuInit(unsigned flags) {
  if (flags != 0)
    return CUDA_ERROR_INVALID_VALUE;
  return guarded([]() -> CUresult {
    static std::mutex mutex;
    std::lock_guard lock(mutex);
    if (state().initialised)
      return CUDA_SUCCESS;
    // A program that knows nothing of the simulator chooses its devices by environment; one that does may have chosen
    // already.
    const char *list = std::getenv("TESSERA_SIM");
    bool named = list && *list;
    bool none;
    {
      std::shared_lock devices(state().devicesMutex);
      none = state().devices.empty();
    }
    if (named || none) {
      if (tessera::Status status = addDevices(named ? list : "a100"); !status) {
        fmt::print(stderr, "tessera-sim: TESSERA_SIM: {}\n", status.text());
        return CUDA_ERROR_NO_DEVICE;
      }
    }
    if (const char *options = std::getenv("TESSERA_SIM_OPTIONS"); options && *options) {
      if (int result = tessera_sim_configure(options); result != CUDA_SUCCESS) {
        fmt::print(stderr, "tessera-sim: TESSERA_SIM_OPTIONS: {}\n", tessera_sim_last_error());
        return CUresult(result);
      }
    }
    state().initialised = true;
    return CUDA_SUCCESS;
  });
}

CUresult cuDriverGetVersion(int *version) {
  if (!version)
    return CUDA_ERROR_INVALID_VALUE;
  *version = DriverVersion;
  return CUDA_SUCCESS;
}

} // extern "C"
