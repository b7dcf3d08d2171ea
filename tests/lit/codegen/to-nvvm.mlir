// The kernel becomes one function: launch bounds, external shared memory, matrix loads and MMA, one exponent per score, no branch per element.
// RUN: tessera-opt "--attn-build=spec=v1:in=bf16,out=bf16,d=16,dv=16,mask=full,scale=0.25,softcap=none,outputs=o,precision=tf32,access=16 schedule=v1:q16,kv16,w1,s1,every,add,qsmem,online target=sm_80" \
// RUN:   --attn-tile --attn-fuse-online-softmax --attn-bound-loops --attn-relax-rescale --attn-exp2 --attn-distribute --attn-ampere-pipeline \
// RUN:   --attn-to-nvvm %s | FileCheck %s

// CHECK: llvm.mlir.global external @shared_memory() {addr_space = 3 : i32, alignment = 1024 : i64} : !llvm.array<0 x i8>
// CHECK: llvm.func @attention
// CHECK-SAME: nvvm.kernel
// CHECK-SAME: nvvm.minctasm = 1
// CHECK-SAME: nvvm.reqntid = array<i32: 32, 1, 1>
// One k-step of Q K^T for two blocks of keys: a load of A, a load of B, two products.
// CHECK: "llvm.nvvm.ldmatrix.sync.aligned.m8n8.x4.b16.p3"
// CHECK: "llvm.nvvm.ldmatrix.sync.aligned.m8n8.x4.b16.p3"
// CHECK-COUNT-2: "llvm.nvvm.mma.m16n8k16.row.col.bf16"
// CHECK: "llvm.nvvm.cp.async.wait.group"
// CHECK: "llvm.nvvm.barrier.cta.sync.aligned.all"
// Two rows of a lane: alpha each; then eight weights packed in four registers between the exponents and the product with V.
// CHECK-COUNT-10: "llvm.nvvm.ex2.approx.ftz.f"
// CHECK: "llvm.nvvm.ldmatrix.sync.aligned.m8n8.x4.trans.b16.p3"
// CHECK-COUNT-2: "llvm.nvvm.mma.m16n8k16.row.col.bf16"
// CHECK-NOT: "llvm.nvvm.ex2.approx.ftz.f"
module {}
