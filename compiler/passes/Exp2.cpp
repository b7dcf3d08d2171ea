// attn-exp2: what the hardware computes is 2^x, so the scale takes log2(e) in and one FMA per score feeds the exponent.
#include "compiler/passes/AttnPasses.h"
#include "compiler/passes/OnlineLoop.h"
#include "compiler/passes/TileBuilder.h"

#include <numbers>

namespace tessera::attn {
#define GEN_PASS_DEF_ATTNEXP2
#include "compiler/passes/Passes.h.inc"
} // namespace tessera::attn

using namespace mlir;
using namespace tessera::attn;

namespace {

class Exp2Rewriter {
public:
  explicit Exp2Rewriter(KernelOp kernel) : b(kernel) {}

  void rewrite(math::ExpOp exp);
  void rewrite(math::LogOp log);

private:
  Value exponent(WeightedExponent exponent);
  /// rows * by, where the rows are defined.
  Value product(Value rows, double by);
  /// The same for a result of a branch: in either arm, so that the rows need no copy for it.
  Value productInArms(OpResult rows, double by);
  void replace(Operation *op, Value by);

  TileBuilder b;
};

Value Exp2Rewriter::product(Value rows, double by) {
  OpBuilder::InsertionGuard guard(b);
  if (rows.getDefiningOp<scf::IfOp>())
    return productInArms(cast<OpResult>(rows), by);
  b.setInsertionPointAfterValue(rows);
  return b.mul(rows, b.splat(rows.getType(), by));
}

Value Exp2Rewriter::productInArms(OpResult rows, double by) {
  auto branch = cast<scf::IfOp>(rows.getOwner());
  for (scf::YieldOp yield : {branch.thenYield(), branch.elseYield()}) {
    b.setInsertionPoint(yield);
    Value product = b.mul(yield.getOperand(rows.getResultNumber()), b.splat(rows.getType(), by));
    yield->insertOperands(yield->getNumOperands(), product);
  }
  SmallVector<Type> types(branch.getResultTypes());
  types.push_back(rows.getType());
  b.setInsertionPoint(branch);
  auto wider = scf::IfOp::create(b, branch.getLoc(), types, branch.getCondition(), /*addThenBlock=*/false,
                                 /*addElseBlock=*/false);
  wider.getThenRegion().takeBody(branch.getThenRegion());
  wider.getElseRegion().takeBody(branch.getElseRegion());
  branch->replaceAllUsesWith(wider.getResults().drop_back());
  branch->erase();
  return wider.getResults().back();
}

Value Exp2Rewriter::exponent(WeightedExponent e) {
  Type type = e.exp.getType();
  float c = float(e.weight * std::numbers::log2e);
  if (cast<ShapedType>(type).getRank() == 1)
    return b.mul(e.difference, b.splat(type, c)); // once per row: the difference comes first
  Value negated = product(e.reference(), -c);
  return math::FmaOp::create(b, e.exp.getLoc(), e.score(), b.splat(type, c), b.expand(negated, type));
}

/// Replaces the op and erases what only it used.
void Exp2Rewriter::replace(Operation *op, Value by) {
  op->replaceAllUsesWith(ValueRange(by));
  SmallVector<Operation *> dead{op};
  while (!dead.empty()) {
    Operation *next = dead.pop_back_val();
    if (!isOpTriviallyDead(next))
      continue;
    SmallVector<Value> operands(next->getOperands());
    next->erase();
    for (Value operand : operands)
      if (Operation *source = operand.getDefiningOp();
          source && operand.use_empty() && !llvm::is_contained(dead, source))
        dead.push_back(source);
  }
}

void Exp2Rewriter::rewrite(math::ExpOp exp) {
  b.setInsertionPoint(exp);
  Value argument;
  if (auto weighted = WeightedExponent::match(exp))
    argument = exponent(*weighted);
  else
    argument = b.scale(exp.getOperand(), std::numbers::log2e);
  replace(exp, math::Exp2Op::create(b, exp.getLoc(), argument));
}

/// log l = log2(l) ln 2.
void Exp2Rewriter::rewrite(math::LogOp log) {
  b.setInsertionPoint(log);
  Value base2 = math::Log2Op::create(b, log.getLoc(), log.getOperand());
  replace(log, b.scale(base2, std::numbers::ln2));
}

struct Exp2 : tessera::attn::impl::AttnExp2Base<Exp2> {
  void runOnOperation() override {
    Exp2Rewriter rewriter(getOperation());
    SmallVector<math::ExpOp> exponents;
    SmallVector<math::LogOp> logarithms;
    getOperation().walk([&](Operation *op) {
      if (auto exp = dyn_cast<math::ExpOp>(op))
        exponents.push_back(exp);
      else if (auto log = dyn_cast<math::LogOp>(op))
        logarithms.push_back(log);
    });
    for (math::ExpOp exp : exponents)
      rewriter.rewrite(exp);
    for (math::LogOp log : logarithms)
      rewriter.rewrite(log);
    eraseUnusedConstants(getOperation());
  }
};

} // namespace
