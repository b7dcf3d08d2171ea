// What attn-recentre leaves alone: sums that are not c * x - c * m with one m per row.
// RUN: tessera-opt %s --attn-recentre -verify-diagnostics | FileCheck %s

!global = memref<?x?x?x16xbf16, strided<[?, ?, ?, 1]>>

// CHECK-NOT: attn.any
attn.kernel @other schedule(<"v1:q32,kv16,w2,s1,every,add,qsmem,online">) target(<"sm_80">) access_bytes(16) {
^bb0(%q: !global, %k: !global, %v: !global, %o: !global):
  %c = arith.constant dense<2.0> : tensor<32x16xf32>
  %negc = arith.constant dense<-3.0> : tensor<32xf32>
  %x = arith.constant dense<1.0> : tensor<32x16xf32>
  %m = arith.constant dense<1.0> : tensor<32xf32>
  // Another factor for m than for x.
  %neg = arith.mulf %m, %negc : tensor<32xf32>
  %wide = attn.expand_rows %neg : tensor<32xf32> -> tensor<32x16xf32>
  // expected-remark @below {{attn-recentre leaves the sum as it is: it is not c * x - c * m with one m per row}}
  %a = math.fma %x, %c, %wide : tensor<32x16xf32>
  // No m per row.
  // expected-remark @below {{attn-recentre leaves the sum as it is: it is not c * x - c * m with one m per row}}
  %b = math.fma %x, %c, %a : tensor<32x16xf32>
  attn.return
}
