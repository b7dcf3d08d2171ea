// LLVM IR to PTX text.
#pragma once

#include "runtime/spec/Result.h"
#include "runtime/spec/Target.h"

#include <string>

namespace llvm {
class Module;
}

namespace tessera::codegen {

/// Optimises the module in place for the target (the pipeline of a kernel: straight-line code, few loops).
Status optimize(llvm::Module &module, const Target &target);

/// PTX text of an optimised module. The PTX version is the target's; every feature has been checked against it before.
Result<std::string> emitPtx(llvm::Module &module, const Target &target);

} // namespace tessera::codegen
