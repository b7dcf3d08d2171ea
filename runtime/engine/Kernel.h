// Kernel: an image loaded on a device, ready to launch.
#pragma once

#include "runtime/engine/Device.h"
#include "runtime/engine/KernelInfo.h"
#include "runtime/engine/LaunchValues.h"

#include <memory>

namespace tessera {

namespace detail {
struct LoadedKernel;
}

/// A cheap handle; copies share the loaded code, which stays loaded as long as one of them, or the engine that prepared
/// it, holds it. It is unloaded later than that, when the device has done what was launched; a graph that captured a
/// launch needs a handle as long as it is launched itself. Immutable, therefore thread-safe.
class Kernel {
public:
  /// Loads an image: its cubin where the device runs it, else its PTX by the driver's own compiler. Unsupported where
  /// the device cannot run it.
  static Result<Kernel> load(const KernelImage &image, const Device &device);

  /// Enqueues the attention in `stream` (null: the default stream) and returns without waiting. Makes the kernel's
  /// context current and restores the former one. Allocates, loads and blocks on nothing, so it may be called during a
  /// graph capture. An empty problem (batch, heads or seqlen_q of 0) launches nothing; seqlen_kv of 0 does, and writes
  /// O = 0 and LSE = -inf (N5). InvalidArgument with the tensor, the value and the remedy where a view does not fit the
  /// spec.
  Status launch(const LaunchArguments &arguments, StreamHandle stream) const;

  const KernelImage &image() const;
  /// Builds texts; not for hot paths.
  KernelInfo info() const;
  Source source() const { return source_; }

private:
  friend class Engine;
  Kernel(std::shared_ptr<const detail::LoadedKernel> loaded, Source source,
         std::shared_ptr<const std::string> scheduleReason)
      : loaded_(std::move(loaded)), scheduleReason_(std::move(scheduleReason)), source_(source) {}
  std::shared_ptr<const detail::LoadedKernel> loaded_;
  std::shared_ptr<const std::string> scheduleReason_; // null: the default's
  Source source_;
};

} // namespace tessera
