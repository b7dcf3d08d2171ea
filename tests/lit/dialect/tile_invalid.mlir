// Every constraint of the tile ops, each violated once.
// RUN: tessera-opt %s -split-input-file -verify-diagnostics

func.func @tile_load_c1(%g: memref<?x?x?x64xbf16, strided<[?, ?, ?, 1]>>, %i: index) {
  // expected-error @below {{tile_load_c1: a tile of}}
  %r = attn.tile_load %g[%i, %i, %i] : memref<?x?x?x64xbf16, strided<[?, ?, ?, 1]>> -> tensor<32x32xbf16>
  return
}

// -----

func.func @tile_load_c1(%g: memref<?x?x?xf32, strided<[?, ?, ?]>>, %i: index) {
  // expected-error @below {{tile_load_c1: a tile of}}
  %r = attn.tile_load %g[%i, %i, %i] : memref<?x?x?xf32, strided<[?, ?, ?]>> -> tensor<32x64xf32>
  return
}

// -----

func.func @tile_store_c1(%t: tensor<32x64xf32>, %g: memref<?x?x?x64xbf16, strided<[?, ?, ?, 1]>>, %i: index) {
  // expected-error @below {{tile_store_c1: a tile of}}
  attn.tile_store %t, %g[%i, %i, %i] : tensor<32x64xf32>, memref<?x?x?x64xbf16, strided<[?, ?, ?, 1]>>
  return
}

// -----

func.func @tile_store_c1(%t: tensor<32xf32>, %g: memref<?x?x?x64xbf16, strided<[?, ?, ?, 1]>>, %i: index) {
  // expected-error @below {{tile_store_c1: a tile of}}
  attn.tile_store %t, %g[%i, %i, %i] : tensor<32xf32>, memref<?x?x?x64xbf16, strided<[?, ?, ?, 1]>>
  return
}

// -----

func.func @tile_store_c1(%t: tensor<32x32xbf16>, %g: memref<?x?x?x64xbf16, strided<[?, ?, ?, 1]>>, %i: index) {
  // expected-error @below {{tile_store_c1: a tile of}}
  attn.tile_store %t, %g[%i, %i, %i] : tensor<32x32xbf16>, memref<?x?x?x64xbf16, strided<[?, ?, ?, 1]>>
  return
}

// -----

func.func @tile_store_c1(%t: tensor<32x64xf32>, %g: memref<?x?x?xf32, strided<[?, ?, ?]>>, %i: index) {
  // expected-error @below {{tile_store_c1: a tile of}}
  attn.tile_store %t, %g[%i, %i, %i] : tensor<32x64xf32>, memref<?x?x?xf32, strided<[?, ?, ?]>>
  return
}

// -----

func.func @dot_c1(%a: tensor<32x64xbf16>, %b: tensor<16x64xf16>, %c: tensor<32x16xf32>) {
  // expected-error @below {{dot_c1: the operands are tiles of rank 2 or one-stage shared tiles, of one element type}}
  %r = attn.dot %a, %b, %c transposed : tensor<32x64xbf16>, tensor<16x64xf16> -> tensor<32x16xf32>
  return
}

// -----

func.func @dot_c1(%a: tensor<32x64xbf16>, %b: !attn.shared<2 x 16 x 64 x bf16>, %c: tensor<32x16xf32>) {
  // expected-error @below {{dot_c1: the operands are tiles of rank 2 or one-stage shared tiles}}
  %r = attn.dot %a, %b, %c transposed : tensor<32x64xbf16>, !attn.shared<2 x 16 x 64 x bf16> -> tensor<32x16xf32>
  return
}

// -----

func.func @dot_c2(%a: tensor<32x64xbf16>, %b: tensor<16x64xbf16>, %c: tensor<32x16xf32>) {
  // expected-error @below {{dot_c2: shapes do not fit: 32 x 64 by 16 x 64 into 'tensor<32x16xf32>'}}
  %r = attn.dot %a, %b, %c : tensor<32x64xbf16>, tensor<16x64xbf16> -> tensor<32x16xf32>
  return
}

// -----

func.func @dot_c3(%a: tensor<32x64xbf16>, %b: tensor<16x64xbf16>, %c: tensor<32x16xbf16>) {
  // expected-error @below {{dot_c3: the sum is f32, got 'bf16'}}
  %r = attn.dot %a, %b, %c transposed : tensor<32x64xbf16>, tensor<16x64xbf16> -> tensor<32x16xbf16>
  return
}

