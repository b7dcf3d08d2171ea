// Each mutation drops exactly what its name says; whoever runs kernels must notice every one of them.
// DEFINE: %{build} = tessera-opt %s "--attn-build=spec=v1:in=bf16,out=bf16,d=16,dv=16,mask=full,scale=0.25,softcap=none,outputs=o+lse,precision=tf32,access=16 schedule=v1:q32,kv16,w2,s1,every,add,qsmem,online" --attn-tile

// RUN: %{build} --attn-fuse-online-softmax=mutate=none -o %t
// RUN: FileCheck %s --check-prefixes=CHECK,ALPHA < %t
// RUN: FileCheck %s --check-prefixes=CHECK,L < %t
// RUN: FileCheck %s --check-prefixes=CHECK,U < %t

// RUN: %{build} --attn-fuse-online-softmax=mutate=no-rescale-u -o %t
// RUN: FileCheck %s --check-prefixes=CHECK,ALPHA < %t
// RUN: FileCheck %s --check-prefixes=CHECK,L < %t
// RUN: FileCheck %s --check-prefixes=CHECK,NOU < %t

// RUN: %{build} --attn-fuse-online-softmax=mutate=no-rescale-l -o %t
// RUN: FileCheck %s --check-prefixes=CHECK,ALPHA < %t
// RUN: FileCheck %s --check-prefixes=CHECK,NOL < %t
// RUN: FileCheck %s --check-prefixes=CHECK,U < %t

// RUN: %{build} --attn-fuse-online-softmax=mutate=no-guard -o %t
// RUN: FileCheck %s --check-prefixes=CHECK,NOGUARD < %t
// RUN: FileCheck %s --check-prefixes=CHECK,L < %t
// RUN: FileCheck %s --check-prefixes=CHECK,U < %t

// RUN: %{build} --attn-fuse-online-softmax=mutate=wrong-alpha -o %t
// RUN: FileCheck %s --check-prefixes=CHECK,WRONG < %t
// RUN: FileCheck %s --check-prefixes=CHECK,L < %t
// RUN: FileCheck %s --check-prefixes=CHECK,U < %t
module {}

// CHECK: scf.for {{.*}} iter_args(%[[M:.*]] = %{{.*}}, %[[L:.*]] = %{{.*}}, %[[U:.*]] = %{{.*}}) ->
// CHECK: %[[MAX:.*]] = attn.row_max %{{.*}} init %[[M]]

// ALPHA: %[[REF:.*]] = arith.maxnumf %[[MAX]]
// ALPHA: arith.subf %[[M]], %[[REF]]
// WRONG: %[[REF:.*]] = arith.maxnumf %[[MAX]]
// WRONG: arith.subf %[[REF]], %[[M]]
// NOGUARD-NOT: arith.maxnumf
// NOGUARD: arith.subf %[[M]], %[[MAX]]

// L: %[[L2:.*]] = arith.mulf %[[L]], %
// L: attn.row_sum %{{.*}}, %[[L2]] :
// NOL: attn.row_sum %{{.*}}, %[[L]] :

// U: %[[U2:.*]] = arith.mulf %[[U]], %
// U: attn.dot %{{.*}}, %{{.*}}, %[[U2]] :
// NOU: attn.dot %{{.*}}, %{{.*}}, %[[U]] :
