// What every op file of the attn dialect includes.
#ifndef ATTN_OP_BASE_TD
#define ATTN_OP_BASE_TD

include "mlir/IR/OpBase.td"
include "mlir/IR/BuiltinAttributes.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "dialect/AttnAttributes.td"
include "dialect/AttnTypes.td"

class Attn_Op<string mnemonic, list<Trait> traits = []> : Op<Attn_Dialect, mnemonic, traits>;

def Attn_Float : AnyTypeOf<[F16, BF16, F32]>;

/// A tensor in device memory: (batch, sequence, head, dim) with run-time strides, the last dimension contiguous.
def Attn_Global : MemRefRankOf<[Attn_Float], [3, 4]>;

/// A tile of one thread block: rows x columns, or one value per row.
def Attn_Tile : RankedTensorOf<[Attn_Float, I1], [HasStaticShapePred], "tile">;
def Attn_Tile2D : RankedTensorOf<[Attn_Float, I1], [HasStaticShapePred, HasAnyRankOfPred<[2]>], "tile of rank 2">;
def Attn_Rows : RankedTensorOf<[F32], [HasStaticShapePred, HasAnyRankOfPred<[1]>], "values of rows">;

#endif
