// What attn-row-sum-mma leaves alone, and why.
// RUN: tessera-opt %s --attn-row-sum-mma -verify-diagnostics | FileCheck %s

!global = memref<?x?x?x16xf32, strided<[?, ?, ?, 1]>>

// f32 probabilities stay f32, and so does their sum.
// CHECK: attn.row_sum %{{.*}}, %{{.*}} : tensor<32x16xf32>
attn.kernel @f32 schedule(<"v1:q32,kv16,w2,s1,every,add,qsmem,online">) target(<"sm_80">) access_bytes(16) {
^bb0(%q: !global, %k: !global, %v: !global, %o: !global):
  %zero = arith.constant dense<0.0> : tensor<32xf32>
  %x = arith.constant dense<0.0> : tensor<32x16xf32>
  %p = math.exp %x : tensor<32x16xf32>
  // expected-remark @below {{attn-row-sum-mma leaves the sum as it is: the probabilities are not rounded to 16 bits}}
  %sum = attn.row_sum %p, %zero : tensor<32x16xf32> -> tensor<32xf32>
  attn.return
}
