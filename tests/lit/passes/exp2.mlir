// attn-exp2: one FMA and one exp2 per score.
// DEFINE: %{policy} = every
// DEFINE: %{scale} = 0.25
// DEFINE: %{run} = tessera-opt %s "--attn-build=spec=v1:in=bf16,out=bf16,d=16,dv=16,mask=*:0:bottom-right,scale=%{scale},softcap=none,outputs=o+lse,precision=tf32,access=16 schedule=v1:q32,kv16,w2,s1,%{policy},add,qsmem,online" --attn-tile --attn-fuse-online-softmax --attn-bound-loops --attn-relax-rescale --attn-exp2
// RUN: %{run} | FileCheck %s
// REDEFINE: %{policy} = lazy8
// RUN: %{run} | FileCheck %s --check-prefix=LAZY
module {}

// CHECK-DAG: %[[C:.*]] = arith.constant dense<0.360673755> : tensor<32x16xf32>
// CHECK-DAG: %[[CROWS:.*]] = arith.constant dense<0.360673755> : tensor<32xf32>
// CHECK-DAG: %[[NEGC:.*]] = arith.constant dense<-0.360673755> : tensor<32xf32>
// CHECK-DAG: %[[LN2:.*]] = arith.constant dense<0.693147182> : tensor<32xf32>
// CHECK-DAG: %[[SCALE:.*]] = arith.constant dense<2.500000e-01> : tensor<32xf32>
// CHECK: %[[LOOP:.*]]:3 = scf.for {{.*}} iter_args(%[[M:[^ ]+]] =
// CHECK:   %[[X:.*]] = scf.if
// CHECK:   %[[REF:.*]] = arith.maxnumf
// Once per row: the negative product, and the factor, the difference before the scale.
// CHECK-NEXT: %[[NEG:.*]] = arith.mulf %[[REF]], %[[NEGC]]
// CHECK-NEXT: %[[GROWTH:.*]] = arith.subf %[[M]], %[[REF]]
// CHECK-NEXT: %[[SCALED:.*]] = arith.mulf %[[GROWTH]], %[[CROWS]]
// CHECK-NEXT: math.exp2 %[[SCALED]]
// CHECK:   %[[WIDE:.*]] = attn.expand_rows %[[NEG]]
// CHECK-NEXT: %[[E:.*]] = math.fma %[[X]], %[[C]], %[[WIDE]]
// CHECK-NEXT: math.exp2 %[[E]]
// CHECK: %[[KM:.*]] = arith.mulf %[[LOOP]]#0, %[[SCALE]]
// CHECK-NEXT: %[[LOG:.*]] = math.log2 %[[LOOP]]#1
// CHECK-NEXT: %[[LN:.*]] = arith.mulf %[[LOG]], %[[LN2]]
// CHECK-NEXT: arith.addf %[[KM]], %[[LN]]
// CHECK-NOT: math.exp{{ }}
// CHECK-NOT: math.log{{ }}

// In the lazy loop either arm of the branch that moves the reference yields its product.
// LAZY: scf.for {{.*}} iter_args(%[[REF:[^ ]+]] =
// LAZY: attn.any
// LAZY-NEXT: %[[STATE:.*]]:4 = scf.if
// LAZY-NEXT: %[[MOVED:.*]] = arith.maxnumf
// LAZY: math.exp2 %{{.*}} : tensor<32xf32>
// LAZY: %[[NEWNEG:.*]] = arith.mulf %[[MOVED]], %[[NEGC:.*]] : tensor<32xf32>
// LAZY-NEXT: scf.yield %[[MOVED]], {{.*}}, %[[NEWNEG]]
// LAZY-NEXT: } else {
// LAZY-NEXT: %[[OLDNEG:.*]] = arith.mulf %[[REF]], %[[NEGC]]
// LAZY-NEXT: scf.yield %[[REF]], {{.*}}, %[[OLDNEG]]
// LAZY-NEXT: }
// LAZY: %[[WIDE:.*]] = attn.expand_rows %[[STATE]]#3
// LAZY-NEXT: math.fma %{{.*}}, %{{.*}}, %[[WIDE]]
// LAZY-NOT: math.exp{{ }}
// LAZY-NOT: math.log{{ }}
