// cvt and mov: every direction, to the bit.
#include "tests/unit/simulator/Harness.h"

using namespace tessera::sim::test;

TEST(SimulatorConvert, Integers) {
  expectResults("cvt.u64.u32 %d, %a;", "8:4", {{{0xffffffff}, 0xffffffff}});
  expectResults("cvt.s64.s32 %d, %a;", "8:4", {{{0xffffffff}, ~0ull}});
  expectResults("cvt.u32.u64 %d, %a;", "4:8", {{{0x123456789}, 0x23456789}});
  expectResults("cvt.s32.s8 %d, %a;", "4:4", {{{0x180}, 0xffffff80}});
  expectResults("cvt.u32.u8 %d, %a;", "4:2", {{{0x1ff}, 0xff}});
  expectResults("cvt.s16.s8 %d, %a;", "2:2", {{{0x80}, 0xff80}});
  expectResults("cvt.sat.u8.s32 %d, %a;", "4:4", {{{300}, 255}, {{0xffffffff}, 0}, {{7}, 7}});
  expectResults("cvt.sat.s16.u32 %d, %a;", "2:4", {{{0xffffffff}, 0x7fff}});
  expectResults("cvt.sat.s32.s64 %d, %a;", "4:8", {{{1ull << 40}, 0x7fffffff}, {{0xffffff0000000000}, 0x80000000}});
  expectResults("cvt.pack.sat.s16.s32 %d, %a, %b;", "4:44", {{{70000, 0xffff0000}, 0x7fff8000}});
  expectResults("cvt.pack.sat.u8.s32.b32 %d, %a, %b, %c;", "4:444", {{{300, 0xffffffff, 0x1234abcd}, 0xabcdff00}});
}

TEST(SimulatorConvert, FloatToInteger) {
  expectResults("cvt.rzi.s32.f32 %d, %a;", "4:4",
                {{{f32(-1.9f)}, 0xffffffff}, {{f32(3e9f)}, 0x7fffffff}, {{0x7fc00000}, 0}, {{f32(-3e9f)}, 0x80000000}});
  expectResults("cvt.rni.s32.f32 %d, %a;", "4:4", {{{f32(2.5f)}, 2}, {{f32(3.5f)}, 4}});
  expectResults("cvt.rmi.s32.f32 %d, %a;", "4:4", {{{f32(-0.5f)}, 0xffffffff}});
  expectResults("cvt.rpi.u32.f32 %d, %a;", "4:4", {{{f32(0.1f)}, 1}, {{f32(-5.0f)}, 0}});
  expectResults("cvt.rzi.u64.f32 %d, %a;", "8:4", {{{f32(1e20f)}, ~0ull}, {{0x7fc00000}, 1ull << 63}});
  expectResults("cvt.rzi.s32.f64 %d, %a;", "4:8", {{{f64(-7.9)}, 0xfffffff9}, {{0x7ff8000000000000}, 0x80000000}});
  expectResults("cvt.rzi.s8.f32 %d, %a;", "4:4", {{{f32(200.0f)}, 127}, {{f32(-200.0f)}, 0xffffff80}});
  expectResults("cvt.rni.s16.f16 %d, %a;", "2:2", {{{0x4100}, 2}, {{0xc300}, 0xfffc}});
  expectResults("cvt.rni.f32.f32 %d, %a;", "4:4", {{{f32(2.5f)}, f32(2.0f)}});
  expectResults("cvt.rmi.f64.f64 %d, %a;", "8:8", {{{f64(-0.5)}, f64(-1.0)}});
}

TEST(SimulatorConvert, IntegerToFloat) {
  expectResults("cvt.rn.f32.s32 %d, %a;", "4:4", {{{0xffffffff}, f32(-1.0f)}, {{0x7fffffff}, f32(2147483648.0f)}});
  expectResults("cvt.rz.f32.u32 %d, %a;", "4:4", {{{0xffffffff}, 0x4f7fffff}});
  expectResults("cvt.rp.f32.u64 %d, %a;", "4:8", {{{(1ull << 40) + 1}, 0x53800001}});
  expectResults("cvt.rn.f64.s64 %d, %a;", "8:8", {{{~0ull}, f64(-1.0)}});
  expectResults("cvt.rn.f16.u32 %d, %a;", "2:4", {{{2049}, 0x6800}, {{2051}, 0x6802}, {{70000}, 0x7c00}});
  expectResults("cvt.rz.f16.s64 %d, %a;", "2:8", {{{0xffffffffffff0000ull}, 0xfbff}});
  expectResults("cvt.rn.f32.u8 %d, %a;", "4:2", {{{0x1ff}, f32(255.0f)}});
}

