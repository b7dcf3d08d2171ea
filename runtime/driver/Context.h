// Context: the primary context of one GPU, and the scope in which it is current.
#pragma once

#include "runtime/driver/Driver.h"

#include <array>
#include <cstdint>

struct CUctx_st;

namespace tessera {

/// What a device says about itself when its context is opened.
struct DeviceInfo {
  std::string name;
  unsigned major, minor; ///< compute capability
  unsigned smCount;
  uint64_t memoryBytes;
  uint32_t sharedBytesPerBlock; ///< with opt-in
  uint32_t sharedBytesPerSm;
  uint32_t l2Bytes;
  uint32_t clockKHz;
  std::array<unsigned char, 16> uuid;
};

/// A retained primary context, so that buffers of other libraries in the process are usable. Immutable and thread-safe;
/// shared by what is made in it, released with the last of them.
class Context {
public:
  /// DriverError when the device cannot be opened.
  static Result<std::shared_ptr<const Context>> open(const DriverDevice &device);

  ~Context();
  Context(const Context &) = delete;
  Context &operator=(const Context &) = delete;

  const Driver &driver() const { return *driver_; }
  const std::shared_ptr<const Driver> &sharedDriver() const { return driver_; }
  const DriverSymbols &symbols() const { return driver_->symbols(); }
  int ordinal() const { return ordinal_; }
  const DeviceInfo &info() const { return info_; }
  CUctx_st *handle() const { return handle_; }

  /// A CUdevice_attribute by number.
  Result<int> attribute(int attribute) const;
  /// Blocks until everything in the context is done; reports what failed asynchronously.
  Status synchronize() const;

private:
  Context() = default;

  std::shared_ptr<const Driver> driver_;
  CUctx_st *handle_ = nullptr; // one retain of ours
  int ordinal_ = 0;
  DeviceInfo info_{};
};

/// Makes a context current on the calling thread and restores the former one, if it was another, at the end of the
/// scope.
class ScopedContext {
public:
  explicit ScopedContext(const Context &context);
  ~ScopedContext();
  ScopedContext(const ScopedContext &) = delete;
  ScopedContext &operator=(const ScopedContext &) = delete;

  /// Why the context could not be made current; nothing else may be called then.
  const Status &status() const { return status_; }

private:
  const Context &context_;
  CUctx_st *former_ = nullptr;
  bool changed_ = false;
  Status status_;
};

} // namespace tessera
