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
