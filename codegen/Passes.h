// The passes of the code generator, from scheduled tiles to the LLVM dialect.
#pragma once

#include "mlir/Pass/Pass.h"

#include <memory>

namespace tessera::codegen {

/// `attn-distribute`: gives every tile the layout of its fragment, and makes row sums partial sums of a lane.
std::unique_ptr<mlir::Pass> createDistributePass();

/// `attn-ampere-pipeline`: tiles of queries, keys and values to shared memory by asynchronous copies that run ahead of
/// their use.
std::unique_ptr<mlir::Pass> createAmperePipelinePass();

/// `attn-to-nvvm`: the kernel as one function of the LLVM dialect.
std::unique_ptr<mlir::Pass> createToNvvmPass();

void registerCodegenPasses();

} // namespace tessera::codegen
