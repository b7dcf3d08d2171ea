// Constraints of the kernel.
#include "dialect/AttnDialect.h"

using namespace mlir;
using namespace tessera::attn;

LogicalResult KernelOp::verify() {
  Block &block = getBody().front();
  auto isTensor = [](Type type, int64_t rank) {
    auto memory = dyn_cast<MemRefType>(type);
    return memory && memory.getRank() == rank;
  };
  bool tensors = block.getNumArguments() == 4 || block.getNumArguments() == 5;
  for (unsigned i = 0; tensors && i < 4; ++i)
    tensors = isTensor(block.getArgument(i).getType(), 4);
  if (tensors && block.getNumArguments() == 5)
    tensors = isTensor(block.getArgument(4).getType(), 3);
  if (!tensors)
    return emitOpError(
        "kernel_c1: the arguments are query, key, value and output of rank 4, then the LSE of rank 3 if there is one");
  if (block.empty() || !isa<ReturnOp>(block.back()))
    return emitOpError("kernel_c2: the last op is attn.return");
  if (!llvm::is_contained({2u, 4u, 8u, 16u}, getAccessBytes()))
    return emitOpError("kernel_c3: the access width is 2, 4, 8 or 16 bytes, got ") << getAccessBytes();
  return success();
}

/// The op's `packed`, where it may have one: what deals in query rows.
static std::optional<bool> packedOf(Operation &op, Block &kernel) {
  if (auto program = dyn_cast<ProgramIdOp>(op))
    return program.getPacked();
  if (auto mask = dyn_cast<MaskScoresOp>(op))
    return mask.getPacked();
  if (auto store = dyn_cast<TileStoreOp>(op))
    return store.getPacked();
  if (auto load = dyn_cast<TileLoadOp>(op); load && load.getSource() == kernel.getArgument(0))
    return load.getPacked();
  if (auto copy = dyn_cast<CopyAsyncOp>(op); copy && copy.getSource() == kernel.getArgument(0))
    return copy.getPacked();
  return std::nullopt;
}

LogicalResult KernelOp::verifyRegions() {
  bool packs = getSchedule().getSchedule().packHeads;
  auto result = walk([&](Operation *op) {
    std::optional<bool> packed = packedOf(*op, getBody().front());
    bool stray = !packed && op->hasAttr("packed");
    if ((packed && *packed != packs) || stray || (isa<PositionOp>(op) && !packs)) {
      op->emitOpError("kernel_c4: ") << (stray ? "keys and values have no packed rows"
                                         : packs
                                             ? "the schedule packs heads, and this op does not deal in packed rows"
                                             : "the schedule does not pack heads, and this op deals in packed rows");
      return WalkResult::interrupt();
    }
    return WalkResult::advance();
  });
  return failure(result.wasInterrupted());
}
