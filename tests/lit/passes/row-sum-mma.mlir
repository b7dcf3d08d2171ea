// attn-row-sum-mma: the sum of the rounded probabilities, by the matrix unit; in the three-loop form the rounding is added.
// DEFINE: %{loops} = online
// DEFINE: %{run} = tessera-opt %s "--attn-build=spec=v1:in=bf16,out=bf16,d=16,dv=16,mask=*:0:bottom-right,scale=0.25,softcap=none,outputs=o,precision=tf32,access=16 schedule=v1:q32,kv16,w2,s1,every,mma,qsmem,%{loops}" --attn-tile
// RUN: %{run} --attn-fuse-online-softmax --attn-row-sum-mma | FileCheck %s --check-prefix=ONLINE
// REDEFINE: %{loops} = three
// RUN: %{run} --attn-row-sum-mma | FileCheck %s --check-prefix=THREE
module {}

// ONLINE: %[[ALPHA:.*]] = math.exp %{{.*}} : tensor<32xf32>
// ONLINE: %[[L:.*]] = arith.mulf %{{.*}}, %[[ALPHA]]
// ONLINE: %[[P:.*]] = math.exp %{{.*}} : tensor<32x16xf32>
// ONLINE-NEXT: %[[R:.*]] = arith.truncf %[[P]]
// ONLINE-NEXT: attn.row_sum %[[R]], %[[L]] mma : tensor<32x16xbf16>
// ONLINE-NOT: arith.truncf
// ONLINE: attn.dot %[[R]]

// THREE: %[[P:.*]] = math.exp
// THREE-NEXT: %[[R:.*]] = arith.truncf %[[P]]
// THREE-NEXT: attn.row_sum %[[R]], %{{.*}} mma : tensor<32x16xbf16>
