// The attn dialect: attention as a problem, and as tiles of one thread block.
#ifndef ATTN_DIALECT_TD
#define ATTN_DIALECT_TD

include "mlir/IR/OpBase.td"

def Attn_Dialect : Dialect {
  let name = "attn";
  let cppNamespace = "::tessera::attn";
  let summary = "Tiled attention";
  let description = [{
    Two layers. The *problem* layer (`attn.attention`) says what is computed. The *tile* layer (`attn.kernel` and the ops that may stand in
    it) says how one thread block computes it with tiles as SSA values: builtin tensors are the tile type, elementwise work is `arith` and
    `math` on tensors, loops are `scf.for`. Only what MLIR has no word for is an op of this dialect.
  }];
  let useDefaultAttributePrinterParser = 1;
  let useDefaultTypePrinterParser = 1;
}

#endif
