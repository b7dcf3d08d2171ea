// Every op of the tile layer.
// RUN: tessera-opt %s | tessera-opt | FileCheck %s

!global = memref<?x?x?x64xbf16, strided<[?, ?, ?, 1]>>
!rows = memref<?x?x?xf32, strided<[?, ?, ?]>>

// CHECK-LABEL: @tiles
func.func @tiles(%q: !global, %lse: !rows, %i: index, %scores: tensor<32x16xf32>, %max: tensor<32xf32>, %p: tensor<32x16xbf16>,
                 %ring: !attn.shared<1 x 16 x 64 x bf16>, %acc: tensor<32x64xf32>) {
  // CHECK: attn.tile_load %{{.*}}[%{{.*}}, %{{.*}}, %{{.*}}] : memref<?x?x?x64xbf16, strided<[?, ?, ?, 1]>> -> tensor<32x64xbf16>
  %tile = attn.tile_load %q[%i, %i, %i] : !global -> tensor<32x64xbf16>
  %key = attn.tile_load %q[%i, %i, %i] : !global -> tensor<16x64xbf16>
  // CHECK: attn.dot %{{.*}}, %{{.*}}, %{{.*}} transposed : tensor<32x64xbf16>, tensor<16x64xbf16> -> tensor<32x16xf32>
  %s = attn.dot %tile, %key, %scores transposed : tensor<32x64xbf16>, tensor<16x64xbf16> -> tensor<32x16xf32>
  // CHECK: attn.dot %{{.*}}, %{{.*}}, %{{.*}} : tensor<32x16xbf16>, !attn.shared<1 x 16 x 64 x bf16> -> tensor<32x64xf32>
  %o = attn.dot %p, %ring, %acc : tensor<32x16xbf16>, !attn.shared<1 x 16 x 64 x bf16> -> tensor<32x64xf32>
  // CHECK: attn.mask_scores %{{.*}}[%{{.*}}, %{{.*}}] band(<right = 0, align = top_left>) : tensor<32x16xf32>
  %masked = attn.mask_scores %s[%i, %i] band(<right = 0, align = top_left>) : tensor<32x16xf32>
  // CHECK: attn.mask_scores %{{.*}}[%{{.*}}, %{{.*}}] : tensor<32x16xf32>
  %tail = attn.mask_scores %masked[%i, %i] : tensor<32x16xf32>
  // CHECK: attn.row_max %{{.*}} : tensor<32x16xf32> -> tensor<32xf32>
  %m0 = attn.row_max %tail : tensor<32x16xf32> -> tensor<32xf32>
  // CHECK: attn.row_max %{{.*}} init %{{.*}} : tensor<32xf32> : tensor<32x16xf32> -> tensor<32xf32>
  %m1 = attn.row_max %tail init %m0 : tensor<32xf32> : tensor<32x16xf32> -> tensor<32xf32>
  // CHECK: attn.row_sum %{{.*}}, %{{.*}} : tensor<32x16xf32> -> tensor<32xf32>
  %l0 = attn.row_sum %tail, %m1 : tensor<32x16xf32> -> tensor<32xf32>
  // CHECK: attn.row_sum %{{.*}}, %{{.*}} mma : tensor<32x16xbf16> -> tensor<32xf32>
  %l1 = attn.row_sum %p, %l0 mma : tensor<32x16xbf16> -> tensor<32xf32>
  // CHECK: attn.row_sum %{{.*}}, %{{.*}} partial : tensor<32x16xf32> -> tensor<32xf32>
  %l2 = attn.row_sum %tail, %l1 partial : tensor<32x16xf32> -> tensor<32xf32>
  // CHECK: attn.complete_rows %{{.*}} : tensor<32xf32> -> tensor<32xf32>
  %l3 = attn.complete_rows %l2 : tensor<32xf32> -> tensor<32xf32>
  // CHECK: attn.expand_rows %{{.*}} : tensor<32xf32> -> tensor<32x64xf32>
  %wide = attn.expand_rows %l3 : tensor<32xf32> -> tensor<32x64xf32>
  %grown = arith.cmpf ogt, %m1, %m0 : tensor<32xf32>
  // CHECK: attn.any %{{.*}} : tensor<32xi1>
  %warp = attn.any %grown : tensor<32xi1>
  // CHECK: attn.any %{{.*}} block : tensor<32xi1>
  %block = attn.any %grown block : tensor<32xi1>
  // CHECK: attn.any %{{.*}} thread : tensor<32xi1>
  %thread = attn.any %grown thread : tensor<32xi1>
  // CHECK: attn.tile_store %{{.*}}, %{{.*}}[%{{.*}}, %{{.*}}, %{{.*}}] : tensor<32x64xbf16>, memref<?x?x?x64xbf16, strided<[?, ?, ?, 1]>>
  attn.tile_store %tile, %q[%i, %i, %i] : tensor<32x64xbf16>, !global
  // CHECK: attn.tile_store %{{.*}}, %{{.*}}[%{{.*}}, %{{.*}}, %{{.*}}] : tensor<32xf32>, memref<?x?x?xf32, strided<[?, ?, ?]>>
  attn.tile_store %l3, %lse[%i, %i, %i] : tensor<32xf32>, !rows
  return
}
