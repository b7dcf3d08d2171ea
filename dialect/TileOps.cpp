// Constraints of the tile layer. Layouts are not compared: they are an encoding that attn-distribute adds.
#include "dialect/AttnDialect.h"

using namespace mlir;
using namespace tessera::attn;

static RankedTensorType tileType(Value value) { return cast<RankedTensorType>(value.getType()); }

LogicalResult TileLoadOp::verify() {
  auto source = cast<MemRefType>(getSource().getType());
  RankedTensorType tile = tileType(getTile());
  if (source.getRank() != 4 || source.getDimSize(3) != tile.getDimSize(1) ||
      source.getElementType() != tile.getElementType())
    return emitOpError("tile_load_c1: a tile of ") << tile << " does not hold whole rows of " << source;
  return success();
}

LogicalResult TileStoreOp::verify() {
  auto target = cast<MemRefType>(getTarget().getType());
  RankedTensorType tile = tileType(getTile());
  bool rows = tile.getRank() == 1 && target.getRank() == 3;
  bool whole = tile.getRank() == 2 && target.getRank() == 4 && target.getDimSize(3) == tile.getDimSize(1);
  if (!(rows || whole) || target.getElementType() != tile.getElementType())
    return emitOpError("tile_store_c1: a tile of ") << tile << " does not hold whole rows of " << target;
  return success();
}

/// Rows, columns and element type of a dot operand, a tile or a tile in shared memory.
static std::optional<std::tuple<int64_t, int64_t, Type>> matrix(Type type) {
  if (auto tile = dyn_cast<RankedTensorType>(type); tile && tile.getRank() == 2)
    return std::tuple(tile.getDimSize(0), tile.getDimSize(1), tile.getElementType());
  if (auto shared = dyn_cast<SharedType>(type); shared && shared.getStages() == 1)
    return std::tuple(int64_t(shared.getRows()), int64_t(shared.getColumns()), shared.getElementType());
  return std::nullopt;
}

LogicalResult DotOp::verify() {
  auto lhs = matrix(getLhs().getType()), rhs = matrix(getRhs().getType());
  if (!lhs || !rhs || std::get<2>(*lhs) != std::get<2>(*rhs))
    return emitOpError("dot_c1: the operands are tiles of rank 2 or one-stage shared tiles, of one element type");
  auto [m, k, element] = *lhs;
  int64_t n = getTransposed() ? std::get<0>(*rhs) : std::get<1>(*rhs);
  int64_t rhsK = getTransposed() ? std::get<1>(*rhs) : std::get<0>(*rhs);
  auto result = cast<RankedTensorType>(getType());
  // A shared tile of values may be wider than the result by the padding of its columns.
  bool padded = isa<SharedType>(getRhs().getType()) && !getTransposed() && n > result.getDimSize(1);
  if (rhsK != k || result.getDimSize(0) != m || (n != result.getDimSize(1) && !padded))
    return emitOpError("dot_c2: shapes do not fit: ")
           << m << " x " << k << " by " << rhsK << " x " << n << " into " << result;
  if (!result.getElementType().isF32())
    return emitOpError("dot_c3: the sum is f32, got ") << result.getElementType();
  return success();
}

LogicalResult RowMaxOp::verify() {
  RankedTensorType scores = tileType(getScores());
  if (!scores.getElementType().isF32())
    return emitOpError("row_max_c1: scores are f32, got ") << scores.getElementType();
  if (tileType(getResult()).getDimSize(0) != scores.getDimSize(0) ||
      (getInit() && tileType(getInit()).getDimSize(0) != scores.getDimSize(0)))
    return emitOpError("row_max_c2: one value for each of ") << scores.getDimSize(0) << " rows";
  return success();
}

LogicalResult RowSumOp::verify() {
  RankedTensorType values = tileType(getValues());
  if (tileType(getResult()).getDimSize(0) != values.getDimSize(0))
    return emitOpError("row_sum_c1: one value for each of ") << values.getDimSize(0) << " rows";
  if (getMma() == values.getElementType().isF32())
    return emitOpError("row_sum_c2: f32 values are added, 16-bit values summed by mma; got ")
           << values.getElementType();
  if (getMma() && getPartial())
    return emitOpError("row_sum_c3: a sum by mma is complete in every lane");
  return success();
}

LogicalResult ExpandRowsOp::verify() {
  RankedTensorType rows = tileType(getRows()), result = tileType(getResult());
  if (rows.getDimSize(0) != result.getDimSize(0) || rows.getElementType() != result.getElementType())
    return emitOpError("expand_rows_c1: ") << rows << " has not the rows of " << result;
  return success();
}

LogicalResult MaskScoresOp::verify() {
  if (!tileType(getScores()).getElementType().isF32())
    return emitOpError("mask_scores_c1: scores are f32, got ") << tileType(getScores()).getElementType();
  return success();
}

static bool isElementwise(Operation &op) {
  StringRef dialect = op.getName().getDialectNamespace();
  return dialect == "arith" || dialect == "math" || isa<ExpandRowsOp>(op) || op.hasTrait<OpTrait::IsTerminator>();
}

LogicalResult AnyOp::verify() {
  if (!tileType(getCondition()).getElementType().isInteger(1))
    return emitOpError("any_c1: the condition is a tile of i1, got ") << getCondition().getType();
  if (getBlock() && getThread())
    return emitOpError("any_c2: block and thread exclude each other");
  if (!getThread())
    return success();
  for (Operation *user : getResult().getUsers()) {
    bool harmless = user->getName().getStringRef() == "scf.if" && llvm::all_of(user->getRegions(), [](Region &region) {
                      return llvm::all_of(region.getOps(), isElementwise);
                    });
    if (!harmless)
      return emitOpError("any_c3: with thread, the result is only the condition of branches of elementwise ops, got ")
             << user->getName();
  }
  return success();
}
