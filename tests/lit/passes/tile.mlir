// attn-tile: three loops over KV tiles, each with the scores of its own. The max is that of the unscaled scores.
// RUN: tessera-opt %s -split-input-file --attn-tile | FileCheck %s

module attributes {attn.schedule = #attn.schedule<"v1:q32,kv16,w2,s1,every,add,qsmem,online">, attn.target = #attn.target<"sm_80">, attn.access_bytes = 16 : i64} {
  func.func @attention(%q: tensor<?x?x?x64xbf16>, %k: tensor<?x?x?x64xbf16>, %v: tensor<?x?x?x8xbf16>) -> (tensor<?x?x?x8xf16>, tensor<?x?x?xf32>) {
    %o, %lse = attn.attention %q, %k, %v scale(0.125) band(<right = 0, align = bottom_right>)
        : (tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>, tensor<?x?x?x8xbf16>) -> tensor<?x?x?x8xf16>, tensor<?x?x?xf32>
    return %o, %lse : tensor<?x?x?x8xf16>, tensor<?x?x?xf32>
  }
}

// CHECK: module {
// CHECK-NOT: func.func
// CHECK: attn.kernel @attention schedule(<"v1:q32,kv16,w2,s1,every,add,qsmem,online">) target(<"sm_80">) access_bytes(16)
// CHECK-NEXT: ^bb0(%[[Q:.*]]: memref<?x?x?x64xbf16, strided<[?, ?, ?, 1]>>, %[[K:.*]]: memref<?x?x?x64xbf16, strided<[?, ?, ?, 1]>>, %[[V:.*]]: memref<?x?x?x8xbf16, strided<[?, ?, ?, 1]>>, %[[O:.*]]: memref<?x?x?x8xf16, strided<[?, ?, ?, 1]>>, %[[LSE:.*]]: memref<?x?x?xf32, strided<[?, ?, ?]>>):
// CHECK-DAG: %[[NEGINF:.*]] = arith.constant dense<0xFF800000> : tensor<32xf32>
// CHECK-DAG: %[[LOWEST:.*]] = arith.constant dense<-3.40282347E+38> : tensor<32xf32>
// CHECK-DAG: %[[ZERO:.*]] = arith.constant dense<0.000000e+00> : tensor<32xf32>
// CHECK-DAG: %[[ONE:.*]] = arith.constant dense<1.000000e+00> : tensor<32xf32>
// CHECK-DAG: %[[SCALE:.*]] = arith.constant dense<1.250000e-01> : tensor<32x16xf32>
// CHECK-DAG: %[[ROWSCALE:.*]] = arith.constant dense<1.250000e-01> : tensor<32xf32>
// CHECK: %[[BATCH:.*]], %[[HEAD:.*]], %[[KVHEAD:.*]], %[[ROW:.*]] = attn.program_id
// CHECK: %[[TILES:.*]] = arith.divui
// CHECK: %[[QT:.*]] = attn.tile_load %[[Q]][%[[BATCH]], %[[ROW]], %[[HEAD]]]

// CHECK: %[[MAX:.*]] = scf.for %[[I:.*]] = %{{.*}} to %[[TILES]] step %{{.*}} iter_args(%[[M:.*]] = %[[NEGINF]])
// CHECK:   %[[COL:.*]] = arith.muli %[[I]], %{{.*}} : index
// CHECK:   %[[KT:.*]] = attn.tile_load %[[K]][%[[BATCH]], %[[COL]], %[[KVHEAD]]]
// CHECK:   %[[S:.*]] = attn.dot %[[QT]], %[[KT]], %{{.*}} transposed
// CHECK:   %[[X:.*]] = attn.mask_scores %[[S]][%[[ROW]], %[[COL]]] band(<right = 0, align = bottom_right>)
// CHECK:   attn.row_max %[[X]] init %[[M]]

// CHECK: %[[REF:.*]] = arith.maxnumf %[[MAX]], %[[LOWEST]]

// CHECK: %[[SUM:.*]] = scf.for {{.*}} iter_args(%[[L:.*]] = %[[ZERO]])
// CHECK:   attn.dot
// CHECK:   %[[X:.*]] = attn.mask_scores
// CHECK:   %[[WIDE:.*]] = attn.expand_rows %[[REF]]
// CHECK:   %[[D:.*]] = arith.subf %[[X]], %[[WIDE]]
// CHECK:   %[[E:.*]] = arith.mulf %[[D]], %[[SCALE]]
// CHECK:   %[[P:.*]] = math.exp %[[E]]
// CHECK:   attn.row_sum %[[P]], %[[L]]

// CHECK: %[[ACC:.*]] = scf.for {{.*}} iter_args(%[[U:.*]] = %{{.*}})
// CHECK:   %[[P:.*]] = math.exp
// CHECK:   %[[R:.*]] = arith.truncf %[[P]] : tensor<32x16xf32> to tensor<32x16xbf16>
// CHECK:   %[[VT:.*]] = attn.tile_load %[[V]]
// CHECK-NEXT: attn.dot %[[R]], %[[VT]], %[[U]]

