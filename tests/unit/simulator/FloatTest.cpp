// Floating-point arithmetic, comparison and conversion to the bit: NaN, subnormals, rounding, saturation.
#include "tests/unit/simulator/Harness.h"

using namespace tessera::sim::test;

namespace {
constexpr uint64_t subnormal = 0x00000001, negativeSubnormal = 0x80000001, one = 0x3f800000, qnan = 0x7fc00000;
}

TEST(SimulatorFloat, AddMulFmaAndCanonicalNan) {
  expectResults("add.f32 %d, %a, %b;", "4:44",
                {{{f32(1.5f), f32(2.25f)}, f32(3.75f)},
                 {{qnan, one}, nan32},
                 {{inf32, 0xff800000}, nan32},
                 {{subnormal, subnormal}, 2}});
  expectResults("add.ftz.f32 %d, %a, %b;", "4:44",
                {{{subnormal, subnormal}, 0},
                 {{negativeSubnormal, 0x80000000}, 0x80000000},
                 {{0x00800000, 0x80c00000}, 0x80000000}});
  expectResults("add.sat.f32 %d, %a, %b;", "4:44",
                {{{one, one}, one}, {{f32(-1.0f), 0}, 0}, {{qnan, one}, 0}, {{f32(0.25f), f32(0.25f)}, f32(0.5f)}});
  expectResults("add.rz.f32 %d, %a, %b;", "4:44", {{{one, f32(0x1p-24f)}, one}, {{one, f32(-0x1p-30f)}, 0x3f7fffff}});
  expectResults("add.rp.f32 %d, %a, %b;", "4:44", {{{one, f32(0x1p-40f)}, 0x3f800001}});
  expectResults("add.rm.f32 %d, %a, %b;", "4:44", {{{one, f32(-0x1p-40f)}, 0x3f7fffff}});
  expectResults("sub.rm.f32 %d, %a, %b;", "4:44", {{{one, one}, 0x80000000}});
  expectResults("mul.rn.f32 %d, %a, %b;", "4:44", {{{f32(3.0f), f32(-7.0f)}, f32(-21.0f)}, {{inf32, 0}, nan32}});
  expectResults("mul.rz.f32 %d, %a, %b;", "4:44", {{{0x3f800001, 0x3f800001}, 0x3f800002}});
  expectResults("mul.rp.f32 %d, %a, %b;", "4:44", {{{0x3f800001, 0x3f800001}, 0x3f800003}});
  expectResults("fma.rn.f32 %d, %a, %b, %c;", "4:444",
                {{{0x3f800001, 0x3f800001, f32(-1.0f)}, f32(0x1p-22f + 0x1p-46f)}});
  expectResults("fma.rz.ftz.f32 %d, %a, %b, %c;", "4:444", {{{one, subnormal, one}, one}});
  expectResults("mad.rn.f32 %d, %a, %b, %c;", "4:444", {{{f32(2.0f), f32(3.0f), f32(4.0f)}, f32(10.0f)}});
  expectResults("fma.rn.f64 %d, %a, %b, %c;", "8:888", {{{f64(3.0), f64(5.0), f64(0.5)}, f64(15.5)}});
  expectResults("add.rz.f64 %d, %a, %b;", "8:88", {{{f64(1.0), f64(-0x1p-60)}, 0x3fefffffffffffff}});
  expectResults("mul.f64 %d, %a, %b;", "8:88", {{{f64(1e300), f64(1e300)}, 0x7ff0000000000000}});
}

