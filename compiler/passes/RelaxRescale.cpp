// attn-relax-rescale: when the reference of the online softmax moves. Never what is computed: the state (reference, l,
// u) stands for the same answer under any finite reference.
#include "compiler/passes/AttnPasses.h"
#include "compiler/passes/OnlineLoop.h"
#include "compiler/passes/TileBuilder.h"

#include "mlir/IR/IRMapping.h"

#include <cmath>
#include <numbers>

namespace tessera::attn {
#define GEN_PASS_DEF_ATTNRELAXRESCALE
#include "compiler/passes/Passes.h.inc"
} // namespace tessera::attn

using namespace mlir;
using namespace tessera;
using namespace tessera::attn;

namespace {

/// A row sum past this asks for a move: far above any sum near its anchor, and far enough below 2^128 that one more
/// tile seldom overflows.
const double sumLimit = std::exp2(60);

/// Copies what `value` is computed from inside `body`, as far as it is not mapped yet.
Value copySlice(TileBuilder &b, Value value, Block *body, IRMapping &values) {
  if (Value mapped = values.lookupOrNull(value))
    return mapped;
  Operation *op = value.getDefiningOp();
  if (!op || op->getBlock() != body)
    return value;
  for (Value operand : op->getOperands())
    values.map(operand, copySlice(b, operand, body, values));
  b.clone(*op, values);
  return values.lookup(value);
}

void eraseDead(Block *body) {
  SmallVector<Operation *> ops(llvm::make_pointer_range(body->without_terminator()));
  for (Operation *op : llvm::reverse(ops))
    if (isOpTriviallyDead(op))
      op->erase();
}

class Relaxation {
public:
  Relaxation(KernelOp kernel, const OnlineLoop &online)
      : b(kernel), online(online), loop(online.loop), loc(loop.getLoc()) {}

  void lazily(double threshold);
  LogicalResult anchored();

private:
  Value tileMax();
  /// Puts the move behind `condition`; `max` gives the row max of the tile, inside the branch.
  void moveWhen(Value condition, llvm::function_ref<Value()> max);
  Value carriedMax() { return loop.getRegionIterArg(online.carriedMax); }
  Value isNotFinite(Value value);

  TileBuilder b;
  OnlineLoop online;
  scf::ForOp loop;
  Location loc;
};

Value Relaxation::tileMax() {
  return RowMaxOp::create(b, loc, online.rowMax.getType(), online.rowMax.getScores(), /*init=*/Value());
}

void Relaxation::moveWhen(Value condition, llvm::function_ref<Value()> max) {
  SmallVector<Type> types{carriedMax().getType()};
  SmallVector<Value> stay{carriedMax()};
  for (arith::MulFOp rescale : online.rescales) {
    types.push_back(rescale.getType());
    stay.push_back(rescale.getLhs());
  }
  auto branch = scf::IfOp::create(b, loc, types, condition, /*withElseRegion=*/true);
  b.setInsertionPointToEnd(branch.thenBlock());
  Value moved = arith::MaxNumFOp::create(b, loc, carriedMax(), max());
  IRMapping values;
  values.map(online.reference, moved);
  SmallVector<Value> move{moved};
  for (arith::MulFOp rescale : online.rescales)
    move.push_back(copySlice(b, rescale, loop.getBody(), values));
  scf::YieldOp::create(b, loc, move);
  b.setInsertionPointToEnd(branch.elseBlock());
  scf::YieldOp::create(b, loc, stay);

  // The reference starts at the bottom of the finite range: no -inf ever enters it, and no guard is needed.
  loop.getInitArgsMutable()[online.carriedMax].assign(b.lowest(carriedMax().getType()));
  online.reference.replaceAllUsesWith(branch.getResult(0));
  online.rowMax.getResult().replaceAllUsesWith(branch.getResult(0));
  for (auto [rescale, result] : llvm::zip_equal(online.rescales, branch.getResults().drop_front()))
    rescale->replaceAllUsesWith(ValueRange(result));
  eraseDead(loop.getBody());
}

void Relaxation::lazily(double threshold) {
  b.setInsertionPoint(online.rowMax);
  Value max = tileMax();
  // The threshold counts in log2 of the weights: k (max - reference) log2(e) > threshold.
  double units = threshold * std::numbers::ln2 / online.alphas.front().weight;
  Value growth = b.sub(max, carriedMax());
  Value grown = arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OGT, growth, b.splat(growth.getType(), units));
  Value any = AnyOp::create(b, loc, b.getI1Type(), grown, /*block=*/false, /*thread=*/false);
  moveWhen(any, [&] { return max; });
}

