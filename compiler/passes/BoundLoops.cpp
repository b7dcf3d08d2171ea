// attn-bound-loops: which KV tiles a query tile visits, and which of them need no mask.
//
//            keys ->        |- T -|
//   first row   . . # # # # # # . . .        visited: the union over the rows of what they see
//               . . . # # # # # # . .        inside:  the intersection; whole tiles of it run no mask code
//   last row    . . . . # # # # # # .
#include "compiler/passes/AttnPasses.h"
#include "compiler/passes/TileBuilder.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

namespace tessera::attn {
#define GEN_PASS_DEF_ATTNBOUNDLOOPS
#include "compiler/passes/Passes.h.inc"
} // namespace tessera::attn

using namespace mlir;
using namespace tessera::attn;

namespace {

/// Lengths are below 2^31, so a bound of 2^32 sees every key and no sum of a row, an offset and a bound overflows.
constexpr int64_t boundLimit = int64_t(1) << 32;

/// The tiles of one query tile, counted from the right: step i of the loop visits tile `last - i`.
struct TileRange {
  Value count;     ///< steps
  Value last;      ///< rightmost visited tile; 0 where none is, so that a copy that runs ahead names no row below 0
  Value headEdges; ///< steps before the first tile that every row sees whole
  Value tailEdges; ///< step from which tiles stick out at the left again; null where the band has no left bound
};

class RangeBuilder {
public:
  explicit RangeBuilder(TileBuilder &b, Location loc) : b(b), loc(loc) {}

  TileRange build(MaskScoresOp mask);

private:
  Value max(Value a, Value c) { return arith::MaxSIOp::create(b, loc, a, c); }
  Value min(Value a, Value c) { return arith::MinSIOp::create(b, loc, a, c); }
  Value floorTile(Value keys, int64_t tile) { return arith::DivUIOp::create(b, loc, keys, b.index(tile)); }
  Value ceilTile(Value keys, int64_t tile) { return floorTile(b.add(keys, b.index(tile - 1)), tile); }
  Value plus(Value a, int64_t n) { return n == 0 ? a : b.add(a, b.index(n)); }
  Value minus(Value a, int64_t n) { return n == 0 ? a : b.sub(a, b.index(n)); }
  Value position(Value row) { return PositionOp::create(b, loc, row); }

  TileBuilder &b;
  Location loc;
};

TileRange RangeBuilder::build(MaskScoresOp mask) {
  auto tile = cast<RankedTensorType>(mask.getType());
  int64_t tileQ = tile.getDimSize(0), tileKv = tile.getDimSize(1);
  BandAttr band = mask.getBandAttr();
  Value keys = LengthOp::create(b, loc, /*key=*/true);
  TileRange range{};
  if (!band) {
    range.count = ceilTile(keys, tileKv);
    range.last = max(minus(range.count, 1), b.index(0));
    range.headEdges = b.sub(range.count, floorTile(keys, tileKv));
    return range;
  }
  Value queries = LengthOp::create(b, loc, /*key=*/false);
  Value zero = b.index(0);
  // Key columns of the diagonal: in the first row, after the last row of the tile, after its last row in the sequence.
  // Packed rows share positions, and those of a tile's rows are neighbours too.
  Value row = mask.getRow();
  Value first = mask.getPacked() ? position(row) : row;
  Value tileEnd = mask.getPacked() ? plus(position(plus(row, tileQ - 1)), 1) : plus(row, tileQ);
  Value end = min(tileEnd, queries);
  if (band.getAlign() == BandAlign::BottomRight) {
    Value offset = b.sub(keys, queries);
    first = b.add(first, offset);
    end = b.add(end, offset);
    if (band.getLeft())
      tileEnd = b.add(tileEnd, offset);
  }
  Value visitedEnd = keys, insideEnd = keys, visitedBegin, insideBegin;
  if (band.getRight()) {
    int64_t right = std::min(*band.getRight(), boundLimit);
    visitedEnd = max(min(plus(end, right), keys), zero);
    insideEnd = max(min(plus(first, right + 1), keys), zero);
  }
  if (band.getLeft()) {
    int64_t left = std::min(*band.getLeft(), boundLimit);
    visitedBegin = max(minus(first, left), zero);
    // Rows of the tile beyond the sequence count too: in a tile without mask they would see keys that their reference
    // has not seen, and raise the alarms of attn-relax-rescale for nothing.
    insideBegin = max(minus(tileEnd, left + 1), zero);
  }
  Value endTile = ceilTile(visitedEnd, tileKv);
  range.last = max(minus(endTile, 1), zero);
  range.headEdges = b.sub(endTile, floorTile(insideEnd, tileKv));
  range.count = endTile;
  if (band.getLeft()) {
    Value any = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::sgt, visitedEnd, visitedBegin);
    Value count = b.sub(endTile, floorTile(visitedBegin, tileKv));
    range.count = arith::SelectOp::create(b, loc, any, count, zero);
    range.tailEdges = b.sub(endTile, ceilTile(insideBegin, tileKv));
  }
  return range;
}

