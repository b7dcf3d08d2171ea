// Tiles in shared memory: buffers, asynchronous copies into them, and the waits that order them.
#ifndef ATTN_SHARED_OPS_TD
#define ATTN_SHARED_OPS_TD

include "dialect/AttnOpBase.td"

def Attn_SharedBufferOp : Attn_Op<"shared_buffer", [Pure]> {
  let summary = "a ring of tiles at a byte offset of the block's dynamic shared memory";
  let arguments = (ins I64Attr:$offset);
  let results = (outs Attn_SharedType:$buffer);
  let assemblyFormat = "`at` $offset attr-dict `:` type($buffer)";
}

def Attn_StageOp : Attn_Op<"stage", [Pure]> {
  let summary = "one stage of a ring";
  let description = [{
    Constraints:
    * `stage_c1`: the result is one stage of the ring.
  }];
  let arguments = (ins Attn_SharedType:$buffer, Index:$slot);
  let results = (outs Attn_SharedType:$tile);
  let assemblyFormat = "$buffer `[` $slot `]` attr-dict `:` type($buffer) `->` type($tile)";
  let hasVerifier = 1;
}

def Attn_CopyAsyncOp : Attn_Op<"copy_async", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "starts the copy of rows [row, row + R) of one head to shared memory";
  let description = [{
    Rows at or beyond the sequence become zero. With `whole` the caller promises that there are none, and no row is tested. The copy belongs to
    the group that the next `attn.commit` closes. With `packed` the rows are packed rows of a group of heads (see `attn.program_id`).

    Constraints:
    * `copy_async_c1`: the target is one stage, of the element type of the source and at least as wide.
  }];
  let arguments = (ins Attn_Global:$source, Index:$batch, Index:$row, Index:$head, Attn_SharedType:$target, UnitAttr:$whole,
                   UnitAttr:$packed);
  let assemblyFormat = [{
    $source `[` $batch `,` $row `,` $head `]` (`packed` $packed^)? `to` $target (`whole` $whole^)? attr-dict `:` type($source) `,` type($target)
  }];
  let hasVerifier = 1;
}

def Attn_CommitOp : Attn_Op<"commit", [MemoryEffects<[MemWrite]>]> {
  let summary = "closes a group of asynchronous copies";
  let assemblyFormat = "attr-dict";
}

def Attn_WaitOp : Attn_Op<"wait", [MemoryEffects<[MemWrite]>]> {
  let summary = "waits until at most `$pending` groups of this thread are under way";
  let arguments = (ins I32Attr:$pending);
  let assemblyFormat = "$pending attr-dict";
}

def Attn_BarrierOp : Attn_Op<"barrier", [MemoryEffects<[MemWrite]>]> {
  let summary = "all threads of the block have arrived, and see each other's shared memory";
  let assemblyFormat = "attr-dict";
}

def Attn_SharedLoadOp : Attn_Op<"shared_load", [MemoryEffects<[MemRead]>]> {
  let summary = "the fragments of a tile in shared memory as a value";
  let description = [{
    Constraints:
    * `shared_load_c1`: the result has the rows, columns and element type of the source, which is one stage.
  }];
  let arguments = (ins Attn_SharedType:$source);
  let results = (outs Attn_Tile2D:$tile);
  let assemblyFormat = "$source attr-dict `:` type($source) `->` type($tile)";
  let hasVerifier = 1;
}

#endif
