// attn-bound-loops: right to left over the tiles that the band reaches; only tiles on its edge mask their scores.
// RUN: tessera-opt %s -split-input-file --attn-bound-loops | FileCheck %s --implicit-check-not="constant 4611686018427387904" --implicit-check-not="constant 9223372036854775807"

!global = memref<?x?x?x16xbf16, strided<[?, ?, ?, 1]>>

// A full mask: the tile that holds the end of the keys is the only edge, and there is none where the length is whole.
attn.kernel @full schedule(<"v1:q32,kv16,w2,s1,every,add,qsmem,online">) target(<"sm_80">) access_bytes(16) {
^bb0(%q: !global, %k: !global, %v: !global, %o: !global):
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c15 = arith.constant 15 : index
  %c16 = arith.constant 16 : index
  %max = arith.constant dense<0.0> : tensor<32xf32>
  %x = arith.constant dense<0.0> : tensor<32x16xf32>
  %batch, %head, %kvHead, %row = attn.program_id
  %keys = attn.length key
  %padded = arith.addi %keys, %c15 : index
  %tiles = arith.divui %padded, %c16 : index
  %m = scf.for %i = %c0 to %tiles step %c1 iter_args(%carried = %max) -> (tensor<32xf32>) {
    %col = arith.muli %i, %c16 : index
    %masked = attn.mask_scores %x[%row, %col] : tensor<32x16xf32>
    %next = attn.row_max %masked init %carried : tensor<32xf32> : tensor<32x16xf32> -> tensor<32xf32>
    scf.yield %next : tensor<32xf32>
  }
  attn.return
}

// CHECK-LABEL: attn.kernel @full
// CHECK-DAG: %[[C0:.*]] = arith.constant 0 : index
// CHECK-DAG: %[[C1:.*]] = arith.constant 1 : index
// CHECK-DAG: %[[C15:.*]] = arith.constant 15 : index
// CHECK-DAG: %[[C16:.*]] = arith.constant 16 : index
// CHECK-DAG: %[[X:.*]] = arith.constant dense<0.000000e+00> : tensor<32x16xf32>
// CHECK: %[[ROW:.*]] = attn.program_id
// CHECK-NEXT: %[[KEYS:.*]] = attn.length key
// CHECK-NEXT: %[[PADDED:.*]] = arith.addi %[[KEYS]], %[[C15]]
// CHECK-NEXT: %[[TILES:.*]] = arith.divui %[[PADDED]], %[[C16]]
// CHECK-NEXT: %[[BEFORE:.*]] = arith.subi %[[TILES]], %[[C1]]
// CHECK-NEXT: %[[LAST:.*]] = arith.maxsi %[[BEFORE]], %[[C0]]
// CHECK-NEXT: %[[WHOLE:.*]] = arith.divui %[[KEYS]], %[[C16]]
// CHECK-NEXT: %[[EDGES:.*]] = arith.subi %[[TILES]], %[[WHOLE]]
// CHECK-NEXT: scf.for %[[I:.*]] = %[[C0]] to %[[TILES]] step %[[C1]]
// CHECK-NEXT:   %[[TILE:.*]] = arith.subi %[[LAST]], %[[I]]
// CHECK-NEXT:   %[[COL:.*]] = arith.muli %[[TILE]], %[[C16]]
// CHECK-NEXT:   %[[EDGE:.*]] = arith.cmpi slt, %[[I]], %[[EDGES]]
// CHECK-NEXT:   %[[SCORES:.*]] = scf.if %[[EDGE]] -> (tensor<32x16xf32>) {
// CHECK-NEXT:     %[[MASKED:.*]] = attn.mask_scores %[[X]][%{{.*}}, %[[COL]]]
// CHECK-NEXT:     scf.yield %[[MASKED]]
// CHECK-NEXT:   } else {
// CHECK-NEXT:     scf.yield %[[X]]
// CHECK-NEXT:   }
// CHECK-NEXT:   attn.row_max %[[SCORES]]

// -----

!global = memref<?x?x?x16xbf16, strided<[?, ?, ?, 1]>>