// -----

func.func @row_max_c1(%s: tensor<32x16xbf16>) {
  // expected-error @below {{row_max_c1: scores are f32, got 'bf16'}}
  %r = attn.row_max %s : tensor<32x16xbf16> -> tensor<32xf32>
  return
}

// -----

func.func @row_max_c2(%s: tensor<32x16xf32>) {
  // expected-error @below {{row_max_c2: one value for each of 32 rows}}
  %r = attn.row_max %s : tensor<32x16xf32> -> tensor<16xf32>
  return
}

// -----

func.func @row_max_c2(%s: tensor<32x16xf32>, %m: tensor<16xf32>) {
  // expected-error @below {{row_max_c2: one value for each of 32 rows}}
  %r = attn.row_max %s init %m : tensor<16xf32> : tensor<32x16xf32> -> tensor<32xf32>
  return
}

// -----

func.func @row_sum_c1(%s: tensor<32x16xf32>, %l: tensor<16xf32>) {
  // expected-error @below {{row_sum_c1: one value for each of 32 rows}}
  %r = attn.row_sum %s, %l : tensor<32x16xf32> -> tensor<16xf32>
  return
}

// -----

func.func @row_sum_c2(%s: tensor<32x16xf32>, %l: tensor<32xf32>) {
  // expected-error @below {{row_sum_c2: f32 values are added, 16-bit values summed by mma; got 'f32'}}
  %r = attn.row_sum %s, %l mma : tensor<32x16xf32> -> tensor<32xf32>
  return
}

// -----

func.func @row_sum_c2(%s: tensor<32x16xf16>, %l: tensor<32xf32>) {
  // expected-error @below {{row_sum_c2: f32 values are added, 16-bit values summed by mma; got 'f16'}}
  %r = attn.row_sum %s, %l : tensor<32x16xf16> -> tensor<32xf32>
  return
}

// -----

func.func @row_sum_c3(%s: tensor<32x16xf16>, %l: tensor<32xf32>) {
  // expected-error @below {{row_sum_c3: a sum by mma is complete in every lane}}
  %r = attn.row_sum %s, %l mma partial : tensor<32x16xf16> -> tensor<32xf32>
  return
}

// -----

func.func @expand_rows_c1(%m: tensor<32xf32>) {
  // expected-error @below {{expand_rows_c1: 'tensor<32xf32>' has not the rows of 'tensor<16x32xf32>'}}
  %r = attn.expand_rows %m : tensor<32xf32> -> tensor<16x32xf32>
  return
}

// -----

func.func @mask_scores_c1(%s: tensor<32x16xbf16>, %i: index) {
  // expected-error @below {{mask_scores_c1: scores are f32, got 'bf16'}}
  %r = attn.mask_scores %s[%i, %i] : tensor<32x16xbf16>
  return
}

// -----

func.func @any_c1(%s: tensor<32xf32>) {
  // expected-error @below {{any_c1: the condition is a tile of i1, got 'tensor<32xf32>'}}
  %r = attn.any %s : tensor<32xf32>
  return
}

// -----

func.func @any_c2(%c: tensor<32xi1>) {
  // expected-error @below {{any_c2: block and thread exclude each other}}
  %r = attn.any %c block thread : tensor<32xi1>
  return
}

// -----

func.func @any_c3(%c: tensor<32xi1>, %s: tensor<32x32xf32>, %m: tensor<32xf32>) -> tensor<32xf32> {
  // expected-error @below {{any_c3: with thread, the result is only the condition of branches of elementwise ops, got scf.if}}
  %any = attn.any %c thread : tensor<32xi1>
  %r = scf.if %any -> tensor<32xf32> {
    %max = attn.row_max %s : tensor<32x32xf32> -> tensor<32xf32>
    scf.yield %max : tensor<32xf32>
  } else {
    scf.yield %m : tensor<32xf32>
  }
  return %r : tensor<32xf32>
}

// -----

func.func @any_c3_not_a_branch(%c: tensor<32xi1>) -> i1 {
  // expected-error @below {{any_c3: with thread, the result is only the condition of branches of elementwise ops, got func.return}}
  %any = attn.any %c thread : tensor<32xi1>
  return %any : i1
}
