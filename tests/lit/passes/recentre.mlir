// attn-recentre: rows with a large reference subtract it before the scale, in a branch of the threads that hold one.
// DEFINE: %{policy} = every
// DEFINE: %{form} = online
// DEFINE: %{build} = tessera-opt %s "--attn-build=spec=v1:in=bf16,out=bf16,d=16,dv=16,mask=*:0:bottom-right,scale=0.25,softcap=none,outputs=o+lse,precision=tf32,access=16 schedule=v1:q32,kv16,w2,s1,%{policy},add,qsmem,%{form}" --attn-tile
// DEFINE: %{rest} = --attn-bound-loops --attn-relax-rescale --attn-exp2 --attn-recentre
// RUN: %{build} --attn-fuse-online-softmax %{rest} | FileCheck %s
// REDEFINE: %{policy} = lazy8
// RUN: %{build} --attn-fuse-online-softmax %{rest} | FileCheck %s --check-prefix=MOVED
// REDEFINE: %{policy} = anchored
// RUN: %{build} --attn-fuse-online-softmax %{rest} | FileCheck %s --check-prefix=MOVED
// REDEFINE: %{policy} = every
// REDEFINE: %{form} = three
// RUN: %{build} %{rest} | FileCheck %s --check-prefix=THREE
module {}

// CHECK-DAG: %[[LIMIT:.*]] = arith.constant dense<1.024000e+03> : tensor<32xf32>
// CHECK-DAG: %[[ZERO:.*]] = arith.constant dense<0.000000e+00> : tensor<32xf32>
// CHECK: scf.for
// CHECK: %[[X:.*]] = scf.if {{.*}} -> (tensor<32x16xf32>)
// CHECK: %[[REF:.*]] = arith.maxnumf
// CHECK-NEXT: %[[NEG:.*]] = arith.mulf %[[REF]]
// CHECK: %[[SIZE:.*]] = math.absf %[[NEG]]
// CHECK-NEXT: %[[ISWIDE:.*]] = arith.cmpf ogt, %[[SIZE]], %[[LIMIT]]
// CHECK-NEXT: %[[ANY:.*]] = attn.any %[[ISWIDE]] thread
// CHECK-NEXT: %[[NEW:.*]]:2 = scf.if %[[ANY]] -> (tensor<32x16xf32>, tensor<32xf32>)
// A row that is not wide keeps its scores and its product.
// CHECK-NEXT:   %[[SHIFT:.*]] = arith.select %[[ISWIDE]], %[[REF]], %[[ZERO]]
// CHECK-NEXT:   %[[SHIFTS:.*]] = attn.expand_rows %[[SHIFT]]
// CHECK-NEXT:   %[[XM:.*]] = arith.subf %[[X]], %[[SHIFTS]]
// CHECK-NEXT:   %[[REST:.*]] = arith.select %[[ISWIDE]], %[[ZERO]], %[[NEG]]
// CHECK-NEXT:   scf.yield %[[XM]], %[[REST]]
// CHECK-NEXT: } else {
// CHECK-NEXT:   scf.yield %[[X]], %[[NEG]]
// CHECK-NEXT: }
// CHECK-NEXT: %[[NEGS:.*]] = attn.expand_rows %[[NEW]]#1
// The exponents stay in the block of the product that takes them.
// CHECK-NEXT: %[[E:.*]] = math.fma %[[NEW]]#0, %{{.*}}, %[[NEGS]]
// CHECK-NEXT: math.exp2 %[[E]]
// CHECK: attn.dot
// CHECK-NOT: attn.any

// Behind the branch that moves the reference. No vote of the warp is added.
// MOVED: attn.any %{{.*}} : tensor<32xi1>
// MOVED: %[[STATE:.*]]:4 = scf.if
// MOVED: } else {
// MOVED: }
// MOVED-NEXT: %[[SIZE:.*]] = math.absf %[[STATE]]#3
// MOVED-NEXT: %[[ISWIDE:.*]] = arith.cmpf ogt, %[[SIZE]]
// MOVED-NEXT: %[[ANY:.*]] = attn.any %[[ISWIDE]] thread
// MOVED-NEXT: scf.if %[[ANY]]
// MOVED-NEXT:   arith.select %[[ISWIDE]], %[[STATE]]#0
// MOVED: math.fma
// MOVED-NOT: attn.any
// MOVED: attn.dot

// In both loops that weigh.
// THREE: scf.for
// THREE: attn.row_max
// THREE: scf.for
// THREE: attn.any %{{.*}} thread
// THREE: attn.row_sum
// THREE: scf.for
// THREE: attn.any %{{.*}} thread
// THREE: attn.dot %{{.*}} : tensor<32x16xbf16>, tensor<16x16xbf16> ->