// A window, bottom right: both ends are bounded, and a tile may stick out on either side. Two loops share one range.
attn.kernel @window schedule(<"v1:q32,kv16,w2,s1,every,add,qsmem,three">) target(<"sm_80">) access_bytes(16) {
^bb0(%q: !global, %k: !global, %v: !global, %o: !global):
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  %max = arith.constant dense<0.0> : tensor<32xf32>
  %x = arith.constant dense<0.0> : tensor<32x16xf32>
  %batch, %head, %kvHead, %row = attn.program_id
  %tiles = attn.length key
  %m = scf.for %i = %c0 to %tiles step %c1 iter_args(%carried = %max) -> (tensor<32xf32>) {
    %col = arith.muli %i, %c16 : index
    %masked = attn.mask_scores %x[%row, %col] band(<left = 100, right = 7, align = bottom_right>) : tensor<32x16xf32>
    %next = attn.row_max %masked init %carried : tensor<32xf32> : tensor<32x16xf32> -> tensor<32xf32>
    scf.yield %next : tensor<32xf32>
  }
  %l = scf.for %i = %c0 to %tiles step %c1 iter_args(%carried = %max) -> (tensor<32xf32>) {
    %col = arith.muli %i, %c16 : index
    %masked = attn.mask_scores %x[%row, %col] band(<left = 100, right = 7, align = bottom_right>) : tensor<32x16xf32>
    %next = attn.row_sum %masked, %carried : tensor<32x16xf32> -> tensor<32xf32>
    scf.yield %next : tensor<32xf32>
  }
  attn.return
}

// CHECK-LABEL: attn.kernel @window
// CHECK-DAG: %[[C0:.*]] = arith.constant 0 : index
// CHECK-DAG: %[[C7:.*]] = arith.constant 7 : index
// CHECK-DAG: %[[C8:.*]] = arith.constant 8 : index
// CHECK-DAG: %[[C15:.*]] = arith.constant 15 : index
// CHECK-DAG: %[[C16:.*]] = arith.constant 16 : index
// CHECK-DAG: %[[C32:.*]] = arith.constant 32 : index
// CHECK-DAG: %[[C100:.*]] = arith.constant 100 : index
// CHECK-DAG: %[[C101:.*]] = arith.constant 101 : index
// CHECK: %{{.*}}, %{{.*}}, %{{.*}}, %[[ROW:.*]] = attn.program_id
// CHECK: %[[KEYS:.*]] = attn.length key
// CHECK: %[[QUERIES:.*]] = attn.length query
// The diagonal of the first row, after the last row of the tile, and after its last row in the sequence.
// CHECK: %[[TILEROWS:.*]] = arith.addi %[[ROW]], %[[C32]]
// CHECK: %[[ROWS:.*]] = arith.minsi %[[TILEROWS]], %[[QUERIES]]
// CHECK: %[[OFF:.*]] = arith.subi %[[KEYS]], %[[QUERIES]]
// CHECK: %[[FIRST:.*]] = arith.addi %[[ROW]], %[[OFF]]
// CHECK: %[[END:.*]] = arith.addi %[[ROWS]], %[[OFF]]
// CHECK: %[[TILEEND:.*]] = arith.addi %[[TILEROWS]], %[[OFF]]
// Right: the union ends at the last row's bound, the intersection at the first row's.
// CHECK: %[[T0:.*]] = arith.addi %[[END]], %[[C7]]
// CHECK: %[[T1:.*]] = arith.minsi %[[T0]], %[[KEYS]]
// CHECK: %[[VISITEDEND:.*]] = arith.maxsi %[[T1]], %[[C0]]
// CHECK: %[[T2:.*]] = arith.addi %[[FIRST]], %[[C8]]
// CHECK: %[[T3:.*]] = arith.minsi %[[T2]], %[[KEYS]]
// CHECK: %[[INSIDEEND:.*]] = arith.maxsi %[[T3]], %[[C0]]
// Left: the other way round.
// CHECK: %[[T4:.*]] = arith.subi %[[FIRST]], %[[C100]]
// CHECK: %[[VISITEDBEGIN:.*]] = arith.maxsi %[[T4]], %[[C0]]
// CHECK: %[[T5:.*]] = arith.subi %[[TILEEND]], %[[C101]]
// CHECK: %[[INSIDEBEGIN:.*]] = arith.maxsi %[[T5]], %[[C0]]
// CHECK: %[[T6:.*]] = arith.addi %[[VISITEDEND]], %[[C15]]
// CHECK: %[[ENDTILE:.*]] = arith.divui %[[T6]], %[[C16]]
// CHECK: %[[INSIDETILE:.*]] = arith.divui %[[INSIDEEND]], %[[C16]]
// CHECK: %[[HEAD:.*]] = arith.subi %[[ENDTILE]], %[[INSIDETILE]]
// CHECK: %[[ANY:.*]] = arith.cmpi sgt, %[[VISITEDEND]], %[[VISITEDBEGIN]]
// CHECK: %[[BEGINTILE:.*]] = arith.divui %[[VISITEDBEGIN]], %[[C16]]
// CHECK: %[[SPAN:.*]] = arith.subi %[[ENDTILE]], %[[BEGINTILE]]
// CHECK: %[[COUNT:.*]] = arith.select %[[ANY]], %[[SPAN]], %[[C0]]
// CHECK: %[[T7:.*]] = arith.addi %[[INSIDEBEGIN]], %[[C15]]
// CHECK: %[[T8:.*]] = arith.divui %[[T7]], %[[C16]]
// CHECK: %[[TAIL:.*]] = arith.subi %[[ENDTILE]], %[[T8]]
// CHECK: scf.for %[[I:.*]] = %[[C0]] to %[[COUNT]]
// CHECK:   %[[INHEAD:.*]] = arith.cmpi slt, %[[I]], %[[HEAD]]
// CHECK:   %[[INTAIL:.*]] = arith.cmpi sge, %[[I]], %[[TAIL]]
// CHECK:   %[[EDGE:.*]] = arith.ori %[[INHEAD]], %[[INTAIL]]
// CHECK:   scf.if %[[EDGE]]
// CHECK-NOT: attn.length
// CHECK: scf.for %[[J:.*]] = %[[C0]] to %[[COUNT]]
// CHECK:   arith.cmpi slt, %[[J]], %[[HEAD]]

