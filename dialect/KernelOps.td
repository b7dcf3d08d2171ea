// The kernel: the code of one thread block, its place in the grid, and its run-time lengths.
#ifndef ATTN_KERNEL_OPS_TD
#define ATTN_KERNEL_OPS_TD

include "mlir/IR/SymbolInterfaces.td"
include "dialect/AttnOpBase.td"

def Attn_KernelOp : Attn_Op<"kernel", [IsolatedFromAbove, Symbol, NoTerminator]> {
  let summary = "the code of one query tile: what a thread block does once, or again and again where the schedule is persistent";
  let description = [{
    The block arguments are the tensors in device memory: query, key, value, output, LSE, in this order. The last op is `attn.return`.

    ```mlir
    attn.kernel @attention schedule(<"v1:...">) target(<"sm_80">) access_bytes(16) {
    ^bb0(%q: memref<?x?x?x128xbf16, strided<[?, ?, ?, 1]>>, ...):
      ...
      attn.return
    }
    ```

    Constraints:
    * `kernel_c1`: query, key, value and output have rank 4, the LSE rank 3.
    * `kernel_c2`: the last op is `attn.return`.
    * `kernel_c3`: the access width is 2, 4, 8 or 16 bytes: what base pointers and strides allow.
    * `kernel_c4`: where the schedule packs heads, the program id, the masks, and what loads queries and stores results are `packed`; nothing
      else is.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, Attn_ScheduleAttr:$schedule, Attn_TargetAttr:$target, I64Attr:$access_bytes);
  let regions = (region SizedRegion<1>:$body);
  let hasRegionVerifier = 1;
  let hasVerifier = 1;
  let assemblyFormat = [{
    $sym_name `schedule` `(` $schedule `)` `target` `(` $target `)` `access_bytes` `(` $access_bytes `)` attr-dict-with-keyword $body
  }];
}

def Attn_ReturnOp : Attn_Op<"return", [HasParent<"KernelOp">]> {
  let summary = "end of the query tile: of the kernel, or, where the schedule is persistent, on to the block's next tile";
  let assemblyFormat = "attr-dict";
}

def Attn_ProgramIdOp : Attn_Op<"program_id", [Pure]> {
  let summary = "what this thread block computes: batch, query head, its key/value head, first query row";
  let description = [{
    Query tiles of one head are neighbours in the grid, the last tile first (the longest under a causal mask) or the first, as the schedule says;
    with a head group, as many heads take their tiles in turn.

    With `packed` the head is the first of the key/value head's group, and rows are *packed rows*: row R is position R / group of query
    head `$head` + R % group, where group is the number of query heads per key/value head.
  }];
  let arguments = (ins UnitAttr:$packed);
  let results = (outs Index:$batch, Index:$head, Index:$kvHead, Index:$row);
  let assemblyFormat = "(`packed` $packed^)? attr-dict";
}

def Attn_LengthOp : Attn_Op<"length", [Pure]> {
  let summary = "run-time sequence length of the queries or the keys";
  let arguments = (ins UnitAttr:$key);
  let results = (outs Index:$length);
  let assemblyFormat = "(`key` $key^):(`query`)? attr-dict";
}

def Attn_PositionOp : Attn_Op<"position", [Pure]> {
  let summary = "position in the query sequence of a packed row: `$row` / query heads per key/value head";
  let arguments = (ins Index:$row);
  let results = (outs Index:$position);
  let assemblyFormat = "$row attr-dict";
}

def Attn_CountRescueOp : Attn_Op<"count_rescue"> {
  let summary = "adds one to the caller's rescue counter, if there is one, when `$when` holds";
  let description = "`$when` is uniform for the block.";
  let arguments = (ins I1:$when);
  let assemblyFormat = "$when attr-dict";
}

#endif
