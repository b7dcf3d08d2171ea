// The emitter's walk: scalars, structured control flow as blocks.
#include "codegen/KernelEmitter.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
namespace tessera::codegen {

ArrayRef<Parameter> kernelParameters(const Schedule &schedule) {
  static const Parameter parameters[] = {
      {"q", "ptr"},        {"k", "ptr"},       {"v", "ptr"},       {"o", "ptr"},        {"lse", "ptr"},
      {"rescues", "ptr"},  {"q_batch", "i64"}, {"q_head", "i64"},  {"k_batch", "i64"},  {"k_head", "i64"},
      {"v_batch", "i64"},  {"v_head", "i64"},  {"o_batch", "i64"}, {"o_head", "i64"},   {"lse_batch", "i64"},
      {"lse_head", "i64"}, {"q_row", "i32"},   {"k_row", "i32"},   {"v_row", "i32"},    {"o_row", "i32"},
      {"lse_row", "i32"},  {"heads", "i32"},   {"group", "i32"},   {"seqlen_q", "i32"}, {"seqlen_kv", "i32"},
      {"q_tiles", "i32"},  {"pairs", "i32"},
  };
  const bool countsPairs = schedule.headGroup > 1 || schedule.persistent;
  return ArrayRef(parameters).drop_back(countsPairs ? 0 : 1);
}

KernelEmitter::KernelEmitter(attn::KernelOp kernel, LLVM::LLVMFuncOp function, LLVM::GlobalOp sharedMemory)
    : kernel_(kernel), function_(function), sharedMemory_(sharedMemory), b_(kernel.getLoc(), kernel.getContext()),
      schedule_(kernel.getSchedule().getSchedule()), f32Type_(b_.getF32Type()), i32Type_(b_.getI32Type()),
      i64Type_(b_.getI64Type()), i1Type_(b_.getI1Type()),
      sharedPointerType_(LLVM::LLVMPointerType::get(kernel.getContext(), 3)) {}

LogicalResult KernelEmitter::emit() {
  kernel_.walk([&](attn::MaskScoresOp mask) { banded_ |= mask.getBand().has_value(); });
  emitEntry();
  return emitBlock(kernel_.getBody().front());
}

LogicalResult KernelEmitter::emitBlock(Block &block) {
  planStreaming(block);
  for (Operation &op : block) {
    if (deferred_.contains(&op))
      continue;
    b_.setLoc(op.getLoc());
    if (failed(emitOp(op)))
      return failure();
  }
  return success();
}

LogicalResult KernelEmitter::emitOp(Operation &op) {
  return TypeSwitch<Operation *, LogicalResult>(&op)
      .Case<attn::ProgramIdOp>([&](auto o) { return emitProgramId(o), success(); })
      .Case<attn::LengthOp>([&](attn::LengthOp o) {
        StringRef name = o.getKey() ? "seqlen_kv" : "seqlen_q";
        Value length = parameter(name);
        values_[o.getLength()] = {once(name.str(), [&] { return widen(length); })};
        return success();
      })
      .Case<attn::PositionOp>([&](attn::PositionOp o) {
        Value position = packedRow(narrow(values_[o.getRow()][0])).position;
        values_[o.getPosition()] = {LLVM::ZExtOp::create(b_, i64Type_, position)};
        return success();
      })
      .Case<attn::CountRescueOp>([&](auto o) { return emitCountRescue(o), success(); })
      .Case<attn::AnyOp>([&](auto o) { return emitAny(o), success(); })
      .Case<attn::RowMaxOp>([&](auto o) { return emitRowMax(o), success(); })
      .Case<attn::RowSumOp>([&](attn::RowSumOp o) {
        values_.erase(o.getResult());
        emitRowSum(o, 0, fragmentOf(o.getValues()).columnBlocks);
        return success();
      })
      .Case<attn::ExpandRowsOp>([&](auto o) { return emitExpandRows(o), success(); })
      .Case<attn::CompleteRowsOp>([&](auto o) { return emitCompleteRows(o), success(); })
      .Case<attn::MaskScoresOp>([&](auto o) { return emitMaskScores(o), success(); })
      .Case<attn::DotOp>([&](auto o) { return emitDot(o); })
      .Case<attn::SharedLoadOp>([&](auto o) { return emitSharedLoad(o); })
      .Case<attn::CopyAsyncOp>([&](auto o) { return emitCopyAsync(o), success(); })
      .Case<attn::TileStoreOp>([&](auto o) { return emitTileStore(o); })
      .Case<attn::SharedBufferOp>([&](attn::SharedBufferOp o) {
        auto type = o.getType();
        shared_[o] = {SharedTile::of(type.getRows(), type.getColumns(), elementBytes(type.getElementType())),
                      uint64_t(o.getOffset()), Value()};
        return success();
      })
      .Case<attn::StageOp>([&](attn::StageOp o) {
        Shared stage = shared(o.getBuffer());
        if (o.getBuffer().getType().getStages() > 1)
          stage.slotBytes = mul(narrow(values_[o.getSlot()][0]), i32(stage.tile.bytes()));
        shared_[o] = stage;
        return success();
      })
      .Case<attn::CommitOp>([&](auto) { return intrinsic("llvm.nvvm.cp.async.commit.group", {}), success(); })
      .Case<attn::WaitOp>(
          [&](attn::WaitOp o) { return intrinsic("llvm.nvvm.cp.async.wait.group", {i32(o.getPending())}), success(); })
      .Case<attn::BarrierOp>(
          [&](auto) { return intrinsic("llvm.nvvm.barrier.cta.sync.aligned.all", {i32(0)}), success(); })
      .Case<attn::ReturnOp>([&](auto) { return emitReturn(), success(); })
      .Case<scf::ForOp>([&](auto) { return emitFor(op); })
      .Case<scf::IfOp>([&](auto) { return emitIf(op); })
      .Case<scf::WhileOp>([&](auto) { return emitWhile(op); })
      .Case<scf::YieldOp, scf::ConditionOp>([&](auto) { return success(); }) // the parent reads the operands
      .Default([&](Operation *o) { return emitElementwise(*o); });
}

/// The registers of several values in one list, as block arguments are.
static SmallVector<Value> flatten(ValueMap<Registers> &values, ValueRange range) {
  SmallVector<Value> out;
  for (Value value : range)
    out.append(values[value].begin(), values[value].end());
  return out;
}

/// Expands splats, so that a loop-carried value has the registers of its fragment.
static void unsplat(Registers &registers, unsigned count) {
  if (registers.size() < count)
    registers.resize(count, registers[0]);
}

unsigned KernelEmitter::registerCount(Value value) const {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  if (!type)
    return 1;
  Fragment fragment = fragmentOf(value);
  if (type.getRank() == 1)
    return fragment.rows();
  return fragment.blocks() * (elementBytes(type.getElementType()) == 2 ? 2 : 4);
}

SmallVector<Value> KernelEmitter::carried(ValueRange range) {
  for (Value value : range)
    unsplat(values_[value], registerCount(value));
  return flatten(values_, range);
}

void KernelEmitter::bindArguments(ValueRange targets, ValueRange like, Block *block) {
  for (auto [target, model] : llvm::zip(targets, like)) {
    Registers registers;
    for (Value r : values_[model])
      registers.push_back(block->addArgument(r.getType(), b_.getLoc()));
    values_[target] = std::move(registers);
  }
}

Block *KernelEmitter::newBlock() {
  OpBuilder::InsertionGuard guard(b_);
  return b_.createBlock(&function_.getBody(), function_.getBody().end());
}

// A rotated loop: the test stands at the end, and once before the loop.
LogicalResult KernelEmitter::emitFor(Operation &op) {
  auto loop = cast<scf::ForOp>(op);
  Value lower = values_[loop.getLowerBound()][0], upper = values_[loop.getUpperBound()][0],
        step = values_[loop.getStep()][0];
  Block *body = newBlock(), *exit = newBlock();
  SmallVector<Value> initial = carried(loop.getInitArgs());
  values_[loop.getInductionVar()] = {body->addArgument(lower.getType(), b_.getLoc())};
  bindArguments(loop.getRegionIterArgs(), loop.getInitArgs(), body);
  bindArguments(loop.getResults(), loop.getInitArgs(), exit);

  SmallVector<Value> first{lower};
  first.append(initial);
  LLVM::CondBrOp::create(b_, compare(LLVM::ICmpPredicate::slt, lower, upper), body, first, exit, initial);
  b_.setInsertionPointToEnd(body);
  if (failed(emitBlock(*loop.getBody())))
    return failure();
  SmallVector<Value> yielded = carried(loop.getBody()->getTerminator()->getOperands());
  Value next = add(values_[loop.getInductionVar()][0], step);
  SmallVector<Value> again{next};
  again.append(yielded);
  LLVM::CondBrOp::create(b_, compare(LLVM::ICmpPredicate::slt, next, upper), body, again, exit, yielded);
  b_.setInsertionPointToEnd(exit);
  return success();
}

LogicalResult KernelEmitter::emitIf(Operation &op) {
  auto branch = cast<scf::IfOp>(op);
  Value condition = values_[branch.getCondition()][0];
  // LLVM coalesces the copies of earlier blocks first: those of the arm that mostly changes nothing.
  Block *join = newBlock(), *otherwise = branch.elseBlock() ? newBlock() : join, *then = newBlock();
  LLVM::CondBrOp::create(b_, condition, then, ValueRange(), otherwise, ValueRange());
  b_.setInsertionPointToEnd(then);
  if (failed(emitBlock(*branch.thenBlock())))
    return failure();
  ValueRange thenYield = branch.thenBlock()->getTerminator()->getOperands();
  LLVM::BrOp::create(b_, carried(thenYield), join);
  bindArguments(branch.getResults(), thenYield, join);
  if (branch.elseBlock()) {
    b_.setInsertionPointToEnd(otherwise);
    if (failed(emitBlock(*branch.elseBlock())))
      return failure();
    LLVM::BrOp::create(b_, carried(branch.elseBlock()->getTerminator()->getOperands()), join);
  }
  b_.setInsertionPointToEnd(join);
  return success();
}

LogicalResult KernelEmitter::emitWhile(Operation &op) {
  auto loop = cast<scf::WhileOp>(op);
  Block *before = newBlock(), *after = newBlock(), *exit = newBlock();
  SmallVector<Value> initial = carried(loop.getInits());
  bindArguments(loop.getBeforeArguments(), loop.getInits(), before);
  LLVM::BrOp::create(b_, initial, before);
  b_.setInsertionPointToEnd(before);
  if (failed(emitBlock(*loop.getBeforeBody())))
    return failure();
  scf::ConditionOp condition = loop.getConditionOp();
  SmallVector<Value> forwarded = carried(condition.getArgs());
  bindArguments(loop.getAfterArguments(), condition.getArgs(), after);
  bindArguments(loop.getResults(), condition.getArgs(), exit);
  // The condition is uniform for the block; the vote lets the assembler know.
  Value again = intrinsic("llvm.nvvm.vote.any.sync", i1Type_, {i32(-1), values_[condition.getCondition()][0]});
  LLVM::CondBrOp::create(b_, again, after, forwarded, exit, forwarded);
  b_.setInsertionPointToEnd(after);
  if (failed(emitBlock(*loop.getAfterBody())))
    return failure();
  LLVM::BrOp::create(b_, carried(loop.getYieldOp().getOperands()), before);
  b_.setInsertionPointToEnd(exit);
  return success();
}

void KernelEmitter::emitAny(attn::AnyOp op) {
  Registers &conditions = values_[op.getCondition()];
  Value any = conditions[0];
  for (Value condition : llvm::drop_begin(conditions))
    any = orI(any, condition);
  if (op.getBlock())
    any = intrinsic("llvm.nvvm.barrier.cta.red.or.aligned.all", i1Type_, {i32(0), any});
  else if (!op.getThread())
    any = intrinsic("llvm.nvvm.vote.any.sync", i1Type_, {i32(-1), any});
  values_[op.getResult()] = {any};
}

// Predicated, not branched: a divergent branch inside the rescue's loop would make the assembler treat the whole loop
// as divergent.
void KernelEmitter::emitCountRescue(attn::CountRescueOp op) {
  FreshThread fresh(*this);
  Value counter = parameter("rescues");
  Value given = compare(LLVM::ICmpPredicate::ne, counter, LLVM::ZeroOp::create(b_, counter.getType()));
  Value first = compare(LLVM::ICmpPredicate::eq, tid(), i32(0));
  Value when = LLVM::ZExtOp::create(b_, i32Type_, andI(values_[op.getWhen()][0], andI(given, first)));
  LLVM::InlineAsmOp::create(b_, TypeRange(), ValueRange{when, counter},
                            "{ .reg .pred p; setp.ne.b32 p, $0, 0; @p red.global.add.u32 [$1], 1; }", "r,l",
                            /*has_side_effects=*/true,
                            /*is_align_stack=*/false, LLVM::TailCallKind::None, LLVM::AsmDialectAttr(), ArrayAttr());
}

SmallVector<Value> KernelEmitter::guarded(Value condition, ArrayRef<Value> otherwise,
                                          llvm::function_ref<SmallVector<Value>()> build) {
  Block *then = newBlock(), *join = newBlock();
  LLVM::CondBrOp::create(b_, condition, then, ValueRange(), join, otherwise);
  b_.setInsertionPointToEnd(then);
  SmallVector<Value> built = build();
  LLVM::BrOp::create(b_, built, join);
  SmallVector<Value> out;
  for (Value value : otherwise)
    out.push_back(join->addArgument(value.getType(), b_.getLoc()));
  b_.setInsertionPointToEnd(join);
  return out;
}

} // namespace tessera::codegen
