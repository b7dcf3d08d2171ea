// DeviceBuffer: memory of one GPU, and the copies into and out of it.
#pragma once

#include "runtime/driver/Stream.h"

#include <cstddef>

namespace tessera {

/// Owned device memory, uninitialised. Movable; thread-compatible. Sizes and offsets are bytes; every range is checked
/// against the buffer (InvalidArgument with the values).
class DeviceBuffer {
public:
  /// 0 bytes is a buffer with a null address.
  static Result<DeviceBuffer> allocate(const std::shared_ptr<const Context> &context, size_t bytes);
  DeviceBuffer(DeviceBuffer &&other) noexcept;
  DeviceBuffer &operator=(DeviceBuffer &&other) noexcept;
  ~DeviceBuffer();

  uint64_t address() const { return address_; }
  void *pointer() const { return reinterpret_cast<void *>(address_); }
  size_t bytes() const { return bytes_; }
  const Context &context() const { return *context_; }

  /// Blocking copies. The device side is ordered after the work of the default stream only.
  Status upload(const void *source, size_t bytes, size_t offset = 0) const;
  Status download(void *destination, size_t bytes, size_t offset = 0) const;
  /// Ordered in the stream; the host memory must stay as it is until the stream has passed.
  Status uploadAsync(const void *source, size_t bytes, StreamHandle stream, size_t offset = 0) const;
  Status downloadAsync(void *destination, size_t bytes, StreamHandle stream, size_t offset = 0) const;
  Status fillAsync(unsigned char value, StreamHandle stream) const;
  Status copyFromAsync(const DeviceBuffer &source, size_t bytes, StreamHandle stream) const;

private:
  explicit DeviceBuffer(std::shared_ptr<const Context> context) : context_(std::move(context)) {}
  Status checkRange(const char *what, size_t bytes, size_t offset) const;

  std::shared_ptr<const Context> context_;
  uint64_t address_ = 0; // owned
  size_t bytes_ = 0;
};

} // namespace tessera
