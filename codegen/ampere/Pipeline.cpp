// attn-ampere-pipeline: tile loads become asynchronous copies to shared memory that run ahead of their use.
//
// One stage, loads K then V in the body. Each tile is copied again as soon as its last use is behind a barrier:
//
//   copy Q, K(0) | copy V(0) | wait 1, barrier
//   loop:  use K(i) · wait 0, barrier · copy K(i+1) · ... use V(i) · wait 0, barrier · copy V(i+1)
//
// Several stages: a ring. Iteration i waits for its own group, and fills the slot that iteration i - 1 has left:
//
//   copy Q, K(0), V(0) | ... | copy K(S-2), V(S-2)
//   loop:  wait S-2, barrier · copy K(i+S-1), V(i+S-1) · use K(i), V(i) in slot i mod S
//   wait 0, barrier
//
// Loops run from the last tile to the first, so only the first copies can meet rows beyond the sequence: those in the
// loop need no test.
//
// Where blocks are persistent, what comes after the body is the body again: it ends with a barrier.
#include "codegen/Passes.h"
#include "dialect/AttnDialect.h"
#include "runtime/spec/SharedLayout.h"

#include "mlir/Analysis/SliceAnalysis.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

using namespace mlir;
namespace tessera::codegen {
namespace {

/// A tile of a loop that is copied ahead.
struct Load {
  attn::TileLoadOp op;
  Value buffer; ///< ring in shared memory
  Operation *lastUse = nullptr;
};

class KernelPipeliner {
public:
  explicit KernelPipeliner(attn::KernelOp kernel)
      : kernel_(kernel), schedule_(kernel.getSchedule().getSchedule()), b_(kernel.getLoc(), kernel.getContext()) {}

  LogicalResult run() {
    SmallVector<scf::ForOp> loops;
    attn::TileLoadOp query;
    kernel_.walk([&](attn::TileLoadOp load) {
      auto loop = load->getParentOfType<scf::ForOp>();
      if (!loop)
        query = load;
      else if (!llvm::is_contained(loops, loop))
        loops.push_back(loop);
    });
    if (!query)
      return kernel_.emitOpError("pipeline: no load of the query tile outside of the loops");
    if (loops.empty())
      return kernel_.emitOpError("pipeline: no loop that loads key or value tiles");

    b_.setInsertionPoint(query);
    Value queryBuffer = buffer(query, 1, 0);
    startCopy(query, query.getRow(), queryBuffer, /*whole=*/false);
    for (scf::ForOp loop : loops)
      if (failed(pipelineLoop(loop)))
        return failure();
    replaceQuery(query, queryBuffer, loops);
    if (schedule_.persistent) {
      // The next query tile's copies write where this one's threads may still read, and, behind a loop of one stage
      // that no tile went through, where its copies still arrive.
      b_.setInsertionPoint(&kernel_.getBody().front().back());
      if (schedule_.stages == 1)
        attn::WaitOp::create(b_, 0);
      attn::BarrierOp::create(b_);
    }
    return success();
  }

private:
  /// Stages, rows and padded columns of the tile at a byte offset (the layout is that of SharedLayout).
  Value buffer(attn::TileLoadOp load, unsigned stages, uint64_t offset) {
    auto type = cast<RankedTensorType>(load.getType());
    unsigned padding = type.getElementType().isF32() ? 8 : 16;
    unsigned columns = (type.getDimSize(1) + padding - 1) / padding * padding;
    auto shared = attn::SharedType::get(b_.getContext(), stages, type.getDimSize(0), columns, type.getElementType());
    return attn::SharedBufferOp::create(b_, shared, b_.getI64IntegerAttr(offset));
  }

  static uint64_t bytes(attn::SharedType type) {
    return uint64_t(type.getRows()) * type.getColumns() * (type.getElementType().getIntOrFloatBitWidth() / 8);
  }

