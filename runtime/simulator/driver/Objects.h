// The objects behind the handles of the driver API: devices, contexts, modules, streams, events and graphs.
#pragma once

#include "runtime/simulator/Machine.h"
#include "runtime/simulator/driver/Cuda.h"

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <thread>
#include <vector>

namespace tessera::sim::driver {

struct Context;
struct Stream;

/// One simulated GPU. Made once, never destroyed. Times are modelled nanoseconds since the process began to simulate.
struct Device {
  Device(const DeviceProfile &profile, int ordinal);

  const DeviceProfile &profile;
  const int ordinal;
  const CUcontext primaryHandle; ///< the same through every retain and reset, as on a GPU
  GlobalMemory memory;

  std::mutex mutex; ///< guards what follows; held for moments only
  std::shared_ptr<Context> primary;
  unsigned primaryRetains = 0;
  unsigned primaryFlags = 0;
  double hostTime = 0;  ///< latest completion that the host has waited for
  double busyUntil = 0; ///< end of the last kernel; kernels of one device do not overlap in the model
};

/// What a piece of stream work ended with.
struct Outcome {
  CUresult fault = CUDA_SUCCESS; ///< reported by the next synchronisation of the context
  double nanoseconds = 0;        ///< modelled duration
  bool kernel = false;           ///< occupies the device
};
using Work = std::function<Outcome()>;

/// How much of each stream's captured work something is ordered after: the number of its pieces, by stream.
using CaptureFrontier = std::map<const Stream *, size_t>;

/// Captured work in the order of the calls, which is one of the orders that the graph allows. Immutable once capture
/// has ended.
struct Graph {
  std::mutex mutex;
  std::vector<Work> works;
  uint64_t captureId = 0;
  CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_GLOBAL;
  std::thread::id thread;                              ///< that began the capture
  bool invalidated = false;                            ///< a call that may not be captured was made
  std::weak_ptr<Stream> origin;                        ///< where capture began, and must end
  std::vector<std::weak_ptr<Stream>> joined;           ///< streams that an event brought into the capture
  std::map<const Stream *, CaptureFrontier> frontiers; ///< of each stream that takes part
};

struct GraphExec {
  std::vector<Work> works;
};

/// Work runs inside the call that enqueues it, under the stream's mutex: one of the orders that streams allow.
struct Stream {
  std::weak_ptr<Context> context;
  CUstream handle = nullptr;
  unsigned flags = 0;
  int priority = 0;
  uint64_t id = 0;

  std::mutex mutex;               ///< guards what follows; held while work runs
  double time = 0;                ///< modelled completion of the last work
  std::shared_ptr<Graph> capture; ///< null when not capturing
};

struct Event {
  std::weak_ptr<Context> context;
  unsigned flags = 0;

  std::mutex mutex;
  bool recorded = false;
  double time = 0;
  std::weak_ptr<Graph> capture; ///< of the capture in which it was recorded last
  CaptureFrontier frontier;     ///< what was captured before it
};

struct LoadedModule {
  std::weak_ptr<Context> context;
  std::unique_ptr<const Module> code;
  std::mutex mutex;
  std::map<std::string, CUfunction, std::less<>> functions; ///< handed out so far
};

struct Function {
  std::weak_ptr<Context> context;
  std::shared_ptr<const LoadedModule> module; ///< keeps `info` alive for launches under way
  CUmodule moduleHandle = nullptr;
  const KernelInfo *info = nullptr;
  unsigned registers = 0;            ///< the estimate, or what launch bounds force it to
  std::atomic<int> maxDynamicShared; ///< bytes that a launch may ask for
  std::atomic<int> preferredCarveout{-1};
  std::atomic<int> nonPortableCluster{0};
};

/// PTX that belongs to no context, and the modules that it became in those where it was used.
struct Library {
  std::string code;
  std::mutex mutex;
  std::map<CUcontext, CUmodule> modules;
  std::map<std::string, CUkernel, std::less<>> kernels; ///< handed out so far
};

struct Kernel {
  CUlibrary libraryHandle = nullptr;
  std::string name;
};

/// A primary context or one of cuCtxCreate.
struct Context {
  explicit Context(Device &device) : device(device) {}
  ~Context(); ///< frees the allocations that are left

  Device &device;
  CUcontext handle = nullptr;
  unsigned flags = 0;
  std::shared_ptr<Stream> legacy; ///< the default stream

  std::mutex mutex; ///< guards what follows
  std::map<std::thread::id, std::shared_ptr<Stream>> perThread;
  std::set<CUdeviceptr> allocations;

  /// A fault of stream work; the first one counts.
  void raise(CUresult fault);
  /// What a synchronisation reports. From then on every call in the context fails with it, unless the option "sticky"
  /// is off.
  CUresult observe();
  /// The error that every call reports, or CUDA_SUCCESS.
  CUresult stickyError() const { return CUresult(sticky_.load()); }
  /// Whether stream work still runs; after a fault it does not.
  bool faulted() const { return pending_.load() != 0 || sticky_.load() != 0; }
  void clearErrors();

private:
  std::atomic<int> pending_{0}, sticky_{0};
};

} // namespace tessera::sim::driver
