// Tiles in shared memory, asynchronous copies and their waits.
// RUN: tessera-opt %s | tessera-opt | FileCheck %s

!global = memref<?x?x?x40xbf16, strided<[?, ?, ?, 1]>>
!ring = !attn.shared<2 x 16 x 48 x bf16>
!tile = !attn.shared<1 x 16 x 48 x bf16>

// CHECK-LABEL: @shared
func.func @shared(%g: !global, %i: index) {
  // CHECK: attn.shared_buffer at 4096 : <2 x 16 x 48 x bf16>
  %ring = attn.shared_buffer at 4096 : !ring
  // CHECK: attn.stage %{{.*}}[%{{.*}}] : <2 x 16 x 48 x bf16> -> <1 x 16 x 48 x bf16>
  %tile = attn.stage %ring[%i] : !ring -> !tile
  // CHECK: attn.copy_async %{{.*}}[%{{.*}}, %{{.*}}, %{{.*}}] to %{{.*}} : memref<?x?x?x40xbf16, strided<[?, ?, ?, 1]>>, <1 x 16 x 48 x bf16>
  attn.copy_async %g[%i, %i, %i] to %tile : !global, !tile
  // CHECK: attn.copy_async {{.*}} whole :
  attn.copy_async %g[%i, %i, %i] to %tile whole : !global, !tile
  // CHECK: attn.commit
  attn.commit
  // CHECK: attn.wait 1
  attn.wait 1
  // CHECK: attn.barrier
  attn.barrier
  // CHECK: attn.shared_load %{{.*}} : <1 x 16 x 48 x bf16> -> tensor<16x48xbf16>
  %fragments = attn.shared_load %tile : !tile -> tensor<16x48xbf16>
  return
}
