// The ordered list of passes. The same from the command line, for the default schedule:
//
//   tiled      tessera-opt --attn-tile
//   online     --attn-fuse-online-softmax
//   scheduled  --attn-bound-loops --attn-relax-rescale --attn-row-sum-mma --attn-exp2 --attn-recentre
//   (cont.)    --attn-distribute --attn-ampere-pipeline
//   nvvm       --attn-to-nvvm
#include "compiler/Pipeline.h"

#include "codegen/Passes.h"
#include "compiler/passes/AttnPasses.h"

namespace tessera {

void addPassesTo(Stage stage, mlir::OpPassManager &manager, const Schedule &schedule, llvm::StringRef mutate) {
  switch (stage) {
  case Stage::Tiled:
    attn::addTiledPasses(manager);
    break;
  case Stage::Online:
    attn::addOnlinePasses(manager, schedule, mutate);
    break;
  case Stage::Scheduled:
    attn::addScheduledPasses(manager, schedule);
    manager.addPass(codegen::createDistributePass());
    manager.addPass(codegen::createAmperePipelinePass());
    break;
  case Stage::Nvvm:
    manager.addPass(codegen::createToNvvmPass());
    break;
  default:
    break;
  }
}

} // namespace tessera
