// Engine: turns specs into kernels on devices, and remembers them.
#pragma once

#include "runtime/engine/BundleSelection.h"
#include "runtime/engine/EngineCounters.h"
#include "runtime/engine/Explain.h"
#include "runtime/engine/ImageSource.h"
#include "runtime/engine/Kernel.h"

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace tessera {

/// A bundle linked into the program (`tessera bundle embed`); the bytes outlive the engine.
struct EmbeddedBundle {
  std::string name; ///< for messages
  std::span<const std::byte> bytes;
};

struct EngineOptions {
  std::vector<std::string> bundles;            ///< paths, asked in this order
  std::vector<EmbeddedBundle> embeddedBundles; ///< asked after the files
  std::optional<std::string> bundleKey;        ///< PublicKey::text(): every bundle must be signed by it
  CacheOptions cache;                          ///< the disk cache
  Policy policy = Policy::Jit;
  std::string compilerLibrary; ///< path of libtessera-compiler.so; empty: see CompilerLibrary::open
  unsigned maxKernels = 256;   ///< loaded kernels kept; the least recently used goes first. At least 1
  /// Receives each warning once ("the disk cache is off: ..."), from any thread. Empty: stderr.
  std::function<void(const std::string &)> warn;
};

struct PrepareOptions {
  /// Absent: from the tuning record that comes nearest, of a bundle or of the cache's tuning log as it was at the first
  /// prepare, else defaultSchedule().
  std::optional<Schedule> schedule;
  /// The stream that the kernel will be launched in, if it may be capturing a graph: a prepare that would have to load
  /// is then refused before it touches the driver, and the capture goes on. The default stream is always asked.
  StreamHandle stream = nullptr;
};

/// A cheap handle; copies share the kernels. Thread-safe. Opens bundles at creation, the cache's directory and the
/// compiler library at the first prepare that needs them.
class Engine {
public:
  /// File or InvalidArgument where a bundle cannot be opened or is not signed as asked.
  static Result<Engine> create(EngineOptions options = {});

  /// The kernel of `spec` for `device`: from memory, else a bundle, the disk cache or the compiler, as the policy
  /// allows; KernelInfo::source says which. Any number of threads may ask for one key, it is made once; different keys
  /// are made in parallel. The kernel serves any problem; `problem` guides the choice of a schedule. May compile, load,
  /// allocate and wait for the device (when it unloads what it evicted): not for graph captures, where it is refused
  /// unless the kernel is in memory. NotFound: the policy forbids to compile and nothing has it, with what comes
  /// nearest; InvalidArgument, Unsupported (among it: no compiler, or a schedule that is not legal), CompileError,
  /// DriverError.
  Result<Kernel> prepare(const AttentionSpec &spec, const Problem &problem, const Device &device,
                         const PrepareOptions &options = {}) const;

  /// Which schedule prepare() would take on this device, why, and what it costs; compiles nothing. InvalidArgument or
  /// Unsupported for a spec that cannot be compiled.
  Result<Explanation> explain(const AttentionSpec &spec, const Problem &problem, const Device &device,
                              const PrepareOptions &options = {}) const;

  EngineCounters counters() const;
  /// The disk cache; opened by this call if it was not yet.
  DiskCache &cache() const;
  /// The bundles, in the order in which they are asked.
  std::span<const std::shared_ptr<const Bundle>> bundles() const;

private:
  struct State;
  explicit Engine(std::shared_ptr<State> state) : state_(std::move(state)) {}
  std::shared_ptr<State> state_;
};

} // namespace tessera
