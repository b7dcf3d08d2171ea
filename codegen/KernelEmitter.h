// Emits the body of one attn.kernel as per-thread code: every tile becomes the registers of its fragment, every dot
// becomes MMA instructions, structured control becomes blocks. The target is the LLVM dialect; nothing after it knows
// of tiles.
#pragma once

#include "codegen/ampere/SharedTile.h"
#include "codegen/fragment/Fragment.h"
#include "dialect/AttnDialect.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/StringMap.h"

#include <unordered_map>

namespace tessera::codegen {

/// What a value of the kernel is for one thread: one value (index, i1, f32), or the registers of a fragment.
using Registers = llvm::SmallVector<mlir::Value, 4>;

/// A map by value whose entries stay where they are while others are added.
struct ValueHash {
  size_t operator()(mlir::Value value) const { return llvm::hash_value(value.getAsOpaquePointer()); }
};
template <typename T> using ValueMap = std::unordered_map<mlir::Value, T, ValueHash>;

/// One parameter of the kernel, in order: ptr, i64 or i32.
struct Parameter {
  llvm::StringRef name;
  llvm::StringRef type;
};

/// The parameters of the attention kernels of this family, as the schedule needs them. Strides are in elements; lengths
/// and row strides fit 32 bits (N13).
llvm::ArrayRef<Parameter> kernelParameters(const Schedule &schedule);

class KernelEmitter {
public:
  KernelEmitter(attn::KernelOp kernel, mlir::LLVM::LLVMFuncOp function, mlir::LLVM::GlobalOp sharedMemory);

  /// Emits the whole body. On failure a diagnostic stands at the op.
  mlir::LogicalResult emit();

private:
  using Value = mlir::Value;
  using Type = mlir::Type;

  // --- KernelEmitter.cpp: walk, scalars, control flow
  mlir::LogicalResult emitBlock(mlir::Block &block);
  mlir::LogicalResult emitOp(mlir::Operation &op);
  mlir::LogicalResult emitFor(mlir::Operation &op);
  mlir::LogicalResult emitIf(mlir::Operation &op);
  mlir::LogicalResult emitWhile(mlir::Operation &op);
  unsigned registerCount(Value value) const;
  /// Register i of a value; a splat has one register that stands for all.
  Value registerOf(Value value, unsigned i) {
    Registers &registers = values_[value];
    return registers.size() == 1 ? registers[0] : registers[i];
  }
  /// The registers of the values as block operands: splats are spelled out.
  llvm::SmallVector<Value> carried(mlir::ValueRange range);
  /// Makes each target the block's next arguments, shaped like its model.
  void bindArguments(mlir::ValueRange targets, mlir::ValueRange like, mlir::Block *block);
  mlir::Block *newBlock();
  /// `build` runs where `condition` holds; the values are its results there, and `otherwise` elsewhere.
  llvm::SmallVector<Value> guarded(Value condition, llvm::ArrayRef<Value> otherwise,
                                   llvm::function_ref<llvm::SmallVector<Value>()> build);
  void emitCountRescue(attn::CountRescueOp op);
  void emitAny(attn::AnyOp op);

  // --- Grid.cpp: which query tiles a block computes, and what their rows are
  void emitEntry(); ///< up to the first op of the body
  void emitReturn();
  Value blockNumber();
  void emitProgramId(attn::ProgramIdOp op);
  /// A packed row: its position in the sequence and its head's number within the group, i32 each.
  struct PackedRow {
    Value position, member;
  };
  PackedRow packedRow(Value row);
  /// The packed row `rows` further on: one division for all rows of a thread instead of one each.
  PackedRow advance(const PackedRow &from, unsigned rows);
  Value exists(const PackedRow &row);
  /// Elements from the first row of the group's first head to the row, i64.
  Value elementsTo(const PackedRow &row, llvm::StringRef tensor);

  // --- Elementwise.cpp: arith and math on tiles, rows and scalars
  mlir::LogicalResult emitElementwise(mlir::Operation &op,
                                      std::optional<std::pair<unsigned, unsigned>> columns = std::nullopt);
  Value emitRegister(mlir::Operation &op, Value a, Value c, Value d);
  Registers constant(mlir::Operation &op);
  Value pack(Value left, Value right, Type element);
  Value tanh(Value x);

  // --- Streaming.cpp: probabilities made column by column, as their product asks for them
  void planStreaming(mlir::Block &block);
  mlir::LogicalResult emitStreamed(attn::DotOp dot, unsigned first, unsigned count);

  // --- ampere/Rows.cpp: reductions and masks
  void emitRowMax(attn::RowMaxOp op);
  void emitRowSum(attn::RowSumOp op, unsigned first, unsigned count);
  void emitExpandRows(attn::ExpandRowsOp op);
  void emitCompleteRows(attn::CompleteRowsOp op);
  void emitMaskScores(attn::MaskScoresOp op);

  // --- ampere/Dot.cpp: matrix products
  mlir::LogicalResult emitDot(attn::DotOp op);
  mlir::LogicalResult emitSharedLoad(attn::SharedLoadOp op);
  struct Shared;
  Registers operandA(Value lhs, unsigned rowBlock, unsigned kStep);
  Registers loadA(Value sharedTile, unsigned rowBlock, unsigned kStep);
  Value blockAddress(const SharedTile &tile, unsigned chunkClass);
  Registers loadB(const Shared &at, unsigned keyBlock, unsigned kStep);
  Registers loadTransposedB(const Shared &at, unsigned kStep, unsigned columnBlock, unsigned count);
  Registers loadB32(const Shared &at, unsigned keyBlock, unsigned columnBlock);
  Registers loadMatrices(Value pointer, unsigned count, bool transposed);
  Registers mma(llvm::ArrayRef<Value> a, llvm::ArrayRef<Value> b, llvm::ArrayRef<Value> c, Type element);
  Registers mmaTf32(llvm::ArrayRef<Value> a, llvm::ArrayRef<Value> b, llvm::ArrayRef<Value> c, bool precise);
  std::pair<Value, Value> splitTf32(Value x, bool precise);

