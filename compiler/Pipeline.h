// The ordered list of passes, as named stages.
#pragma once

#include "compiler/Stages.h"
#include "runtime/spec/Schedule.h"

#include "mlir/Pass/PassManager.h"

namespace tessera {

/// Adds the passes that lead to `stage` from the one before it; Stage::Nvvm is the last that passes reach.
void addPassesTo(Stage stage, mlir::OpPassManager &manager, const Schedule &schedule, llvm::StringRef mutate);

} // namespace tessera