TEST(SimulatorConvert, BetweenFloats) {
  expectResults("cvt.rn.f16.f32 %d, %a;", "2:4",
                {{{f32(1.0f)}, 0x3c00},
                 {{f32(65520.0f)}, 0x7c00},
                 {{f32(65519.0f)}, 0x7bff},
                 {{f32(0x1p-24f)}, 1},
                 {{f32(0x1p-25f)}, 0},
                 {{f32(0x1.8p-25f)}, 1},
                 {{0x7fc00000}, 0x7fff},
                 {{f32(-0x1p-26f)}, 0x8000},
                 {{f32(1.0f + 0x1p-11f)}, 0x3c00},
                 {{f32(1.0f + 0x3p-11f)}, 0x3c02}});
  expectResults("cvt.rz.f16.f32 %d, %a;", "2:4", {{{f32(1e9f)}, 0x7bff}, {{f32(1.0f + 0x1p-10f - 0x1p-20f)}, 0x3c00}});
  expectResults("cvt.rp.f16.f32 %d, %a;", "2:4", {{{f32(0x1p-40f)}, 1}, {{f32(-1e9f)}, 0xfbff}});
  expectResults("cvt.rn.sat.f16.f32 %d, %a;", "2:4", {{{f32(3.0f)}, 0x3c00}, {{0x7fc00000}, 0}});
  expectResults("cvt.f32.f16 %d, %a;", "4:2",
                {{{0x3c00}, f32(1.0f)},
                 {{1}, f32(0x1p-24f)},
                 {{0x7c00}, inf32},
                 {{0x7e00}, nan32},
                 {{0x8000}, 0x80000000},
                 {{0x03ff}, f32(0x1.ff8p-15f)}});
  expectResults("cvt.rn.bf16.f32 %d, %a;", "2:4",
                {{{f32(1.0f)}, 0x3f80},
                 {{0x3f808000}, 0x3f80},
                 {{0x3f818000}, 0x3f82},
                 {{0x3f808001}, 0x3f81},
                 {{0x7f7fffff}, 0x7f80},
                 {{0x7f800001}, 0x7fff},
                 {{0x00008001}, 1}});
  expectResults("cvt.rz.bf16.f32 %d, %a;", "2:4", {{{0x3f80ffff}, 0x3f80}, {{0x7f7fffff}, 0x7f7f}});
  expectResults("cvt.f32.bf16 %d, %a;", "4:2", {{{0x3f80}, f32(1.0f)}});
  expectResults("cvt.rn.bf16x2.f32 %d, %a, %b;", "4:44", {{{f32(1.0f), f32(2.0f)}, 0x3f804000}});
  expectResults("cvt.rn.relu.bf16x2.f32 %d, %a, %b;", "4:44", {{{f32(-1.0f), 0x7fc00000}, 0x00007fff}});
  expectResults("cvt.rn.f16x2.f32 %d, %a, %b;", "4:44", {{{f32(1.0f), f32(-2.0f)}, 0x3c00c000}});
  expectResults("cvt.rz.f16x2.f32 %d, %a, %b;", "4:44", {{{f32(1e9f), f32(1.0f)}, 0x7bff3c00}});
  expectResults("cvt.rna.tf32.f32 %d, %a;", "4:4",
                {{{0x3f801000}, 0x3f802000}, {{0x3f800fff}, 0x3f800000}, {{0x7f7fffff}, inf32}});
  expectResults("cvt.rn.tf32.f32 %d, %a;", "4:4", {{{0x3f801000}, 0x3f800000}, {{0x3f803000}, 0x3f804000}}, "sm_90");
  expectResults("cvt.rn.f32.f64 %d, %a;", "4:8", {{{f64(1.0 + 0x1p-24)}, f32(1.0f)}, {{f64(1e300)}, inf32}});
  expectResults("cvt.rm.f32.f64 %d, %a;", "4:8", {{{f64(-1.0 - 0x1p-40)}, 0xbf800001}});
  expectResults("cvt.f64.f32 %d, %a;", "8:4", {{{f32(1.5f)}, f64(1.5)}});
  expectResults("cvt.ftz.f64.f32 %d, %a;", "8:4", {{{1}, 0}});
  expectResults("cvt.rn.f16.f64 %d, %a;", "2:8", {{{f64(1.0 + 0x1p-11 + 0x1p-50)}, 0x3c01}});
}

