// Every constraint of attn.attention, each violated once.
// RUN: tessera-opt %s -split-input-file -verify-diagnostics

func.func @attention_c1(%q: tensor<?x?x?x64xbf16>, %k: tensor<?x?x?x64xf16>, %v: tensor<?x?x?x64xbf16>) {
  // expected-error @below {{attention_c1: query, key and value have rank 4 and one element type}}
  %o = attn.attention %q, %k, %v scale(0.125) : (tensor<?x?x?x64xbf16>, tensor<?x?x?x64xf16>, tensor<?x?x?x64xbf16>) -> tensor<?x?x?x64xbf16>
  return
}

// -----

func.func @attention_c1(%q: tensor<?x?x64xbf16>, %k: tensor<?x?x?x64xbf16>, %v: tensor<?x?x?x64xbf16>) {
  // expected-error @below {{attention_c1: query, key and value have rank 4}}
  %o = attn.attention %q, %k, %v scale(0.125) : (tensor<?x?x64xbf16>, tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>) -> tensor<?x?x?x64xbf16>
  return
}

// -----

func.func @attention_c2(%q: tensor<?x?x?x64xbf16>, %k: tensor<?x?x?x72xbf16>, %v: tensor<?x?x?x64xbf16>) {
  // expected-error @below {{attention_c2: query and key have one head dim, a multiple of 8 in 8..256, got 64 and 72}}
  %o = attn.attention %q, %k, %v scale(0.125) : (tensor<?x?x?x64xbf16>, tensor<?x?x?x72xbf16>, tensor<?x?x?x64xbf16>) -> tensor<?x?x?x64xbf16>
  return
}

// -----

func.func @attention_c2(%q: tensor<?x?x?x20xbf16>, %k: tensor<?x?x?x20xbf16>, %v: tensor<?x?x?x64xbf16>) {
  // expected-error @below {{attention_c2: query and key have one head dim, a multiple of 8 in 8..256, got 20 and 20}}
  %o = attn.attention %q, %k, %v scale(0.125) : (tensor<?x?x?x20xbf16>, tensor<?x?x?x20xbf16>, tensor<?x?x?x64xbf16>) -> tensor<?x?x?x64xbf16>
  return
}

// -----

func.func @attention_c3(%q: tensor<?x?x?x64xbf16>, %k: tensor<?x?x?x64xbf16>, %v: tensor<?x?x?x264xbf16>) {
  // expected-error @below {{attention_c3: the value dim is a multiple of 8 in 8..256, got 264}}
  %o = attn.attention %q, %k, %v scale(0.125) : (tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>, tensor<?x?x?x264xbf16>) -> tensor<?x?x?x264xbf16>
  return
}

// -----

func.func @attention_c4(%q: tensor<?x?x?x64xbf16>, %k: tensor<?x?x?x64xbf16>, %v: tensor<?x?x?x32xbf16>) {
  // expected-error @below {{attention_c4: the output is (batch, sequence, head, value dim) with value dim 32}}
  %o = attn.attention %q, %k, %v scale(0.125) : (tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>, tensor<?x?x?x32xbf16>) -> tensor<?x?x?x64xbf16>
  return
}

// -----

func.func @attention_c5(%q: tensor<?x?x?x64xbf16>, %k: tensor<?x?x?x64xbf16>, %v: tensor<?x?x?x64xbf16>) {
  // expected-error @below {{attention_c5: the LSE is (batch, head, sequence) of f32, got 'tensor<?x?x?xbf16>'}}
  %o, %lse = attn.attention %q, %k, %v scale(0.125) : (tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>) -> tensor<?x?x?x64xbf16>, tensor<?x?x?xbf16>
  return
}

// -----

func.func @attention_c6(%q: tensor<?x?x?x64xbf16>, %k: tensor<?x?x?x64xbf16>, %v: tensor<?x?x?x64xbf16>) {
  // expected-error @below {{attention_c6: scale is finite}}
  %o = attn.attention %q, %k, %v scale(0x7FC00000) : (tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>) -> tensor<?x?x?x64xbf16>
  return
}

// -----

func.func @attention_c6(%q: tensor<?x?x?x64xbf16>, %k: tensor<?x?x?x64xbf16>, %v: tensor<?x?x?x64xbf16>) {
  // expected-error @below {{attention_c6: scale is finite, and softcap is positive and finite}}
  %o = attn.attention %q, %k, %v scale(1.0) softcap(-5.0) : (tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>) -> tensor<?x?x?x64xbf16>
  return
}

// -----

func.func @attention_c7(%q: tensor<?x?x?x64xbf16>, %k: tensor<?x?x?x64xbf16>, %v: tensor<?x?x?x64xbf16>) {
  // expected-error @below {{attention_c7: precise needs f32 operands, got 'bf16'}}
  %o = attn.attention %q, %k, %v scale(1.0) precise : (tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>) -> tensor<?x?x?x64xbf16>
  return
}
