// One stage: each tile is copied again behind the barrier after its last use. Several stages: a ring filled ahead.
// RUN: tessera-opt "--attn-build=spec=v1:in=bf16,out=bf16,d=64,dv=64,mask=full,scale=0.125,softcap=none,outputs=o,precision=tf32,access=16 schedule=v1:q64,kv64,w4,s1,lazy8,add,qsmem,online target=sm_80" --attn-tile --attn-fuse-online-softmax \
// RUN:   --attn-bound-loops --attn-relax-rescale --attn-exp2 --attn-distribute --attn-ampere-pipeline %s | FileCheck %s --check-prefix=ONE
// RUN: tessera-opt "--attn-build=spec=v1:in=bf16,out=bf16,d=64,dv=64,mask=full,scale=0.125,softcap=none,outputs=o,precision=tf32,access=16 schedule=v1:q64,kv64,w4,s3,lazy8,add,qreg,online target=sm_80" --attn-tile --attn-fuse-online-softmax \
// RUN:   --attn-bound-loops --attn-relax-rescale --attn-exp2 --attn-distribute --attn-ampere-pipeline %s | FileCheck %s --check-prefix=RING
// RUN: tessera-opt "--attn-build=spec=v1:in=bf16,out=bf16,d=64,dv=64,mask=full,scale=0.125,softcap=none,outputs=o,precision=tf32,access=16 schedule=v1:q64,kv64,w4,s1,lazy8,add,qsmem,online,persist target=sm_80" --attn-tile --attn-fuse-online-softmax \
// RUN:   --attn-bound-loops --attn-relax-rescale --attn-exp2 --attn-distribute --attn-ampere-pipeline %s | FileCheck %s --check-prefix=WALK
// RUN: tessera-opt "--attn-build=spec=v1:in=bf16,out=bf16,d=64,dv=64,mask=full,scale=0.125,softcap=none,outputs=o,precision=tf32,access=16 schedule=v1:q64,kv64,w4,s2,lazy8,add,qsmem,online,pack,persist target=sm_80" --attn-tile --attn-fuse-online-softmax \
// RUN:   --attn-bound-loops --attn-relax-rescale --attn-exp2 --attn-distribute --attn-ampere-pipeline %s | FileCheck %s --check-prefix=WALKRING
// RUN: tessera-opt "--attn-build=spec=v1:in=bf16,out=bf16,d=64,dv=64,mask=full,scale=0.125,softcap=none,outputs=o,precision=tf32,access=16 schedule=v1:q64,kv64,w4,s1,lazy8,add,qsmem,online target=sm_80" --attn-tile --attn-fuse-online-softmax \
// RUN:   --attn-bound-loops --attn-relax-rescale --attn-exp2 --attn-distribute --attn-ampere-pipeline %s | FileCheck %s --check-prefix=ONCE

// ONE: %[[Q:.*]] = attn.shared_buffer at 0 : <1 x 64 x 64 x bf16>
// ONE: attn.copy_async %arg0{{.*}} to %[[Q]] :
// ONE: %[[K:.*]] = attn.shared_buffer at 8192 : <1 x 64 x 64 x bf16>
// ONE: %[[V:.*]] = attn.shared_buffer at 16384 : <1 x 64 x 64 x bf16>
// ONE: attn.copy_async %arg1{{.*}} to %[[K]] :
// ONE-NEXT: attn.commit
// ONE: attn.copy_async %arg2{{.*}} to %[[V]] :
// ONE-NEXT: attn.commit
// ONE-NEXT: attn.wait 1
// ONE-NEXT: attn.barrier
// ONE: scf.for
// ONE:   attn.dot %[[Q]], %[[K]]
// ONE-NEXT: attn.wait 0
// ONE-NEXT: attn.barrier
// ONE:   scf.if
// ONE:     attn.copy_async %arg1{{.*}} to %[[K]] whole
// ONE:   attn.commit
// ONE:   attn.dot %{{.*}}, %[[V]]
// ONE-NEXT: attn.wait 0
// ONE-NEXT: attn.barrier
// ONE:     attn.copy_async %arg2{{.*}} to %[[V]] whole

// RING: %[[K:.*]] = attn.shared_buffer at 8192 : <3 x 64 x 64 x bf16>
// RING: %[[V:.*]] = attn.shared_buffer at 32768 : <3 x 64 x 64 x bf16>
// RING: attn.shared_load
// RING: scf.for
// RING:   attn.wait 1
// RING-NEXT: attn.barrier
// RING:   arith.remui
// RING:   attn.stage %[[K]]
// RING:   attn.copy_async %arg1{{.*}} whole
// RING:   attn.stage %[[V]]
// RING:   attn.copy_async %arg2{{.*}} whole
// RING:   attn.commit
// RING:   attn.dot

// A block that goes on to another query tile lets its threads meet first; behind one stage copies may be under way.
// WALK: attn.tile_store
// WALK-NEXT: attn.wait 0
// WALK-NEXT: attn.barrier
// WALK-NEXT: attn.return
// WALKRING: attn.copy_async %arg0{{.*}} packed to
// WALKRING: attn.tile_store {{.*}} packed
// WALKRING-NEXT: attn.barrier
// WALKRING-NEXT: attn.return
// ONCE: attn.tile_store
// ONCE-NEXT: attn.return
module {}
