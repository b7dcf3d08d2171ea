// Results to global memory. A tile goes through shared memory in panels of 128 bytes per row, so that eight lanes write
// one row with 16-byte stores; a warp stages only its own rows, where its queries stood, and needs no barrier of the
// block.
#include "codegen/KernelEmitter.h"

using namespace mlir;
namespace tessera::codegen {

LogicalResult KernelEmitter::emitTileStore(attn::TileStoreOp op) {
  if (cast<RankedTensorType>(op.getTile().getType()).getRank() == 1)
    storeRows(op);
  else
    storeTile(op);
  return success();
}

/// Whether query row `row` + `own` exists.
Value KernelEmitter::rowExists(Value row, Value own) {
  return compare(LLVM::ICmpPredicate::ult, add(row, widen(own)), widen(parameter("seqlen_q")));
}

void KernelEmitter::storeRows(attn::TileStoreOp op) {
  FreshThread fresh(*this);
  Fragment fragment = fragmentOf(op.getTile());
  Value row = values_[op.getRow()][0];
  Value head =
      add(mul(values_[op.getBatch()][0], parameter("lse_batch")), mul(values_[op.getHead()][0], parameter("lse_head")));
  Value own = add(mul(warp(), i32(fragment.rowBlocks * 16)), laneRow());
  PackedRow packed;
  if (op.getPacked())
    packed = packedRow(add(narrow(row), own));
  Value first = compare(LLVM::ICmpPredicate::eq, lanePair(), i32(0));
  for (unsigned rb = 0; rb < fragment.rowBlocks; ++rb)
    for (unsigned half = 0; half < 2; ++half) {
      Value at = add(own, i32(rb * 16 + half * 8));
      if (op.getPacked() && rb + half > 0)
        packed = advance(packed, 8);
      Value there = op.getPacked() ? exists(packed) : rowExists(row, at);
      guarded(andI(first, there), {}, [&]() -> SmallVector<Value> {
        Value element = add(head, op.getPacked() ? elementsTo(packed, "lse")
                                                 : mul(add(row, widen(at)), widen(parameter("lse_row"))));
        LLVM::StoreOp::create(b_, registerOf(op.getTile(), Fragment::row(rb, half)),
                              offset(parameter("lse"), mul(element, i64(4))));
        return {};
      });
    }
}

// Panel layout, 128 bytes a row, chunk c of row r at c ^ f(r): 16-bit f = r & 7 (a lane writes 4 bytes: 8 rows x 16
// bytes are all banks); f32 f = 2 (r & 3) (a lane writes 8 bytes: 4 rows x 32 bytes are all banks).
void KernelEmitter::storeTile(attn::TileStoreOp op) {
  FreshThread fresh(*this);
  Fragment fragment = fragmentOf(op.getTile());
  Type element = cast<RankedTensorType>(op.getTile().getType()).getElementType();
  unsigned bytes = elementBytes(element), blockBytes = 8 * bytes, panelBlocks = 128 / blockBytes;
  unsigned warpRows = fragment.rowBlocks * 16, access = std::min<unsigned>(kernel_.getAccessBytes(), 16);
  bool wide = bytes == 4;
  Value row = values_[op.getRow()][0];
  Value head =
      add(mul(values_[op.getBatch()][0], parameter("o_batch")), mul(values_[op.getHead()][0], parameter("o_head")));
  Value warpRow = mul(warp(), i32(warpRows));
  auto query = cast<MemRefType>(kernel_.getBody().getArgument(0).getType());
  unsigned queryBytes = elementBytes(query.getElementType()), padding = queryBytes == 4 ? 8 : 16;
  unsigned queryPitch = (query.getDimSize(3) + padding - 1) / padding * padding * queryBytes;
  Value staging = offset(sharedBase(), mul(warpRow, i32(std::max(128u, queryPitch)))); // the warp's own query rows
  // Rows of queries are shorter than those staged: the warp's place reaches into the queries of others, who read them
  // into registers at the beginning and may not have, where no step of the loop with its barriers came between.
  if (schedule_.queryInRegisters && queryPitch < 128)
    intrinsic("llvm.nvvm.barrier.cta.sync.aligned.all", {i32(0)});

  // Lane's own place when it writes its fragment (row g), and when it reads chunks (row lane / 8, chunk lane % 8).
  Value g = laneRow(), q = lanePair();
  Value writeSwizzle = wide ? shl(andI(g, i32(3)), 1) : andI(g, i32(7));
  Value writeHalf = wide ? shr(q, 1) : i32(0);
  Value writeByte = wide ? shl(andI(q, i32(1)), 3) : shl(q, 2);
  Value readRow = shr(lane(), 3), readChunk = andI(lane(), i32(7));

  PackedRow firstPacked;
  if (op.getPacked())
    firstPacked = packedRow(add(narrow(row), add(warpRow, readRow)));
  for (unsigned panel = 0; panel < fragment.columnBlocks; panel += panelBlocks) {
    unsigned blocks = std::min(panelBlocks, fragment.columnBlocks - panel);
    intrinsic("llvm.nvvm.bar.warp.sync", {i32(-1)});
    for (unsigned cb = 0; cb < blocks; ++cb) {
      Value chunk = xorI(wide ? add(writeHalf, i32(2 * cb)) : i32(cb), writeSwizzle);
      Value at = add(add(shl(g, 7), shl(chunk, 4)), writeByte);
      for (unsigned rb = 0; rb < fragment.rowBlocks; ++rb)
        for (unsigned half = 0; half < 2; ++half) {
          Value pointer = offset(offset(staging, at), (rb * 16 + half * 8) * 128);
          if (wide) {
            Value pair = LLVM::PoisonOp::create(b_, VectorType::get({2}, f32Type_));
            for (unsigned e = 0; e < 2; ++e)
              pair = LLVM::InsertElementOp::create(
                  b_, pair, registerOf(op.getTile(), fragment.accumulator(rb, panel + cb, 2 * half + e)), i32(e));
            LLVM::StoreOp::create(b_, pair, pointer, 8);
          } else {
            LLVM::StoreOp::create(b_, registerOf(op.getTile(), fragment.pair(rb, panel + cb, half)), pointer, 4);
          }
        }
    }
    intrinsic("llvm.nvvm.bar.warp.sync", {i32(-1)});
    unsigned chunks = blocks * blockBytes / 16;
    PackedRow packed = firstPacked;
    for (unsigned r = 0; r < warpRows; r += 4) {
      Value own = add(readRow, i32(r));
      Value swizzle = wide ? shl(andI(own, i32(3)), 1) : andI(own, i32(7));
      Value at = add(shl(own, 7), shl(xorI(readChunk, swizzle), 4));
      if (op.getPacked() && r > 0)
        packed = advance(packed, 4);
      Value there = op.getPacked() ? exists(packed) : rowExists(row, add(warpRow, own));
      if (chunks < 8)
        there = andI(there, compare(LLVM::ICmpPredicate::ult, readChunk, i32(chunks)));
      guarded(there, {}, [&]() -> SmallVector<Value> {
        Value place = add(head, op.getPacked() ? elementsTo(packed, "o")
                                               : mul(add(row, widen(add(warpRow, own))), widen(parameter("o_row"))));
        Value target =
            offset(parameter("o"), add(mul(place, i64(bytes)), widen(add(shl(readChunk, 4), i32(panel * blockBytes)))));
        Type part = access == 2 ? b_.getIntegerType(16) : i32Type_;
        unsigned words = access == 2 ? 8 : 4;
        Value data = LLVM::LoadOp::create(b_, VectorType::get({words}, part), offset(staging, at), 16);
        storeChunk(data, target, access);
        return {};
      });
    }
  }
}

/// 16 bytes in stores of `access` bytes.
void KernelEmitter::storeChunk(Value data, Value target, unsigned access) {
  if (access == 16) {
    LLVM::StoreOp::create(b_, data, target, 16);
    return;
  }
  auto type = cast<VectorType>(data.getType());
  unsigned word = elementBytes(type.getElementType()), words = access / word;
  for (unsigned i = 0; i < type.getNumElements(); i += words) {
    Value part =
        words == 1 ? Value() : LLVM::PoisonOp::create(b_, VectorType::get({words}, type.getElementType())).getResult();
    for (unsigned j = 0; j < words; ++j) {
      Value one = LLVM::ExtractElementOp::create(b_, data, i32(i + j));
      part = words == 1 ? one : LLVM::InsertElementOp::create(b_, part, one, i32(j)).getResult();
    }
    LLVM::StoreOp::create(b_, part, offset(target, int64_t(i) * word), access);
  }
}

} // namespace tessera::codegen
