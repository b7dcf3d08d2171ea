// Nvrtc: CUDA C++ to code for a device by NVRTC, which is opened at run time where it is installed.
#pragma once

#include "runtime/engine/Device.h"

#include <string>
#include <vector>

namespace tessera::tune {

/// The opened library; it stays in the process for good. Thread-safe.
class Nvrtc {
public:
  /// Searched in $TESSERA_CUDA_PATH, beside the program, in ../lib of it and on the loader's path. Unsupported, with
  /// what was searched, where there is none.
  static Result<const Nvrtc *> open();

  /// Code that Module::load takes on this device: a cubin where it runs those of its target, else PTX.
  /// CompileError with the log. `options` are NVRTC's ("-DTYPE=1"); no header is found.
  Result<std::string> compile(const std::string &source, const std::vector<std::string> &options,
                              const Device &device) const;

  const std::string &path() const { return path_; }

private:
  struct Symbols;
  Nvrtc() = default;
  std::string path_;
  const Symbols *symbols_ = nullptr; // of static storage
};

} // namespace tessera::tune
