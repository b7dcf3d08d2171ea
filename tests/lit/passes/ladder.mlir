// The whole ladder leaves only what the code generator knows, for every policy and form.
// DEFINE: %{schedule} =
// DEFINE: %{spec} =
// DEFINE: %{tile} = tessera-opt %s "--attn-build=spec=%{spec} schedule=%{schedule}" --attn-tile
// DEFINE: %{rest} = --attn-bound-loops --attn-relax-rescale --attn-row-sum-mma --attn-exp2 --attn-recentre

// REDEFINE: %{spec} = v1:in=bf16,out=f32,d=64,dv=40,mask=9:3:top-left,scale=0.125,softcap=20,outputs=o,precision=tf32,access=16
// REDEFINE: %{schedule} = v1:q64,kv32,w4,s2,lazy8,mma,qsmem,online
// RUN: %{tile} --attn-fuse-online-softmax %{rest} | FileCheck %s --implicit-check-not="math.exp{{ }}" --implicit-check-not="math.log{{ }}" --check-prefix=ONLINE
// REDEFINE: %{schedule} = v1:q64,kv32,w4,s2,anchored,mma,qsmem,online
// RUN: %{tile} --attn-fuse-online-softmax %{rest} | FileCheck %s --implicit-check-not="math.exp{{ }}" --implicit-check-not="math.log{{ }}" --check-prefix=ONLINE
// REDEFINE: %{schedule} = v1:q64,kv32,w4,s2,every,mma,qsmem,three
// RUN: %{tile} %{rest} | FileCheck %s --implicit-check-not="math.exp{{ }}" --implicit-check-not="math.log{{ }}" --check-prefix=THREE
module {}

// ONLINE: scf.for
// ONLINE: attn.tile_load
// ONLINE: math.tanh
// ONLINE: attn.mask_scores
// ONLINE: attn.row_max
// ONLINE: attn.row_sum {{.*}} mma
// ONLINE: attn.tile_load
// ONLINE-NEXT: attn.dot
// ONLINE-NOT: scf.for

// THREE-COUNT-3: scf.for
// THREE-NOT: scf.for
