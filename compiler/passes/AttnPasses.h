// The passes of the ladder, their registration, and the order in which a schedule runs them.
#pragma once

#include "dialect/AttnDialect.h"

#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassManager.h"

namespace tessera::attn {

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "compiler/passes/Passes.h.inc"

/// Registers and loads nothing: inserts the dialects that the ladder uses.
void registerTileDialects(mlir::DialectRegistry &registry);

/// attn.attention in a module to the scheduled loop, as stages that can be run one by one: each function adds the
/// passes from the stage before it to its own. `mutate` is the option of attn-fuse-online-softmax, empty for none.
void addTiledPasses(mlir::OpPassManager &manager);
void addOnlinePasses(mlir::OpPassManager &manager, const Schedule &schedule, llvm::StringRef mutate = {});
void addScheduledPasses(mlir::OpPassManager &manager, const Schedule &schedule);

/// All three stages.
void addTilePasses(mlir::OpPassManager &manager, const Schedule &schedule, llvm::StringRef mutate = {});

} // namespace tessera::attn