// -----

!global = memref<?x?x?x16xbf16, strided<[?, ?, ?, 1]>>

// Bounds beyond any length are clamped, so that no sum overflows 64 bits. Top left: no offset.
attn.kernel @huge schedule(<"v1:q32,kv16,w2,s1,every,add,qsmem,online">) target(<"sm_80">) access_bytes(16) {
^bb0(%q: !global, %k: !global, %v: !global, %o: !global):
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  %max = arith.constant dense<0.0> : tensor<32xf32>
  %x = arith.constant dense<0.0> : tensor<32x16xf32>
  %batch, %head, %kvHead, %row = attn.program_id
  %tiles = attn.length key
  %m = scf.for %i = %c0 to %tiles step %c1 iter_args(%carried = %max) -> (tensor<32xf32>) {
    %col = arith.muli %i, %c16 : index
    %masked = attn.mask_scores %x[%row, %col] band(<left = 9223372036854775807, right = 4611686018427387904, align = top_left>) : tensor<32x16xf32>
    %next = attn.row_max %masked init %carried : tensor<32xf32> : tensor<32x16xf32> -> tensor<32xf32>
    scf.yield %next : tensor<32xf32>
  }
  attn.return
}

// CHECK-LABEL: attn.kernel @huge
// CHECK-DAG: arith.constant 4294967296 : index
// CHECK-DAG: arith.constant 4294967297 : index
// CHECK: attn.length query

// -----

!global = memref<?x?x?x16xbf16, strided<[?, ?, ?, 1]>>

// Packed rows: the diagonal runs from the position of the tile's first row to that of its last. Rows stay what they are.
attn.kernel @packed schedule(<"v1:q32,kv16,w2,s1,every,add,qsmem,online,pack">) target(<"sm_80">) access_bytes(16) {
^bb0(%q: !global, %k: !global, %v: !global, %o: !global):
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  %max = arith.constant dense<0.0> : tensor<32xf32>
  %x = arith.constant dense<0.0> : tensor<32x16xf32>
  %batch, %head, %kvHead, %row = attn.program_id packed
  %tiles = attn.length key
  %m = scf.for %i = %c0 to %tiles step %c1 iter_args(%carried = %max) -> (tensor<32xf32>) {
    %col = arith.muli %i, %c16 : index
    %masked = attn.mask_scores %x[%row, %col] packed band(<left = 100, right = 7, align = top_left>) : tensor<32x16xf32>
    %next = attn.row_max %masked init %carried : tensor<32xf32> : tensor<32x16xf32> -> tensor<32xf32>
    scf.yield %next : tensor<32xf32>
  }
  attn.return
}

// CHECK-LABEL: attn.kernel @packed
// CHECK-DAG: %[[C1:.*]] = arith.constant 1 : index
// CHECK-DAG: %[[C7:.*]] = arith.constant 7 : index
// CHECK-DAG: %[[C31:.*]] = arith.constant 31 : index
// CHECK-DAG: %[[C100:.*]] = arith.constant 100 : index
// CHECK-DAG: %[[C101:.*]] = arith.constant 101 : index
// CHECK: %{{.*}}, %{{.*}}, %{{.*}}, %[[ROW:.*]] = attn.program_id packed
// CHECK: %[[QUERIES:.*]] = attn.length query
// CHECK: %[[FIRST:.*]] = attn.position %[[ROW]]
// CHECK: %[[LASTROW:.*]] = arith.addi %[[ROW]], %[[C31]]
// CHECK: %[[LAST:.*]] = attn.position %[[LASTROW]]
// CHECK: %[[TILEEND:.*]] = arith.addi %[[LAST]], %[[C1]]
// CHECK: %[[END:.*]] = arith.minsi %[[TILEEND]], %[[QUERIES]]
// CHECK: arith.addi %[[END]], %[[C7]]
// CHECK: arith.subi %[[FIRST]], %[[C100]]
// CHECK: arith.subi %[[TILEEND]], %[[C101]]
// CHECK: scf.for
// CHECK: attn.mask_scores %{{.*}}[%[[ROW]], %{{.*}}] packed