  Value slot(Value buffer, Value index) {
    auto type = cast<attn::SharedType>(buffer.getType());
    auto one = attn::SharedType::get(b_.getContext(), 1, type.getRows(), type.getColumns(), type.getElementType());
    if (type.getStages() == 1)
      return buffer;
    return attn::StageOp::create(b_, one, buffer, index);
  }

  void startCopy(attn::TileLoadOp load, Value row, Value tile, bool whole) {
    attn::CopyAsyncOp::create(b_, load.getSource(), load.getBatch(), row, load.getHead(), tile, whole,
                              load.getPacked());
  }

  /// The tile's first row in the iteration with induction value `iteration`.
  Value rowAt(scf::ForOp loop, attn::TileLoadOp load, Value iteration) {
    SetVector<Operation *> slice;
    BackwardSliceOptions options;
    options.inclusive = true;
    options.filter = [&](Operation *op) { return loop->isProperAncestor(op); };
    (void)getBackwardSlice(load.getRow(), &slice, options);
    IRMapping map;
    map.map(loop.getInductionVar(), iteration);
    for (Operation *op : slice)
      b_.clone(*op, map);
    return map.lookupOrDefault(load.getRow());
  }

  void syncAfterWait(int pending) {
    attn::WaitOp::create(b_, pending);
    attn::BarrierOp::create(b_);
  }

  /// `copy` for every load, where there is an iteration `ahead` from now.
  void copyAhead(scf::ForOp loop, ArrayRef<Load> loads, unsigned ahead, Value slotIndex) {
    Value distance = arith::ConstantIndexOp::create(b_, ahead);
    Value next = arith::AddIOp::create(b_, loop.getInductionVar(), distance);
    Value more = arith::CmpIOp::create(b_, arith::CmpIPredicate::slt, next, loop.getUpperBound());
    auto branch = scf::IfOp::create(b_, more, /*withElseRegion=*/false);
    {
      OpBuilder::InsertionGuard guard(b_);
      b_.setInsertionPointToStart(branch.thenBlock());
      for (const Load &load : loads)
        startCopy(load.op, rowAt(loop, load.op, next), slot(load.buffer, slotIndex), /*whole=*/true);
    }
    attn::CommitOp::create(b_);
  }

  LogicalResult pipelineLoop(scf::ForOp loop) {
    SmallVector<Load> loads;
    for (auto load : loop.getBody()->getOps<attn::TileLoadOp>())
      loads.push_back({load, Value(), nullptr});
    if (loads.empty() || loads.size() > 2)
      return loop.emitOpError("pipeline: expects a key tile, or a key and a value tile, in the body; found ")
             << loads.size();
    unsigned stages = schedule_.stages;

    b_.setInsertionPoint(loop);
    auto queryType = cast<attn::SharedType>(queryBufferType());
    uint64_t offset = std::max(bytes(queryType), uint64_t(queryType.getRows()) * 128);
    for (Load &load : loads) {
      load.buffer = buffer(load.op, stages, offset);
      offset += stages * bytes(cast<attn::SharedType>(load.buffer.getType()));
      for (Operation *user : load.op->getUsers()) {
        Operation *inBody = loop.getBody()->findAncestorOpInBlock(*user);
        if (!load.lastUse || load.lastUse->isBeforeInBlock(inBody))
          load.lastUse = inBody;
      }
    }
    if (stages == 1)
      oneStage(loop, loads);
    else
      ring(loop, loads, stages);
    return success();
  }

  void oneStage(scf::ForOp loop, MutableArrayRef<Load> loads) {
    for (Load &load : loads) {
      startCopy(load.op, rowAt(loop, load.op, loop.getLowerBound()), load.buffer, /*whole=*/false);
      attn::CommitOp::create(b_);
    }
    syncAfterWait(loads.size() - 1);
    for (auto [index, load] : llvm::enumerate(loads)) {
      bool last = index + 1 == loads.size();
      if (last)
        b_.setInsertionPoint(loop.getBody()->getTerminator());
      else
        b_.setInsertionPointAfter(load.lastUse);
      if (loads.size() > 1)
        syncAfterWait(0); // the other tile has arrived, and no thread needs this one any more
      else
        attn::BarrierOp::create(b_);
      copyAhead(loop, load, 1, Value());
      if (loads.size() == 1)
        syncAfterWait(0);
      load.op.getTile().replaceAllUsesWith(load.buffer);
      load.op.erase();
    }
  }

