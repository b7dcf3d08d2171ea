// The passes of the ladder, each with the IR before and after it (types and constants abridged).
#ifndef ATTN_PASSES_TD
#define ATTN_PASSES_TD

include "mlir/Pass/PassBase.td"

def AttnBuild : Pass<"attn-build", "::mlir::ModuleOp"> {
  let summary = "the attn.attention of a canonical spec text, for reading the ladder by hand";
  let description = [{
    Adds what `buildAttention(spec, schedule, target)` makes to a module. Without a schedule it is the default one.

    ```
    echo 'module {}' | tessera-opt "--attn-build=spec=v1:in=bf16,... target=sm_80" --attn-tile --attn-fuse-online-softmax
    ```
  }];
  let options = [Option<"spec", "spec", "std::string", "", "canonical text of the AttentionSpec">,
                 Option<"schedule", "schedule", "std::string", "", "canonical text of the Schedule">,
                 Option<"target", "target", "std::string", "\"sm_80\"", "architecture">];
  let dependentDialects = ["AttnDialect", "::mlir::func::FuncDialect"];
}

def AttnTile : Pass<"attn-tile", "::mlir::ModuleOp"> {
  let summary = "attn.attention to the three KV loops of one thread block";
  let description = [{
    Softmax by its definition: the max of every row, the sum of exp(k (x - max)), the sum of exp(k (x - max)) v. Each loop computes its scores
    anew. The score x is the dot itself and k the scale, where the scale is positive; with a softcap x = tanh(dot scale / cap) and k = cap;
    otherwise x = dot scale and k = 1. So k is positive, the max of x is that of the scores, and no score is multiplied twice.

    Rows that see no key have max = -inf; the exponents use max(max, lowest finite f32), under which all their weights are 0.

    Where the schedule packs heads, what deals in query rows is `packed`: a tile's rows are the query heads of a group at one position after the
    other, and the kernel works on a group as if it were one head of so many times the length.

    Before:
    ```mlir
    func.func @attention(%q, %k, %v) -> (tensor<?x?x?x128xbf16>, tensor<?x?x?xf32>) {
      %o, %lse = attn.attention %q, %k, %v scale(0.088) band(<right = 0, align = bottom_right>)
      return %o, %lse
    }
    ```
    After:
    ```mlir
    attn.kernel @attention schedule(...) target(...) access_bytes(16) {
    ^bb0(%q, %k, %v, %o, %lse):                                           // memrefs with run-time strides
      %batch, %head, %kvHead, %row = attn.program_id
      %query = attn.tile_load %q[%batch, %row, %head]
      %max = scf.for %i = 0 to %tiles iter_args(%m = -inf) {
        %column = %i * 64
        %key = attn.tile_load %k[%batch, %column, %kvHead]
        %x = attn.mask_scores (attn.dot %query, %key, 0 transposed)[%row, %column] band(...)
        yield attn.row_max %x init %m
      }
      %reference = arith.maxnumf %max, lowest
      %sum = scf.for ... iter_args(%l = 0)  { ... yield attn.row_sum (math.exp ((%x - expand %reference) * 0.088)), %l }
      %acc = scf.for ... iter_args(%u = 0)  { ... yield attn.dot (arith.truncf %p), %value, %u }
      attn.tile_store (%acc * expand(select(%sum == 0, 0, 1 / %sum))), %o[%batch, %row, %head]
      attn.tile_store (%max * 0.088 + math.log %sum), %lse[%batch, %row, %head]
      attn.return
    }
    ```

    Constraints:
    * `tile_c1`: every function consists of one `attn.attention` of its arguments, in their order, whose results it returns.
    * `tile_c2`: the module carries `attn.schedule`, `attn.target` and `attn.access_bytes`.
  }];
  let dependentDialects = ["AttnDialect", "::mlir::arith::ArithDialect", "::mlir::math::MathDialect", "::mlir::scf::SCFDialect"];
}

