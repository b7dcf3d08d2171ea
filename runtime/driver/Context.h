// Context: the primary context of one GPU, and the scope in which it is current.
#pragma once

#include "runtime/driver/Driver.h"

#include <array>
#include <cstdint>
#include <list>
#include <mutex>

struct CUctx_st;
struct CUmod_st;
struct CUstream_st;

namespace tessera {

/// A CUstream of whoever made it; null is the default stream of the current context. Not owned.
using StreamHandle = CUstream_st *;

/// What a device says about itself when its context is opened.
struct DeviceInfo {
  std::string name;
  unsigned major, minor; ///< compute capability
  unsigned smCount;
  uint64_t memoryBytes;
  uint32_t sharedBytesPerBlock; ///< with opt-in
  uint32_t sharedBytesPerSm;
  uint32_t registersPerBlock; ///< of 32 bits
  uint32_t maxThreadsPerBlock;
  uint32_t l2Bytes;
  uint32_t clockKHz;
  std::array<unsigned char, 16> uuid;
};

/// A retained primary context, so that buffers of other libraries in the process are usable. Thread-safe; shared by
/// what is made in it. With the last of them it waits for the device if modules are left to unload, and is released;
/// whatever fails then is ignored, because the driver may have shut down before.
///
/// After fork() everything that would call the driver fails in the child (Driver::usable), and destructors leave the
/// driver alone.
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

  /// Whether the stream, or the legacy default stream through a stream that it waits for, is being captured into a
  /// graph, when nothing may be allocated, loaded, unloaded or waited for. Leaves the capture as it is. A capture of
  /// another stream that does not wait for the default stream is not seen.
  Result<bool> capturing(StreamHandle stream) const;

  /// Takes modules of this context that no new launch will use out of the list; launches of them may be pending. Calls
  /// nothing of the driver, needs no memory and does not wait for the device.
  void retire(std::list<CUmod_st *> &modules) const noexcept;
  /// Retired modules that are still loaded.
  size_t retired() const;
  /// Waits for the device and unloads what was retired before; nothing to do is no wait. Fails as synchronize() does,
  /// with what failed asynchronously too, and leaves the modules for the next time. Illegal during a capture.
  Status unloadRetired() const;

private:
  Context() = default;

  std::shared_ptr<const Driver> driver_;
  CUctx_st *handle_ = nullptr; // one retain of ours
  int ordinal_ = 0;
  DeviceInfo info_{};
  mutable std::mutex retiredMutex_;
  mutable std::list<CUmod_st *> retired_; // owned
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
