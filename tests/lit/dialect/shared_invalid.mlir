// Every constraint of tiles in shared memory, each violated once.
// RUN: tessera-opt %s -split-input-file -verify-diagnostics

func.func @stage_c1(%r: !attn.shared<2 x 16 x 64 x bf16>, %i: index) {
  // expected-error @below {{stage_c1}}
  %s = attn.stage %r[%i] : !attn.shared<2 x 16 x 64 x bf16> -> !attn.shared<2 x 16 x 64 x bf16>
  return
}

// -----

func.func @stage_c1(%r: !attn.shared<2 x 16 x 64 x bf16>, %i: index) {
  // expected-error @below {{stage_c1}}
  %s = attn.stage %r[%i] : !attn.shared<2 x 16 x 64 x bf16> -> !attn.shared<1 x 16 x 32 x bf16>
  return
}

// -----

func.func @copy_async_c1(%g: memref<?x?x?x64xbf16, strided<[?, ?, ?, 1]>>, %i: index, %t: !attn.shared<1 x 16 x 32 x bf16>) {
  // expected-error @below {{copy_async_c1}}
  attn.copy_async %g[%i, %i, %i] to %t : memref<?x?x?x64xbf16, strided<[?, ?, ?, 1]>>, !attn.shared<1 x 16 x 32 x bf16>
  return
}

// -----

func.func @copy_async_c1(%g: memref<?x?x?x64xbf16, strided<[?, ?, ?, 1]>>, %i: index, %t: !attn.shared<1 x 16 x 64 x f16>) {
  // expected-error @below {{copy_async_c1}}
  attn.copy_async %g[%i, %i, %i] to %t : memref<?x?x?x64xbf16, strided<[?, ?, ?, 1]>>, !attn.shared<1 x 16 x 64 x f16>
  return
}

// -----

func.func @shared_load_c1(%t: !attn.shared<1 x 16 x 64 x f16>) {
  // expected-error @below {{shared_load_c1}}
  %r = attn.shared_load %t : !attn.shared<1 x 16 x 64 x f16> -> tensor<16x32xf16>
  return
}

// -----

func.func @shared_load_c1(%t: !attn.shared<2 x 16 x 64 x f16>) {
  // expected-error @below {{shared_load_c1}}
  %r = attn.shared_load %t : !attn.shared<2 x 16 x 64 x f16> -> tensor<16x64xf16>
  return
}