TEST(SimulatorConvert, EightBitFloats) {
  expectResults("cvt.rn.satfinite.e4m3x2.f32 %d, %a, %b;", "2:44",
                {{{f32(1.0f), f32(2.0f)}, 0x3840},
                 {{f32(1e9f), f32(-1e9f)}, 0x7efe},
                 {{0x7fc00000, f32(448.0f)}, 0x7f7e},
                 {{f32(0x1p-9f), f32(0x1p-10f)}, 0x0100},
                 {{f32(464.0f), f32(17.0f)}, 0x7e58}},
                "sm_89");
  expectResults("cvt.rn.satfinite.e5m2x2.f32 %d, %a, %b;", "2:44",
                {{{f32(1.0f), f32(1e9f)}, 0x3c7b}, {{f32(0x1p-16f), 0x7fc00000}, 0x017f}}, "sm_89");
  expectResults("cvt.rn.f16x2.e4m3x2 %d, %a;", "4:2",
                {{{0x3840}, 0x3c004000}, {{0x7f01}, 0x7fff1800}, {{0xfe08}, 0xdf002400}}, "sm_89");
  expectResults("cvt.rn.relu.f16x2.e5m2x2 %d, %a;", "4:2", {{{0xbc3c}, 0x00003c00}, {{0x7cfc}, 0x7c000000}}, "sm_89");
  expectResults("cvt.rn.satfinite.e4m3x2.f16x2 %d, %a;", "2:4", {{{0x3c004000}, 0x3840}}, "sm_89");
}

TEST(SimulatorConvert, MovesPackAndUnpack) {
  expectResults("mov.b32 %d, {%a, %b};", "4:22", {{{0x1234, 0xabcd}, 0xabcd1234}});
  expectResults("mov.b64 %d, {%a, %b};", "8:44", {{{1, 2}, 0x200000001}});
  expectResults("{.reg .b16 x,y; mov.b32 {x, y}, %a; mov.b32 %d, {y, x};}", "4:4", {{{0x12345678}, 0x56781234}});
  expectResults("{.reg .b16 x<4>; mov.b64 {x0, x1, x2, x3}, %a; mov.b64 %d, {x3, x2, x1, x0};}", "8:8",
                {{{0x1111222233334444}, 0x4444333322221111}});
  expectResults("{.reg .b8 x<4>; mov.b32 {x0, x1, x2, x3}, %a; mov.b32 %d, {x3, x2, x1, x0};}", "4:4",
                {{{0x11223344}, 0x44332211}});
  expectResults("{.reg .b128 w; mov.b128 w, {%a, %b}; mov.b128 {_, %d}, w;}", "8:88", {{{5, 9}, 9}}, "sm_80");
  expectResults("mov.f32 %d, 0f3F800000;", "4:4", {{{0}, 0x3f800000}});
  expectResults("mov.f32 %d, 1.5;", "4:4", {{{0}, f32(1.5f)}});
  expectResults("mov.f64 %d, 0d3FF0000000000000;", "8:4", {{{0}, f64(1.0)}});
  expectResults("mov.u32 %d, (1 << 4) + 3 * 2;", "4:4", {{{0}, 22}});
  expectResults("mov.u32 %d, -5 / 2;", "4:4", {{{0}, 0xfffffffe}});
  expectResults("mov.pred %d, %a;", "p:p", {{{1}, 1}, {{0}, 0}});
  expectResults("{.reg .v2 .b32 v; mov.b32 v.x, %a; mov.b32 v.y, %b; mov.b64 %d, v;}", "8:44", {{{1, 2}, 0x200000001}});
}
