// attn-fuse-online-softmax: the row sum and the weighted sum join the loop of the row max, under one rule.
// RUN: tessera-opt %s -split-input-file --attn-fuse-online-softmax | FileCheck %s

!global = memref<?x?x?x16xbf16, strided<[?, ?, ?, 1]>>

attn.kernel @attention schedule(<"v1:q32,kv16,w2,s1,every,add,qsmem,online">) target(<"sm_80">) access_bytes(16) {
^bb0(%q: !global, %k: !global, %v: !global, %o: !global):
  %batch, %head, %kvHead, %row = attn.program_id
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  %tiles = attn.length key
  %neginf = arith.constant dense<0xFF800000> : tensor<32xf32>
  %lowest = arith.constant dense<-3.40282347E+38> : tensor<32xf32>
  %zeroRows = arith.constant dense<0.0> : tensor<32xf32>
  %zero = arith.constant dense<0.0> : tensor<32x16xf32>
  %scale = arith.constant dense<0.25> : tensor<32x16xf32>
  %qt = attn.tile_load %q[%batch, %row, %head] : !global -> tensor<32x16xbf16>
  %max = scf.for %i = %c0 to %tiles step %c1 iter_args(%m = %neginf) -> (tensor<32xf32>) {
    %col = arith.muli %i, %c16 : index
    %kt = attn.tile_load %k[%batch, %col, %kvHead] : !global -> tensor<16x16xbf16>
    %x = attn.dot %qt, %kt, %zero transposed : tensor<32x16xbf16>, tensor<16x16xbf16> -> tensor<32x16xf32>
    %next = attn.row_max %x init %m : tensor<32xf32> : tensor<32x16xf32> -> tensor<32xf32>
    scf.yield %next : tensor<32xf32>
  }
  %ref = arith.maxnumf %max, %lowest : tensor<32xf32>
  %sum = scf.for %i = %c0 to %tiles step %c1 iter_args(%l = %zeroRows) -> (tensor<32xf32>) {
    %col = arith.muli %i, %c16 : index
    %kt = attn.tile_load %k[%batch, %col, %kvHead] : !global -> tensor<16x16xbf16>
    %x = attn.dot %qt, %kt, %zero transposed : tensor<32x16xbf16>, tensor<16x16xbf16> -> tensor<32x16xf32>
    %wide = attn.expand_rows %ref : tensor<32xf32> -> tensor<32x16xf32>
    %d = arith.subf %x, %wide : tensor<32x16xf32>
    %e = arith.mulf %d, %scale : tensor<32x16xf32>
    %p = math.exp %e : tensor<32x16xf32>
    %next = attn.row_sum %p, %l : tensor<32x16xf32> -> tensor<32xf32>
    scf.yield %next : tensor<32xf32>
  }
  %acc = scf.for %i = %c0 to %tiles step %c1 iter_args(%u = %zero) -> (tensor<32x16xf32>) {
    %col = arith.muli %i, %c16 : index
    %kt = attn.tile_load %k[%batch, %col, %kvHead] : !global -> tensor<16x16xbf16>
    %x = attn.dot %qt, %kt, %zero transposed : tensor<32x16xbf16>, tensor<16x16xbf16> -> tensor<32x16xf32>
    %wide = attn.expand_rows %ref : tensor<32xf32> -> tensor<32x16xf32>
    %d = arith.subf %x, %wide : tensor<32x16xf32>
    %e = arith.mulf %d, %scale : tensor<32x16xf32>
    %p = math.exp %e : tensor<32x16xf32>
    %r = arith.truncf %p : tensor<32x16xf32> to tensor<32x16xbf16>
    %vt = attn.tile_load %v[%batch, %col, %kvHead] : !global -> tensor<16x16xbf16>
    %next = attn.dot %r, %vt, %u : tensor<32x16xbf16>, tensor<16x16xbf16> -> tensor<32x16xf32>
    scf.yield %next : tensor<32x16xf32>
  }
  %out = arith.truncf %acc : tensor<32x16xf32> to tensor<32x16xbf16>
  attn.tile_store %out, %o[%batch, %row, %head] : tensor<32x16xbf16>, !global
  %lse = arith.addf %max, %sum : tensor<32xf32>
  %any = arith.cmpf oeq, %lse, %ref : tensor<32xf32>
  %uniform = attn.any %any : tensor<32xi1>
  attn.return
}

