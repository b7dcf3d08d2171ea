// The kernel and its scalars.
// RUN: tessera-opt %s | tessera-opt | FileCheck %s

!global = memref<?x?x?x64xbf16, strided<[?, ?, ?, 1]>>

// CHECK: attn.kernel @k schedule(<"v1:q64,kv16,w4,s1,every,add,qsmem,online">) target(<"sm_80">) access_bytes(16) {
// CHECK-NEXT: ^bb0(%{{.*}}: memref<?x?x?x64xbf16, strided<[?, ?, ?, 1]>>
attn.kernel @k schedule(<"v1:q64,kv16,w4,s1,every,add,qsmem,online">) target(<"sm_80">) access_bytes(16) {
^bb0(%q: !global, %k: !global, %v: !global, %o: !global, %lse: memref<?x?x?xf32, strided<[?, ?, ?]>>):
  // CHECK: %[[BATCH:.*]], %[[HEAD:.*]], %[[KVHEAD:.*]], %[[ROW:.*]] = attn.program_id
  %batch, %head, %kvHead, %row = attn.program_id
  // CHECK: attn.length query
  %sq = attn.length query
  // CHECK: attn.length key
  %sk = attn.length key
  %empty = arith.cmpi eq, %sq, %sk : index
  // CHECK: attn.count_rescue
  attn.count_rescue %empty
  // CHECK: attn.return
  attn.return
}
