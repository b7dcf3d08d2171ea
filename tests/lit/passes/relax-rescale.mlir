// attn-relax-rescale: when the reference moves. The input is the bounded online loop.
// DEFINE: %{policy} = every
// DEFINE: %{run} = tessera-opt %s "--attn-build=spec=v1:in=bf16,out=bf16,d=16,dv=16,mask=*:0:bottom-right,scale=0.25,softcap=none,outputs=o+lse,precision=tf32,access=16 schedule=v1:q32,kv16,w2,s1,%{policy},add,qsmem,online" --attn-tile --attn-fuse-online-softmax --attn-bound-loops --attn-relax-rescale
// RUN: %{run} | FileCheck %s --check-prefix=EVERY
// REDEFINE: %{policy} = lazy6
// RUN: %{run} | FileCheck %s --check-prefix=LAZY
// REDEFINE: %{policy} = anchored
// RUN: %{run} | FileCheck %s --check-prefix=ANCHORED
module {}

// Every tile: the loop as it was.
// EVERY-DAG: %[[NEGINF:.*]] = arith.constant dense<0xFF800000> : tensor<32xf32>
// EVERY: scf.for {{.*}} iter_args(%[[M:.*]] = %[[NEGINF]],
// EVERY: attn.row_max %{{.*}} init %[[M]]
// EVERY-NOT: attn.any

// Lazily: a vote whether some row has grown past 6 ln 2 / 0.25 in the units of the scores.
// LAZY-DAG: %[[LOWEST:.*]] = arith.constant dense<-3.40282347E+38> : tensor<32xf32>
// LAZY-DAG: %[[THRESHOLD:.*]] = arith.constant dense<16.6355324> : tensor<32xf32>
// LAZY-NOT: 0xFF800000
// LAZY: %[[LOOP:.*]]:3 = scf.for {{.*}} iter_args(%[[REF:.*]] = %[[LOWEST]], %[[L:.*]] = %{{.*}}, %[[U:.*]] = %{{.*}})
// LAZY:   %[[X:.*]] = scf.if
// LAZY:   %[[MAX:.*]] = attn.row_max %[[X]] : tensor<32x16xf32>
// LAZY-NEXT: %[[GROWTH:.*]] = arith.subf %[[MAX]], %[[REF]]
// LAZY-NEXT: %[[GROWN:.*]] = arith.cmpf ogt, %[[GROWTH]], %[[THRESHOLD]]
// LAZY-NEXT: %[[ANY:.*]] = attn.any %[[GROWN]] : tensor<32xi1>
// LAZY-NEXT: %[[STATE:.*]]:3 = scf.if %[[ANY]]
// LAZY-NEXT:   %[[MOVED:.*]] = arith.maxnumf %[[REF]], %[[MAX]]
// LAZY:        %[[DIFF:.*]] = arith.subf %[[REF]], %[[MOVED]]
// LAZY:        %[[ALPHA:.*]] = math.exp
// LAZY:        %[[L2:.*]] = arith.mulf %[[L]], %[[ALPHA]]
// LAZY:        %[[WIDE:.*]] = attn.expand_rows %[[ALPHA]]
// LAZY:        %[[U2:.*]] = arith.mulf %[[U]], %[[WIDE]]
// LAZY:        scf.yield %[[MOVED]], %[[L2]], %[[U2]]
// LAZY-NEXT: } else {
// LAZY-NEXT:   scf.yield %[[REF]], %[[L]], %[[U]]
// LAZY-NEXT: }
// LAZY-NEXT: attn.expand_rows %[[STATE]]#0
// LAZY:   attn.row_sum %{{.*}}, %[[STATE]]#1
// LAZY:   attn.dot %{{.*}}, %{{.*}}, %[[STATE]]#2
// LAZY:   scf.yield %[[STATE]]#0,
// The LSE is relative to the reference that the sums are relative to.
// LAZY: %[[SCALED:.*]] = arith.mulf %[[LOOP]]#0,
// LAZY: %[[LOG:.*]] = math.log %[[LOOP]]#1
// LAZY: arith.addf %[[SCALED]], %[[LOG]]

