// attn.attention: every optional part, and none.
// RUN: tessera-opt %s | tessera-opt | FileCheck %s

// CHECK-LABEL: @plain
// CHECK: attn.attention %{{.*}}, %{{.*}}, %{{.*}} scale(1.250000e-01) : (tensor<?x?x?x64xf16>, tensor<?x?x?x64xf16>, tensor<?x?x?x32xf16>) -> tensor<?x?x?x32xf32>
func.func @plain(%q: tensor<?x?x?x64xf16>, %k: tensor<?x?x?x64xf16>, %v: tensor<?x?x?x32xf16>) -> tensor<?x?x?x32xf32> {
  %o = attn.attention %q, %k, %v scale(0.125) : (tensor<?x?x?x64xf16>, tensor<?x?x?x64xf16>, tensor<?x?x?x32xf16>) -> tensor<?x?x?x32xf32>
  return %o : tensor<?x?x?x32xf32>
}

// CHECK-LABEL: @all
// CHECK: attn.attention %{{.*}} scale(-2.000000e+00) softcap(3.000000e+01) band(<left = 7, right = 0, align = bottom_right>) precise : ({{.*}}) -> tensor<?x?x?x8xbf16>, tensor<?x?x?xf32>
func.func @all(%q: tensor<?x?x?x8xf32>, %k: tensor<?x?x?x8xf32>, %v: tensor<?x?x?x8xf32>) -> (tensor<?x?x?x8xbf16>, tensor<?x?x?xf32>) {
  %o, %lse = attn.attention %q, %k, %v scale(-2.0) softcap(30.0) band(<left = 7, right = 0, align = bottom_right>) precise
      : (tensor<?x?x?x8xf32>, tensor<?x?x?x8xf32>, tensor<?x?x?x8xf32>) -> tensor<?x?x?x8xbf16>, tensor<?x?x?xf32>
  return %o, %lse : tensor<?x?x?x8xbf16>, tensor<?x?x?xf32>
}
