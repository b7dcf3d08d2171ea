// The emitter's small words: scalar arithmetic, intrinsics, what a thread is called.
#include "codegen/KernelEmitter.h"

#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

using namespace mlir;
namespace tessera::codegen {

Value KernelEmitter::i32(int64_t value) {
  return LLVM::ConstantOp::create(b_, i32Type_, b_.getI32IntegerAttr(int32_t(value)));
}
Value KernelEmitter::i64(int64_t value) { return LLVM::ConstantOp::create(b_, i64Type_, b_.getI64IntegerAttr(value)); }
Value KernelEmitter::f32(float value) { return LLVM::ConstantOp::create(b_, f32Type_, b_.getF32FloatAttr(value)); }
Value KernelEmitter::add(Value a, Value b) { return LLVM::AddOp::create(b_, a, b); }
Value KernelEmitter::sub(Value a, Value b) { return LLVM::SubOp::create(b_, a, b); }
Value KernelEmitter::mul(Value a, Value b) { return LLVM::MulOp::create(b_, a, b); }
Value KernelEmitter::andI(Value a, Value b) { return LLVM::AndOp::create(b_, a, b); }
Value KernelEmitter::orI(Value a, Value b) { return LLVM::OrOp::create(b_, a, b); }
Value KernelEmitter::xorI(Value a, Value b) { return LLVM::XOrOp::create(b_, a, b); }
Value KernelEmitter::shl(Value a, unsigned bits) { return LLVM::ShlOp::create(b_, a, i32(bits)); }
Value KernelEmitter::shr(Value a, unsigned bits) { return LLVM::LShrOp::create(b_, a, i32(bits)); }
Value KernelEmitter::compare(LLVM::ICmpPredicate predicate, Value a, Value b) {
  return LLVM::ICmpOp::create(b_, predicate, a, b);
}
Value KernelEmitter::select(Value condition, Value a, Value b) { return LLVM::SelectOp::create(b_, condition, a, b); }
Value KernelEmitter::widen(Value i32Value) { return LLVM::SExtOp::create(b_, i64Type_, i32Value); }
Value KernelEmitter::narrow(Value i64Value) { return LLVM::TruncOp::create(b_, i32Type_, i64Value); }
Value KernelEmitter::fadd(Value a, Value b) { return LLVM::FAddOp::create(b_, a, b); }
Value KernelEmitter::fmul(Value a, Value b) { return LLVM::FMulOp::create(b_, a, b); }
Value KernelEmitter::fmax(Value a, Value b) { return LLVM::MaxNumOp::create(b_, a, b); }
Value KernelEmitter::bits(Value value, Type type) {
  return value.getType() == type ? value : LLVM::BitcastOp::create(b_, type, value).getResult();
}

Value KernelEmitter::intrinsic(StringRef name, Type result, ArrayRef<Value> arguments) {
  return LLVM::CallIntrinsicOp::create(b_, result, b_.getStringAttr(name), arguments).getResult(0);
}

void KernelEmitter::intrinsic(StringRef name, ArrayRef<Value> arguments) {
  LLVM::CallIntrinsicOp::create(b_, b_.getStringAttr(name), arguments);
}

Registers KernelEmitter::unpack(Value aggregate, unsigned count) {
  Registers out;
  for (unsigned i = 0; i < count; ++i)
    out.push_back(LLVM::ExtractValueOp::create(b_, aggregate, ArrayRef<int64_t>{i}));
  return out;
}

Value KernelEmitter::shuffleXor(Value f32Value, unsigned lanes) {
  Value moved =
      intrinsic("llvm.nvvm.shfl.sync.bfly.i32", i32Type_, {i32(-1), bits(f32Value, i32Type_), i32(lanes), i32(31)});
  return bits(moved, f32Type_);
}

Value KernelEmitter::offset(Value pointer, Value bytes) {
  return LLVM::GEPOp::create(b_, pointer.getType(), b_.getI8Type(), pointer, ArrayRef<LLVM::GEPArg>{bytes});
}

Value KernelEmitter::offset(Value pointer, int64_t bytes) {
  if (bytes == 0)
    return pointer;
  return LLVM::GEPOp::create(b_, pointer.getType(), b_.getI8Type(), pointer, ArrayRef<LLVM::GEPArg>{int32_t(bytes)});
}

Value KernelEmitter::parameter(StringRef name) {
  for (auto [index, parameter] : llvm::enumerate(kernelParameters(schedule_)))
    if (parameter.name == name)
      return function_.getArgument(index);
  llvm_unreachable("the emitter names only parameters of its own table");
}

KernelEmitter::FreshThread::FreshThread(KernelEmitter &emitter) : emitter_(emitter), outer_(emitter.freshTid_) {
  emitter.freshTid_ = emitter.readTid();
}

Value KernelEmitter::readTid() {
  return LLVM::InlineAsmOp::create(b_, i32Type_, ValueRange(), "mov.u32 $0, %tid.x;", "=r", /*has_side_effects=*/true,
                                   /*is_align_stack=*/false, LLVM::TailCallKind::None, LLVM::AsmDialectAttr(),
                                   ArrayAttr())
      .getResult(0);
}

Value KernelEmitter::tid() {
  if (freshTid_)
    return freshTid_;
  return once("tid", [&] {
    return schedule_.persistent ? readTid() : intrinsic("llvm.nvvm.read.ptx.sreg.tid.x", i32Type_, {});
  });
}
Value KernelEmitter::lane() {
  Value thread = tid();
  return once("lane", [&] { return andI(thread, i32(31)); });
}
Value KernelEmitter::warp() {
  Value thread = tid();
  if (freshTid_)
    return shr(thread, 5);
  // Through a shuffle the assembler knows that the number is uniform, and may keep it in a uniform register. Not within
  // a branch: there a shuffle makes it fear divergence.
  return once("warp", [&] {
    return intrinsic("llvm.nvvm.shfl.sync.idx.i32", i32Type_, {i32(-1), shr(thread, 5), i32(0), i32(31)});
  });
}
Value KernelEmitter::lanePair() {
  Value l = lane();
  return once("lanePair", [&] { return andI(l, i32(3)); });
}
Value KernelEmitter::laneRow() {
  Value l = lane();
  return once("laneRow", [&] { return shr(l, 2); });
}
Value KernelEmitter::sharedBase() {
  return once("shared", [&] { return LLVM::AddressOfOp::create(b_, sharedMemory_).getResult(); });
}

Value KernelEmitter::sharedPointer(const Shared &at, Value laneBytes, int64_t constant) {
  Value pointer = sharedBase();
  if (at.slotBytes)
    laneBytes = add(laneBytes, at.slotBytes);
  return offset(offset(pointer, laneBytes), int64_t(at.offset) + constant);
}

Value KernelEmitter::matrixAddress(const std::string &role, const SharedTile &tile, unsigned chunkClass, Value row,
                                   Value half) {
  std::string key = role + "/" + std::to_string(tile.chunks) + "/" + std::to_string(chunkClass);
  return once(key, [&] {
    Value swizzle = andI(shr(row, tile.shift()), i32(tile.mask()));
    Value chunk = xorI(xorI(half, swizzle), i32(chunkClass));
    return add(mul(row, i32(tile.pitch())), shl(chunk, 4));
  });
}

Fragment KernelEmitter::fragmentOf(Value value) const {
  auto type = cast<RankedTensorType>(value.getType());
  return Fragment::of(type.getDimSize(0), type.getRank() == 2 ? type.getDimSize(1) : 0, schedule_.warps);
}

} // namespace tessera::codegen
