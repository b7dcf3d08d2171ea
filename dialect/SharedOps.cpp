// Constraints of tiles in shared memory.
#include "dialect/AttnDialect.h"

using namespace mlir;
using namespace tessera::attn;

LogicalResult SharedType::verify(llvm::function_ref<InFlightDiagnostic()> emitError, unsigned stages, unsigned rows,
                                 unsigned columns, Type elementType) {
  bool known = elementType.isF16() || elementType.isBF16() || elementType.isF32();
  if (stages == 0 || rows == 0 || columns == 0 || !known)
    return emitError() << "shared_c1: a ring has stages, rows and columns of f16, bf16 or f32; got " << stages << " x "
                       << rows << " x " << columns << " x " << elementType;
  return success();
}

LogicalResult StageOp::verify() {
  SharedType ring = getBuffer().getType(), tile = getTile().getType();
  if (tile.getStages() != 1 || tile.getRows() != ring.getRows() || tile.getColumns() != ring.getColumns() ||
      tile.getElementType() != ring.getElementType())
    return emitOpError("stage_c1: ") << tile << " is not one stage of " << ring;
  return success();
}

LogicalResult CopyAsyncOp::verify() {
  auto source = cast<MemRefType>(getSource().getType());
  SharedType target = getTarget().getType();
  if (source.getRank() != 4 || target.getStages() != 1 || int64_t(target.getColumns()) < source.getDimSize(3) ||
      target.getElementType() != source.getElementType())
    return emitOpError("copy_async_c1: ") << target << " does not hold rows of " << source;
  return success();
}

LogicalResult SharedLoadOp::verify() {
  SharedType source = getSource().getType();
  auto tile = cast<RankedTensorType>(getTile().getType());
  if (source.getStages() != 1 || int64_t(source.getRows()) != tile.getDimSize(0) ||
      int64_t(source.getColumns()) != tile.getDimSize(1) || source.getElementType() != tile.getElementType())
    return emitOpError("shared_load_c1: ") << tile << " is not the tile of " << source;
  return success();
}
