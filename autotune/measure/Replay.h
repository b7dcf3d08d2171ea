// Replay: a sequence of launches that is timed as a whole, again and again, without the host's share in it.
#pragma once

#include "runtime/engine/Device.h"

#include <functional>
#include <span>

struct CUgraphExec_st;

namespace tessera::tune {

/// Enqueues one launch in a stream.
using Launch = std::function<Status(StreamHandle)>;

/// Movable; thread-compatible. What the launches use must outlive it.
class Replay {
public:
  /// Captures the launches into a graph; where the driver has no graphs or does not capture these launches, they are
  /// enqueued one by one at every run. Waits for nothing and launches nothing.
  static Result<Replay> create(const Device &device, std::vector<Launch> launches);
  Replay(Replay &&other) noexcept;
  Replay &operator=(Replay &&other) noexcept;
  ~Replay();

  size_t launches() const { return launches_.size(); }
  bool isGraph() const { return graph_ != nullptr; }

  /// Runs all launches and waits. Milliseconds between events around them, of all together; modelled on the simulator.
  /// `whileBusy` is called when everything is enqueued.
  Result<double> run(const std::function<void()> &whileBusy = {}) const;

private:
  Replay(Device device, Stream stream, Event before, Event after, std::vector<Launch> launches)
      : device_(std::move(device)), stream_(std::move(stream)), before_(std::move(before)), after_(std::move(after)),
        launches_(std::move(launches)) {}
  void capture();

  Device device_;
  Stream stream_;
  Event before_, after_;
  std::vector<Launch> launches_;
  CUgraphExec_st *graph_ = nullptr; // owned; null: one by one
};

} // namespace tessera::tune