/// The one mask of a loop over all KV tiles in ascending order, as attn-tile makes it; null with a remark otherwise.
MaskScoresOp maskOf(scf::ForOp loop) {
  auto refuse = [&](const Twine &why) {
    loop.emitRemark("attn-bound-loops leaves the loop as it is: ") << why;
    return MaskScoresOp();
  };
  auto masks = loop.getBody()->getOps<MaskScoresOp>();
  if (!llvm::hasSingleElement(masks))
    return refuse("it does not mask its scores exactly once");
  MaskScoresOp mask = *masks.begin();
  auto column = mask.getCol().getDefiningOp<arith::MulIOp>();
  int64_t tileKv = cast<RankedTensorType>(mask.getType()).getDimSize(1);
  if (!column || column.getLhs() != loop.getInductionVar() || getConstantIntValue(column.getRhs()) != tileKv)
    return refuse("its tiles are not visited in ascending order");
  if (!loop.getInductionVar().hasOneUse())
    return refuse("its induction variable is used otherwise than for the first key of the tile");
  if (getConstantIntValue(loop.getLowerBound()) != 0 || getConstantIntValue(loop.getStep()) != 1)
    return refuse("it does not begin at the first tile");
  return mask;
}

/// Loop bounds, the descending tile number, and the branch around the mask.
void bound(TileBuilder &b, scf::ForOp loop, MaskScoresOp mask, const TileRange &range) {
  Location loc = mask.getLoc();
  loop.setUpperBound(range.count);
  Operation *column = mask.getCol().getDefiningOp();
  b.setInsertionPoint(column);
  Value tile = b.sub(range.last, loop.getInductionVar());
  column->setOperand(0, tile);

  b.setInsertionPoint(mask);
  Value edge = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::slt, loop.getInductionVar(), range.headEdges);
  if (range.tailEdges) {
    Value tail = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::sge, loop.getInductionVar(), range.tailEdges);
    edge = arith::OrIOp::create(b, loc, edge, tail);
  }
  auto branch = scf::IfOp::create(b, loc, mask.getType(), edge, /*withElseRegion=*/true);
  mask->replaceAllUsesWith(branch);
  Value scores = mask.getScores();
  mask->moveBefore(branch.thenBlock(), branch.thenBlock()->end());
  b.setInsertionPointToEnd(branch.thenBlock());
  scf::YieldOp::create(b, loc, mask.getResult());
  b.setInsertionPointToEnd(branch.elseBlock());
  scf::YieldOp::create(b, loc, scores);
}

struct BoundLoops : tessera::attn::impl::AttnBoundLoopsBase<BoundLoops> {
  void runOnOperation() override {
    TileBuilder b(getOperation());
    std::optional<TileRange> range;
    MaskScoresOp model;
    SmallVector<scf::ForOp> loops(getOperation().getBody().getOps<scf::ForOp>());
    for (scf::ForOp loop : loops) {
      MaskScoresOp mask = maskOf(loop);
      if (!mask)
        continue;
      // The loops of one kernel share row, tile and band, and so the range.
      if (!range || mask.getRow() != model.getRow() || mask.getType() != model.getType() ||
          mask.getBandAttr() != model.getBandAttr()) {
        b.setInsertionPoint(loop);
        range = RangeBuilder(b, loop.getLoc()).build(mask);
        model = mask;
      }
      Value oldBound = loop.getUpperBound();
      bound(b, loop, mask, *range);
      // What counted all tiles is dead now.
      while (Operation *op = oldBound.getDefiningOp()) {
        if (!op->use_empty() || !isPure(op))
          break;
        oldBound = op->getNumOperands() ? op->getOperand(0) : Value();
        op->erase();
        if (!oldBound)
          break;
      }
    }
    eraseUnusedConstants(getOperation());
  }
};

} // namespace
