// What attn-relax-rescale leaves alone, and why.
// RUN: tessera-opt %s -split-input-file --attn-relax-rescale -verify-diagnostics

!global = memref<?x?x?x16xbf16, strided<[?, ?, ?, 1]>>
attn.kernel @relax_c1 schedule(<"v1:q32,kv16,w2,s1,lazy8,add,qsmem,online">) target(<"sm_80">) access_bytes(16) {
^bb0(%q: !global, %k: !global, %v: !global, %o: !global):
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant dense<0.0> : tensor<32xf32>
  %x = arith.constant dense<0.0> : tensor<32x16xf32>
  %tiles = attn.length key
  // expected-remark @below {{relax_c1: attn-relax-rescale leaves the loop as it is: it carries no reference that rescales sums}}
  %l = scf.for %i = %c0 to %tiles step %c1 iter_args(%carried = %zero) -> (tensor<32xf32>) {
    %next = attn.row_sum %x, %carried : tensor<32x16xf32> -> tensor<32xf32>
    scf.yield %next : tensor<32xf32>
  }
  attn.return
}

// -----

// An online loop that attn-bound-loops has not seen: which tiles are its head?
!global = memref<?x?x?x16xbf16, strided<[?, ?, ?, 1]>>
attn.kernel @relax_c2 schedule(<"v1:q32,kv16,w2,s1,anchored,add,qsmem,online">) target(<"sm_80">) access_bytes(16) {
^bb0(%q: !global, %k: !global, %v: !global, %o: !global):
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant dense<0.0> : tensor<32xf32>
  %neginf = arith.constant dense<0xFF800000> : tensor<32xf32>
  %x = arith.constant dense<0.0> : tensor<32x16xf32>
  %tiles = attn.length key
  // expected-error @below {{relax_c2: an anchored reference needs a loop that attn-bound-loops has bounded}}
  %state:2 = scf.for %i = %c0 to %tiles step %c1 iter_args(%m = %neginf, %l = %zero) -> (tensor<32xf32>, tensor<32xf32>) {
    %max = attn.row_max %x init %m : tensor<32xf32> : tensor<32x16xf32> -> tensor<32xf32>
    %growth = arith.subf %m, %max : tensor<32xf32>
    %alpha = math.exp %growth : tensor<32xf32>
    %l2 = arith.mulf %l, %alpha : tensor<32xf32>
    %next = attn.row_sum %x, %l2 : tensor<32x16xf32> -> tensor<32xf32>
    scf.yield %max, %next : tensor<32xf32>, tensor<32xf32>
  }
  attn.return
}
