// Loops that attn-tile did not make are left alone, and the remark says why.
// RUN: tessera-opt %s -split-input-file --attn-bound-loops -verify-diagnostics

!global = memref<?x?x?x16xbf16, strided<[?, ?, ?, 1]>>
attn.kernel @no_mask schedule(<"v1:q32,kv16,w2,s1,every,add,qsmem,online">) target(<"sm_80">) access_bytes(16) {
^bb0(%q: !global, %k: !global, %v: !global, %o: !global):
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  %c32 = arith.constant 32 : index
  %max = arith.constant dense<0.0> : tensor<32xf32>
  %x = arith.constant dense<0.0> : tensor<32x16xf32>
  %batch, %head, %kvHead, %row = attn.program_id
  %tiles = attn.length key
  // expected-remark @below {{attn-bound-loops leaves the loop as it is: it does not mask its scores exactly once}}
  %m = scf.for %i = %c0 to %tiles step %c1 iter_args(%carried = %max) -> (tensor<32xf32>) {
    %next = attn.row_max %x init %carried : tensor<32xf32> : tensor<32x16xf32> -> tensor<32xf32>
    scf.yield %next : tensor<32xf32>
  }
  attn.return
}

// -----

!global = memref<?x?x?x16xbf16, strided<[?, ?, ?, 1]>>
attn.kernel @stride schedule(<"v1:q32,kv16,w2,s1,every,add,qsmem,online">) target(<"sm_80">) access_bytes(16) {
^bb0(%q: !global, %k: !global, %v: !global, %o: !global):
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  %c32 = arith.constant 32 : index
  %max = arith.constant dense<0.0> : tensor<32xf32>
  %x = arith.constant dense<0.0> : tensor<32x16xf32>
  %batch, %head, %kvHead, %row = attn.program_id
  %tiles = attn.length key
  // expected-remark @below {{attn-bound-loops leaves the loop as it is: its tiles are not visited in ascending order}}
  %m = scf.for %i = %c0 to %tiles step %c1 iter_args(%carried = %max) -> (tensor<32xf32>) {
    %col = arith.muli %i, %c32 : index
    %masked = attn.mask_scores %x[%row, %col] : tensor<32x16xf32>
    %next = attn.row_max %masked init %carried : tensor<32xf32> : tensor<32x16xf32> -> tensor<32xf32>
    scf.yield %next : tensor<32xf32>
  }
  attn.return
}

// -----

!global = memref<?x?x?x16xbf16, strided<[?, ?, ?, 1]>>
attn.kernel @other_use schedule(<"v1:q32,kv16,w2,s1,every,add,qsmem,online">) target(<"sm_80">) access_bytes(16) {
^bb0(%q: !global, %k: !global, %v: !global, %o: !global):
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  %c32 = arith.constant 32 : index
  %max = arith.constant dense<0.0> : tensor<32xf32>
  %x = arith.constant dense<0.0> : tensor<32x16xf32>
  %batch, %head, %kvHead, %row = attn.program_id
  %tiles = attn.length key
  // expected-remark @below {{attn-bound-loops leaves the loop as it is: its induction variable is used otherwise than for the first key of the tile}}
  %m = scf.for %i = %c0 to %tiles step %c1 iter_args(%carried = %max) -> (tensor<32xf32>) {
    %col = arith.muli %i, %c16 : index
    %twice = arith.addi %i, %i : index
    %masked = attn.mask_scores %x[%row, %col] : tensor<32x16xf32>
    %next = attn.row_max %masked init %carried : tensor<32xf32> : tensor<32x16xf32> -> tensor<32xf32>
    scf.yield %next : tensor<32xf32>
  }
  attn.return
}

// -----

!global = memref<?x?x?x16xbf16, strided<[?, ?, ?, 1]>>
attn.kernel @begin schedule(<"v1:q32,kv16,w2,s1,every,add,qsmem,online">) target(<"sm_80">) access_bytes(16) {
^bb0(%q: !global, %k: !global, %v: !global, %o: !global):
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  %c32 = arith.constant 32 : index
  %max = arith.constant dense<0.0> : tensor<32xf32>
  %x = arith.constant dense<0.0> : tensor<32x16xf32>
  %batch, %head, %kvHead, %row = attn.program_id
  %tiles = attn.length key
  // expected-remark @below {{attn-bound-loops leaves the loop as it is: it does not begin at the first tile}}
  %m = scf.for %i = %c1 to %tiles step %c1 iter_args(%carried = %max) -> (tensor<32xf32>) {
    %col = arith.muli %i, %c16 : index
    %masked = attn.mask_scores %x[%row, %col] : tensor<32x16xf32>
    %next = attn.row_max %masked init %carried : tensor<32xf32> : tensor<32x16xf32> -> tensor<32xf32>
    scf.yield %next : tensor<32xf32>
  }
  attn.return
}