def AttnFuseOnlineSoftmax : Pass<"attn-fuse-online-softmax", "::tessera::attn::KernelOp"> {
  let summary = "row max, row sum and weighted sum in one KV loop";
  let description = [{
    A sum weighted by exp(k (x - max)) is linear in exp(-k max). What was summed under an old max becomes right under a new one by the factor
    exp(k (old - new)). This one rule takes every `row_sum` and `dot` whose weights depend on the max in this way, through roundings only, into
    the loop that finds the max. A sum that does not depend on it joins without a factor. Anything else is left alone with a remark.

    The guard is part of the rule: the exponents use max(new, lowest finite f32), so that a row that has seen nothing gets weights of 0, and a
    factor of 0 or 1, but never NaN. Ops that the bodies share (the key tile, the scores, the weights) are kept once.

    Before:
    ```mlir
    %max = scf.for %i = ... iter_args(%m = -inf) { %x = scores(%i)  yield attn.row_max %x init %m }
    %ref = arith.maxnumf %max, lowest
    %sum = scf.for %i = ... iter_args(%l = 0) { %x = scores(%i)  %p = math.exp ((%x - expand %ref) * k)  yield attn.row_sum %p, %l }
    %acc = scf.for %i = ... iter_args(%u = 0) { %x = scores(%i)  %p = math.exp ((%x - expand %ref) * k)  yield attn.dot %p, %value, %u }
    ```
    After:
    ```mlir
    %max, %sum, %acc = scf.for %i = ... iter_args(%m = -inf, %l = 0, %u = 0) {
      %x = scores(%i)
      %new = attn.row_max %x init %m
      %ref = arith.maxnumf %new, lowest
      %alpha = math.exp ((%m - %ref) * k)
      %p = math.exp ((%x - expand %ref) * k)
      yield %new, attn.row_sum %p, (%l * %alpha), attn.dot %p, %value, (%u * expand %alpha)
    }
    ```
  }];
  let options = [Option<"mutate", "mutate", "std::string", "\"none\"",
                        "a wrong rule, for tests that must notice it: none, no-rescale-u, no-rescale-l, no-guard, wrong-alpha">];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::math::MathDialect", "::mlir::scf::SCFDialect"];
}