TEST(SimulatorFloat, DivisionRootsReciprocals) {
  expectResults("div.rn.f32 %d, %a, %b;", "4:44",
                {{{one, f32(3.0f)}, f32(1.0f / 3.0f)}, {{0, 0}, nan32}, {{one, 0x80000000}, 0xff800000}});
  expectResults("div.rp.f32 %d, %a, %b;", "4:44", {{{one, f32(3.0f)}, 0x3eaaaaab}});
  expectResults("div.rz.f32 %d, %a, %b;", "4:44", {{{one, f32(3.0f)}, 0x3eaaaaaa}});
  expectResults("div.approx.f32 %d, %a, %b;", "4:44",
                {{{f32(6.0f), f32(2.0f)}, f32(3.0f)}, {{one, f32(0x1.8p126f)}, 0}, {{inf32, f32(0x1.8p126f)}, nan32}});
  expectResults("div.full.f32 %d, %a, %b;", "4:44", {{{f32(6.0f), f32(2.0f)}, f32(3.0f)}});
  expectResults("rcp.approx.ftz.f32 %d, %a;", "4:4",
                {{{f32(4.0f)}, f32(0.25f)},
                 {{subnormal}, inf32},
                 {{0x80000000}, 0xff800000},
                 {{inf32}, 0},
                 {{f32(0x1p127f)}, 0}});
  expectResults("rcp.rn.f32 %d, %a;", "4:4", {{{f32(3.0f)}, f32(1.0f / 3.0f)}});
  expectResults("rcp.rm.f64 %d, %a;", "8:8", {{{f64(3.0)}, 0x3fd5555555555555}});
  expectResults("sqrt.rn.f32 %d, %a;", "4:4",
                {{{f32(9.0f)}, f32(3.0f)}, {{f32(-1.0f)}, nan32}, {{0x80000000}, 0x80000000}});
  expectResults("sqrt.rp.f32 %d, %a;", "4:4", {{{f32(2.0f)}, 0x3fb504f4}});
  expectResults("sqrt.rz.f32 %d, %a;", "4:4", {{{f32(2.0f)}, 0x3fb504f3}});
  expectResults("rsqrt.approx.f32 %d, %a;", "4:4",
                {{{f32(4.0f)}, f32(0.5f)}, {{0}, inf32}, {{0x80000000}, 0xff800000}, {{f32(-4.0f)}, nan32}});
  expectResults("rsqrt.approx.f64 %d, %a;", "8:8", {{{f64(4.0)}, f64(0.5)}});
  expectResults("rcp.approx.ftz.f64 %d, %a;", "8:8", {{{f64(4.0)}, f64(0.25)}});
}

TEST(SimulatorFloat, Approximations) {
  expectResults("ex2.approx.ftz.f32 %d, %a;", "4:4",
                {{{f32(3.0f)}, f32(8.0f)},
                 {{0xff800000}, 0},
                 {{0}, one},
                 {{subnormal}, one},
                 {{f32(-127.0f)}, 0},
                 {{f32(128.0f)}, inf32},
                 {{qnan}, nan32},
                 {{f32(0.5f)}, f32(1.41421356f)},
                 {{inf32}, inf32}});
  expectResults("ex2.approx.f32 %d, %a;", "4:4",
                {{{f32(-127.0f)}, 0x00400000}, {{f32(-149.0f)}, 1}, {{f32(-151.0f)}, 0}});
  expectResults("lg2.approx.f32 %d, %a;", "4:4",
                {{{f32(8.0f)}, f32(3.0f)},
                 {{0}, 0xff800000},
                 {{f32(-1.0f)}, nan32},
                 {{0x80000000}, 0xff800000},
                 {{1}, f32(-149.0f)}});
  expectResults("lg2.approx.ftz.f32 %d, %a;", "4:4", {{{1}, 0xff800000}});
  expectResults("sin.approx.f32 %d, %a;", "4:4", {{{0}, 0}, {{inf32}, nan32}});
  expectResults("cos.approx.f32 %d, %a;", "4:4", {{{0}, one}});
  expectResults("tanh.approx.f32 %d, %a;", "4:4", {{{inf32}, one}, {{0x80000000}, 0x80000000}, {{qnan}, nan32}});
}

