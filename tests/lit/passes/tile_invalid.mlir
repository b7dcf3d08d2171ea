// What attn-tile refuses, and why.
// RUN: tessera-opt %s -split-input-file --attn-tile -verify-diagnostics

module attributes {attn.schedule = #attn.schedule<"v1:q32,kv16,w2,s1,every,add,qsmem,online">, attn.target = #attn.target<"sm_80">, attn.access_bytes = 16 : i64} {
  // expected-error @below {{tile_c1: attn-tile expects a function that returns one attn.attention of its arguments}}
  func.func @tile_c1(%q: tensor<?x?x?x64xf16>) -> tensor<?x?x?x64xf16> {
    return %q : tensor<?x?x?x64xf16>
  }
}

// -----

module attributes {attn.schedule = #attn.schedule<"v1:q32,kv16,w2,s1,every,add,qsmem,online">, attn.target = #attn.target<"sm_80">, attn.access_bytes = 16 : i64} {
  // expected-error @below {{tile_c1: attn-tile expects a function that returns one attn.attention of its arguments}}
  func.func @tile_c1(%q: tensor<?x?x?x64xf16>, %k: tensor<?x?x?x64xf16>, %v: tensor<?x?x?x64xf16>) -> tensor<?x?x?x64xf16> {
    %o = attn.attention %k, %q, %v scale(1.0) : (tensor<?x?x?x64xf16>, tensor<?x?x?x64xf16>, tensor<?x?x?x64xf16>) -> tensor<?x?x?x64xf16>
    return %o : tensor<?x?x?x64xf16>
  }
}

// -----

module attributes {attn.schedule = #attn.schedule<"v1:q32,kv16,w2,s1,every,add,qsmem,online">, attn.target = #attn.target<"sm_80">, attn.access_bytes = 16 : i64} {
  // expected-error @below {{tile_c1: attn-tile expects a function of one block}}
  func.func private @tile_c1(tensor<?x?x?x64xf16>)
}

// -----

// expected-error @below {{tile_c2: attn-tile needs attn.schedule, attn.target and attn.access_bytes on the module}}
module {
  func.func @tile_c2(%q: tensor<?x?x?x64xf16>, %k: tensor<?x?x?x64xf16>, %v: tensor<?x?x?x64xf16>) -> tensor<?x?x?x64xf16> {
    %o = attn.attention %q, %k, %v scale(1.0) : (tensor<?x?x?x64xf16>, tensor<?x?x?x64xf16>, tensor<?x?x?x64xf16>) -> tensor<?x?x?x64xf16>
    return %o : tensor<?x?x?x64xf16>
  }
}
