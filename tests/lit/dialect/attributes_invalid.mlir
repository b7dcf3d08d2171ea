// RUN: tessera-opt %s -split-input-file -verify-diagnostics

// expected-error @below {{band_c1: a band has at least one bound}}
module attributes {attn.band = #attn.band<align = top_left>} {}

// -----

// expected-error @below {{band_c2: a bound counts keys and is never negative, got left -1, right 0}}
module attributes {attn.band = #attn.band<left = -1, align = top_left>} {}

// -----

// expected-error @below {{schedule_c1:}}
module attributes {attn.schedule = #attn.schedule<"v1:q128,kv64">} {}

// -----

// expected-error @below {{target_c1:}}
module attributes {attn.target = #attn.target<"sm_70">} {}

// -----

// expected-error @below {{shared_c1: a ring has stages, rows and columns of f16, bf16 or f32; got 0 x 64 x 128 x 'bf16'}}
module attributes {attn.ring = !attn.shared<0 x 64 x 128 x bf16>} {}

// -----

// expected-error @below {{shared_c1}}
module attributes {attn.ring = !attn.shared<1 x 64 x 128 x i8>} {}
