// attn-build refuses what the typed spec refuses, with its words.
// RUN: not tessera-opt %s "--attn-build=spec=v1:in=bf16" 2>&1 | FileCheck %s --check-prefix=TEXT
// RUN: not tessera-opt %s "--attn-build=spec=v1:in=bf16,out=bf16,d=20,dv=32,mask=full,scale=0.125,softcap=none,outputs=o,precision=tf32,access=8" 2>&1 | FileCheck %s --check-prefix=DIM
// RUN: not tessera-opt %s "--attn-build=spec=v1:in=bf16,out=bf16,d=64,dv=32,mask=full,scale=0.125,softcap=none,outputs=o,precision=tf32,access=8 target=sm_70" 2>&1 | FileCheck %s --check-prefix=TARGET
// RUN: not tessera-opt %s "--attn-build=spec=v1:in=bf16,out=bf16,d=64,dv=32,mask=full,scale=0.125,softcap=none,outputs=o,precision=tf32,access=8 schedule=v1:q1" 2>&1 | FileCheck %s --check-prefix=SCHEDULE
// RUN: not tessera-opt %s "--attn-build=spec=v1:in=f16,out=f16,d=64,dv=64,mask=full,scale=0.125,softcap=none,outputs=o,precision=tf32,access=16 schedule=v1:q128,kv64,w4,s1,anchored,add,qsmem,online" 2>&1 | FileCheck %s --check-prefix=LEGAL
module {}

// TEXT: attn-build:
// DIM: attn-build: head_dim must be a multiple of 8, got 20
// TARGET: attn-build: {{.*}}sm_70
// SCHEDULE: attn-build:
// LEGAL: attn-build: an anchored reference needs probabilities with the exponent range of f32, got f16