// A row without keys: O = 0 by the select, LSE = -inf by the log (N5).
// CHECK: %[[EMPTY:.*]] = arith.cmpf oeq, %[[SUM]], %[[ZERO]]
// CHECK: %[[QUOT:.*]] = arith.divf %[[ONE]], %[[SUM]]
// CHECK: arith.select %[[EMPTY]], %[[ZERO]], %[[QUOT]]
// CHECK: %[[OT:.*]] = arith.truncf %{{.*}} : tensor<32x8xf32> to tensor<32x8xf16>
// CHECK: attn.tile_store %[[OT]], %[[O]][%[[BATCH]], %[[ROW]], %[[HEAD]]]
// CHECK: %[[MK:.*]] = arith.mulf %[[MAX]], %[[ROWSCALE]]
// CHECK: %[[LOG:.*]] = math.log %[[SUM]]
// CHECK: %[[LSET:.*]] = arith.addf %[[MK]], %[[LOG]]
// CHECK: attn.tile_store %[[LSET]], %[[LSE]][%[[BATCH]], %[[ROW]], %[[HEAD]]]
// CHECK: attn.return

// -----

// Softcap: x = tanh(dot * scale / cap), and the cap is the weight of the exponent (N1). f32 probabilities are not rounded.
module attributes {attn.schedule = #attn.schedule<"v1:q32,kv16,w2,s1,every,add,qsmem,online">, attn.target = #attn.target<"sm_80">, attn.access_bytes = 16 : i64} {
  func.func @softcap(%q: tensor<?x?x?x64xf32>, %k: tensor<?x?x?x64xf32>, %v: tensor<?x?x?x8xf32>) -> tensor<?x?x?x8xf32> {
    %o = attn.attention %q, %k, %v scale(0.5) softcap(4.0) precise
        : (tensor<?x?x?x64xf32>, tensor<?x?x?x64xf32>, tensor<?x?x?x8xf32>) -> tensor<?x?x?x8xf32>
    return %o : tensor<?x?x?x8xf32>
  }
}

// CHECK-LABEL: attn.kernel @softcap
// CHECK-DAG: %[[FACTOR:.*]] = arith.constant dense<1.250000e-01> : tensor<32x16xf32>
// CHECK-DAG: %[[CAP:.*]] = arith.constant dense<4.000000e+00> : tensor<32x16xf32>
// CHECK: %[[S:.*]] = attn.dot {{.*}} transposed precise
// CHECK: %[[F:.*]] = arith.mulf %[[S]], %[[FACTOR]]
// CHECK: %[[T:.*]] = math.tanh %[[F]]
// CHECK: attn.mask_scores %[[T]][%{{.*}}, %{{.*}}] : tensor<32x16xf32>
// CHECK: %[[D:.*]] = arith.subf
// CHECK: arith.mulf %[[D]], %[[CAP]]
// CHECK-NOT: arith.truncf
// CHECK: attn.dot {{.*}} precise

// -----

// A scale that is not positive stays on the scores: the weight of the exponent must be positive for the max to be of use.
module attributes {attn.schedule = #attn.schedule<"v1:q32,kv16,w2,s1,every,add,qsmem,online">, attn.target = #attn.target<"sm_80">, attn.access_bytes = 16 : i64} {
  func.func @negative(%q: tensor<?x?x?x64xf16>, %k: tensor<?x?x?x64xf16>, %v: tensor<?x?x?x8xf16>) -> tensor<?x?x?x8xf16> {
    %o = attn.attention %q, %k, %v scale(-0.5) : (tensor<?x?x?x64xf16>, tensor<?x?x?x64xf16>, tensor<?x?x?x8xf16>) -> tensor<?x?x?x8xf16>
    return %o : tensor<?x?x?x8xf16>
  }
}

// CHECK-LABEL: attn.kernel @negative
// CHECK: %[[FACTOR:.*]] = arith.constant dense<-5.000000e-01> : tensor<32x16xf32>
// CHECK: %[[S:.*]] = attn.dot
// CHECK: %[[F:.*]] = arith.mulf %[[S]], %[[FACTOR]]
// CHECK: attn.mask_scores %[[F]]
// CHECK: %[[D:.*]] = arith.subf
// CHECK-NEXT: math.exp %[[D]]

// -----

// Packed heads: query rows are packed rows from the load to the stores; keys and values are those of the group's one head.
module attributes {attn.schedule = #attn.schedule<"v1:q32,kv16,w2,s1,every,add,qsmem,online,pack">, attn.target = #attn.target<"sm_80">, attn.access_bytes = 16 : i64} {
  func.func @packed(%q: tensor<?x?x?x64xf16>, %k: tensor<?x?x?x64xf16>, %v: tensor<?x?x?x64xf16>) -> (tensor<?x?x?x64xf16>, tensor<?x?x?xf32>) {
    %o, %lse = attn.attention %q, %k, %v scale(0.5) : (tensor<?x?x?x64xf16>, tensor<?x?x?x64xf16>, tensor<?x?x?x64xf16>) -> tensor<?x?x?x64xf16>, tensor<?x?x?xf32>
    return %o, %lse : tensor<?x?x?x64xf16>, tensor<?x?x?xf32>
  }
}

// CHECK-LABEL: attn.kernel @packed
// CHECK: %[[BATCH:.*]], %[[HEAD:.*]], %[[KVHEAD:.*]], %[[ROW:.*]] = attn.program_id packed
// CHECK: attn.tile_load %{{.*}}[%[[BATCH]], %[[ROW]], %[[HEAD]]] packed :
// CHECK: attn.tile_load %{{.*}}[%[[BATCH]], %{{.*}}, %[[KVHEAD]]] :
// CHECK: attn.mask_scores %{{.*}}[%[[ROW]], %{{.*}}] packed :
// CHECK: attn.tile_store %{{.*}}[%[[BATCH]], %[[ROW]], %[[HEAD]]] packed : tensor<32x64xf16>
// CHECK: attn.tile_store %{{.*}}[%[[BATCH]], %[[ROW]], %[[HEAD]]] packed : tensor<32xf32>
