// attn-exp2: one FMA and one exp2 per score.
// DEFINE: %{policy} = every
// DEFINE: %{scale} = 0.25
// DEFINE: %{run} = tessera-opt %s "--attn-build=spec=v1:in=bf16,out=bf16,d=16,dv=16,mask=*:0:bottom-right,scale=%{scale},softcap=none,outputs=o+lse,precision=tf32,access=16 schedule=v1:q32,kv16,w2,s1,%{policy},add,qsmem,online" --attn-tile --attn-fuse-online-softmax --attn-bound-loops --attn-relax-rescale --attn-exp2
// RUN: %{run} | FileCheck %s
// REDEFINE: %{policy} = lazy8
// RUN: %{run} | FileCheck %s --check-prefix=LAZY
// REDEFINE: %{scale} = 2
// RUN: %{run} | FileCheck %s --check-prefix=STEEP
// REDEFINE: %{scale} = -2
// RUN: %{run} | FileCheck %s --check-prefix=STEEP
module {}

// CHECK-DAG: %[[C:.*]] = arith.constant dense<0.360673755> : tensor<32x16xf32>
// CHECK-DAG: %[[NEGC:.*]] = arith.constant dense<-0.360673755> : tensor<32xf32>
// CHECK-DAG: %[[LN2:.*]] = arith.constant dense<0.693147182> : tensor<32xf32>
// CHECK: %[[LOOP:.*]]:3 = scf.for {{.*}} iter_args(%[[M:[^ ]+]] =
// CHECK:   %[[X:.*]] = scf.if
// CHECK:   %[[REF:.*]] = arith.maxnumf
// Once per row: the negative product, and the factor as the difference of two such.
// CHECK-NEXT: %[[NEG:.*]] = arith.mulf %[[REF]], %[[NEGC]]
// CHECK-NEXT: %[[OLD:.*]] = arith.mulf %[[M]], %[[NEGC]]
// CHECK-NEXT: %[[GROWTH:.*]] = arith.subf %[[NEG]], %[[OLD]]
// CHECK-NEXT: math.exp2 %[[GROWTH]]
// CHECK:   %[[WIDE:.*]] = attn.expand_rows %[[NEG]]
// CHECK-NEXT: %[[E:.*]] = math.fma %[[X]], %[[C]], %[[WIDE]]
// CHECK-NEXT: math.exp2 %[[E]]
// The LSE in base 2, with the same product as in the weights.
// CHECK: %[[NEGMAX:.*]] = arith.mulf %[[LOOP]]#0, %[[NEGC]]
// CHECK: %[[LOG:.*]] = math.log2 %[[LOOP]]#1
// CHECK-NEXT: %[[SUM:.*]] = arith.subf %[[LOG]], %[[NEGMAX]]
// CHECK-NEXT: arith.mulf %[[SUM]], %[[LN2]]
// CHECK-NOT: math.exp{{ }}
// CHECK-NOT: math.log{{ }}

// In the lazy loop the product stands behind the branch that moves the reference.
// LAZY: scf.for
// LAZY: attn.any
// LAZY-NEXT: %[[STATE:.*]]:3 = scf.if
// LAZY: math.exp2 %{{.*}} : tensor<32xf32>
// LAZY: } else {
// LAZY: }
// LAZY-NEXT: %[[NEG:.*]] = arith.mulf %[[STATE]]#0,
// LAZY-NEXT: %[[WIDE:.*]] = attn.expand_rows %[[NEG]]
// LAZY-NEXT: math.fma %{{.*}}, %{{.*}}, %[[WIDE]]

// For c > 1 the product stays in the finite range.
// STEEP-DAG: %[[C:.*]] = arith.constant dense<{{2.885390|1.442695}}{{.*}}> : tensor<32xf32>
// STEEP-DAG: %[[LOWEST:.*]] = arith.constant dense<-3.40282347E+38> : tensor<32xf32>
// STEEP-DAG: %[[MINUS:.*]] = arith.constant dense<-1.000000e+00> : tensor<32xf32>
// STEEP: scf.for
// STEEP: %[[STATE:.*]]:3 = scf.if
// STEEP: } else {
// STEEP: }
// STEEP-NEXT: %[[PRODUCT:.*]] = arith.mulf %[[STATE]]#0, %[[C]]
// STEEP-NEXT: %[[FINITE:.*]] = arith.maxnumf %[[PRODUCT]], %[[LOWEST]]
// STEEP-NEXT: %[[NEG:.*]] = arith.mulf %[[FINITE]], %[[MINUS]]
// STEEP-NEXT: %[[WIDE:.*]] = attn.expand_rows %[[NEG]]
// STEEP-NEXT: math.fma %{{.*}}, %{{.*}}, %[[WIDE]]
// STEEP-NOT: math.exp{{ }}
// STEEP-NOT: math.log{{ }}