TEST(SimulatorFloat, MinMaxAbsNegSigns) {
  expectResults("min.f32 %d, %a, %b;", "4:44",
                {{{qnan, one}, one},
                 {{one, qnan}, one},
                 {{qnan, qnan}, nan32},
                 {{0, 0x80000000}, 0x80000000},
                 {{f32(-2.0f), one}, f32(-2.0f)}});
  expectResults("max.f32 %d, %a, %b;", "4:44", {{{0x80000000, 0}, 0}, {{f32(-2.0f), one}, one}});
  expectResults("max.NaN.f32 %d, %a, %b;", "4:44", {{{qnan, one}, nan32}, {{one, f32(2.0f)}, f32(2.0f)}});
  expectResults("max.ftz.f32 %d, %a, %b;", "4:44", {{{subnormal, 0x80000000}, 0}});
  expectResults("min.xorsign.abs.f32 %d, %a, %b;", "4:44",
                {{{f32(-2.0f), f32(3.0f)}, f32(-2.0f)}, {{f32(-2.0f), f32(-1.0f)}, one}}, "sm_86");
  expectResults("min.f64 %d, %a, %b;", "8:88", {{{f64(-1.0), f64(2.0)}, f64(-1.0)}});
  expectResults("abs.f32 %d, %a;", "4:4", {{{f32(-3.0f)}, f32(3.0f)}});
  expectResults("neg.ftz.f32 %d, %a;", "4:4", {{{subnormal}, 0x80000000}});
  expectResults("abs.f64 %d, %a;", "8:8", {{{f64(-3.0)}, f64(3.0)}});
  expectResults("copysign.f32 %d, %a, %b;", "4:44", {{{f32(-1.0f), f32(2.0f)}, f32(-2.0f)}});
  expectResults("max.f32 %d, %a, %b, %c;", "4:444", {{{f32(1.0f), f32(5.0f), f32(3.0f)}, f32(5.0f)}}, "sm_100");
}

TEST(SimulatorFloat, TestProperties) {
  expectResults("testp.finite.f32 %d, %a;", "p:4", {{{one}, 1}, {{inf32}, 0}, {{qnan}, 0}});
  expectResults("testp.infinite.f32 %d, %a;", "p:4", {{{0xff800000}, 1}, {{one}, 0}});
  expectResults("testp.notanumber.f64 %d, %a;", "p:8", {{{0x7ff8000000000000}, 1}, {{f64(1.0)}, 0}});
  expectResults("testp.number.f32 %d, %a;", "p:4", {{{inf32}, 1}, {{qnan}, 0}});
  expectResults("testp.subnormal.f32 %d, %a;", "p:4", {{{1}, 1}, {{0}, 0}});
  expectResults("testp.normal.f32 %d, %a;", "p:4", {{{0}, 1}, {{1}, 0}, {{one}, 1}});
}

TEST(SimulatorFloat, Halves) {
  expectResults("add.f16 %d, %a, %b;", "2:22",
                {{{0x3c00, 0x4000}, 0x4200}, {{0x7bff, 0x7bff}, 0x7c00}, {{0x7e00, 0x3c00}, 0x7fff}, {{1, 1}, 2}});
  expectResults("add.ftz.f16 %d, %a, %b;", "2:22", {{{1, 1}, 0}});
  expectResults("add.sat.f16x2 %d, %a, %b;", "4:44", {{{0x3c00bc00, 0x3c003c00}, 0x3c000000}});
  expectResults("mul.f16x2 %d, %a, %b;", "4:44", {{{0x40003c00, 0x42004400}, 0x46004400}});
  expectResults("fma.rn.f16 %d, %a, %b, %c;", "2:222",
                {{{0x3c02, 0x3c02, 0xbc00}, 0x1c01}, {{0x3c00, 0x3c00, 0x0001}, 0x3c00}});
  expectResults("fma.rn.relu.f16x2 %d, %a, %b, %c;", "4:444", {{{0xbc003c00, 0x3c003c00, 0}, 0x00003c00}});
  expectResults("fma.rn.bf16x2 %d, %a, %b, %c;", "4:444", {{{0x3f803f80, 0x40004000, 0x3f803f80}, 0x40404040}});
  expectResults("fma.rn.bf16 %d, %a, %b, %c;", "2:222", {{{0x3f80, 0x3f81, 0}, 0x3f81}});
  expectResults("max.f16x2 %d, %a, %b;", "4:44", {{{0x7e003c00, 0x3c00c000}, 0x3c003c00}});
  expectResults("max.NaN.bf16 %d, %a, %b;", "2:22", {{{0x7fc0, 0x3f80}, 0x7fff}});
  expectResults("neg.bf16x2 %d, %a;", "4:4", {{{0x3f80bf80}, 0xbf803f80}});
  expectResults("abs.f16 %d, %a;", "2:2", {{{0xbc00}, 0x3c00}});
  expectResults("ex2.approx.f16 %d, %a;", "2:2", {{{0x4000}, 0x4400}, {{0xfc00}, 0}});
  expectResults("ex2.approx.ftz.bf16x2 %d, %a;", "4:4", {{{0x40000000}, 0x40803f80}}, "sm_90");
  expectResults("tanh.approx.f16x2 %d, %a;", "4:4", {{{0x7c00fc00}, 0x3c00bc00}});
  expectResults("sub.bf16 %d, %a, %b;", "2:22", {{{0x4000, 0x3f80}, 0x3f80}}, "sm_90");
}

