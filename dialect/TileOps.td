// The tile layer: what one thread block does with tiles as values.
#ifndef ATTN_TILE_OPS_TD
#define ATTN_TILE_OPS_TD

include "dialect/AttnOpBase.td"

def Attn_TileLoadOp : Attn_Op<"tile_load", [MemoryEffects<[MemRead]>]> {
  let summary = "rows [row, row + R) of one head; rows at or beyond the sequence read as zero";
  let description = [{
    With `packed` they are packed rows of a group of heads (see `attn.program_id`).

    Constraints:
    * `tile_load_c1`: the source has rank 4, and its dim and element type are those of the tile.
  }];
  let arguments = (ins Attn_Global:$source, Index:$batch, Index:$row, Index:$head, UnitAttr:$packed);
  let results = (outs Attn_Tile2D:$tile);
  let assemblyFormat = "$source `[` $batch `,` $row `,` $head `]` (`packed` $packed^)? attr-dict `:` type($source) `->` type($tile)";
  let hasVerifier = 1;
}

def Attn_TileStoreOp : Attn_Op<"tile_store", [MemoryEffects<[MemWrite]>]> {
  let summary = "writes rows [row, row + R) of one head; rows at or beyond the sequence are not written";
  let description = [{
    A tile of rank 1 is one value per row and goes to a (batch, head, sequence) tensor. With `packed` the rows are packed rows of a group of
    heads (see `attn.program_id`).

    Constraints:
    * `tile_store_c1`: a tile of rank 2 goes to a tensor of rank 4 of its dim, one of rank 1 to a tensor of rank 3; one element type.
  }];
  let arguments = (ins Attn_Tile:$tile, Attn_Global:$target, Index:$batch, Index:$row, Index:$head, UnitAttr:$packed);
  let assemblyFormat = "$tile `,` $target `[` $batch `,` $row `,` $head `]` (`packed` $packed^)? attr-dict `:` type($tile) `,` type($target)";
  let hasVerifier = 1;
}

def Attn_DotOp : Attn_Op<"dot", [Pure, AllTypesMatch<["init", "result"]>]> {
  let summary = "init + lhs rhs, or init + lhs rhs^T; operands of 16 bits or tf32, f32 sum";
  let description = [{
    `lhs` is M x K. `rhs` is K x N, or N x K with `transposed`. Either is a tile, or a tile in shared memory (a ring of one stage). f32 operands
    are rounded to tf32; with `precise` each is split in two tf32 parts and three products are summed.

    Constraints:
    * `dot_c1`: the operands are tiles of rank 2 or one-stage shared tiles, of one element type.
    * `dot_c2`: the shapes are those of a product.
    * `dot_c3`: the sum is f32.
  }];
  let arguments = (ins AnyType:$lhs, AnyType:$rhs, Attn_Tile2D:$init, UnitAttr:$transposed, UnitAttr:$precise);
  let results = (outs Attn_Tile2D:$result);
  let assemblyFormat = [{
    $lhs `,` $rhs `,` $init (`transposed` $transposed^)? (`precise` $precise^)? attr-dict `:` type($lhs) `,` type($rhs) `->` type($result)
  }];
  let hasVerifier = 1;
}

def Attn_RowMaxOp : Attn_Op<"row_max", [Pure]> {
  let summary = "largest score of every row (NaN loses), and of init where there is one";
  let description = [{
    Constraints:
    * `row_max_c1`: scores are f32.
    * `row_max_c2`: init and result have one value per row of the scores.
  }];
  let arguments = (ins Attn_Tile2D:$scores, Optional<Attn_Rows>:$init);
  let results = (outs Attn_Rows:$result);
  let assemblyFormat = "$scores (`init` $init^ `:` type($init))? attr-dict `:` type($scores) `->` type($result)";
  let hasVerifier = 1;
}

def Attn_RowSumOp : Attn_Op<"row_sum", [Pure, AllTypesMatch<["init", "result"]>]> {
  let summary = "init plus the sum of every row";
  let description = [{
    By additions of f32 values; with `mma`, by a matrix product of 16-bit values with ones, so that the sum is of the rounded values and complete in
    every lane. With `partial` each lane adds the columns that it holds, and `attn.complete_rows` makes the row's sum of the four.

    Constraints:
    * `row_sum_c1`: init and result have one value per row.
    * `row_sum_c2`: values are f32, or 16 bits with `mma`.
    * `row_sum_c3`: `mma` and `partial` exclude each other.
  }];
  let arguments = (ins Attn_Tile2D:$values, Attn_Rows:$init, UnitAttr:$mma, UnitAttr:$partial);
  let results = (outs Attn_Rows:$result);
  let assemblyFormat = "$values `,` $init (`mma` $mma^)? (`partial` $partial^)? attr-dict `:` type($values) `->` type($result)";
  let hasVerifier = 1;
}

def Attn_ExpandRowsOp : Attn_Op<"expand_rows", [Pure]> {
  let summary = "a value per row, repeated along the columns";
  let description = [{
    Constraints:
    * `expand_rows_c1`: the result has the rows and the element type of the operand.
  }];
  let arguments = (ins Attn_Rows:$rows);
  let results = (outs Attn_Tile2D:$result);
  let assemblyFormat = "$rows attr-dict `:` type($rows) `->` type($result)";
  let hasVerifier = 1;
}

def Attn_CompleteRowsOp : Attn_Op<"complete_rows", [Pure]> {
  let summary = "sum over the four lanes that hold a row";
  let arguments = (ins Attn_Rows:$rows);
  let results = (outs Attn_Rows:$result);
  let assemblyFormat = "$rows attr-dict `:` type($rows) `->` type($result)";
}

def Attn_MaskScoresOp : Attn_Op<"mask_scores", [Pure, AllTypesMatch<["scores", "result"]>]> {
  let summary = "-inf where the key lies outside the band or at or beyond the key length";
  let description = [{
    Row r of the tile is query row `$row` + r, or with `packed` the position of packed row `$row` + r; column c is key `$col` + c.

    Constraints:
    * `mask_scores_c1`: scores are f32.
  }];
  let arguments = (ins Attn_Tile2D:$scores, Index:$row, Index:$col, OptionalAttr<Attn_BandAttr>:$band, UnitAttr:$packed);
  let results = (outs Attn_Tile2D:$result);
  let assemblyFormat = "$scores `[` $row `,` $col `]` (`packed` $packed^)? (`band` `(` $band^ `)`)? attr-dict `:` type($result)";
  let hasVerifier = 1;
}

def Attn_AnyOp : Attn_Op<"any", [MemoryEffects<[MemWrite]>]> {
  let summary = "whether any element of the tile is true: uniform for the warp, with `block` for the thread block";
  let description = [{
    With `thread` each thread asks about the elements that it holds, and the answers differ: for branches that do elementwise work which other
    threads may skip. It costs no vote.

    Constraints:
    * `any_c1`: the condition is a tile of i1.
    * `any_c2`: `block` and `thread` exclude each other.
    * `any_c3`: with `thread`, the result is only the condition of branches of elementwise ops.
  }];
  let arguments = (ins Attn_Tile:$condition, UnitAttr:$block, UnitAttr:$thread);
  let results = (outs I1:$result);
  let assemblyFormat = "$condition (`block` $block^)? (`thread` $thread^)? attr-dict `:` type($condition)";
  let hasVerifier = 1;
}

#endif
