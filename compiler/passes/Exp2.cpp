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
  /// -c m, never +inf: it will meet c x = -inf.
  Value negatedProduct(Value rows, float c);
  /// The same, once per row where m is defined.
  Value negated(Value rows, float c);
  Value exponent(WeightedExponent exponent, float c);
  void replace(Operation *op, Value by);

  TileBuilder b;
  DenseMap<std::pair<Value, uint32_t>, Value> negatedRows;
};

float toBase2(double weight) { return float(weight * std::numbers::log2e); }

Value Exp2Rewriter::negatedProduct(Value rows, float c) {
  if (c <= 1)
    return b.mul(rows, b.splat(rows.getType(), -c));
  Value product = arith::MaxNumFOp::create(b, rows.getLoc(), b.scale(rows, c), b.lowest(rows.getType()));
  return b.scale(product, -1);
}

Value Exp2Rewriter::negated(Value rows, float c) {
  Value &product = negatedRows[{rows, std::bit_cast<uint32_t>(c)}];
  if (product)
    return product;
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointAfterValue(rows);
  return product = negatedProduct(rows, c);
}

Value Exp2Rewriter::exponent(WeightedExponent e, float c) {
  Type type = e.exp.getType();
  if (cast<ShapedType>(type).getRank() == 2)
    return math::FmaOp::create(b, e.exp.getLoc(), e.score(), b.splat(type, c),
                               b.expand(negated(e.reference(), c), type));
  // The difference of the rounded products, not a product of the difference: the weights under either reference are
  // relative to its rounded product, so this is the exact factor between them however large the scores are.
  return b.sub(negated(e.reference(), c), negatedProduct(e.score(), c));
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
    argument = exponent(*weighted, toBase2(weighted->weight));
  else
    argument = b.scale(exp.getOperand(), std::numbers::log2e);
  replace(exp, math::Exp2Op::create(b, exp.getLoc(), argument));
}

/// log l = log2(l) ln 2. In the LSE m k + log l the max joins in base 2, with the same rounded product as in the
/// weights.
void Exp2Rewriter::rewrite(math::LogOp log) {
  b.setInsertionPoint(log);
  Value base2 = math::Log2Op::create(b, log.getLoc(), log.getOperand());
  if (auto sum = log->hasOneUse() ? dyn_cast<arith::AddFOp>(*log->user_begin()) : nullptr) {
    auto product = sum.getLhs().getDefiningOp<arith::MulFOp>();
    auto weight = product ? splatValue(product.getRhs()) : std::nullopt;
    if (weight && *weight > 0) {
      b.setInsertionPoint(sum);
      Value lse = b.sub(base2, negated(product.getLhs(), toBase2(*weight)));
      return replace(sum, b.scale(lse, std::numbers::ln2));
    }
  }
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
