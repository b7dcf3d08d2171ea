// Allocates, frees and copies device memory, each range checked before the driver sees it.
#include "runtime/driver/DeviceBuffer.h"

#include "runtime/driver/DriverSymbols.h"

#include <utility>

namespace tessera {

Result<DeviceBuffer> DeviceBuffer::allocate(const std::shared_ptr<const Context> &context, size_t bytes) {
  DeviceBuffer buffer(context);
  if (bytes == 0)
    return buffer;
  ScopedContext scope(*context);
  if (!scope.status())
    return scope.status();
  CUdeviceptr address = 0;
  if (Status status = context->driver().check(context->symbols().cuMemAlloc(&address, bytes),
                                              "allocating {} bytes on {}", bytes, context->info().name);
      !status)
    return status;
  buffer.address_ = address;
  buffer.bytes_ = bytes;
  return buffer;
}

DeviceBuffer::DeviceBuffer(DeviceBuffer &&other) noexcept
    : context_(std::move(other.context_)), address_(std::exchange(other.address_, 0)),
      bytes_(std::exchange(other.bytes_, 0)) {}

DeviceBuffer &DeviceBuffer::operator=(DeviceBuffer &&other) noexcept {
  std::swap(context_, other.context_);
  std::swap(address_, other.address_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

DeviceBuffer::~DeviceBuffer() {
  if (!address_)
    return;
  ScopedContext scope(*context_);
  if (scope.status())
    (void)context_->symbols().cuMemFree(address_);
}

Status DeviceBuffer::checkRange(const char *what, size_t bytes, size_t offset) const {
  if (offset <= bytes_ && bytes <= bytes_ - offset)
    return {};
  return Status(Code::InvalidArgument,
                fmt::format("{} of {} bytes at offset {} is outside of a device buffer of {} bytes", what, bytes,
                            offset, bytes_));
}

Status DeviceBuffer::upload(const void *source, size_t bytes, size_t offset) const {
  if (Status status = checkRange("upload", bytes, offset); !status || bytes == 0)
    return status;
  ScopedContext scope(*context_);
  if (!scope.status())
    return scope.status();
  return context_->driver().check(context_->symbols().cuMemcpyHtoD(address_ + offset, source, bytes),
                                  "uploading {} bytes", bytes);
}

Status DeviceBuffer::download(void *destination, size_t bytes, size_t offset) const {
  if (Status status = checkRange("download", bytes, offset); !status || bytes == 0)
    return status;
  ScopedContext scope(*context_);
  if (!scope.status())
    return scope.status();
  return context_->driver().check(context_->symbols().cuMemcpyDtoH(destination, address_ + offset, bytes),
                                  "downloading {} bytes", bytes);
}

Status DeviceBuffer::uploadAsync(const void *source, size_t bytes, StreamHandle stream, size_t offset) const {
  if (Status status = checkRange("upload", bytes, offset); !status || bytes == 0)
    return status;
  ScopedContext scope(*context_);
  if (!scope.status())
    return scope.status();
  return context_->driver().check(context_->symbols().cuMemcpyHtoDAsync(address_ + offset, source, bytes, stream),
                                  "uploading {} bytes", bytes);
}

Status DeviceBuffer::downloadAsync(void *destination, size_t bytes, StreamHandle stream, size_t offset) const {
  if (Status status = checkRange("download", bytes, offset); !status || bytes == 0)
    return status;
  ScopedContext scope(*context_);
  if (!scope.status())
    return scope.status();
  return context_->driver().check(context_->symbols().cuMemcpyDtoHAsync(destination, address_ + offset, bytes, stream),
                                  "downloading {} bytes", bytes);
}

Status DeviceBuffer::fillAsync(unsigned char value, StreamHandle stream) const {
  if (bytes_ == 0)
    return {};
  ScopedContext scope(*context_);
  if (!scope.status())
    return scope.status();
  return context_->driver().check(context_->symbols().cuMemsetD8Async(address_, value, bytes_, stream),
                                  "filling {} bytes", bytes_);
}

Status DeviceBuffer::copyFromAsync(const DeviceBuffer &source, size_t bytes, StreamHandle stream) const {
  if (Status status = source.checkRange("copy", bytes, 0); !status)
    return status;
  if (Status status = checkRange("copy", bytes, 0); !status || bytes == 0)
    return status;
  ScopedContext scope(*context_);
  if (!scope.status())
    return scope.status();
  return context_->driver().check(context_->symbols().cuMemcpyDtoDAsync(address_, source.address_, bytes, stream),
                                  "copying {} bytes", bytes);
}

} // namespace tessera
