// Which query tile a block computes: the order of numbers, head groups, packed heads, and the loop of a persistent block.
// DEFINE: %{schedule} =
// DEFINE: %{lower} = tessera-opt %s "--attn-build=spec=v1:in=bf16,out=bf16,d=16,dv=16,mask=full,scale=0.25,softcap=none,outputs=o,precision=tf32,access=16 schedule=v1:q16,kv16,w1,s1,every,add,qsmem,online%{schedule} target=sm_80" --attn-tile --attn-fuse-online-softmax --attn-bound-loops --attn-relax-rescale --attn-exp2 --attn-distribute --attn-ampere-pipeline --attn-to-nvvm

// REDEFINE: %{schedule} = 
// RUN: %{lower} | FileCheck %s --check-prefix=LAST
// REDEFINE: %{schedule} = ,first
// RUN: %{lower} | FileCheck %s --check-prefix=FIRST
// REDEFINE: %{schedule} = ,h8
// RUN: %{lower} | FileCheck %s --check-prefix=HEADS
// REDEFINE: %{schedule} = ,pack
// RUN: %{lower} | FileCheck %s --check-prefix=PACK
// REDEFINE: %{schedule} = ,persist
// RUN: %{lower} | FileCheck %s --check-prefix=PERSIST

// The last tile of a head first.
// LAST-NOT: %arg26
// LAST: %[[BLOCK:.*]] = llvm.call_intrinsic "llvm.nvvm.read.ptx.sreg.ctaid.x"
// LAST: %[[PAIR:.*]] = llvm.udiv %[[BLOCK]], %arg25
// LAST: %[[BEFORE:.*]] = llvm.mul %[[PAIR]], %arg25
// LAST: %[[PLACE:.*]] = llvm.sub %[[BLOCK]], %[[BEFORE]]
// LAST: %[[TILE:.*]] = llvm.sub %{{.*}}, %[[PLACE]]
// LAST: %[[BATCH:.*]] = llvm.udiv %[[PAIR]], %arg21
// LAST: %[[BEFOREBATCH:.*]] = llvm.mul %[[BATCH]], %arg21
// LAST: %[[HEAD:.*]] = llvm.sub %[[PAIR]], %[[BEFOREBATCH]]
// LAST: llvm.udiv %[[HEAD]], %arg22
// LAST: %[[WIDE:.*]] = llvm.sext %[[TILE]]
// LAST: llvm.mul %[[WIDE]], %{{.*}}

// The first tile first.
// FIRST: %[[BLOCK:.*]] = llvm.call_intrinsic "llvm.nvvm.read.ptx.sreg.ctaid.x"
// FIRST: %[[PAIR:.*]] = llvm.udiv %[[BLOCK]], %arg25
// FIRST: %[[BEFORE:.*]] = llvm.mul %[[PAIR]], %arg25
// FIRST: %[[PLACE:.*]] = llvm.sub %[[BLOCK]], %[[BEFORE]]
// FIRST-NEXT: llvm.udiv %[[PAIR]], %arg21
// FIRST: %[[WIDE:.*]] = llvm.sext %[[PLACE]]
// FIRST: llvm.mul %[[WIDE]], %{{.*}}

