// State: what the process simulates, and the rules that all entry points share.
#pragma once

#include "runtime/simulator/driver/Graph.h"
#include "runtime/simulator/driver/Handles.h"
#include "runtime/simulator/driver/Objects.h"
#include "runtime/simulator/driver/Report.h"

#include <deque>
#include <new>
#include <optional>
#include <utility>

namespace tessera::sim::driver {

/// The version that cuDriverGetVersion tells: that of the header this was built with.
constexpr int DriverVersion = CUDA_VERSION;

/// Options of launches and of the driver layer (SimulatorApi.h). A launch takes a copy.
struct Settings {
  Options core = {.counters = true};
  double clockMHz = 0; ///< 0: the boost clock of the device
  bool print = true;
  bool sticky = true;
  bool failOnFindings = true;
};

struct Linker;
/// Something of the caller's that lives while graphs refer to it.
struct UserObject {
  void *object = nullptr;
  CUhostFn destroy = nullptr;
  std::atomic<unsigned> references{0};
};

/// Everything that is alive. One per process, never destroyed, because programs call in while they exit.
struct State {
  std::atomic<bool> initialised{false};

  std::shared_mutex devicesMutex; ///< guards the list; devices themselves stay for good
  std::deque<std::unique_ptr<Device>> devices;

  Handles<Context, CUcontext> contexts;
  Handles<LoadedModule, CUmodule> modules;
  Handles<Function, CUfunction> functions;
  Handles<Library, CUlibrary> libraries;
  Handles<Kernel, CUkernel> kernels;
  Handles<Stream, CUstream> streams;
  Handles<Event, CUevent> events;
  Handles<Pool, CUmemoryPool> pools;
  Handles<Linker, CUlinkState> linkers;
  Handles<UserObject, CUuserObject> userObjects;
  Handles<Graph, CUgraph> graphs;
  Handles<GraphNode, CUgraphNode> graphNodes;
  Handles<GraphExec, CUgraphExec> graphExecs;
  std::mutex graphsMutex; ///< guards the structure of all graphs

  std::mutex capturesMutex;
  std::vector<std::shared_ptr<Capture>> captures; ///< under way

  std::mutex settingsMutex;
  Settings settings;

  std::mutex hostMutex;
  std::map<uintptr_t, HostRange> hostRanges; ///< host memory that the devices have adopted, by address

  std::mutex poolMutex;
  std::map<CUdeviceptr, std::pair<std::shared_ptr<Pool>, size_t>> poolAllocations; ///< with their sizes

  std::mutex reportMutex;
  std::shared_ptr<const FinishedLaunch> last; ///< null before the first launch
  std::atomic<uint64_t> launches{0};