/// Whether some element is an infinity or NaN: such times 0 is NaN.
Value Relaxation::isNotFinite(Value value) {
  Value zero = b.splat(value.getType(), 0);
  Value bad = arith::CmpFOp::create(b, loc, arith::CmpFPredicate::UNE, b.mul(value, zero), zero);
  return AnyOp::create(b, loc, b.getI1Type(), bad, /*block=*/true, /*thread=*/false);
}

LogicalResult Relaxation::anchored() {
  Value edges = headEdges(loop);
  if (!edges)
    return loop.emitError("relax_c2: an anchored reference needs a loop that attn-bound-loops has bounded");
  SmallVector<unsigned> sums;
  for (auto [position, yielded] : llvm::enumerate(loop.getYieldedValues()))
    if (yielded.getDefiningOp<RowSumOp>())
      sums.push_back(position);

  // The loop runs a second time, moving at every tile, where the first run overflowed: the rescue.
  b.setInsertionPoint(loop);
  Value head = b.add(edges, b.index(1));
  auto rescue = scf::WhileOp::create(b, loc, loop.getResultTypes(), b.boolean(false));
  loop->replaceAllUsesWith(rescue.getResults());
  Block *run = b.createBlock(&rescue.getBefore(), {}, b.getI1Type(), loc);
  Value always = run->getArgument(0);
  Value moving = arith::SelectOp::create(b, loc, always, loop.getUpperBound(), head);
  loop->moveBefore(run, run->end());

  b.setInsertionPoint(online.rowMax);
  Value condition = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::slt, loop.getInductionVar(), moving);
  for (unsigned position : sums) {
    Value sum = loop.getRegionIterArg(position);
    Value past = arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OGT, sum, b.splat(sum.getType(), sumLimit));
    Value any = AnyOp::create(b, loc, b.getI1Type(), past, /*block=*/false, /*thread=*/false);
    condition = arith::OrIOp::create(b, loc, condition, any);
  }
  moveWhen(condition, [&] { return tileMax(); });

  b.setInsertionPointToEnd(run);
  Value bad;
  for (auto [position, result] : llvm::enumerate(loop.getResults())) {
    if (position == online.carriedMax)
      continue;
    Value overflow = isNotFinite(result);
    bad = bad ? Value(arith::OrIOp::create(b, loc, bad, overflow)) : overflow;
  }
  Value first = arith::XOrIOp::create(b, loc, always, b.boolean(true));
  Value again = arith::AndIOp::create(b, loc, bad, first);
  CountRescueOp::create(b, loc, again);
  scf::ConditionOp::create(b, loc, again, loop.getResults());
  b.createBlock(&rescue.getAfter(), {}, loop.getResultTypes(), SmallVector<Location>(loop.getNumResults(), loc));
  scf::YieldOp::create(b, loc, b.boolean(true));
  return success();
}

struct RelaxRescale : tessera::attn::impl::AttnRelaxRescaleBase<RelaxRescale> {
  void runOnOperation() override {
    Schedule schedule = getOperation().getSchedule().getSchedule();
    if (schedule.rescale == Rescale::Every)
      return; // the loop of attn-fuse-online-softmax is this policy
    SmallVector<scf::ForOp> loops;
    getOperation().walk([&](scf::ForOp loop) { loops.push_back(loop); });
    for (scf::ForOp loop : loops) {
      std::optional<OnlineLoop> online = OnlineLoop::match(loop);
      if (!online || online->alphas.empty()) {
        loop.emitRemark(
            "relax_c1: attn-relax-rescale leaves the loop as it is: it carries no reference that rescales sums");
        continue;
      }
      Relaxation relaxation(getOperation(), *online);
      if (schedule.rescale == Rescale::Lazy)
        relaxation.lazily(schedule.lazyThreshold);
      else if (failed(relaxation.anchored()))
        return signalPassFailure();
    }
    eraseUnusedConstants(getOperation());
  }
};

} // namespace
