// From the typed description of an attention to the first rung of the ladder.
#pragma once

#include "dialect/AttnDialect.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

namespace tessera::attn {

/// A module with one func.func @attention that holds one attn.attention; schedule, target and access width (bytes) ride
/// on the module as attn.schedule, attn.target and attn.access_bytes. The context must have the dialects of
/// registerTileDialects(). The spec is valid and the schedule legal for it (AttentionSpec::validate, Schedule::legal).
mlir::OwningOpRef<mlir::ModuleOp> buildAttention(mlir::MLIRContext *context, const AttentionSpec &spec,
                                                 const Schedule &schedule, const Target &target);

} // namespace tessera::attn
