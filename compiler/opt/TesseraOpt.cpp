// tessera-opt: mlir-opt with the attn dialect and its passes.
#include "codegen/Passes.h"
#include "compiler/passes/AttnPasses.h"

#include "mlir/Tools/mlir-opt/MlirOptMain.h"

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  tessera::attn::registerTileDialects(registry);
  tessera::attn::registerAttnPasses();
  tessera::codegen::registerCodegenPasses();
  return mlir::asMainReturnCode(mlir::MlirOptMain(argc, argv, "Tessera's pass driver\n", registry));
}
