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

// Packed rows: the heads of a group are rows of one tile.
// CHECK: attn.kernel @packed
attn.kernel @packed schedule(<"v1:q64,kv16,w4,s1,every,add,qsmem,online,pack,h8,first,persist">) target(<"sm_80">) access_bytes(16) {
^bb0(%q: !global, %k: !global, %v: !global, %o: !global):
  // CHECK: %{{.*}}, %{{.*}}, %{{.*}}, %[[ROW:.*]] = attn.program_id packed
  %batch, %head, %kvHead, %row = attn.program_id packed
  // CHECK: attn.position %[[ROW]]
  %position = attn.position %row
  // CHECK: attn.tile_load %{{.*}}[%{{.*}}, %[[ROW]], %{{.*}}] packed :
  %query = attn.tile_load %q[%batch, %row, %head] packed : !global -> tensor<64x64xbf16>
  // CHECK: attn.copy_async %{{.*}}[%{{.*}}, %[[ROW]], %{{.*}}] packed to
  %buffer = attn.shared_buffer at 0 : !attn.shared<1 x 64 x 64 x bf16>
  attn.copy_async %q[%batch, %row, %head] packed to %buffer : !global, !attn.shared<1 x 64 x 64 x bf16>
  %key = attn.tile_load %k[%batch, %row, %kvHead] : !global -> tensor<16x64xbf16>
  %zero = arith.constant dense<0.0> : tensor<64x16xf32>
  // CHECK: attn.mask_scores %{{.*}}[%[[ROW]], %{{.*}}] packed band(
  %masked = attn.mask_scores %zero[%row, %row] packed band(<right = 0, align = top_left>) : tensor<64x16xf32>
  // CHECK: attn.tile_store %{{.*}}, %{{.*}}[%{{.*}}, %[[ROW]], %{{.*}}] packed :
  attn.tile_store %query, %o[%batch, %row, %head] packed : tensor<64x64xbf16>, !global
  attn.return
}
