// The order of the ladder.
#include "compiler/passes/AttnPasses.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace tessera;

void attn::registerTileDialects(DialectRegistry &registry) {
  registry.insert<AttnDialect, arith::ArithDialect, func::FuncDialect, math::MathDialect, scf::SCFDialect>();
}

void attn::addTiledPasses(OpPassManager &manager) { manager.addPass(createAttnTile()); }

void attn::addOnlinePasses(OpPassManager &manager, const Schedule &schedule, StringRef mutate) {
  if (schedule.loops == Loops::Three)
    return;
  AttnFuseOnlineSoftmaxOptions options;
  if (!mutate.empty())
    options.mutate = mutate.str();
  manager.addNestedPass<KernelOp>(createAttnFuseOnlineSoftmax(options));
}

void attn::addScheduledPasses(OpPassManager &manager, const Schedule &schedule) {
  manager.addNestedPass<KernelOp>(createAttnBoundLoops());
  if (schedule.loops == Loops::Online)
    manager.addNestedPass<KernelOp>(createAttnRelaxRescale());
  if (schedule.rowSum == RowSum::Mma)
    manager.addNestedPass<KernelOp>(createAttnRowSumMma());
  manager.addNestedPass<KernelOp>(createAttnExp2());
  manager.addNestedPass<KernelOp>(createAttnRecentre());
}

void attn::addTilePasses(OpPassManager &manager, const Schedule &schedule, StringRef mutate) {
  addTiledPasses(manager);
  addOnlinePasses(manager, schedule, mutate);
  addScheduledPasses(manager, schedule);
}
