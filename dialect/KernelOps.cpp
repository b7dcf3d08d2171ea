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
