// Every tile gets the layout of its fragment; row sums stay partial in the loop and are completed once behind it.
// RUN: tessera-opt %s --attn-distribute | FileCheck %s

// CHECK-DAG: #attn.layout<fragment, warps = 4>
// CHECK: scf.for
// CHECK:   attn.row_sum %{{.*}}, %{{.*}} partial : tensor<64x64xf32, #attn.layout<fragment, warps = 4>> -> tensor<64xf32, #attn.layout<rows, warps = 4>>
// CHECK: }
// CHECK: %[[SUM:.*]] = attn.complete_rows
// CHECK: attn.expand_rows %[[SUM]]
attn.kernel @attention schedule(<"v1:q64,kv64,w4,s1,every,add,qsmem,online">) target(<"sm_80">) access_bytes(16) {
^bb0(%q: memref<?x?x?x64xbf16, strided<[?, ?, ?, 1]>>, %k: memref<?x?x?x64xbf16, strided<[?, ?, ?, 1]>>,
     %v: memref<?x?x?x64xbf16, strided<[?, ?, ?, 1]>>, %o: memref<?x?x?x64xf32, strided<[?, ?, ?, 1]>>):
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = attn.length key
  %zero = arith.constant dense<0.0> : tensor<64xf32>
  %ones = arith.constant dense<1.0> : tensor<64x64xf32>
  %half = arith.constant dense<0.5> : tensor<64xf32>
  %batch, %head, %kv, %row = attn.program_id
  %sum = scf.for %i = %c0 to %n step %c1 iter_args(%l = %zero) -> (tensor<64xf32>) {
    %scaled = arith.mulf %l, %half : tensor<64xf32>
    %next = attn.row_sum %ones, %scaled : tensor<64x64xf32> -> tensor<64xf32>
    scf.yield %next : tensor<64xf32>
  }
  %wide = attn.expand_rows %sum : tensor<64xf32> -> tensor<64x64xf32>
  attn.tile_store %wide, %o[%batch, %row, %head] : tensor<64x64xf32>, memref<?x?x?x64xf32, strided<[?, ?, ?, 1]>>
  attn.return
}
