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

func.func @outside() {
  // expected-error @below {{expects parent op 'attn.kernel'}}
  attn.return
  return
}
