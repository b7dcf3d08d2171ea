// Device: one GPU, or the simulator posing as one, opened by name.
#pragma once

#include "runtime/driver/DeviceBuffer.h"
#include "runtime/spec/Target.h"

#include <memory>
#include <string>
#include <string_view>

namespace tessera {

/// A cheap handle; copies share one retained context. Immutable, therefore thread-safe.
class Device {
public:
  /// "cuda:0" is the first GPU, "sim:a100" the simulator posing as an A100. There is no fallback from one to the other.
  /// NoDevice: no driver or no such GPU; Unsupported: a GPU older than compute capability 8.0.
  static Result<Device> open(std::string_view name);

  const std::string &name() const { return state_->name; }           ///< as opened: "cuda:0"
  const DeviceInfo &info() const { return state_->context->info(); } ///< what the driver says about it
  const Target &target() const { return state_->target; }            ///< what kernels for it are compiled for
  bool simulated() const { return state_->context->driver().simulated(); }
  /// Whether cubins of target() run as they are; otherwise their PTX is assembled by the driver.
  bool runsCubins() const { return state_->runsCubins; }
  const std::shared_ptr<const Context> &context() const { return state_->context; }

  /// Uninitialised device memory.
  Result<DeviceBuffer> allocate(size_t bytes) const { return DeviceBuffer::allocate(state_->context, bytes); }
  /// Blocks until all work on the device is done; reports what failed asynchronously.
  Status synchronize() const { return state_->context->synchronize(); }

private:
  struct State {
    std::string name;
    std::shared_ptr<const Context> context;
    Target target;
    bool runsCubins;
  };
  explicit Device(std::shared_ptr<const State> state) : state_(std::move(state)) {}
  std::shared_ptr<const State> state_;
};

} // namespace tessera