  // --- ampere/Copy.cpp: global memory to shared memory
  void emitCopyAsync(attn::CopyAsyncOp op);
  void copyChunk(Value shared, Value global, Value bytes, unsigned access, unsigned elementBytes);

  // --- ampere/Store.cpp: results to global memory
  mlir::LogicalResult emitTileStore(attn::TileStoreOp op);
  void storeRows(attn::TileStoreOp op);
  void storeTile(attn::TileStoreOp op);
  void storeChunk(Value data, Value target, unsigned access);
  Value rowExists(Value row, Value own);

  // --- Builder.cpp: small words
  Value i32(int64_t value);
  Value i64(int64_t value);
  Value f32(float value);
  Value add(Value a, Value b);
  Value sub(Value a, Value b);
  Value mul(Value a, Value b);
  Value andI(Value a, Value b);
  Value orI(Value a, Value b);
  Value xorI(Value a, Value b);
  Value shl(Value a, unsigned bits);
  Value shr(Value a, unsigned bits);
  Value compare(mlir::LLVM::ICmpPredicate predicate, Value a, Value b);
  Value select(Value condition, Value a, Value b);
  Value widen(Value i32Value);
  Value narrow(Value i64Value);
  Value fadd(Value a, Value b);
  Value fmul(Value a, Value b);
  Value fmax(Value a, Value b);
  Value bits(Value value, Type type);
  Value intrinsic(llvm::StringRef name, Type result, llvm::ArrayRef<Value> arguments);
  void intrinsic(llvm::StringRef name, llvm::ArrayRef<Value> arguments);
  Registers unpack(Value aggregate, unsigned count);
  Value shuffleXor(Value f32Value, unsigned lanes);
  Value offset(Value pointer, Value bytes);
  Value offset(Value pointer, int64_t bytes);
  /// Code that is the same for the whole query tile and must dominate every use: built at the end of `entry_`.
  template <typename Build> Value once(const std::string &key, Build build);
  Value parameter(llvm::StringRef name);

  // --- what the threads are called
  /// Within its scope a thread's names are read anew instead of kept in registers since the entry: for code off the hot
  /// path, whose values would otherwise live across the main loop.
  class FreshThread {
  public:
    explicit FreshThread(KernelEmitter &emitter);
    ~FreshThread() { emitter_.freshTid_ = outer_; }

  private:
    KernelEmitter &emitter_;
    Value outer_;
  };
  Value readTid(); ///< an instruction that no pass moves or merges
  Value tid();
  Value lane();
  Value warp();
  Value lanePair(); ///< q = lane & 3
  Value laneRow();  ///< g = lane >> 2
  Value sharedBase();

  // --- tiles in shared memory
  struct Shared {
    SharedTile tile;
    uint64_t offset = 0; ///< bytes from the start of shared memory to stage 0
    Value slotBytes;     ///< run-time offset of the stage, or null
  };
  Shared &shared(Value value) { return shared_[value]; }
  /// Pointer to the byte that `lane`-dependent code addresses, plus a constant.
  Value sharedPointer(const Shared &at, Value laneBytes, int64_t constant);
  /// Bytes from a tile's start to (lane's row, chunk of class `chunkClass` + lane's half): row pitch and swizzle
  /// included.
  Value matrixAddress(const std::string &role, const SharedTile &tile, unsigned chunkClass, Value row, Value half);

  Fragment fragmentOf(Value value) const;
  unsigned elementBytes(Type type) const { return type.getIntOrFloatBitWidth() / 8; }

  attn::KernelOp kernel_;
  mlir::LLVM::LLVMFuncOp function_;
  mlir::LLVM::GlobalOp sharedMemory_;
  mlir::ImplicitLocOpBuilder b_;
  Schedule schedule_;
  Type f32Type_, i32Type_, i64Type_, i1Type_, sharedPointerType_;
  mlir::Block *entry_ = nullptr; ///< runs once for each query tile, before the body
  ValueMap<Registers> values_;
  ValueMap<Shared> shared_;
  /// By the dot that consumes them, in order.
  llvm::DenseMap<mlir::Operation *, llvm::SmallVector<mlir::Operation *>> streamed_;
  llvm::DenseSet<mlir::Operation *> deferred_;
  llvm::StringMap<Value> once_;
  bool banded_ = false; ///< some tile is masked by a band
  Value freshTid_;      ///< set inside a FreshThread
  Value tile_;          ///< of a persistent block: the number of its query tile among those of the launch, i32
};

template <typename Build> mlir::Value KernelEmitter::once(const std::string &key, Build build) {
  if (freshTid_)
    return build();
  auto found = once_.find(key);
  if (found != once_.end())
    return found->second;
  mlir::OpBuilder::InsertionGuard guard(b_);
  b_.setInsertionPoint(entry_->getTerminator());
  Value value = build();
  once_[key] = value;
  return value;
}

} // namespace tessera::codegen
