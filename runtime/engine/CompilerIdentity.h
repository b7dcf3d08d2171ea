// CompilerIdentity: what of the compiler stands in a cache key, found without loading the compiler where that is
// possible.
#pragma once

#include "runtime/cache/DiskCache.h"

#include <string>

namespace tessera::detail {

struct CompilerIdentity {
  std::string build;     ///< content hash of the compiler library
  std::string assembler; ///< "nvJitLink 13.0", or "none"
};

/// The identity of the compiler that CompilerLibrary::open(path) would open. Loading it brings LLVM into the process,
/// which takes longer than reading a kernel from the disk; so what it said of itself is remembered in a note of the
/// cache, which holds as long as the library's build id, the environment that it looks for its assembler by and the
/// assembler's file are the same. Without such a note the library is opened. Unsupported where there is none.
Result<CompilerIdentity> identifyCompiler(const std::string &path, DiskCache &cache);

/// The GNU build id in the notes of an ELF file, in hexadecimal; empty where there is none or the file is no ELF file
/// of this machine's class.
std::string elfBuildId(const std::string &path);

} // namespace tessera::detail
