// attn-recentre: a row whose reference is large subtracts it before the scale, so that no rounding of a large product
// stands in an exponent. Never what is computed: c x - c m = c (x - m).
#include "compiler/passes/AttnPasses.h"
#include "compiler/passes/TileBuilder.h"

#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace tessera::attn {
#define GEN_PASS_DEF_ATTNRECENTRE
#include "compiler/passes/Passes.h.inc"
} // namespace tessera::attn

using namespace mlir;
using namespace tessera::attn;

namespace {

/// Largest |c m| that is used as a rounded product. Up to here its rounding is at most 2^-15, a factor within 2^-15 of
/// 1 of all weights of the row, and no more than the rounding of such a row's scores.
constexpr double narrowLimit = 1024;

/// fma(x, c, expand(m * -c)): the exponents of one tile as attn-exp2 makes them.
struct Exponents {
  math::FmaOp fma;
  ExpandRowsOp expand;
  Value reference; ///< m

  static std::optional<Exponents> match(math::FmaOp fma);
};

/// m, where the rows are m * -c: a product, or one in either arm of a branch.
Value referenceOf(Value rows, double c) {
  if (auto branch = rows.getDefiningOp<scf::IfOp>()) {
    unsigned position = cast<OpResult>(rows).getResultNumber();
    Value moved = referenceOf(branch.thenYield().getOperand(position), c);
    Value stays = referenceOf(branch.elseYield().getOperand(position), c);
    for (auto [result, a, b] :
         llvm::zip_equal(branch.getResults(), branch.thenYield().getOperands(), branch.elseYield().getOperands()))
      if (moved && a == moved && b == stays)
        return result;
    return {};
  }
  auto product = rows.getDefiningOp<arith::MulFOp>();
  auto factor = product ? splatValue(product.getRhs()) : std::nullopt;
  return factor == -c ? product.getLhs() : Value();
}

std::optional<Exponents> Exponents::match(math::FmaOp fma) {
  auto c = splatValue(fma.getB());
  auto expand = fma.getC().getDefiningOp<ExpandRowsOp>();
  Value reference = c && expand ? referenceOf(expand.getRows(), *c) : Value();
  if (!reference)
    return std::nullopt;
  return Exponents{fma, expand, reference};
}

void recentre(KernelOp kernel, Exponents e) {
  TileBuilder b(kernel);
  Location loc = e.fma.getLoc();
  b.setInsertionPoint(e.fma);
  Value product = e.expand.getRows(), score = e.fma.getA();
  Type rows = product.getType(), tile = score.getType();
  Value size = math::AbsFOp::create(b, loc, product);
  Value wide = arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OGT, size, b.splat(rows, narrowLimit));
  Value any = AnyOp::create(b, loc, b.getI1Type(), wide, /*block=*/false, /*thread=*/true);

  auto branch = scf::IfOp::create(b, loc, {tile, rows}, any, /*withElseRegion=*/true);
  b.setInsertionPointToEnd(branch.thenBlock());
  Value zero = b.splat(rows, 0);
  Value shift = arith::SelectOp::create(b, loc, wide, e.reference, zero);
  Value moved = b.sub(score, b.expand(shift, tile));
  Value rest = arith::SelectOp::create(b, loc, wide, zero, product);
  scf::YieldOp::create(b, loc, ValueRange{moved, rest});
  b.setInsertionPointToEnd(branch.elseBlock());
  scf::YieldOp::create(b, loc, ValueRange{score, product});

  b.setInsertionPoint(e.fma);
  Value expanded = b.expand(branch.getResult(1), tile);
  e.fma->setOperands({branch.getResult(0), e.fma.getB(), expanded});
  if (e.expand.use_empty())
    e.expand.erase();
}

struct Recentre : tessera::attn::impl::AttnRecentreBase<Recentre> {
  void runOnOperation() override {
    SmallVector<math::FmaOp> sums;
    getOperation().walk([&](math::FmaOp fma) { sums.push_back(fma); });
    for (math::FmaOp fma : sums)
      if (std::optional<Exponents> exponents = Exponents::match(fma))
        recentre(getOperation(), *exponents);
      else
        fma.emitRemark("attn-recentre leaves the sum as it is: it is not c * x - c * m with one m per row");
  }
};

} // namespace
