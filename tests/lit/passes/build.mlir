// attn-build: a spec text becomes one attn.attention; schedule, target and access width ride on the module.
// RUN: tessera-opt %s "--attn-build=spec=v1:in=bf16,out=f32,d=64,dv=32,mask=7:0:bottom-right,scale=0.125,softcap=none,outputs=o+lse,precision=tf32,access=8 schedule=v1:q128,kv64,w4,s1,lazy8,add,qsmem,online target=sm_86" | FileCheck %s
// RUN: tessera-opt %s "--attn-build=spec=v1:in=f32,out=f32,d=64,dv=64,mask=full,scale=0.125,softcap=30,outputs=o,precision=precise,access=16" | FileCheck %s --check-prefix=PRECISE
module {}

// CHECK: module attributes {attn.access_bytes = 8 : i64, attn.schedule = #attn.schedule<"v1:q128,kv64,w4,s1,lazy8,add,qsmem,online">, attn.target = #attn.target<"sm_86">}
// CHECK: func.func @attention(%[[Q:.*]]: tensor<?x?x?x64xbf16>, %[[K:.*]]: tensor<?x?x?x64xbf16>, %[[V:.*]]: tensor<?x?x?x32xbf16>) -> (tensor<?x?x?x32xf32>, tensor<?x?x?xf32>)
// CHECK: %[[O:.*]], %[[LSE:.*]] = attn.attention %[[Q]], %[[K]], %[[V]] scale(1.250000e-01) band(<left = 7, right = 0, align = bottom_right>) :
// CHECK: return %[[O]], %[[LSE]]

// PRECISE: attn.schedule = #attn.schedule<"v1:{{.*}}">, attn.target = #attn.target<"sm_80">
// PRECISE: attn.attention %{{.*}} scale(1.250000e-01) softcap(3.000000e+01) precise : ({{.*}}) -> tensor<?x?x?x64xf32>{{$}}
