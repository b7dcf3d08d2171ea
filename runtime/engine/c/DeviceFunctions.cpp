// The C functions of devices, streams and buffers.
#include "runtime/engine/c/Handles.h"
#include "runtime/engine/c/LastError.h"
#include "runtime/engine/c/SizedStruct.h"

using namespace tessera;
using namespace tessera::c;

tessera_code tessera_device_open(const char *name, tessera_device **device) noexcept {
  return makeHandle(device, "device", {{"name", name}}, [&]() -> Result<std::unique_ptr<tessera_device>> {
    Result<Device> opened = Device::open(name);
    if (!opened)
      return opened.status();
    std::string target(opened->target().name);
    return std::make_unique<tessera_device>(*std::move(opened), std::move(target));
  });
}

void tessera_device_destroy(tessera_device *device) noexcept { delete device; }

tessera_code tessera_device_get_info(const tessera_device *device, tessera_device_info *info) noexcept {
  return guarded([&]() -> Status {
    if (Status status = required({{"device", device}, {"info", info}}); !status)
      return status;
    const Device &of = device->device;
    const DeviceInfo &facts = of.info();
    tessera_device_info own{};
    own.name = of.name().c_str();
    own.gpu = facts.name.c_str();
    own.target = device->target.c_str();
    own.ordinal = of.context()->ordinal();
    own.simulated = of.simulated();
    own.runs_cubins = of.runsCubins();
    own.major = facts.major;
    own.minor = facts.minor;
    own.sm_count = facts.smCount;
    own.memory_bytes = facts.memoryBytes;
    own.shared_bytes_per_block = facts.sharedBytesPerBlock;
    own.shared_bytes_per_sm = facts.sharedBytesPerSm;
    own.l2_bytes = facts.l2Bytes;
    own.clock_khz = facts.clockKHz;
    own.driver_version = of.context()->driver().version();
    std::ranges::copy(facts.uuid, own.uuid);
    return writeSized(*info, "tessera_device_info", own);
  });
}

tessera_code tessera_device_synchronize(const tessera_device *device) noexcept {
  return guarded([&]() -> Status {
    if (Status status = required({{"device", device}}); !status)
      return status;
    return device->device.synchronize();
  });
}

tessera_code tessera_stream_synchronize(const tessera_device *device, tessera_stream stream) noexcept {
  return guarded([&]() -> Status {
    if (Status status = required({{"device", device}}); !status)
      return status;
    return synchronize(*device->device.context(), stream);
  });
}

tessera_code tessera_buffer_allocate(const tessera_device *device, size_t bytes, tessera_buffer **buffer) noexcept {
  return makeHandle(buffer, "buffer", {{"device", device}}, [&]() -> Result<std::unique_ptr<tessera_buffer>> {
    Result<DeviceBuffer> allocated = device->device.allocate(bytes);
    if (!allocated)
      return allocated.status();
    return std::make_unique<tessera_buffer>(*std::move(allocated));
  });
}

void tessera_buffer_destroy(tessera_buffer *buffer) noexcept { delete buffer; }

void *tessera_buffer_data(const tessera_buffer *buffer) noexcept { return buffer ? buffer->buffer.pointer() : nullptr; }

size_t tessera_buffer_bytes(const tessera_buffer *buffer) noexcept { return buffer ? buffer->buffer.bytes() : 0; }

namespace {

/// A copy between a buffer and host memory, which may be null where nothing is copied.
template <typename Copy>
tessera_code copy(const tessera_buffer *buffer, const char *hostName, const void *host, size_t bytes,
                  Copy &&run) noexcept {
  return guarded([&]() -> Status {
    if (Status status = required({{"buffer", buffer}}); !status)
      return status;
    if (Status status = required({{hostName, bytes ? host : buffer}}); !status)
      return status;
    return run(buffer->buffer);
  });
}

} // namespace

tessera_code tessera_buffer_upload(const tessera_buffer *buffer, const void *source, size_t bytes,
                                   size_t offset) noexcept {
  return copy(buffer, "source", source, bytes,
              [&](const DeviceBuffer &to) { return to.upload(source, bytes, offset); });
}

tessera_code tessera_buffer_download(const tessera_buffer *buffer, void *destination, size_t bytes,
                                     size_t offset) noexcept {
  return copy(buffer, "destination", destination, bytes,
              [&](const DeviceBuffer &from) { return from.download(destination, bytes, offset); });
}

tessera_code tessera_buffer_upload_async(const tessera_buffer *buffer, const void *source, size_t bytes, size_t offset,
                                         tessera_stream stream) noexcept {
  return copy(buffer, "source", source, bytes,
              [&](const DeviceBuffer &to) { return to.uploadAsync(source, bytes, stream, offset); });
}

tessera_code tessera_buffer_download_async(const tessera_buffer *buffer, void *destination, size_t bytes, size_t offset,
                                           tessera_stream stream) noexcept {
  return copy(buffer, "destination", destination, bytes,
              [&](const DeviceBuffer &from) { return from.downloadAsync(destination, bytes, stream, offset); });
}

tessera_code tessera_buffer_fill_async(const tessera_buffer *buffer, uint8_t value, tessera_stream stream) noexcept {
  return guarded([&]() -> Status {
    if (Status status = required({{"buffer", buffer}}); !status)
      return status;
    return buffer->buffer.fillAsync(value, stream);
  });
}
