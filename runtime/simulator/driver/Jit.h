// Jit: the options of loads and links, and PTX into modules under them.
#pragma once

#include "runtime/simulator/driver/State.h"

#include <chrono>

namespace tessera::sim::driver {

/// The options of one load or link. Points into the caller's arrays, which must outlive it; made from a call that has
/// checked them for null.
class JitOptions {
public:
  JitOptions() = default;
  /// Check status() before anything else.
  JitOptions(unsigned count, CUjit_option *options, void **values);

  /// INVALID_VALUE for options that do not exist or are out of range, NOT_SUPPORTED for those that would need a linker.
  CUresult status() const { return status_; }
  unsigned maxRegisters() const { return maxRegisters_; }         ///< 0: not given
  unsigned target() const { return target_; }                     ///< 80 for sm_80; 0: not given
  void finish(const std::string &info, const std::string &error); ///< fills the logs, their sizes and the wall time

private:
  struct Buffer {
    char *text = nullptr;
    void **size = nullptr; // where the driver leaves the bytes written
    size_t capacity = 0;   // stood there by value
    void write(const std::string &message);
  };

  CUresult status_ = CUDA_SUCCESS;
  unsigned maxRegisters_ = 0, target_ = 0;
  void **wallTime_ = nullptr;
  Buffer info_, error_;
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

/// Loads an image into the context; the logs say what came of it, and stderr shows each warning once per process.
CUresult loadModule(const std::shared_ptr<Context> &context, const void *image, size_t available, JitOptions options,
                    CUmodule *handle);

/// Takes a module and its functions out of the tables; false when there is no such module.
bool unloadModule(CUmodule handle);

/// All of a file. FILE_NOT_FOUND when it cannot be read.
CUresult readImage(const char *path, std::string *content);

} // namespace tessera::sim::driver
