// The objects behind the handles of the driver API: devices, contexts, modules, streams and events. Graphs: Graph.h.
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

struct Capture;
struct Context;
struct GraphNode;
struct Pool;
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
  CUmemoryPool defaultPool = nullptr; ///< null until it is asked for
  CUmemoryPool currentPool = nullptr; ///< null: the default one
  double hostTime = 0;                ///< latest completion that the host has waited for
  double busyUntil = 0;               ///< end of the last kernel; kernels of one device do not overlap in the model
};

/// Where stream-ordered allocations come from. The simulator keeps no freed memory, so reserved is what is used.
struct Pool {
  Pool(Device &device, const CUmemPoolProps &properties) : device(device), properties(properties) {}

  Device &device;
  const CUmemPoolProps properties;
  std::mutex mutex; ///< guards what follows
  uint64_t releaseThreshold = 0;
  int reuse[3] = {1, 1, 1}; ///< follow event dependencies, opportunistic, internal dependencies
  uint64_t used = 0, usedHigh = 0, reservedHigh = 0;
};

/// How host memory came to be reachable by kernels.
enum class HostKind : uint8_t { Allocated, Registered, Managed };

/// Host memory that every device has adopted.
struct HostRange {
  size_t bytes = 0;
  HostKind kind = HostKind::Allocated;
  unsigned flags = 0;
  CUcontext context = nullptr; ///< that it was made in
  uint64_t contextId = 0;      ///< with which it ends; a primary context's handle outlives it
  int ordinal = 0;             ///< of that context's device
  uint64_t id = 0;             ///< CU_POINTER_ATTRIBUTE_BUFFER_ID
  std::shared_ptr<void> pages; ///< null for registered memory
  // Advice about managed memory, which is only remembered. It is kept for the whole range.
  bool readMostly = false;
  CUmemLocation preferred = {}, prefetched = {};
  std::set<int> accessedBy; ///< devices, and CU_DEVICE_CPU
};

/// Stream work runs inside the call that enqueues it, under the stream's mutex: one of the orders that streams allow.
struct Stream : std::enable_shared_from_this<Stream> {
  std::weak_ptr<Context> context;
  CUstream handle = nullptr; ///< null for default streams
  bool legacy = false;       ///< the default stream that waits for the blocking ones
  unsigned flags = 0;
  int priority = 0;
  uint64_t id = 0;

  std::mutex mutex;                             ///< guards what follows; held while work runs
  double time = 0;                              ///< modelled completion of the last work
  std::map<int, CUstreamAttrValue> attributes;  ///< those that were set
  std::shared_ptr<Capture> capture;             ///< null when not capturing
  std::vector<std::shared_ptr<GraphNode>> tail; ///< while capturing: what the next node will depend on
  std::vector<CUgraphNode> tailHandles;         ///< storage of cuStreamGetCaptureInfo's answer
  std::vector<CUgraphEdgeData> tailEdges;       ///< likewise
};

struct Event {
  std::weak_ptr<Context> context;
  unsigned flags = 0;

  std::mutex mutex;
  bool recorded = false;
  double time = 0;
  std::weak_ptr<Capture> capture; ///< in which it was recorded last
  /// What was captured before it. The capture's graph owns the nodes, of which one may own this event.
  std::vector<std::weak_ptr<GraphNode>> tail;
};

struct LoadedModule {
  std::weak_ptr<Context> context;
  std::unique_ptr<const Module> code;
  unsigned maxRegisters = 0; ///< CU_JIT_MAX_REGISTERS; 0: not given
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
  std::atomic<int> clusterPolicy{0};
};

/// PTX that belongs to no context, and the modules that it became in those where it was used.
struct Library {
  std::string code;
  unsigned maxRegisters = 0;
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
  Context(Device &device, CUcontext handle, unsigned flags);
  ~Context(); ///< frees the allocations that are left

  Device &device;
  const CUcontext handle;
  const uint64_t id;
  std::shared_ptr<Stream> legacy; ///< the default stream

  std::mutex mutex; ///< guards what follows
  unsigned flags;
  CUfunc_cache cacheConfig = CU_FUNC_CACHE_PREFER_NONE;
  std::map<int, size_t> limits; ///< those that were set
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
