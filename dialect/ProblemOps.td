// The problem layer: what is computed.
#ifndef ATTN_PROBLEM_OPS_TD
#define ATTN_PROBLEM_OPS_TD

include "dialect/AttnOpBase.td"

def Attn_AttentionOp : Attn_Op<"attention", [Pure]> {
  let summary = "O = softmax(softcap(scale * Q K^T) + mask) V, and the log-sum-exp of every row";
  let description = [{
    Tensors are (batch, sequence, head, dim). Query head h attends key/value head h / (query heads / key heads). Scores are f32 whatever the
    element type; the order is scale, softcap, mask (numerics N1). A row that sees no key has O = 0 and LSE = -inf (N5).

    Constraints:
    * `attention_c1`: query, key and value have rank 4 and one element type.
    * `attention_c2`: query and key have one head dim, a multiple of 8 in 8..256.
    * `attention_c3`: the value dim is a multiple of 8 in 8..256.
    * `attention_c4`: the output is (batch, sequence, head, value dim).
    * `attention_c5`: the LSE is (batch, head, sequence) of f32.
    * `attention_c6`: softcap, where given, is positive and finite; scale is finite.
    * `attention_c7`: `precise` needs f32 operands.

    ```mlir
    %o, %lse = attn.attention %q, %k, %v scale(0.0883883461) softcap(30.0) band(<right = 0, align = bottom_right>)
        : (tensor<?x?x?x128xbf16>, tensor<?x?x?x128xbf16>, tensor<?x?x?x128xbf16>) -> tensor<?x?x?x128xbf16>, tensor<?x?x?xf32>
    ```
  }];
  let arguments = (ins AnyRankedTensor:$query, AnyRankedTensor:$key, AnyRankedTensor:$value, F32Attr:$scale,
                   OptionalAttr<F32Attr>:$softcap, OptionalAttr<Attn_BandAttr>:$band, UnitAttr:$precise);
  let results = (outs AnyRankedTensor:$output, Optional<AnyRankedTensor>:$lse);
  let assemblyFormat = [{
    $query `,` $key `,` $value `scale` `(` $scale `)` (`softcap` `(` $softcap^ `)`)? (`band` `(` $band^ `)`)? (`precise` $precise^)?
    attr-dict `:` `(` type($query) `,` type($key) `,` type($value) `)` `->` type($output) (`,` type($lse)^)?
  }];
  let hasVerifier = 1;
}

#endif