// CHECK-LABEL: attn.kernel @attention
// CHECK-DAG: %[[NEGINF:.*]] = arith.constant dense<0xFF800000> : tensor<32xf32>
// CHECK-DAG: %[[LOWEST:.*]] = arith.constant dense<-3.40282347E+38> : tensor<32xf32>
// CHECK-DAG: %[[ROWSCALE:.*]] = arith.constant dense<2.500000e-01> : tensor<32xf32>
// CHECK: %[[LOOP:.*]]:3 = scf.for {{.*}} iter_args(%[[M:.*]] = %[[NEGINF]], %[[L:.*]] = %{{.*}}, %[[U:.*]] = %{{.*}})
// The key tile is loaded and multiplied once.
// CHECK:   attn.tile_load
// CHECK:   %[[X:.*]] = attn.dot {{.*}} transposed
// CHECK-NOT: transposed
// CHECK:   %[[NEXT:.*]] = attn.row_max %[[X]] init %[[M]]
// The guard, and the factor between the old and the new reference.
// CHECK:   %[[REF:.*]] = arith.maxnumf %[[NEXT]], %[[LOWEST]]
// CHECK:   %[[GROWTH:.*]] = arith.subf %[[M]], %[[REF]]
// CHECK:   %[[SCALED:.*]] = arith.mulf %[[GROWTH]], %[[ROWSCALE]]
// CHECK:   %[[ALPHA:.*]] = math.exp %[[SCALED]]
// Both sums are rescaled, by the same factor.
// CHECK:   %[[L2:.*]] = arith.mulf %[[L]], %[[ALPHA]]
// CHECK:   %[[WIDE:.*]] = attn.expand_rows %[[REF]]
// CHECK:   arith.subf %[[X]], %[[WIDE]]
// CHECK:   %[[P:.*]] = math.exp
// CHECK:   %[[SUM:.*]] = attn.row_sum %[[P]], %[[L2]]
// CHECK:   %[[WIDEALPHA:.*]] = attn.expand_rows %[[ALPHA]]
// CHECK:   %[[U2:.*]] = arith.mulf %[[U]], %[[WIDEALPHA]]
// CHECK:   %[[R:.*]] = arith.truncf %[[P]]
// CHECK:   %[[V:.*]] = attn.tile_load
// CHECK:   %[[ACC:.*]] = attn.dot %[[R]], %[[V]], %[[U2]]
// CHECK:   scf.yield %[[NEXT]], %[[SUM]], %[[ACC]]
// CHECK-NOT: scf.for
// A guard that is needed outside stays, behind the loop.
// CHECK: arith.maxnumf %[[LOOP]]#0, %[[LOWEST]]
// CHECK: arith.truncf %[[LOOP]]#2
// CHECK: arith.addf %[[LOOP]]#0, %[[LOOP]]#1

// -----

// A sum that does not depend on the max joins the loop without a factor.
!global = memref<?x?x?x16xbf16, strided<[?, ?, ?, 1]>>

attn.kernel @independent schedule(<"v1:q32,kv16,w2,s1,every,add,qsmem,online">) target(<"sm_80">) access_bytes(16) {
^bb0(%q: !global, %k: !global, %v: !global, %o: !global):
  %batch, %head, %kvHead, %row = attn.program_id
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %tiles = attn.length key
  %neginf = arith.constant dense<0xFF800000> : tensor<32xf32>
  %zero = arith.constant dense<0.0> : tensor<32xf32>
  %x = arith.constant dense<0.0> : tensor<32x16xf32>
  %max = scf.for %i = %c0 to %tiles step %c1 iter_args(%m = %neginf) -> (tensor<32xf32>) {
    %next = attn.row_max %x init %m : tensor<32xf32> : tensor<32x16xf32> -> tensor<32xf32>
    scf.yield %next : tensor<32xf32>
  }
  %sum = scf.for %i = %c0 to %tiles step %c1 iter_args(%l = %zero) -> (tensor<32xf32>) {
    %next = attn.row_sum %x, %l : tensor<32x16xf32> -> tensor<32xf32>
    scf.yield %next : tensor<32xf32>
  }
  attn.return
}

// CHECK-LABEL: attn.kernel @independent
// CHECK: scf.for {{.*}} iter_args(%[[M:.*]] = %{{.*}}, %[[L:.*]] = %{{.*}})
// CHECK: attn.row_sum %{{.*}}, %[[L]]
// CHECK-NOT: scf.for
