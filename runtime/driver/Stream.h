// Stream and Event: order and time on a device.
#pragma once

#include "runtime/driver/Context.h"

struct CUevent_st;

namespace tessera {

/// Blocks until the stream is done; reports what failed asynchronously.
Status synchronize(const Context &context, StreamHandle stream);

/// A stream of our own, which does not wait for the default stream. Movable; thread-compatible.
class Stream {
public:
  static Result<Stream> create(const std::shared_ptr<const Context> &context);
  Stream(Stream &&other) noexcept;
  Stream &operator=(Stream &&other) noexcept;
  ~Stream();

  StreamHandle handle() const { return handle_; }
  const Context &context() const { return *context_; }
  Status synchronize() const { return tessera::synchronize(*context_, handle_); }

private:
  explicit Stream(std::shared_ptr<const Context> context) : context_(std::move(context)) {}

  std::shared_ptr<const Context> context_;
  StreamHandle handle_ = nullptr; // owned
};

/// A point in a stream. Movable; thread-compatible.
class Event {
public:
  static Result<Event> create(const std::shared_ptr<const Context> &context);
  Event(Event &&other) noexcept;
  Event &operator=(Event &&other) noexcept;
  ~Event();

  CUevent_st *handle() const { return handle_; }
  Status record(StreamHandle stream) const;
  Status synchronize() const;
  /// Makes later work of the stream wait for this point.
  Status makeWait(StreamHandle stream) const;
  /// Milliseconds from this point to a later one, both reached; modelled on the simulator.
  Result<float> millisecondsTo(const Event &later) const;

private:
  explicit Event(std::shared_ptr<const Context> context) : context_(std::move(context)) {}

  std::shared_ptr<const Context> context_;
  CUevent_st *handle_ = nullptr; // owned
};

} // namespace tessera
