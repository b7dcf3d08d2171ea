// Constraints of the problem layer.
#include "dialect/AttnDialect.h"

using namespace mlir;
using namespace tessera::attn;

static bool legalDim(int64_t dim) { return dim >= 8 && dim <= 256 && dim % 8 == 0; }

LogicalResult AttentionOp::verify() {
  auto query = cast<RankedTensorType>(getQuery().getType()), key = cast<RankedTensorType>(getKey().getType());
  auto value = cast<RankedTensorType>(getValue().getType()), output = cast<RankedTensorType>(getOutput().getType());
  Type element = query.getElementType();
  if (query.getRank() != 4 || key.getRank() != 4 || value.getRank() != 4 || key.getElementType() != element ||
      value.getElementType() != element || !(element.isF16() || element.isBF16() || element.isF32()))
    return emitOpError("attention_c1: query, key and value have rank 4 and one element type of f16, bf16, f32");
  if (query.getDimSize(3) != key.getDimSize(3) || !legalDim(query.getDimSize(3)))
    return emitOpError("attention_c2: query and key have one head dim, a multiple of 8 in 8..256, got ")
           << query.getDimSize(3) << " and " << key.getDimSize(3);
  if (!legalDim(value.getDimSize(3)))
    return emitOpError("attention_c3: the value dim is a multiple of 8 in 8..256, got ") << value.getDimSize(3);
  if (output.getRank() != 4 || output.getDimSize(3) != value.getDimSize(3))
    return emitOpError("attention_c4: the output is (batch, sequence, head, value dim) with value dim ")
           << value.getDimSize(3);
  if (getLse()) {
    auto lse = cast<RankedTensorType>(getLse().getType());
    if (lse.getRank() != 3 || !lse.getElementType().isF32())
      return emitOpError("attention_c5: the LSE is (batch, head, sequence) of f32, got ") << lse;
  }
  if (!getScale().isFinite() || (getSoftcap() && (!getSoftcap()->isFinite() || !(getSoftcap()->convertToFloat() > 0))))
    return emitOpError("attention_c6: scale is finite, and softcap is positive and finite");
  if (getPrecise() && !element.isF32())
    return emitOpError("attention_c7: precise needs f32 operands, got ") << element;
  return success();
}
