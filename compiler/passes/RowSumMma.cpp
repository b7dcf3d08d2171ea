// attn-row-sum-mma: row sums of the rounded probabilities by the matrix unit.
#include "compiler/passes/AttnPasses.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

namespace tessera::attn {
#define GEN_PASS_DEF_ATTNROWSUMMMA
#include "compiler/passes/Passes.h.inc"
} // namespace tessera::attn

using namespace mlir;
using namespace tessera::attn;

namespace {

/// The rounding of the values that the weighted sum uses, moved to where they are defined; null where there is none.
Value roundedValues(Value values) {
  for (Operation *user : values.getUsers()) {
    auto rounded = dyn_cast<arith::TruncFOp>(user);
    if (!rounded || rounded->getBlock() != values.getParentBlock())
      continue;
    rounded->moveAfter(values.getDefiningOp());
    return rounded.getResult();
  }
  return {};
}

struct RowSumMma : tessera::attn::impl::AttnRowSumMmaBase<RowSumMma> {
  void runOnOperation() override {
    // The three-loop form sums and rounds in different loops: the type of the rounding is the same everywhere.
    Type narrow;
    getOperation().walk([&](arith::TruncFOp rounded) {
      if (llvm::any_of(rounded->getUsers(), [](Operation *user) { return isa<DotOp>(user); }))
        narrow = cast<ShapedType>(rounded.getType()).getElementType();
    });
    getOperation().walk([&](RowSumOp sum) {
      if (sum.getMma())
        return;
      Value values = sum.getValues();
      if (!narrow || !values.getDefiningOp()) {
        sum.emitRemark("attn-row-sum-mma leaves the sum as it is: the probabilities are not rounded to 16 bits");
        return;
      }
      Value rounded = roundedValues(values);
      if (!rounded) {
        OpBuilder builder(sum);
        rounded =
            arith::TruncFOp::create(builder, sum.getLoc(), cast<ShapedType>(values.getType()).clone(narrow), values);
      }
      sum.getValuesMutable().assign(rounded);
      sum.setMma(true);
    });
  }
};

} // namespace
