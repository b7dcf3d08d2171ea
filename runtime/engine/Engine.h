// Engine: turns specs into kernels on devices, and remembers them.
#pragma once

#include "runtime/engine/CompilerLibrary.h"
#include "runtime/engine/Explain.h"
#include "runtime/engine/Kernel.h"
#include "runtime/engine/Problem.h"

#include <memory>
#include <optional>
#include <string>

namespace tessera {

struct EngineOptions {
  std::string compilerLibrary; ///< path of libtessera-compiler.so; empty: see CompilerLibrary::open
};

struct PrepareOptions {
  std::optional<Schedule> schedule; ///< absent: defaultSchedule()
};

/// A cheap handle; copies share the kernels. Thread-safe. The compiler library is opened by the first prepare that
/// needs it.
class Engine {
public:
  static Result<Engine> create(EngineOptions options = {});

  /// The kernel of `spec` for `device`: from memory, else compiled. Any number of threads may ask for one key, it is
  /// compiled once; different keys compile in parallel. The kernel serves any problem; `problem` guides the choice of a
  /// schedule. May compile, load and allocate: not for graph captures. InvalidArgument, Unsupported (among it: no
  /// compiler, or a schedule that is not legal), CompileError, DriverError.
  Result<Kernel> prepare(const AttentionSpec &spec, const Problem &problem, const Device &device,
                         const PrepareOptions &options = {}) const;

  /// Which schedule prepare() would take on this device, why, and what it costs; compiles nothing. InvalidArgument or
  /// Unsupported for a spec that cannot be compiled.
  Result<Explanation> explain(const AttentionSpec &spec, const Device &device,
                              const PrepareOptions &options = {}) const;

private:
  struct State;
  explicit Engine(std::shared_ptr<State> state) : state_(std::move(state)) {}
  std::shared_ptr<State> state_;
};

} // namespace tessera