def AttnBoundLoops : Pass<"attn-bound-loops", "::tessera::attn::KernelOp"> {
  let summary = "loops visit the tiles that the band reaches, and mask only those on its edge";
  let description = [{
    For every loop over the KV tiles of a kernel, online or one of three. The visited tiles are the union over the rows of the query tile of what
    they see; a tile is on the edge unless every row sees all of it and all of it lies in the sequence. The loop runs from right to left, edge
    tiles first. The mask code stands once, in a branch that is uniform for the block. A row's rightmost visible key always lies in the leading
    edge tiles or in the tile after them: attn-relax-rescale counts on it. Leaving a tile out is right because scores of -inf add nothing to
    what a loop of a softmax carries.

    All arithmetic is on 64-bit indices; bounds beyond 2^32 are clamped, so nothing overflows. Of packed rows the band sees the positions: the
    tile reaches from `attn.position` of its first row to that of its last.

    Before:
    ```mlir
    scf.for %i = 0 to %tiles {
      %column = %i * 64
      %x = attn.mask_scores %s[%row, %column] band(<right = 0, align = bottom_right>)
    ```
    After:
    ```mlir
    %end = ceildiv(clamp(min(%row + 128, queries) + keys - queries), 64)      // union
    %edges = %end - clamp(%row + keys - queries + 1) / 64                      // up to the end of the intersection
    scf.for %i = 0 to %end {
      %column = (%last - %i) * 64
      %edge = arith.cmpi slt, %i, %edges                                       // with a left bound: or %i >= %tail
      %x = scf.if %edge { yield attn.mask_scores %s[%row, %column] band(...) } else { yield %s }
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::scf::SCFDialect"];
}

def AttnRelaxRescale : Pass<"attn-relax-rescale", "::tessera::attn::KernelOp"> {
  let summary = "the reference moves at every tile, lazily, or stays where the first tiles put it";
  let description = [{
    The state (reference, l, u) stands for the same answer under any finite reference, so the schedule may choose when it moves. The row max, the
    factor and the rescales go into a branch of the one loop body; a reference that starts at the lowest finite f32 needs no guard.

    * `every`: the loop of attn-fuse-online-softmax, unchanged.
    * `lazy`: the branch is taken when some row of the warp has grown past the threshold over its reference.
    * `anchored`: it is taken in the head tiles (the leading edge tiles and one more: there every row meets its rightmost visible key), and when
      some l has passed 2^60. Otherwise not even the row max is taken. Where l or u is not finite at the end, the loop runs once more, moving at
      every tile: exactly the online loop. `attn.count_rescue` counts this.

    Before:
    ```mlir
    scf.for ... iter_args(%m = -inf, %l = 0, %u = 0) {
      %new = attn.row_max %x init %m
      %ref = arith.maxnumf %new, lowest
      %alpha = math.exp ((%m - %ref) * k)
      ... (%l * %alpha) ... (%u * expand %alpha)
    ```
    After, lazily:
    ```mlir
    scf.for ... iter_args(%ref = lowest, %l = 0, %u = 0) {
      %max = attn.row_max %x
      %any = attn.any (%max - %ref > threshold)
      %ref2, %l2, %u2 = scf.if %any {
        %moved = arith.maxnumf %ref, %max
        %alpha = math.exp ((%ref - %moved) * k)
        yield %moved, %l * %alpha, %u * expand %alpha
      } else { yield %ref, %l, %u }
    ```
    After, anchored:
    ```mlir
    scf.while (%always = false) {
      scf.for %i ... iter_args(%ref = lowest, %l = 0, %u = 0) {
        %move = (%i < select(%always, %steps, %edges + 1)) or attn.any (%l > 2^60)
        scf.if %move { %max = attn.row_max %x ... } else { ... }
      }
      %again = not %always and (attn.any (%l * 0 != 0) block or attn.any (%u * 0 != 0) block)
      attn.count_rescue %again
      scf.condition(%again)
    } do { yield true }
    ```

    Constraints:
    * `relax_c1` (remark): the loop carries a row max, and sums that its moves rescale.
    * `relax_c2`: for `anchored`, attn-bound-loops has bounded the loop.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::math::MathDialect", "::mlir::scf::SCFDialect"];
}

def AttnRowSumMma : Pass<"attn-row-sum-mma", "::tessera::attn::KernelOp"> {
  let summary = "the row sum as one more column of P V";
  let description = [{
    The sum is then that of the rounded probabilities, the same weights that the values get, and complete in every lane of the row. For 16-bit
    probabilities; a sum of f32 ones stays as it is, with a remark.

    Before:
    ```mlir
    %sum = attn.row_sum %p, %l : tensor<128x64xf32>
    %rounded = arith.truncf %p
    ```
    After:
    ```mlir
    %rounded = arith.truncf %p
    %sum = attn.row_sum %rounded, %l mma : tensor<128x64xbf16>
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect"];
}

def AttnExp2 : Pass<"attn-exp2", "::tessera::attn::KernelOp"> {
  let summary = "base-2 exponents with the scale folded into one FMA per score";
  let description = [{
    With c = k log2(e): exp(k (x - m)) = 2^(c x - c m), the product c m once per row. It is rounded; attn-recentre sees to it that this is harmless.
    What is computed once per row, the factor of a move, subtracts before it scales. Where the reference comes from the branch that moves it,
    either arm yields its own product. No exp and no log is left: log l = log2(l) ln 2.

    Before:
    ```mlir
    %alpha = math.exp ((%m - %ref) * k)
    %p = math.exp ((%x - expand %ref) * k)
    %lse = %max * k + math.log %sum
    ```
    After:
    ```mlir
    %neg = %ref * -c
    %alpha = math.exp2 ((%m - %ref) * c)
    %p = math.exp2 (math.fma %x, c, expand %neg)
    %lse = %max * k + (math.log2 %sum) * ln2
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::math::MathDialect"];
}

def AttnRecentre : Pass<"attn-recentre", "::tessera::attn::KernelOp"> {
  let summary = "rows with a large reference subtract it before the scale";
  let description = [{
    In 2^(c x - c m) the product c m is rounded, and the rounding stands in the exponent: from |c m| = 2^31 on it may make the largest weight of
    a row inf or 0, and c m may overflow where c (x - m) does not. So a row is *wide* when |c m| > 2^10, and then x becomes x - m, and c m
    becomes 0, in a branch that a thread without wide rows does not take. Rows that are not wide keep both, so what a row gets does not depend
    on its neighbours; for them the rounding is a common factor of all weights, within 2^-15 of 1.

    The reference of a row that has seen nothing is the lowest f32: such a row is wide, its scores of -inf stay -inf, and its weights are 0. An
    infinite reference is wide as well: the row gets NaN from its infinite score and 0 from the others, as IEEE says.

    Before:
    ```mlir
    %neg = %ref * -c
    %p = math.exp2 (math.fma %x, c, expand %neg)
    ```
    After:
    ```mlir
    %neg = %ref * -c
    %wide = math.absf %neg > 1024
    %any = attn.any %wide thread
    %x2, %neg2 = scf.if %any {
      yield %x - expand select(%wide, %ref, 0), select(%wide, 0, %neg)
    } else { yield %x, %neg }
    %p = math.exp2 (math.fma %x2, c, expand %neg2)
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::math::MathDialect", "::mlir::scf::SCFDialect"];
}

#endif