  void ring(scf::ForOp loop, MutableArrayRef<Load> loads, unsigned stages) {
    for (unsigned s = 0; s + 1 < stages; ++s) {
      Value index = arith::ConstantIndexOp::create(b_, s);
      Value iteration = arith::AddIOp::create(b_, loop.getLowerBound(), index);
      for (Load &load : loads)
        startCopy(load.op, rowAt(loop, load.op, iteration), slot(load.buffer, index), /*whole=*/false);
      attn::CommitOp::create(b_);
    }
    b_.setInsertionPointToStart(loop.getBody());
    syncAfterWait(stages - 2);
    Value count = arith::ConstantIndexOp::create(b_, stages);
    Value ahead = arith::ConstantIndexOp::create(b_, stages - 1);
    Value filled = arith::RemUIOp::create(b_, arith::AddIOp::create(b_, loop.getInductionVar(), ahead), count);
    copyAhead(loop, loads, stages - 1, filled);
    Value current = arith::RemUIOp::create(b_, loop.getInductionVar(), count);
    for (Load &load : loads) {
      b_.setInsertionPoint(load.op);
      load.op.getTile().replaceAllUsesWith(slot(load.buffer, current));
      load.op.erase();
    }
    // What follows may write where the last tile was read, or where no tile has been waited for.
    b_.setInsertionPointAfter(loop);
    syncAfterWait(0);
  }

  Type queryBufferType() {
    for (auto made : kernel_.getBody().getOps<attn::SharedBufferOp>())
      return made.getType();
    return {};
  }

  // In shared memory, or as fragments loaded in front of each loop (where the copies have arrived).
  void replaceQuery(attn::TileLoadOp query, Value queryBuffer, ArrayRef<scf::ForOp> loops) {
    if (!schedule_.queryInRegisters) {
      query.getTile().replaceAllUsesWith(queryBuffer);
      query.erase();
      return;
    }
    auto type = cast<RankedTensorType>(query.getType());
    auto padded =
        RankedTensorType::get({type.getDimSize(0), int64_t(cast<attn::SharedType>(queryBuffer.getType()).getColumns())},
                              type.getElementType(), type.getEncoding());
    for (scf::ForOp loop : loops) {
      b_.setInsertionPoint(loop);
      if (schedule_.stages > 1)
        syncAfterWait(0);
      Value tile = attn::SharedLoadOp::create(b_, padded, queryBuffer);
      query.getTile().replaceUsesWithIf(tile, [&](OpOperand &use) { return loop->isProperAncestor(use.getOwner()); });
    }
    query.erase();
  }

  attn::KernelOp kernel_;
  Schedule schedule_;
  ImplicitLocOpBuilder b_;
};

struct AmperePipeline : PassWrapper<AmperePipeline, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(AmperePipeline)
  StringRef getArgument() const final { return "attn-ampere-pipeline"; }
  StringRef getDescription() const final { return "asynchronous copies to shared memory that run ahead of their use"; }
  void getDependentDialects(DialectRegistry &registry) const override {
    registry.insert<arith::ArithDialect, scf::SCFDialect, attn::AttnDialect>();
  }
  void runOnOperation() override {
    auto result = getOperation().walk([&](attn::KernelOp kernel) {
      return failed(KernelPipeliner(kernel).run()) ? WalkResult::interrupt() : WalkResult::advance();
    });
    if (result.wasInterrupted())
      signalPassFailure();
  }
};

} // namespace

std::unique_ptr<Pass> createAmperePipelinePass() { return std::make_unique<AmperePipeline>(); }

} // namespace tessera::codegen
