// Every constraint of the kernel ops, each violated once.
// RUN: tessera-opt %s -split-input-file -verify-diagnostics

!global = memref<?x?x?x64xbf16, strided<[?, ?, ?, 1]>>
// expected-error @below {{kernel_c1: the arguments are query, key, value and output of rank 4}}
attn.kernel @kernel_c1 schedule(<"v1:q64,kv16,w4,s1,every,add,qsmem,online">) target(<"sm_80">) access_bytes(16) {
^bb0(%q: !global, %k: !global, %v: !global):
  attn.return
}

// -----

!global = memref<?x?x?x64xbf16, strided<[?, ?, ?, 1]>>
// expected-error @below {{kernel_c1: the arguments are query, key, value and output of rank 4, then the LSE of rank 3}}
attn.kernel @kernel_c1 schedule(<"v1:q64,kv16,w4,s1,every,add,qsmem,online">) target(<"sm_80">) access_bytes(16) {
^bb0(%q: !global, %k: !global, %v: !global, %o: !global, %lse: !global):
  attn.return
}

// -----

!global = memref<?x?x?x64xbf16, strided<[?, ?, ?, 1]>>
// expected-error @below {{kernel_c2: the last op is attn.return}}
attn.kernel @kernel_c2 schedule(<"v1:q64,kv16,w4,s1,every,add,qsmem,online">) target(<"sm_80">) access_bytes(16) {
^bb0(%q: !global, %k: !global, %v: !global, %o: !global):
  %batch, %head, %kvHead, %row = attn.program_id
}

// -----

!global = memref<?x?x?x64xbf16, strided<[?, ?, ?, 1]>>
// expected-error @below {{kernel_c3: the access width is 2, 4, 8 or 16 bytes, got 32}}
attn.kernel @kernel_c3 schedule(<"v1:q64,kv16,w4,s1,every,add,qsmem,online">) target(<"sm_80">) access_bytes(32) {
^bb0(%q: !global, %k: !global, %v: !global, %o: !global):
  attn.return
}

// -----

!global = memref<?x?x?x64xbf16, strided<[?, ?, ?, 1]>>
attn.kernel @kernel_c4 schedule(<"v1:q64,kv16,w4,s1,every,add,qsmem,online,pack">) target(<"sm_80">) access_bytes(16) {
^bb0(%q: !global, %k: !global, %v: !global, %o: !global):
  // expected-error @below {{kernel_c4: the schedule packs heads, and this op does not deal in packed rows}}
  %batch, %head, %kvHead, %row = attn.program_id
  attn.return
}

// -----

!global = memref<?x?x?x64xbf16, strided<[?, ?, ?, 1]>>
attn.kernel @kernel_c4 schedule(<"v1:q64,kv16,w4,s1,every,add,qsmem,online">) target(<"sm_80">) access_bytes(16) {
^bb0(%q: !global, %k: !global, %v: !global, %o: !global):
  %batch, %head, %kvHead, %row = attn.program_id
  // expected-error @below {{kernel_c4: the schedule does not pack heads, and this op deals in packed rows}}
  %position = attn.position %row
  attn.return
}

// -----

!global = memref<?x?x?x64xbf16, strided<[?, ?, ?, 1]>>
attn.kernel @kernel_c4 schedule(<"v1:q64,kv16,w4,s1,every,add,qsmem,online,pack">) target(<"sm_80">) access_bytes(16) {
^bb0(%q: !global, %k: !global, %v: !global, %o: !global):
  %batch, %head, %kvHead, %row = attn.program_id packed
  // expected-error @below {{kernel_c4: keys and values have no packed rows}}
  %key = attn.tile_load %k[%batch, %row, %kvHead] packed : !global -> tensor<16x64xbf16>
  attn.return
}

// -----

!global = memref<?x?x?x64xbf16, strided<[?, ?, ?, 1]>>
attn.kernel @kernel_c4 schedule(<"v1:q64,kv16,w4,s1,every,add,qsmem,online,pack">) target(<"sm_80">) access_bytes(16) {
^bb0(%q: !global, %k: !global, %v: !global, %o: !global):
  %batch, %head, %kvHead, %row = attn.program_id packed
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  scf.for %i = %c1 to %c4 step %c1 {
    %zero = arith.constant dense<0.0> : tensor<64x16xf32>
    // expected-error @below {{kernel_c4: the schedule packs heads, and this op does not deal in packed rows}}
    %masked = attn.mask_scores %zero[%row, %i] : tensor<64x16xf32>
  }
  attn.return
}

// -----

func.func @outside() {
  // expected-error @below {{expects parent op 'attn.kernel'}}
  attn.return
  return
}
