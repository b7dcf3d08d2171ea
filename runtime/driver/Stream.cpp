// Streams and events, each call made in its own context and checked.
#include "runtime/driver/Stream.h"

#include "runtime/driver/DriverSymbols.h"

#include <utility>

namespace tessera {

Status synchronize(const Context &context, StreamHandle stream) {
  ScopedContext scope(context);
  if (!scope.status())
    return scope.status();
  return context.driver().check(context.symbols().cuStreamSynchronize(stream), "waiting for a stream of {}",
                                context.info().name);
}

Result<Stream> Stream::create(const std::shared_ptr<const Context> &context) {
  ScopedContext scope(*context);
  if (!scope.status())
    return scope.status();
  Stream stream(context);
  if (Status status = context->driver().check(
          context->symbols().cuStreamCreate(&stream.handle_, CU_STREAM_NON_BLOCKING), "creating a stream");
      !status)
    return status;
  return stream;
}

Stream::Stream(Stream &&other) noexcept
    : context_(std::move(other.context_)), handle_(std::exchange(other.handle_, nullptr)) {}

Stream &Stream::operator=(Stream &&other) noexcept {
  std::swap(context_, other.context_);
  std::swap(handle_, other.handle_);
  return *this;
}

Stream::~Stream() {
  if (!handle_)
    return;
  ScopedContext scope(*context_);
  if (scope.status())
    (void)context_->symbols().cuStreamDestroy(handle_);
}

Result<Event> Event::create(const std::shared_ptr<const Context> &context) {
  ScopedContext scope(*context);
  if (!scope.status())
    return scope.status();
  Event event(context);
  if (Status status = context->driver().check(context->symbols().cuEventCreate(&event.handle_, CU_EVENT_DEFAULT),
                                              "creating an event");
      !status)
    return status;
  return event;
}

Event::Event(Event &&other) noexcept
    : context_(std::move(other.context_)), handle_(std::exchange(other.handle_, nullptr)) {}

Event &Event::operator=(Event &&other) noexcept {
  std::swap(context_, other.context_);
  std::swap(handle_, other.handle_);
  return *this;
}

Event::~Event() {
  if (!handle_)
    return;
  ScopedContext scope(*context_);
  if (scope.status())
    (void)context_->symbols().cuEventDestroy(handle_);
}

Status Event::record(StreamHandle stream) const {
  ScopedContext scope(*context_);
  if (!scope.status())
    return scope.status();
  return context_->driver().check(context_->symbols().cuEventRecord(handle_, stream), "recording an event");
}

Status Event::synchronize() const {
  ScopedContext scope(*context_);
  if (!scope.status())
    return scope.status();
  return context_->driver().check(context_->symbols().cuEventSynchronize(handle_), "waiting for an event of {}",
                                  context_->info().name);
}

Status Event::makeWait(StreamHandle stream) const {
  ScopedContext scope(*context_);
  if (!scope.status())
    return scope.status();
  return context_->driver().check(context_->symbols().cuStreamWaitEvent(stream, handle_, 0),
                                  "making a stream wait for an event");
}

Result<float> Event::millisecondsTo(const Event &later) const {
  ScopedContext scope(*context_);
  if (!scope.status())
    return scope.status();
  float milliseconds = 0;
  if (Status status =
          context_->driver().check(context_->symbols().cuEventElapsedTime(&milliseconds, handle_, later.handle_),
                                   "asking for the time between two events");
      !status)
    return status;
  return milliseconds;
}

} // namespace tessera