// Anchored: in the head tiles, and when a sum passes 2^60. The row max is taken only there.
// ANCHORED-DAG: %[[LIMIT:.*]] = arith.constant dense<1.1529215E+18> : tensor<32xf32>
// ANCHORED-DAG: %[[LOWEST:.*]] = arith.constant dense<-3.40282347E+38> : tensor<32xf32>
// ANCHORED-DAG: %[[FALSE:.*]] = arith.constant false
// ANCHORED-DAG: %[[TRUE:.*]] = arith.constant true
// ANCHORED-DAG: %[[C1:.*]] = arith.constant 1 : index
// ANCHORED: arith.divui
// ANCHORED: arith.divui
// ANCHORED-NEXT: %[[EDGES:.*]] = arith.subi
// ANCHORED-NEXT: %[[HEAD:.*]] = arith.addi %[[EDGES]], %[[C1]]
// ANCHORED-NEXT: %[[RESULT:.*]]:3 = scf.while (%[[ALWAYS:.*]] = %[[FALSE]])
// ANCHORED-NEXT:   %[[MOVING:.*]] = arith.select %[[ALWAYS]], %[[COUNT:.*]], %[[HEAD]]
// The state starts anew in the second run.
// ANCHORED-NEXT:   %[[LOOP:.*]]:3 = scf.for %[[I:.*]] = %{{.*}} to %[[COUNT]] step %[[C1]] iter_args(%[[REF:.*]] = %[[LOWEST]], %[[L:.*]] = %{{.*}}, %[[U:.*]] = %{{.*}})
// ANCHORED-NOT:      attn.row_max
// ANCHORED:          arith.cmpi slt, %[[I]], %[[EDGES]]
// ANCHORED-NOT:      attn.row_max
// ANCHORED:          %[[EARLY:.*]] = arith.cmpi slt, %[[I]], %[[MOVING]]
// ANCHORED-NEXT:     %[[PAST:.*]] = arith.cmpf ogt, %[[L]], %[[LIMIT]]
// ANCHORED-NEXT:     %[[ANY:.*]] = attn.any %[[PAST]] : tensor<32xi1>
// ANCHORED-NEXT:     %[[MOVE:.*]] = arith.ori %[[EARLY]], %[[ANY]]
// ANCHORED-NEXT:     %[[STATE:.*]]:3 = scf.if %[[MOVE]]
// ANCHORED-NEXT:       %[[MAX:.*]] = attn.row_max %{{.*}} : tensor<32x16xf32>
// ANCHORED-NEXT:       %[[MOVED:.*]] = arith.maxnumf %[[REF]], %[[MAX]]
// ANCHORED:          } else {
// ANCHORED-NEXT:       scf.yield %[[REF]], %[[L]], %[[U]]
// The rescue: what is not finite times 0 is not 0.
// ANCHORED:        %[[LZERO:.*]] = arith.mulf %[[LOOP]]#1
// ANCHORED-NEXT:   %[[LBAD:.*]] = arith.cmpf une, %[[LZERO]]
// ANCHORED-NEXT:   %[[LANY:.*]] = attn.any %[[LBAD]] block
// ANCHORED-NEXT:   %[[UZERO:.*]] = arith.mulf %[[LOOP]]#2
// ANCHORED-NEXT:   %[[UBAD:.*]] = arith.cmpf une, %[[UZERO]]
// ANCHORED-NEXT:   %[[UANY:.*]] = attn.any %[[UBAD]] block
// ANCHORED-NEXT:   %[[BAD:.*]] = arith.ori %[[LANY]], %[[UANY]]
// ANCHORED-NEXT:   %[[FIRST:.*]] = arith.xori %[[ALWAYS]], %[[TRUE]]
// ANCHORED-NEXT:   %[[AGAIN:.*]] = arith.andi %[[BAD]], %[[FIRST]]
// ANCHORED-NEXT:   attn.count_rescue %[[AGAIN]]
// ANCHORED-NEXT:   scf.condition(%[[AGAIN]]) %[[LOOP]]#0, %[[LOOP]]#1, %[[LOOP]]#2
// ANCHORED:      } do {
// ANCHORED:        scf.yield %[[TRUE]]
// ANCHORED:      }
// ANCHORED: arith.cmpf oeq, %[[RESULT]]#1
