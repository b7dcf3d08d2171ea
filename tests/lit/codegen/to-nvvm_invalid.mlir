// What the code generator does not know is a diagnostic at the op.
// RUN: tessera-opt %s --attn-to-nvvm --split-input-file --verify-diagnostics

attn.kernel @attention schedule(<"v1:q64,kv64,w4,s1,every,add,qsmem,online">) target(<"sm_80">) access_bytes(16) {
^bb0(%q: memref<?x?x?x64xbf16, strided<[?, ?, ?, 1]>>, %k: memref<?x?x?x64xbf16, strided<[?, ?, ?, 1]>>,
     %v: memref<?x?x?x64xbf16, strided<[?, ?, ?, 1]>>, %o: memref<?x?x?x64xf32, strided<[?, ?, ?, 1]>>):
  %x = arith.constant dense<1.0> : tensor<64x64xf32>
  // expected-error @below {{codegen: not an operation of the tile layer}}
  %y = math.sin %x : tensor<64x64xf32>
  attn.return
}
