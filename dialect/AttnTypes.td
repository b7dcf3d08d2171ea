// Types of the attn dialect: a tile in shared memory.
#ifndef ATTN_TYPES_TD
#define ATTN_TYPES_TD

include "mlir/IR/AttrTypeBase.td"
include "dialect/AttnDialect.td"

def Attn_SharedType : TypeDef<Attn_Dialect, "Shared"> {
  let mnemonic = "shared";
  let summary = "a ring of swizzled tiles in shared memory";
  let description = [{
    `!attn.shared<1 x 64 x 128 x bf16>` is stages x rows x columns of an element type. Columns are split into panels of 128 bytes and a
    tail of 64 or 32 bytes; inside a panel the 16-byte chunks of a row are permuted by the row so that no matrix load conflicts
    (see codegen/ampere/SharedTile.h).

    Constraints:
    * `shared_c1`: stages, rows and columns are positive, and the element type is f16, bf16 or f32.
  }];
  let parameters = (ins "unsigned":$stages, "unsigned":$rows, "unsigned":$columns, "::mlir::Type":$elementType);
  let assemblyFormat = "`<` $stages `x` $rows `x` $columns `x` $elementType `>`";
  let genVerifyDecl = 1;
}

#endif
