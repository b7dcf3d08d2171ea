// PTX to cubin in process, by nvJitLink opened at run time.
#pragma once

#include "runtime/spec/Result.h"
#include "runtime/spec/Target.h"

#include <string>
#include <string_view>

namespace tessera::codegen {

/// What the assembler made and said of a kernel.
struct Assembly {
  std::string cubin;
  std::string log;         ///< the assembler's own words
  unsigned registers = 0;  ///< per thread
  unsigned spillBytes = 0; ///< stores and loads together
};

class Assembler {
public:
  /// The process's assembler: opened on first use, in TESSERA_CUDA_PATH, then beside the library that this is part of,
  /// then by the loader.
  static const Assembler &instance();

  /// Whether nvJitLink was found; why() tells where it was looked for otherwise.
  bool available() const { return link_ != nullptr; }
  const std::string &why() const { return why_; }
  /// "nvJitLink 13.0", or "none".
  const std::string &name() const { return name_; }
  /// The file that nvJitLink was loaded from; empty where there is none.
  const std::string &path() const { return path_; }

  /// Thread-safe. CompileError with the assembler's log where it refuses.
  Result<Assembly> assemble(std::string_view ptx, const Target &target) const;

private:
  Assembler();
  struct Link;
  const Link *link_ = nullptr;
  std::string why_;
  std::string path_;
  std::string name_ = "none";
};

} // namespace tessera::codegen
