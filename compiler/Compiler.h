// The compiler: spec, schedule and target in, KernelImage (or the text of a stage) out.
#pragma once

#include "compiler/Stages.h"
#include "runtime/image/KernelImage.h"

#include <string>

namespace tessera {

struct CompileOptions {
  Stage emit = Stage::Image;
  std::string stagesFolder;           ///< receives the file of every stage that runs; empty: none
  std::optional<Stage> overrideStage; ///< replaced by the content of overrideFile
  std::string overrideFile;
  std::string mutate; ///< a deliberate fault of a pass, for tests; empty: none
};

struct CompileResult {
  std::string bytes;    ///< of the stage asked for: text, cubin, or a serialised image
  std::string warnings; ///< what the caller should know although the compile succeeded
};

/// Compiles one kernel. Thread-safe: every call has its own MLIR and LLVM contexts. InvalidArgument and Unsupported
/// carry the value in the way; CompileError carries the diagnostics; File names the file.
Result<CompileResult> compile(const AttentionSpec &spec, const Schedule &schedule, const Target &target,
                              const CompileOptions &options = {});

/// Content hash of this build of the compiler (the linker's build id).
const std::string &compilerBuildId();

} // namespace tessera
