// Matrix products: ldmatrix from swizzled shared memory, mma.sync on 16-bit or tf32 operands.
//
// Roles of a lane in an ldmatrix.x4 (four 8 x 8 matrices of 16-byte rows; lane t gives the address of row t % 8 of
// matrix t / 8):
//   A (Q):  row lane % 16 of the block, chunk half lane / 16      -> a0 a1 a2 a3
//   B (K):  key lane % 8 + 8 (lane / 16), chunk half lane / 8 % 2 -> b0 b1 of keys 0-7, b0 b1 of keys 8-15
//   B (V):  key lane % 16, chunk half lane / 16, transposed       -> b0 b1 of columns 0-7, b0 b1 of columns 8-15
#include "codegen/KernelEmitter.h"

using namespace mlir;
namespace tessera::codegen {

Registers KernelEmitter::mma(ArrayRef<Value> a, ArrayRef<Value> b, ArrayRef<Value> c, Type element) {
  Type result = LLVM::LLVMStructType::getLiteral(b_.getContext(), SmallVector<Type>(4, f32Type_));
  SmallVector<Value> arguments;
  StringRef name = "llvm.nvvm.mma.m16n8k16.row.col.bf16";
  Type operand = i32Type_;
  if (element.isF16()) {
    name = "llvm.nvvm.mma.m16n8k16.row.col.f32.f32";
    operand = VectorType::get({2}, b_.getF16Type());
  } else if (element.isF32()) {
    name = "llvm.nvvm.mma.m16n8k8.row.col.tf32";
  }
  for (Value value : a)
    arguments.push_back(bits(value, operand));
  for (Value value : b)
    arguments.push_back(bits(value, operand));
  arguments.append(c.begin(), c.end());
  return unpack(intrinsic(name, result, arguments), 4);
}

// x = high + low up to 2^-22 |x|, both tf32. Infinities and NaN stand in the high part; their low part, which would be
// the difference of two infinities, is 0.
std::pair<Value, Value> KernelEmitter::splitTf32(Value x, bool precise) {
  x = bits(x, f32Type_);
  Value high = intrinsic("llvm.nvvm.f2tf32.rna", i32Type_, {x});
  if (!precise)
    return {high, Value()};
  Value rest = LLVM::FSubOp::create(b_, x, bits(high, f32Type_));
  Value finite = LLVM::FCmpOp::create(b_, LLVM::FCmpPredicate::oeq, rest, rest);
  return {high, intrinsic("llvm.nvvm.f2tf32.rna", i32Type_, {select(finite, rest, f32(0.0f))})};
}

// (ah + al)(bh + bl) without al bl, the small products first.
Registers KernelEmitter::mmaTf32(ArrayRef<Value> a, ArrayRef<Value> b, ArrayRef<Value> c, bool precise) {
  SmallVector<Value> aHigh, aLow, bHigh, bLow;
  for (Value value : a) {
    auto [high, low] = splitTf32(value, precise);
    aHigh.push_back(high), aLow.push_back(low);
  }
  for (Value value : b) {
    auto [high, low] = splitTf32(value, precise);
    bHigh.push_back(high), bLow.push_back(low);
  }
  Registers sum(c.begin(), c.end());
  if (precise) {
    sum = mma(aLow, bHigh, sum, f32Type_);
    sum = mma(aHigh, bLow, sum, f32Type_);
  }
  return mma(aHigh, bHigh, sum, f32Type_);
}

Registers KernelEmitter::loadMatrices(Value pointer, unsigned count, bool transposed) {
  Type result = LLVM::LLVMStructType::getLiteral(b_.getContext(), SmallVector<Type>(count, i32Type_));
  std::string name =
      "llvm.nvvm.ldmatrix.sync.aligned.m8n8.x" + std::to_string(count) + (transposed ? ".trans" : "") + ".b16.p3";
  return unpack(intrinsic(name, result, {pointer}), count);
}

Registers KernelEmitter::loadA(Value sharedTile, unsigned rowBlock, unsigned kStep) {
  const Shared &at = shared(sharedTile);
  unsigned warpRows = at.tile.rows / schedule_.warps;
  // The lane's part is that of V; the warp's rows are a uniform offset.
  Value address = blockAddress(at.tile, at.tile.chunkClass(2 * kStep));
  Value w = warp();
  Value warpBytes = once("A.warp/" + std::to_string(warpRows * at.tile.pitch()),
                         [&] { return mul(w, i32(warpRows * at.tile.pitch())); });
  Value pointer = offset(
      sharedPointer(at, address, at.tile.chunkBase(2 * kStep) * 16 + rowBlock * 16 * at.tile.pitch()), warpBytes);
  return loadMatrices(pointer, 4, false);
}

/// Row lane % 16, chunk half lane / 16.
Value KernelEmitter::blockAddress(const SharedTile &tile, unsigned chunkClass) {
  Value l = lane();
  Value row = once("block.row", [&] { return andI(l, i32(15)); });
  Value half = once("block.half", [&] { return shr(l, 4); });
  return matrixAddress("block", tile, chunkClass, row, half);
}

Registers KernelEmitter::loadB(const Shared &at, unsigned keyBlock, unsigned kStep) {
  Value l = lane();
  Value row = once("K.row", [&] { return add(andI(l, i32(7)), shl(shr(l, 4), 3)); });
  Value half = once("K.half", [&] { return andI(shr(l, 3), i32(1)); });
  Value address = matrixAddress("K", at.tile, at.tile.chunkClass(2 * kStep), row, half);
  return loadMatrices(sharedPointer(at, address, at.tile.chunkBase(2 * kStep) * 16 + keyBlock * 8 * at.tile.pitch()), 4,
                      false);
}

Registers KernelEmitter::loadTransposedB(const Shared &at, unsigned kStep, unsigned columnBlock, unsigned count) {
  Value address = blockAddress(at.tile, at.tile.chunkClass(columnBlock));
  return loadMatrices(sharedPointer(at, address, at.tile.chunkBase(columnBlock) * 16 + kStep * 16 * at.tile.pitch()),
                      count, true);
}

// There is no transposing matrix load of 32-bit elements. The k index of the product is a permutation of the keys that
// leaves the probabilities where they are: k = q is key 2q, k = q + 4 is key 2q + 1.
Registers KernelEmitter::loadB32(const Shared &at, unsigned keyBlock, unsigned columnBlock) {
  Value q = lanePair(), g = laneRow();
  Value half = once("V32.half", [&] { return shr(g, 2); });
  Value word = once("V32.word", [&] { return shl(andI(g, i32(3)), 2); });
  Registers out;
  for (unsigned odd = 0; odd < 2; ++odd) {
    std::string role = "V32." + std::to_string(odd);
    Value row = once(role + ".row", [&] { return add(shl(q, 1), i32(odd)); });
    Value address = matrixAddress(role, at.tile, at.tile.chunkClass(2 * columnBlock), row, half);
    Value whole =
        once(role + std::to_string(at.tile.chunks) + "/" + std::to_string(at.tile.chunkClass(2 * columnBlock)),
             [&] { return add(address, word); });
    Value pointer = sharedPointer(at, whole, at.tile.chunkBase(2 * columnBlock) * 16 + keyBlock * 8 * at.tile.pitch());
    out.push_back(LLVM::LoadOp::create(b_, f32Type_, pointer));
  }
  return out;
}

/// A register i of a 32-bit operand is element elementOfA32[i] of its block, and the other way round: rows g and g + 8
/// of k = q, then of k = q + 4.
static constexpr unsigned elementOfA32[] = {0, 2, 1, 3};

LogicalResult KernelEmitter::emitSharedLoad(attn::SharedLoadOp op) {
  Fragment fragment = fragmentOf(op.getTile());
  bool wide = elementBytes(op.getSource().getType().getElementType()) == 4;
  Registers out(fragment.blocks() * (wide ? 4 : 2));
  unsigned kSteps = wide ? fragment.columnBlocks : fragment.columnBlocks / 2;
  for (unsigned rb = 0; rb < fragment.rowBlocks; ++rb)
    for (unsigned k = 0; k < kSteps; ++k) {
      Registers a = loadA(op.getSource(), rb, k);
      for (unsigned i = 0; i < 4; ++i)
        out[wide ? fragment.accumulator(rb, k, i) : fragment.pair(rb, 2 * k + i / 2, i % 2)] =
            a[wide ? elementOfA32[i] : i];
    }
  values_[op.getTile()] = std::move(out);
  return success();
}

/// The A fragment of one k-step: from shared memory, or from the registers of a tile.
Registers KernelEmitter::operandA(Value lhs, unsigned rowBlock, unsigned kStep) {
  if (isa<attn::SharedType>(lhs.getType()))
    return loadA(lhs, rowBlock, kStep);
  Fragment fragment = fragmentOf(lhs);
  Registers &in = values_[lhs];
  Registers a;
  if (elementBytes(cast<RankedTensorType>(lhs.getType()).getElementType()) == 4) {
    for (unsigned e : elementOfA32)
      a.push_back(in[fragment.accumulator(rowBlock, kStep, e)]);
  } else {
    for (unsigned i = 0; i < 4; ++i)
      a.push_back(in[fragment.pair(rowBlock, 2 * kStep + i / 2, i % 2)]);
  }
  return a;
}

LogicalResult KernelEmitter::emitDot(attn::DotOp op) {
  auto rhsType = dyn_cast<attn::SharedType>(op.getRhs().getType());
  if (!rhsType)
    return op.emitOpError("codegen: the right operand of a dot stands in shared memory");
  Fragment fragment = fragmentOf(op.getResult());
  Type element = rhsType.getElementType();
  bool wide = elementBytes(element) == 4;
  unsigned kStepSize = wide ? 8 : 16;
  unsigned kSteps = (op.getTransposed() ? rhsType.getColumns() : rhsType.getRows()) / kStepSize;
  const Shared at = shared(op.getRhs());
  Registers sum;
  for (unsigned i = 0; i < fragment.blocks() * 4; ++i)
    sum.push_back(registerOf(op.getInit(), i));

  auto multiply = [&](unsigned rb, unsigned cb, ArrayRef<Value> a, ArrayRef<Value> b) {
    Registers c;
    for (unsigned e = 0; e < 4; ++e)
      c.push_back(sum[fragment.accumulator(rb, cb, e)]);
    Registers d = wide ? mmaTf32(a, b, c, op.getPrecise()) : mma(a, b, c, element);
    for (unsigned e = 0; e < 4; ++e)
      sum[fragment.accumulator(rb, cb, e)] = d[e];
  };

  for (unsigned k = 0; k < kSteps; ++k) {
    if (failed(emitStreamed(op, k * (kStepSize / 8), kStepSize / 8)))
      return failure();
    SmallVector<Registers, 2> a;
    for (unsigned rb = 0; rb < fragment.rowBlocks; ++rb)
      a.push_back(operandA(op.getLhs(), rb, k));
    for (unsigned cb = 0; cb < fragment.columnBlocks;) {
      unsigned blocks = std::min(2u, fragment.columnBlocks - cb);
      Registers b;
      if (op.getTransposed()) {
        b = loadB(at, cb, k);
      } else if (wide) {
        blocks = 1;
        b = loadB32(at, k, cb);
      } else {
        b = loadTransposedB(at, k, cb, 2 * blocks);
      }
      for (unsigned i = 0; i < blocks; ++i)
        for (unsigned rb = 0; rb < fragment.rowBlocks; ++rb)
          multiply(rb, cb + i, a[rb], ArrayRef<Value>(b).slice(2 * i, 2));
      cb += blocks;
    }
  }
  values_[op.getResult()] = std::move(sum);
  return success();
}

} // namespace tessera::codegen
