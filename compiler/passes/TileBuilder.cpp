// Constants and arithmetic of kernels in the making.
#include "compiler/passes/TileBuilder.h"

#include "mlir/IR/Matchers.h"

#include <limits>

using namespace mlir;
using namespace tessera::attn;

TileBuilder::TileBuilder(KernelOp kernel) : OpBuilder(kernel->getContext()), kernel(kernel) {
  setInsertionPointToEnd(&kernel.getBody().front());
}

Value TileBuilder::constant(TypedAttr value) {
  Block &top = kernel.getBody().front();
  auto position = top.begin();
  for (; position != top.end(); ++position) {
    auto present = dyn_cast<arith::ConstantOp>(*position);
    if (!present)
      break;
    if (present.getValue() == value)
      return present;
  }
  InsertionGuard guard(*this);
  setInsertionPoint(&top, position);
  return arith::ConstantOp::create(*this, kernel.getLoc(), value);
}

Value TileBuilder::index(int64_t value) { return constant(getIndexAttr(value)); }
Value TileBuilder::boolean(bool value) { return constant(getBoolAttr(value)); }

Value TileBuilder::splat(Type tile, double value) {
  return constant(DenseElementsAttr::get(cast<ShapedType>(tile), getF32FloatAttr(float(value))));
}

Value TileBuilder::lowest(Type tile) { return splat(tile, std::numeric_limits<float>::lowest()); }

Value TileBuilder::add(Value a, Value b) {
  return isa<IndexType>(a.getType()) ? Value(arith::AddIOp::create(*this, a.getLoc(), a, b))
                                     : Value(arith::AddFOp::create(*this, a.getLoc(), a, b));
}

Value TileBuilder::sub(Value a, Value b) {
  return isa<IndexType>(a.getType()) ? Value(arith::SubIOp::create(*this, a.getLoc(), a, b))
                                     : Value(arith::SubFOp::create(*this, a.getLoc(), a, b));
}

Value TileBuilder::mul(Value a, Value b) {
  return isa<IndexType>(a.getType()) ? Value(arith::MulIOp::create(*this, a.getLoc(), a, b))
                                     : Value(arith::MulFOp::create(*this, a.getLoc(), a, b));
}

Value TileBuilder::scale(Value a, double by) { return by == 1 ? a : mul(a, splat(a.getType(), by)); }

Value TileBuilder::expand(Value rows, Type tile) { return ExpandRowsOp::create(*this, rows.getLoc(), tile, rows); }

void tessera::attn::eraseUnusedConstants(KernelOp kernel) {
  for (auto constant : llvm::make_early_inc_range(kernel.getBody().front().getOps<arith::ConstantOp>()))
    if (constant.use_empty())
      constant.erase();
}

std::optional<double> tessera::attn::splatValue(Value value) {
  DenseFPElementsAttr splat;
  if (!matchPattern(value, m_Constant(&splat)) || !splat.isSplat() || !splat.getElementType().isF32())
    return std::nullopt;
  return splat.getSplatValue<APFloat>().convertToFloat();
}

bool tessera::attn::isLowest(Value value) { return splatValue(value) == std::numeric_limits<float>::lowest(); }
