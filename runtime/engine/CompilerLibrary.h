// CompilerLibrary: libtessera-compiler.so, opened by name; the only way from the runtime to the compiler.
#pragma once

#include "runtime/spec/Schedule.h"

#include <memory>
#include <string>

namespace tessera {

/// What to compile, and how far. Paths belong to the caller's process.
struct CompileRequest {
  AttentionSpec spec;
  Schedule schedule;
  std::string target;        ///< "sm_80"
  std::string emit;          ///< a stage (attn tiled online scheduled nvvm llvm ptx cubin); empty: the image
  std::string stagesDir;     ///< existing folder for the file of every stage; empty: none
  std::string overrideStage; ///< stage replaced by the content of overrideFile; empty: none
  std::string overrideFile;
  std::string mutate; ///< tests only: a deliberate fault of a pass; empty: none
};

struct CompileOutput {
  std::string bytes;    ///< the image's serialised form, or the text or bytes of the stage asked for
  std::string warnings; ///< for people; empty: none
};

/// The opened library. Immutable and thread-safe: compiles run in parallel. It stays in the process for good.
class CompilerLibrary {
public:
  /// `path`, or if that is empty $TESSERA_COMPILER_LIBRARY, or libtessera-compiler.so beside libtessera.so, beside the
  /// program, or in ../lib of it. The same library gives the same object. Unsupported, with what was searched, where
  /// there is none.
  static Result<std::shared_ptr<const CompilerLibrary>> open(const std::string &path = {});

  /// Where open() would take it from, without opening it. Unsupported, with what was searched, where there is none.
  static Result<std::string> locate(const std::string &path = {});

  /// InvalidArgument, Unsupported, File or CompileError with the compiler's diagnostics.
  Result<CompileOutput> compile(const CompileRequest &request) const;

  const std::string &path() const { return path_; }
  std::string buildId() const;       ///< content hash of this build of the compiler
  std::string assembler() const;     ///< "nvJitLink 13.0", or "none: " and the reason
  std::string assemblerPath() const; ///< the file that it was loaded from; empty: none

private:
  struct Symbols;
  CompilerLibrary() = default;
  std::string path_;
  std::shared_ptr<const Symbols> symbols_;
};

} // namespace tessera
