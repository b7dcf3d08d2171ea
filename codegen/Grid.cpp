// The place of a thread block in the grid: which query tiles it computes, in which order, and what packed rows are.
#include "codegen/KernelEmitter.h"

using namespace mlir;
namespace tessera::codegen {

// A persistent block goes from one query tile to the next so many further on as there are blocks: a loop over their
// numbers, whose head is to the body what the entry block is elsewhere. What is the same for all tiles is made anew for
// each, from a thread number that is read anew: registers that kept it would be missing in the main loop. All blocks
// have a first tile; the grid rule sees to that.
void KernelEmitter::emitEntry() {
  entry_ = function_.addEntryBlock(b_);
  b_.setInsertionPointToEnd(entry_);
  if (schedule_.persistent) {
    Block *head = newBlock();
    LLVM::BrOp::create(b_, blockNumber(), head);
    tile_ = head->addArgument(i32Type_, b_.getLoc());
    entry_ = head;
    b_.setInsertionPointToEnd(head);
  }
  Block *body = newBlock();
  LLVM::BrOp::create(b_, ValueRange(), body);
  b_.setInsertionPointToEnd(body);
}

void KernelEmitter::emitReturn() {
  if (schedule_.persistent) {
    Block *exit = newBlock();
    Value next = add(tile_, intrinsic("llvm.nvvm.read.ptx.sreg.nctaid.x", i32Type_, {}));
    Value tiles = mul(parameter("q_tiles"), parameter("pairs"));
    // Unsigned: both are below 2^31, and so is the sum below 2^32.
    LLVM::CondBrOp::create(b_, compare(LLVM::ICmpPredicate::ult, next, tiles), entry_, next, exit, ValueRange());
    b_.setInsertionPointToEnd(exit);
  }
  LLVM::ReturnOp::create(b_, ValueRange());
}

Value KernelEmitter::blockNumber() { return intrinsic("llvm.nvvm.read.ptx.sreg.ctaid.x", i32Type_, {}); }

// Numbers run through the tiles of one pair of batch and head (packed: KV head), then through those of the next pair:
// number = pair * tiles + tile. With a head group, `size` pairs take their tiles in turn (the last group has what is
// left):
//
//   number = first pair * tiles + tile * size + (pair - first pair)
void KernelEmitter::emitProgramId(attn::ProgramIdOp op) {
  auto quotient = [&](Value a, Value by) { return LLVM::UDivOp::create(b_, a, by).getResult(); };
  auto remainder = [&](Value a, Value by, Value times) { return sub(a, mul(by, times)); };
  Value number = schedule_.persistent ? tile_ : blockNumber();
  Value tiles = parameter("q_tiles"), heads = parameter("heads");
  Value pair, place;
  if (schedule_.headGroup == 1) {
    pair = quotient(number, tiles);
    place = remainder(number, pair, tiles);
  } else {
    Value pairs = parameter("pairs");
    Value most = LLVM::UMinOp::create(b_, pairs, i32(schedule_.headGroup));
    Value span = mul(most, tiles);
    Value first = mul(quotient(number, span), most);
    Value size = LLVM::UMinOp::create(b_, most, sub(pairs, first));
    Value local = remainder(number, first, tiles);
    place = quotient(local, size);
    pair = add(first, remainder(local, place, size));
  }
  Value tile = schedule_.order == TileOrder::LastFirst ? sub(sub(tiles, i32(1)), place) : place;
  Value batch, head, kvHead;
  if (schedule_.packHeads) {
    Value kvHeads = quotient(heads, parameter("group"));
    batch = quotient(pair, kvHeads);
    kvHead = remainder(pair, batch, kvHeads);
    head = mul(kvHead, parameter("group"));
  } else {
    batch = quotient(pair, heads);
    head = remainder(pair, batch, heads);
    kvHead = quotient(head, parameter("group"));
  }
  values_[op.getBatch()] = {widen(batch)};
  values_[op.getHead()] = {widen(head)};
  values_[op.getKvHead()] = {widen(kvHead)};
  values_[op.getRow()] = {mul(widen(tile), i64(schedule_.tileQ))};
}

// Packed rows fit 31 bits: a launch sees to it. So those of a tile fit 32.
KernelEmitter::PackedRow KernelEmitter::packedRow(Value row) {
  Value group = parameter("group");
  Value position = LLVM::UDivOp::create(b_, row, group);
  return {position, sub(row, mul(position, group))};
}

KernelEmitter::PackedRow KernelEmitter::advance(const PackedRow &from, unsigned rows) {
  Value group = parameter("group");
  PackedRow step = packedRow(i32(rows));
  Value member = add(from.member, step.member), position = add(from.position, step.position);
  Value wraps = compare(LLVM::ICmpPredicate::uge, member, group);
  return {add(position, LLVM::ZExtOp::create(b_, i32Type_, wraps)), select(wraps, sub(member, group), member)};
}

Value KernelEmitter::exists(const PackedRow &row) {
  return compare(LLVM::ICmpPredicate::ult, row.position, parameter("seqlen_q"));
}

Value KernelEmitter::elementsTo(const PackedRow &row, StringRef tensor) {
  Value position = LLVM::ZExtOp::create(b_, i64Type_, row.position);
  Value member = LLVM::ZExtOp::create(b_, i64Type_, row.member);
  return add(mul(position, widen(parameter((tensor + "_row").str()))),
             mul(member, parameter((tensor + "_head").str())));
}

} // namespace tessera::codegen
