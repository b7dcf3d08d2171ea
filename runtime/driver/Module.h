// Module and Function: machine code loaded on a device, and its launch.
#pragma once

#include "runtime/driver/Stream.h"

#include <array>

struct CUmod_st;
struct CUfunc_st;

namespace tessera {

/// What the driver says about a loaded kernel.
struct FunctionAttributes {
  unsigned registers;          ///< per thread
  unsigned sharedBytes;        ///< static, per block
  unsigned localBytes;         ///< per thread; spills are here
  unsigned constantBytes;      ///< of the module's own
  unsigned maxThreadsPerBlock; ///< what registers and launch bounds leave
};

/// The shape of one launch.
struct LaunchShape {
  std::array<unsigned, 3> grid = {1, 1, 1};
  std::array<unsigned, 3> block = {1, 1, 1};
  std::array<unsigned, 3> cluster = {1, 1, 1}; ///< blocks; needs sm_90 when not 1
  unsigned dynamicSharedBytes = 0;             ///< see Function::allowDynamicShared
};

class Module;

/// A kernel of a module, which it keeps loaded. Copyable; launch is thread-safe, allocates nothing and does not block.
class Function {
public:
  const std::string &name() const { return name_; }
  const FunctionAttributes &attributes() const { return attributes_; }
  const Context &context() const;
  CUfunc_st *handle() const { return handle_; }

  /// Lets launches ask for up to so many bytes, beyond the 48 KiB that need no permission. DriverError when the device
  /// has less.
  Status allowDynamicShared(unsigned bytes) const;
  /// Blocks of this size that fit on one SM at once.
  Result<unsigned> blocksPerSm(unsigned threadsPerBlock, unsigned dynamicSharedBytes) const;
  /// Enqueues the kernel. `parameters` holds one pointer for each of its parameters; the values are read before the
  /// call returns.
  Status launch(const LaunchShape &shape, void **parameters, StreamHandle stream) const;

private:
  friend class Module;

  std::shared_ptr<const Module> module_;
  CUfunc_st *handle_ = nullptr; // of module_
  std::string name_;
  FunctionAttributes attributes_{};
};

/// Loaded code. Immutable and thread-safe; shared by its functions. With the last of them it is retired, because
/// launches of it may be pending: see Context::unloadRetired. Graphs that captured a launch need it too.
class Module : public std::enable_shared_from_this<Module> {
public:
  /// Loads a cubin, or PTX, which the driver assembles for the device. DriverError: the driver's name for the failure
  /// and the messages of its assembler; for PTX that is too new for the driver, the version that it needs.
  static Result<std::shared_ptr<const Module>> load(const std::shared_ptr<const Context> &context,
                                                    std::string_view code);
  /// The same. *fits is false when this GPU or this driver does not take the code and may take other code of the same
  /// kernel: code for another GPU, PTX newer than the driver, a cubin that the driver cannot read (of a newer toolkit,
  /// for all that it says).
  static Result<std::shared_ptr<const Module>> load(const std::shared_ptr<const Context> &context,
                                                    std::string_view code, bool *fits);

  ~Module();
  Module(const Module &) = delete;
  Module &operator=(const Module &) = delete;

  const Context &context() const { return *context_; }
  /// NotFound when the module has no such kernel.
  Result<Function> function(const std::string &name) const;
  /// Address and size in bytes of a global variable.
  struct Global {
    uint64_t address;
    size_t bytes;
  };
  Result<Global> global(const std::string &name) const;
  /// What the driver's assembler had to say; empty for a cubin.
  const std::string &log() const { return log_; }

private:
  explicit Module(std::shared_ptr<const Context> context) : context_(std::move(context)) {}

  std::shared_ptr<const Context> context_;
  std::list<CUmod_st *> handle_; // owned; one, or none where it did not load. A list goes to Context::retire as it is
  std::string log_;
};

} // namespace tessera
