// PTX that the foreign programs load: vector addition, a sum over blocks, a pipeline step and a grid-wide barrier.
#pragma once

inline constexpr const char *Kernels = R"(
.version 8.0
.target sm_80
.address_size 64

.global .align 4 .f32 bias = 0f3F000000;

.visible .entry add(.param .u64 out, .param .u64 a, .param .u64 b, .param .u32 n)
{
  .reg .pred %p<2>;
  .reg .b32 %r<5>;
  .reg .f32 %f<6>;
  .reg .b64 %rd<8>;
  ld.param.u64 %rd1, [out];
  ld.param.u64 %rd2, [a];
  ld.param.u64 %rd3, [b];
  ld.param.u32 %r1, [n];
  mov.u32 %r2, %ctaid.x;
  mov.u32 %r3, %ntid.x;
  mov.u32 %r4, %tid.x;
  mad.lo.s32 %r2, %r2, %r3, %r4;
  setp.ge.u32 %p1, %r2, %r1;
  @%p1 bra done;
  mul.wide.u32 %rd4, %r2, 4;
  add.s64 %rd5, %rd2, %rd4;
  add.s64 %rd6, %rd3, %rd4;
  add.s64 %rd7, %rd1, %rd4;
  ld.global.f32 %f1, [%rd5];
  ld.global.f32 %f2, [%rd6];
  ld.global.f32 %f3, [bias];
  add.f32 %f4, %f1, %f2;
  add.f32 %f5, %f4, %f3;
  st.global.f32 [%rd7], %f5;
done:
  ret;
}

// *sum += all of the n numbers; 256 threads.
.visible .entry reduce(.param .u64 sum, .param .u64 in, .param .u32 n)
{
  .reg .pred %p<4>;
  .reg .b32 %r<10>;
  .reg .b64 %rd<6>;
  .shared .align 4 .b32 partial[256];
  ld.param.u64 %rd1, [sum];
  ld.param.u64 %rd2, [in];
  ld.param.u32 %r1, [n];
  mov.u32 %r2, %tid.x;
  mov.u32 %r3, %ctaid.x;
  mad.lo.s32 %r4, %r3, 256, %r2;
  mov.u32 %r5, 0;
  setp.ge.u32 %p1, %r4, %r1;
  @%p1 bra loaded;
  mul.wide.u32 %rd3, %r4, 4;
  add.s64 %rd4, %rd2, %rd3;
  ld.global.u32 %r5, [%rd4];
loaded:
  shl.b32 %r6, %r2, 2;
  mov.u32 %r7, partial;
  add.s32 %r7, %r7, %r6;
  st.shared.u32 [%r7], %r5;
  mov.u32 %r8, 128;
halve:
  bar.sync 0;
  setp.ge.u32 %p2, %r2, %r8;
  @%p2 bra skip;
  shl.b32 %r6, %r8, 2;
  add.s32 %r6, %r7, %r6;
  ld.shared.u32 %r9, [%r6];
  ld.shared.u32 %r5, [%r7];
  add.s32 %r5, %r5, %r9;
  st.shared.u32 [%r7], %r5;
skip:
  shr.u32 %r8, %r8, 1;
  setp.ne.u32 %p3, %r8, 0;
  @%p3 bra halve;
  setp.ne.u32 %p1, %r2, 0;
  @%p1 bra done;
  ld.shared.u32 %r5, [partial];
  red.global.add.u32 [%rd1], %r5;
done:
  ret;
}

// Every block waits for all: *counter is the grid's size once all have passed.
.visible .entry meet(.param .u64 counter)
{
  .reg .pred %p<2>;
  .reg .b32 %r<4>;
  .reg .b64 %rd<2>;
  ld.param.u64 %rd1, [counter];
  mov.u32 %r1, %nctaid.x;
  atom.release.gpu.global.add.u32 %r2, [%rd1], 1;
wait:
  ld.acquire.gpu.global.u32 %r3, [%rd1];
  setp.lt.u32 %p1, %r3, %r1;
  @%p1 bra wait;
  ret;
}
)";