TEST(SimulatorFloat, ComparisonsOrderedAndNot) {
  expectResults("setp.lt.f32 %d, %a, %b;", "p:44", {{{one, f32(2.0f)}, 1}, {{qnan, one}, 0}});
  expectResults("setp.ltu.f32 %d, %a, %b;", "p:44", {{{qnan, one}, 1}, {{f32(2.0f), one}, 0}});
  expectResults("setp.ne.f32 %d, %a, %b;", "p:44", {{{qnan, qnan}, 0}});
  expectResults("setp.neu.f32 %d, %a, %b;", "p:44", {{{qnan, qnan}, 1}});
  expectResults("setp.equ.f64 %d, %a, %b;", "p:88", {{{0x7ff8000000000000, 0}, 1}});
  expectResults("setp.num.f32 %d, %a, %b;", "p:44", {{{one, one}, 1}, {{one, qnan}, 0}});
  expectResults("setp.nan.f32 %d, %a, %b;", "p:44", {{{one, qnan}, 1}});
  expectResults("setp.eq.ftz.f32 %d, %a, %b;", "p:44", {{{1, 0}, 1}});
  expectResults("setp.lo.u32 %d, %a, %b;", "p:44", {{{1, 0xffffffff}, 1}});
  expectResults("setp.gt.s16 %d, %a, %b;", "p:22", {{{1, 0xffff}, 1}});
  expectResults("setp.ge.u64 %d, %a, %b;", "p:88", {{{~0ull, 1}, 1}});
  expectResults("setp.lt.and.s32 %d, %a, %b, !%c;", "p:44p", {{{1, 2, 0}, 1}, {{1, 2, 1}, 0}});
  auto both = evaluate("setp.lt.or.s32 %d|%q, %a, %b, %c;", "pp:44p", {{1, 2, 0}, {2, 1, 0}, {1, 2, 1}}, "sm_80");
  EXPECT_EQ(both[0], (std::vector<uint64_t>{1, 0}));
  EXPECT_EQ(both[1], (std::vector<uint64_t>{0, 1}));
  EXPECT_EQ(both[2], (std::vector<uint64_t>{1, 1}));
  both = evaluate("setp.gt.f16x2 %d|%q, %a, %b;", "pp:44", {{0x3c004000, 0x3c003c00}}, "sm_80");
  EXPECT_EQ(both[0], (std::vector<uint64_t>{1, 0}));
  expectResults("set.lt.u32.f32 %d, %a, %b;", "4:44", {{{one, f32(2.0f)}, 0xffffffff}, {{f32(2.0f), one}, 0}});
  expectResults("set.ge.f32.s32 %d, %a, %b;", "4:44", {{{1, 0}, one}});
  expectResults("set.gt.f16x2.f16x2 %d, %a, %b;", "4:44", {{{0x40003c00, 0x3c003c00}, 0x3c000000}});
  expectResults("selp.b32 %d, %a, %b, %c;", "4:44p", {{{1, 2, 1}, 1}, {{1, 2, 0}, 2}});
  expectResults("selp.f64 %d, %a, %b, !%c;", "8:88p", {{{1, 2, 1}, 2}});
  expectResults("slct.s32.f32 %d, %a, %b, %c;", "4:444",
                {{{1, 2, 0x80000000}, 1}, {{1, 2, f32(-1.0f)}, 2}, {{1, 2, qnan}, 2}});
  expectResults("slct.u64.s32 %d, %a, %b, %c;", "8:884", {{{1, 2, 0xffffffff}, 2}});
}
