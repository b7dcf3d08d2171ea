// Attributes and types print as they are written.
// RUN: tessera-opt %s | tessera-opt | FileCheck %s

// CHECK: attn.both = #attn.band<left = 127, right = 0, align = bottom_right>
// CHECK-SAME: attn.causal = #attn.band<right = 0, align = top_left>
// CHECK-SAME: attn.layout = #attn.layout<rows, warps = 4>
// CHECK-SAME: attn.left = #attn.band<left = 9223372036854775807, align = bottom_right>
// CHECK-SAME: attn.ring = !attn.shared<2 x 64 x 128 x bf16>
// CHECK-SAME: attn.schedule = #attn.schedule<"v1:q128,kv64,w4,s2,lazy8,mma,qreg,online">
// CHECK-SAME: attn.target = #attn.target<"sm_120">
module attributes {
  attn.both = #attn.band<left = 127, right = 0, align = bottom_right>,
  attn.causal = #attn.band<right = 0, align = top_left>,
  attn.layout = #attn.layout<rows, warps = 4>,
  attn.left = #attn.band<left = 9223372036854775807, align = bottom_right>,
  attn.ring = !attn.shared<2 x 64 x 128 x bf16>,
  attn.schedule = #attn.schedule<"v1:q128,kv64,w4,s2,lazy8,mma,qreg,online">,
  attn.target = #attn.target<"sm_120">
} {}
