// arith and math on tiles, rows and scalars: one instruction per register.
#include "codegen/KernelEmitter.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
namespace tessera::codegen {

static LLVM::ICmpPredicate integerPredicate(arith::CmpIPredicate predicate) {
  return LLVM::ICmpPredicate(unsigned(predicate));
}
static LLVM::FCmpPredicate floatPredicate(arith::CmpFPredicate predicate) {
  return LLVM::FCmpPredicate(unsigned(predicate));
}

Registers KernelEmitter::constant(Operation &op) {
  Attribute value = cast<arith::ConstantOp>(op).getValue();
  if (auto splat = dyn_cast<SplatElementsAttr>(value))
    value = splat.getSplatValue<Attribute>();
  if (auto number = dyn_cast<FloatAttr>(value))
    return {f32(number.getValue().convertToFloat())};
  if (auto integer = dyn_cast<IntegerAttr>(value))
    return {integer.getType().isInteger(1) ? LLVM::ConstantOp::create(b_, i1Type_, integer).getResult()
                                           : i64(integer.getInt())};
  return {};
}

// Pairs of neighbouring columns become one register, the left column in its low half.
Value KernelEmitter::pack(Value left, Value right, Type element) {
  StringRef name = element.isBF16() ? "llvm.nvvm.ff2bf16x2.rn" : "llvm.nvvm.ff2f16x2.rn";
  return bits(intrinsic(name, VectorType::get({2}, element), {right, left}), i32Type_);
}

// 16-bit inputs: one instruction, 2^-11 relative. f32 inputs: tanh x = sign(x) (1 - 2 / (1 + e^{2|x|})), and x itself
// near zero through its odd series, where the difference would cancel.
Value KernelEmitter::tanh(Value x) {
  auto query = cast<MemRefType>(kernel_.getBody().getArgument(0).getType());
  if (elementBytes(query.getElementType()) == 2)
    return LLVM::InlineAsmOp::create(
               b_, f32Type_, ValueRange{x}, "tanh.approx.f32 $0, $1;", "=f,f", /*has_side_effects=*/false,
               /*is_align_stack=*/false, LLVM::TailCallKind::None, LLVM::AsmDialectAttr(), ArrayAttr())
        .getResult(0);
  auto fma = [&](Value a, Value b, Value c) { return LLVM::FMAOp::create(b_, a, b, c).getResult(); };
  Value size = LLVM::FAbsOp::create(b_, x);
  Value power = intrinsic("llvm.nvvm.ex2.approx.ftz.f", f32Type_, {fmul(size, f32(2.885390081777927f))});
  Value large = fma(intrinsic("llvm.nvvm.rcp.approx.ftz.f", f32Type_, {fadd(power, f32(1.0f))}), f32(-2.0f), f32(1.0f));
  large = LLVM::CopySignOp::create(b_, large, x);
  Value square = fmul(x, x);
  Value series = fma(square, f32(-17.0f / 315.0f), f32(2.0f / 15.0f));
  series = fma(square, series, f32(-1.0f / 3.0f));
  Value small = fma(fmul(square, x), series, x);
  Value near = LLVM::FCmpOp::create(b_, LLVM::FCmpPredicate::olt, size, f32(0.15f));
  return select(near, small, large);
}

Value KernelEmitter::emitRegister(Operation &op, Value a, Value c, Value d) {
  return TypeSwitch<Operation *, Value>(&op)
      .Case<arith::AddFOp>([&](auto) { return fadd(a, c); })
      .Case<arith::SubFOp>([&](auto) { return LLVM::FSubOp::create(b_, a, c).getResult(); })
      .Case<arith::MulFOp>([&](auto o) {
        // An intrinsic stays where it is: LLVM would move the equal products of both arms of a branch behind it, and
        // where the arm of the tiles that move nothing is empty, the assembler loses sight of the warps' convergence in
        // the rescue's loop, and spills.
        auto tile = dyn_cast<RankedTensorType>(o.getType());
        return tile && tile.getRank() == 1 ? intrinsic("llvm.nvvm.mul.rn.ftz.f", f32Type_, {a, c}) : fmul(a, c);
      })
      .Case<arith::DivFOp>([&](auto) { return intrinsic("llvm.nvvm.div.full", f32Type_, {a, c}); })
      .Case<arith::NegFOp>([&](auto) { return LLVM::FNegOp::create(b_, a).getResult(); })
      .Case<arith::MaxNumFOp>([&](auto) { return fmax(a, c); })
      .Case<arith::CmpFOp>(
          [&](auto o) { return LLVM::FCmpOp::create(b_, floatPredicate(o.getPredicate()), a, c).getResult(); })
      .Case<arith::SelectOp>([&](auto) { return select(a, c, d); })
      .Case<math::AbsFOp>([&](auto) { return LLVM::FAbsOp::create(b_, a).getResult(); })
      .Case<math::FmaOp>([&](auto) { return LLVM::FMAOp::create(b_, a, c, d).getResult(); })
      .Case<math::Exp2Op>([&](auto) { return intrinsic("llvm.nvvm.ex2.approx.ftz.f", f32Type_, {a}); })
      .Case<math::Log2Op>([&](auto) { return intrinsic("llvm.nvvm.lg2.approx.ftz.f", f32Type_, {a}); })
      .Case<math::TanhOp>([&](auto) { return tanh(a); })
      .Case<arith::AddIOp>([&](auto) { return add(a, c); })
      .Case<arith::SubIOp>([&](auto) { return sub(a, c); })
      .Case<arith::MulIOp>([&](auto) { return mul(a, c); })
      .Case<arith::DivSIOp>([&](auto) { return LLVM::SDivOp::create(b_, a, c).getResult(); })
      .Case<arith::DivUIOp>([&](auto) { return LLVM::UDivOp::create(b_, a, c).getResult(); })
      .Case<arith::RemUIOp>([&](auto) { return LLVM::URemOp::create(b_, a, c).getResult(); })
      .Case<arith::MinSIOp>([&](auto) { return LLVM::SMinOp::create(b_, a, c).getResult(); })
      .Case<arith::MaxSIOp>([&](auto) { return LLVM::SMaxOp::create(b_, a, c).getResult(); })
      .Case<arith::AndIOp>([&](auto) { return andI(a, c); })
      .Case<arith::OrIOp>([&](auto) { return orI(a, c); })
      .Case<arith::XOrIOp>([&](auto) { return xorI(a, c); })
      .Case<arith::CmpIOp>([&](auto o) { return compare(integerPredicate(o.getPredicate()), a, c); })
      .Default([](auto) { return Value(); });
}

/// All registers of the result, or those of column blocks [first, first + count) added to the ones that are there.
LogicalResult KernelEmitter::emitElementwise(Operation &op, std::optional<std::pair<unsigned, unsigned>> columns) {
  if (isa<arith::ConstantOp>(op)) {
    Registers value = constant(op);
    if (value.empty())
      return op.emitOpError("codegen: only splat constants reach the code generator");
    values_[op.getResult(0)] = value;
    return success();
  }
  if (op.getNumResults() != 1 || op.getNumOperands() < 1)
    return op.emitOpError("codegen: not an operation of the tile layer");

  Value result = op.getResult(0);
  bool splat = llvm::all_of(op.getOperands(), [&](Value v) { return values_[v].size() == 1; });
  bool packs = isa<arith::TruncFOp>(op);
  unsigned count = splat && !packs ? 1 : registerCount(result);
  Registers out = values_[result];
  out.resize(count);
  Fragment fragment = isa<RankedTensorType>(result.getType()) ? fragmentOf(result) : Fragment();
  unsigned perBlock = fragment.columnBlocks ? count / fragment.blocks() : 1;
  for (unsigned i = 0; i < count; ++i) {
    if (columns && count > 1) {
      unsigned block = i / perBlock % fragment.columnBlocks;
      if (block < columns->first || block >= columns->first + columns->second)
        continue;
    }
    auto operand = [&](unsigned n, unsigned at) {
      return n < op.getNumOperands() ? registerOf(op.getOperand(n), at) : Value();
    };
    if (packs)
      out[i] =
          pack(operand(0, 2 * i), operand(0, 2 * i + 1), cast<RankedTensorType>(result.getType()).getElementType());
    else
      out[i] = emitRegister(op, operand(0, i), operand(1, i), operand(2, i));
    if (!out[i])
      return op.emitOpError("codegen: not an operation of the tile layer");
  }
  values_[result] = std::move(out);
  return success();
}

} // namespace tessera::codegen
