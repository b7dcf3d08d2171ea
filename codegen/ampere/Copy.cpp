// Tiles from global memory to shared memory: cp.async in 16-byte chunks where the layout allows, narrower copies where
// it does not.
//
// A row has `chunks` chunks, p of them (the largest power of two that divides it) side by side in neighbouring threads,
// so that a thread keeps its columns for the whole tile and steps down threads / p rows at a time.
#include "codegen/KernelEmitter.h"

using namespace mlir;
namespace tessera::codegen {

/// One 16-byte chunk, of which `bytes` (0 or 16) exist; the rest becomes zero. A null `bytes` promises that all exist.
void KernelEmitter::copyChunk(Value shared, Value global, Value bytes, unsigned access, unsigned elementBytes) {
  if (access == 16) {
    if (bytes)
      intrinsic("llvm.nvvm.cp.async.cg.shared.global.16.s", {shared, global, bytes});
    else
      intrinsic("llvm.nvvm.cp.async.cg.shared.global.16", {shared, global});
    return;
  }
  if (access >= 4) {
    std::string name = "llvm.nvvm.cp.async.ca.shared.global." + std::to_string(access);
    Value part = bytes ? LLVM::SMinOp::create(b_, bytes, i32(access)).getResult() : Value();
    for (unsigned at = 0; at < 16; at += access)
      if (part)
        intrinsic(name + ".s", {offset(shared, at), offset(global, at), part});
      else
        intrinsic(name, {offset(shared, at), offset(global, at)});
    return;
  }
  // No asynchronous copy is narrower than four bytes: elements go through registers.
  Type element = b_.getIntegerType(elementBytes * 8);
  unsigned count = 16 / elementBytes;
  SmallVector<Value> zeros(count, LLVM::ConstantOp::create(b_, element, b_.getIntegerAttr(element, 0)));
  auto load = [&] {
    SmallVector<Value> loaded;
    for (unsigned i = 0; i < count; ++i)
      loaded.push_back(LLVM::LoadOp::create(b_, element, offset(global, i * elementBytes), elementBytes));
    return loaded;
  };
  SmallVector<Value> values = bytes ? guarded(compare(LLVM::ICmpPredicate::ne, bytes, i32(0)), zeros, load) : load();
  for (unsigned i = 0; i < count; ++i)
    LLVM::StoreOp::create(b_, values[i], offset(shared, i * elementBytes), elementBytes);
}

void KernelEmitter::emitCopyAsync(attn::CopyAsyncOp op) {
  // Under a band the mask's branch and a max at every tile take the last registers, and the assembler moves
  // accumulators about: there the values' copies find their addresses anew in every tile.
  std::optional<FreshThread> fresh;
  unsigned argument = cast<BlockArgument>(op.getSource()).getArgNumber();
  if (op.getWhole() && argument == 2 && banded_ && schedule_.rescale == Rescale::Lazy)
    fresh.emplace(*this);
  static constexpr StringRef names[] = {"q", "k", "v"};
  StringRef name = names[argument];
  const Shared at = shared(op.getTarget());
  const SharedTile &tile = at.tile;
  auto type = cast<MemRefType>(op.getSource().getType());
  unsigned bytes = elementBytes(type.getElementType()), access = kernel_.getAccessBytes();
  unsigned threads = 32 * schedule_.warps;
  unsigned present = type.getDimSize(3) * bytes / 16; // chunks of a row that the tensor has; the others are padding
  unsigned abreast = tile.chunks & -tile.chunks;
  abreast = std::min(abreast, threads);
  unsigned rowsAtOnce = threads / abreast, passes = (tile.rows + rowsAtOnce - 1) / rowsAtOnce;

  std::string shape = std::to_string(tile.chunks) + "/" + std::to_string(abreast);
  Value thread = tid();
  Value ownRow = once("copy.row/" + std::to_string(abreast),
                      [&] { return LLVM::UDivOp::create(b_, thread, i32(abreast)).getResult(); });
  Value ownChunk = once("copy.chunk/" + std::to_string(abreast),
                        [&] { return LLVM::URemOp::create(b_, thread, i32(abreast)).getResult(); });
  Value rowStride = parameter((name + "_row").str());
  Value threadBytes = once("copy.global/" + name.str(), [&] {
    if (op.getPacked())
      return widen(shl(ownChunk, 4));
    Value row = LLVM::MulOp::create(b_, widen(ownRow), widen(rowStride));
    return add(mul(row, i64(bytes)), widen(shl(ownChunk, 4)));
  });
  Value head = add(mul(values_[op.getBatch()][0], parameter((name + "_batch").str())),
                   mul(values_[op.getHead()][0], parameter((name + "_head").str())));
  Value row = values_[op.getRow()][0];
  Value start = mul(head, i64(bytes));
  if (!op.getPacked())
    start = add(start, mul(row, mul(widen(rowStride), i64(bytes))));
  Value global = offset(offset(parameter(name), threadBytes), start);
  StringRef lengthName = argument == 0 ? "seqlen_q" : "seqlen_kv";
  Value length = widen(parameter(lengthName));

  // Neighbouring packed rows lie in different heads: each pass has a source of its own (that of column 0) and a row
  // that exists or not.
  SmallVector<std::pair<Value, Value>> packed;
  if (op.getPacked()) {
    PackedRow at = packedRow(add(narrow(row), ownRow));
    for (unsigned pass = 0; pass < passes; ++pass) {
      if (pass)
        at = advance(at, rowsAtOnce);
      packed.push_back({offset(global, mul(elementsTo(at, name), i64(bytes))), exists(at)});
    }
  }

  // f(row) repeats every 8 rows: while a pass steps by a multiple of 8 rows one address serves all passes.
  bool oneAddress = rowsAtOnce % 8 == 0;
  for (unsigned column = 0; column < tile.chunks; column += abreast) {
    Value chunk = column == 0 ? ownChunk
                              : once("copy.chunk/" + std::to_string(abreast) + "+" + std::to_string(column),
                                     [&] { return add(ownChunk, i32(column)); });
    bool padded = column + abreast > present;
    Value before;
    for (unsigned pass = 0; pass < passes; ++pass) {
      unsigned step = pass * rowsAtOnce;
      Value target = once(
          "copy.shared/" + shape + "/" + std::to_string(column) + "/" + std::to_string(oneAddress ? 0 : step), [&] {
            Value r = oneAddress ? ownRow : add(ownRow, i32(step));
            Value swizzle = andI(shr(r, tile.shift()), i32(tile.mask()));
            return add(mul(r, i32(tile.pitch())), shl(xorI(chunk, swizzle), 4));
          });
      Value destination = sharedPointer(at, target, oneAddress ? step * tile.pitch() : 0);
      // One multiply-add each: the row stride fits 32 bits. From the row before where a band needs the uniform
      // registers that hold the multiples of the stride.
      Value first = offset(global, int64_t(column) * 16);
      Value source = op.getPacked() ? offset(packed[pass].first, int64_t(column) * 16)
                     : step == 0    ? first
                     : banded_      ? offset(before, mul(widen(rowStride), i64(int64_t(rowsAtOnce) * bytes)))
                                    : offset(first, mul(widen(rowStride), i64(int64_t(step) * bytes)));
      before = source;

      Value exists;
      if (op.getPacked())
        exists = packed[pass].second;
      else if (!op.getWhole())
        exists = compare(LLVM::ICmpPredicate::ult, add(row, widen(add(ownRow, i32(step)))), length);
      if (padded) {
        Value inside = compare(LLVM::ICmpPredicate::ult, chunk, i32(present));
        exists = exists ? andI(exists, inside) : inside;
      }
      Value size = exists ? select(exists, i32(16), i32(0)) : Value();
      bool ragged = step + rowsAtOnce > tile.rows;
      if (!ragged) {
        copyChunk(destination, source, size, access, bytes);
        continue;
      }
      guarded(compare(LLVM::ICmpPredicate::ult, ownRow, i32(tile.rows - step)), {}, [&]() -> SmallVector<Value> {
        copyChunk(destination, source, size, access, bytes);
        return {};
      });
    }
  }
}

} // namespace tessera::codegen