// Eight pairs, or what is left of them, take their tiles in turn.
// HEADS: %[[BLOCK:.*]] = llvm.call_intrinsic "llvm.nvvm.read.ptx.sreg.ctaid.x"
// HEADS: %[[EIGHT:.*]] = llvm.mlir.constant(8 : i32)
// HEADS: %[[MOST:.*]] = llvm.intr.umin(%arg26, %[[EIGHT]])
// HEADS: %[[SPAN:.*]] = llvm.mul %[[MOST]], %arg25
// HEADS: %[[GROUP:.*]] = llvm.udiv %[[BLOCK]], %[[SPAN]]
// HEADS: %[[FIRSTPAIR:.*]] = llvm.mul %[[GROUP]], %[[MOST]]
// HEADS: %[[LEFT:.*]] = llvm.sub %arg26, %[[FIRSTPAIR]]
// HEADS: %[[SIZE:.*]] = llvm.intr.umin(%[[MOST]], %[[LEFT]])
// HEADS: %[[BEFORE:.*]] = llvm.mul %[[FIRSTPAIR]], %arg25
// HEADS: %[[LOCAL:.*]] = llvm.sub %[[BLOCK]], %[[BEFORE]]
// HEADS: %[[PLACE:.*]] = llvm.udiv %[[LOCAL]], %[[SIZE]]
// HEADS: %[[TURNS:.*]] = llvm.mul %[[PLACE]], %[[SIZE]]
// HEADS: %[[TURN:.*]] = llvm.sub %[[LOCAL]], %[[TURNS]]
// HEADS: %[[PAIR:.*]] = llvm.add %[[FIRSTPAIR]], %[[TURN]]
// HEADS: llvm.sub %{{.*}}, %[[PLACE]]
// HEADS: llvm.udiv %[[PAIR]], %arg21

// Packed: pairs are (batch, KV head), and each row of the query's tile has a position and a head of its own.
// PACK-NOT: %arg26
// PACK: %[[KVHEADS:.*]] = llvm.udiv %arg21, %arg22
// PACK: %[[BATCH:.*]] = llvm.udiv %[[PAIR:.*]], %[[KVHEADS]]
// PACK: %[[BEFORE:.*]] = llvm.mul %[[BATCH]], %[[KVHEADS]]
// PACK: %[[KVHEAD:.*]] = llvm.sub %[[PAIR]], %[[BEFORE]]
// PACK: llvm.mul %[[KVHEAD]], %arg22
// PACK: %[[POSITION:.*]] = llvm.udiv %[[ROW:.*]], %arg22
// PACK: %[[WHOLE:.*]] = llvm.mul %[[POSITION]], %arg22
// PACK: %[[MEMBER:.*]] = llvm.sub %[[ROW]], %[[WHOLE]]
// PACK: %[[POSITION64:.*]] = llvm.zext %[[POSITION]]
// PACK: %[[MEMBER64:.*]] = llvm.zext %[[MEMBER]]
// PACK: %[[QROW:.*]] = llvm.sext %arg16
// PACK: llvm.mul %[[POSITION64]], %[[QROW]]
// PACK: llvm.mul %[[MEMBER64]], %arg7
// PACK: llvm.icmp "ult" %[[POSITION]], %arg23
// PACK: "llvm.nvvm.cp.async.cg.shared.global.16.s"

// A loop over the numbers of query tiles, from the block's own in steps of the grid. Each reads the thread's number anew.
// PERSIST: %[[OWN:.*]] = llvm.call_intrinsic "llvm.nvvm.read.ptx.sreg.ctaid.x"
// PERSIST-NEXT: llvm.br ^[[TOP:.*]](%[[OWN]] : i32)
// PERSIST-NEXT: ^[[TOP]](%[[NUMBER:.*]]: i32):
// PERSIST-NEXT: llvm.inline_asm has_side_effects "mov.u32 $0, %tid.x;"
// PERSIST: llvm.udiv %[[NUMBER]], %arg25
// PERSIST: %[[GRID:.*]] = llvm.call_intrinsic "llvm.nvvm.read.ptx.sreg.nctaid.x"
// PERSIST: %[[NEXT:.*]] = llvm.add %[[NUMBER]], %[[GRID]]
// PERSIST: %[[TILES:.*]] = llvm.mul %arg25, %arg26
// PERSIST: %[[MORE:.*]] = llvm.icmp "ult" %[[NEXT]], %[[TILES]]
// PERSIST: llvm.cond_br %[[MORE]], ^[[TOP]](%[[NEXT]] : i32), ^[[BEHIND:.*]]
// PERSIST-NEXT: ^[[BEHIND]]:
// PERSIST-NEXT: llvm.return
module {}