  Settings currentSettings() {
    std::lock_guard lock(settingsMutex);
    return settings;
  }
};
State &state();

/// Null when there is no such ordinal.
Device *findDevice(int ordinal);
/// The device of a profile, made when there is none. NotFound lists the profiles.
Result<Device *> deviceOfProfile(std::string_view profile);
/// Devices of a list such as "a100,h100", added one by one, twice when named twice.
Status addDevices(std::string_view list);

/// Set while a host function of the caller runs inside a stream, where it may call nothing of the driver.
bool &insideHostFunction();
struct HostFunctionScope {
  HostFunctionScope() { insideHostFunction() = true; }
  ~HostFunctionScope() { insideHostFunction() = false; }
};
/// The calling thread's current context in *context, or CUDA_ERROR_NOT_INITIALIZED, NOT_PERMITTED (inside a host
/// function), INVALID_CONTEXT or CONTEXT_IS_DESTROYED.
CUresult currentContext(std::shared_ptr<Context> *context);
/// The thread's stack of context handles; null stands for "none current".
std::vector<CUcontext> &contextStack();
/// Removes a context's handle and everything made in it. The caller holds no lock: work may be running there.
void destroyContext(const std::shared_ptr<Context> &context);
std::shared_ptr<Context> makeContext(Device &device, CUcontext handle, unsigned flags);

/// A library's kernel passed as a function, as launches allow: its function in the current context. Other handles as
/// they are.
CUfunction functionOfKernel(CUfunction handle);

/// A stream by handle; the two special handles and null mean default streams of `context`. Null: no such stream.
std::shared_ptr<Stream> findStream(Context &context, CUstream handle);
std::shared_ptr<Stream> makeStream(const std::shared_ptr<Context> &context, unsigned flags, int priority);
/// Runs work in a stream, or captures it. Faults are not reported here but by the next synchronisation.
CUresult enqueue(Stream &stream, Work work);
/// Work of a context.
Work makeWork(Context &context, decltype(Work::what) what);
/// Waits for a stream: its modelled time becomes the host's. CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, which ends the
/// capture, while capturing.
CUresult waitFor(Context &context, Stream &stream);
/// Forgets the capture that a stream which is going away takes part in.
void abandonCapture(Stream &stream);
/// What a thread forbids itself while a capture is under way (cuThreadExchangeStreamCaptureMode).
CUstreamCaptureMode &threadCaptureMode();
/// For calls that are unsafe during a capture: CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, which also invalidates the
/// captures that forbid it.
CUresult refuseDuringCapture();
/// The same for work in a default stream that waits for the blocking streams, of which one is being captured:
/// CUDA_ERROR_STREAM_CAPTURE_IMPLICIT.
CUresult refuseImplicitDependency(Stream &stream, bool invalidate = true);

/// Set while an entry point of the per-thread family runs: null then means the thread's own default stream.
bool &perThreadDefault();
struct PerThreadScope {
  PerThreadScope() : outer(std::exchange(perThreadDefault(), true)) {}
  ~PerThreadScope() { perThreadDefault() = outer; }
  const bool outer;
};

/// Gives back references; false when there are not so many. The last one destroys the object.
bool releaseUserObject(CUuserObject handle, unsigned count);
/// Takes, or gives back, as many references as there are.
std::map<CUuserObject, unsigned> retainUserObjects(const std::map<CUuserObject, unsigned> &held);
void releaseUserObjects(std::map<CUuserObject, unsigned> &held);

/// The device whose live allocation contains the address, with that allocation; null: none. Host memory that the
/// devices have adopted is found on `preferred`.
std::pair<Device *, Allocation> findAllocation(Device &preferred, CUdeviceptr address);
/// Whether the address is one that some device gives out, whatever is there.
bool isDeviceAddress(CUdeviceptr address);
/// What reports call it.
std::string hostRangeName(const HostRange &range);
/// Lets all devices reach host memory. INVALID_VALUE, or HOST_MEMORY_ALREADY_REGISTERED when it overlaps other such.
CUresult adoptHostRange(void *begin, HostRange range);
/// Takes back what adoptHostRange gave. False when nothing of that kind begins there.
bool releaseHostRange(void *begin, HostKind kind);
/// The adopted range that contains the address, with its beginning; nullopt: none.
std::optional<std::pair<uintptr_t, HostRange>> findHostRange(uintptr_t address);
/// Frees memory of cuMemAlloc, of a pool, or managed memory.
CUresult freeMemory(CUdeviceptr address);

/// Runs the body of an entry point, keeping exceptions inside the library.
template <typename Body> CUresult guarded(Body body) noexcept {
  try {
    return body();
  } catch (const std::bad_alloc &) {
    return CUDA_ERROR_OUT_OF_MEMORY;
  } catch (...) {
    return CUDA_ERROR_UNKNOWN;
  }
}

/// For entry points that need cuInit only.
template <typename Body> CUresult initialised(Body body) noexcept {
  if (!state().initialised)
    return CUDA_ERROR_NOT_INITIALIZED;
  if (insideHostFunction())
    return CUDA_ERROR_NOT_PERMITTED; // it might wait for what its caller holds
  return guarded(body);
}

/// For entry points that take a device.
template <typename Body> CUresult withDevice(CUdevice ordinal, Body body) noexcept {
  return initialised([&] {
    Device *device = findDevice(ordinal);
    return device ? body(*device) : CUDA_ERROR_INVALID_DEVICE;
  });
}

/// For entry points that work in the current context, which must be free of sticky errors. The body gets
/// std::shared_ptr<Context>.
template <typename Body> CUresult inContext(Body body) noexcept {
  return guarded([&]() -> CUresult {
    std::shared_ptr<Context> context;
    if (CUresult result = currentContext(&context); result != CUDA_SUCCESS)
      return result;
    if (CUresult error = context->stickyError(); error != CUDA_SUCCESS)
      return error;
    return body(context);
  });
}

/// For entry points that take a stream. The body gets the stream's own context, which is the current one for default
/// streams.
template <typename Body> CUresult inStream(CUstream handle, Body body) noexcept {
  return inContext([&](std::shared_ptr<Context> &current) -> CUresult {
    std::shared_ptr<Stream> stream = findStream(*current, handle);
    if (!stream)
      return CUDA_ERROR_INVALID_HANDLE;
    std::shared_ptr<Context> owner = stream->context.lock();
    if (!owner)
      return CUDA_ERROR_CONTEXT_IS_DESTROYED;
    if (CUresult error = owner->stickyError(); error != CUDA_SUCCESS)
      return error;
    return body(*owner, *stream);
  });
}

} // namespace tessera::sim::driver
