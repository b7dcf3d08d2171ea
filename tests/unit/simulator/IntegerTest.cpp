// Integer, logic, shift and bit-field instructions against values from the manual's definitions.
#include "tests/unit/simulator/Harness.h"

using namespace tessera::sim::test;

TEST(SimulatorInteger, AddSubWrapAndSaturate) {
  expectResults("add.u32 %d, %a, %b;", "4:44", {{{0xffffffff, 1}, 0}, {{2, 3}, 5}});
  expectResults("add.sat.s32 %d, %a, %b;", "4:44",
                {{{0x7fffffff, 1}, 0x7fffffff}, {{0x80000000, 0xffffffff}, 0x80000000}, {{5, 0xfffffffd}, 2}});
  expectResults("sub.sat.s32 %d, %a, %b;", "4:44",
                {{{0x80000000, 1}, 0x80000000}, {{0x7fffffff, 0xffffffff}, 0x7fffffff}});
  expectResults("sub.u16 %d, %a, %b;", "2:22", {{{0, 1}, 0xffff}});
  expectResults("add.s64 %d, %a, %b;", "8:88", {{{~0ull, 2}, 1}, {{0x7fffffffffffffff, 1}, 0x8000000000000000}});
  expectResults("add.u16x2 %d, %a, %b;", "4:44", {{{0xffff0001, 0x00010002}, 0x00000003}}, "sm_90");
}

TEST(SimulatorInteger, CarryChainsOver128Bits) {
  expectResults("add.cc.u32 %d, %a, %b; addc.u32 %d, %c, 0;", "4:444", {{{0xffffffff, 1, 7}, 8}, {{1, 1, 7}, 7}});
  expectResults("sub.cc.u32 %d, %a, %b; subc.u32 %d, %c, 0;", "4:444", {{{0, 1, 7}, 6}, {{1, 1, 7}, 7}});
  expectResults("add.cc.u64 %d, %a, %b; addc.cc.u64 %d, %c, %e; addc.u64 %d, 0, 0;", "8:8888",
                {{{~0ull, 1, ~0ull, 0}, 1}, {{~0ull, 1, 5, 0}, 0}});
  expectResults("mad.lo.cc.u32 %d, %a, %b, %c; madc.hi.u32 %d, %a, %b, 0;", "4:444",
                {{{0xffffffff, 0xffffffff, 0xffffffff}, 0xffffffff}, {{2, 3, 4}, 0}});
  expectResults("mad.hi.cc.s32 %d, %a, %b, %c; addc.s32 %d, 0, 0;", "4:444", {{{0xffffffff, 2, 1}, 1}, {{4, 4, 5}, 0}});
}

TEST(SimulatorInteger, Products) {
  expectResults("mul.lo.s32 %d, %a, %b;", "4:44", {{{0x10001, 0x10001}, 0x20001}});
  expectResults("mul.hi.s32 %d, %a, %b;", "4:44",
                {{{0xffffffff, 2}, 0xffffffff}, {{0x80000000, 0x80000000}, 0x40000000}});
  expectResults("mul.hi.u32 %d, %a, %b;", "4:44", {{{0xffffffff, 2}, 1}});
  expectResults("mul.hi.u64 %d, %a, %b;", "8:88", {{{~0ull, ~0ull}, ~0ull - 1}});
  expectResults("mul.hi.s64 %d, %a, %b;", "8:88", {{{~0ull, ~0ull}, 0}});
  expectResults("mul.hi.u16 %d, %a, %b;", "2:22", {{{0xffff, 0xffff}, 0xfffe}});
  expectResults("mul.wide.u32 %d, %a, %b;", "8:44", {{{0xffffffff, 0xffffffff}, 0xfffffffe00000001}});
  expectResults("mul.wide.s32 %d, %a, %b;", "8:44", {{{0xffffffff, 3}, 0xfffffffffffffffd}});
  expectResults("mul.wide.s16 %d, %a, %b;", "4:22", {{{0xffff, 3}, 0xfffffffd}});
  expectResults("mad.lo.u16 %d, %a, %b, %c;", "2:222", {{{0xffff, 0xffff, 1}, 2}});
  expectResults("mad.wide.s32 %d, %a, %b, %c;", "8:448", {{{0xffffffff, 1, 5}, 4}});
  expectResults("mad.hi.sat.s32 %d, %a, %b, %c;", "4:444", {{{0x40000000, 8, 0x7fffffff}, 0x7fffffff}, {{1, 1, 3}, 3}});
  expectResults("mul24.lo.u32 %d, %a, %b;", "4:44", {{{0xff000002, 3}, 6}});
  expectResults("mul24.hi.s32 %d, %a, %b;", "4:44", {{{0x00ffffff, 0x00010000}, 0xffffffff}});
  expectResults("mad24.lo.s32 %d, %a, %b, %c;", "4:444", {{{0x00ffffff, 2, 5}, 3}});
}

TEST(SimulatorInteger, DivisionAndRemainder) {
  expectResults("div.s32 %d, %a, %b;", "4:44", {{{0xfffffff9, 2}, 0xfffffffd}, {{0x80000000, 0xffffffff}, 0x80000000}});
  expectResults("div.u64 %d, %a, %b;", "8:88", {{{~0ull, 10}, ~0ull / 10}});
  expectResults("rem.s32 %d, %a, %b;", "4:44", {{{0xfffffff9, 2}, 0xffffffff}, {{0x80000000, 0xffffffff}, 0}});
  expectResults("rem.u16 %d, %a, %b;", "2:22", {{{0xffff, 10}, 5}});
}

TEST(SimulatorInteger, AbsNegMinMaxSad) {
  expectResults("abs.s32 %d, %a;", "4:4", {{{0xffffffff}, 1}, {{0x80000000}, 0x80000000}});
  expectResults("neg.s16 %d, %a;", "2:2", {{{1}, 0xffff}});
  expectResults("min.s32 %d, %a, %b;", "4:44", {{{0xffffffff, 1}, 0xffffffff}});
  expectResults("max.u32 %d, %a, %b;", "4:44", {{{0xffffffff, 1}, 0xffffffff}});
  expectResults("min.s64 %d, %a, %b;", "8:88", {{{1ull << 63, 0}, 1ull << 63}});
  expectResults("max.relu.s32 %d, %a, %b;", "4:44", {{{0xffffffff, 0xfffffffe}, 0}, {{3, 4}, 4}}, "sm_90");
  expectResults("min.s16x2 %d, %a, %b;", "4:44", {{{0xffff0005, 0x00010002}, 0xffff0002}}, "sm_90");
  expectResults("sad.s32 %d, %a, %b, %c;", "4:444", {{{0xfffffffe, 3, 10}, 15}});
  expectResults("sad.u16 %d, %a, %b, %c;", "2:222", {{{1, 4, 0xffff}, 2}});
}

TEST(SimulatorInteger, BitCounts) {
  expectResults("popc.b32 %d, %a;", "4:4", {{{0}, 0}, {{0xffffffff}, 32}, {{0x80000001}, 2}});
  expectResults("popc.b64 %d, %a;", "4:8", {{{~0ull}, 64}});
  expectResults("clz.b32 %d, %a;", "4:4", {{{0}, 32}, {{1}, 31}, {{0x80000000}, 0}});
  expectResults("clz.b64 %d, %a;", "4:8", {{{0}, 64}, {{1}, 63}});
  expectResults("brev.b32 %d, %a;", "4:4", {{{1}, 0x80000000}, {{0x12345678}, 0x1e6a2c48}});
  expectResults("brev.b64 %d, %a;", "8:8", {{{1}, 1ull << 63}});
  expectResults("bfind.u32 %d, %a;", "4:4", {{{0}, 0xffffffff}, {{1}, 0}, {{0x80000000}, 31}});
  expectResults("bfind.s32 %d, %a;", "4:4", {{{0xffffffff}, 0xffffffff}, {{0xfffffffe}, 0}, {{0x40000000}, 30}});
  expectResults("bfind.shiftamt.u32 %d, %a;", "4:4", {{{1}, 31}, {{0x80000000}, 0}, {{0}, 0xffffffff}});
  expectResults("bfind.s64 %d, %a;", "4:8", {{{1ull << 40}, 40}});
  expectResults("fns.b32 %d, %a, %b, %c;", "4:444",
                {{{0xf0, 0, 1}, 4},
                 {{0xf0, 4, 2}, 5},
                 {{0xf0, 7, 0xffffffff}, 7},
                 {{0xf0, 4, 0}, 4},
                 {{0xf0, 0, 9}, 0xffffffff}});
}

TEST(SimulatorInteger, BitFields) {
  expectResults("bfe.u32 %d, %a, %b, %c;", "4:444",
                {{{0x12345678, 8, 8}, 0x56},
                 {{0xffffffff, 28, 16}, 0xf},
                 {{0xffffffff, 40, 4}, 0},
                 {{0xffffffff, 0, 0}, 0},
                 {{0xdeadbeef, 0, 32}, 0xdeadbeef}});
  expectResults("bfe.s32 %d, %a, %b, %c;", "4:444",
                {{{0x0000ff00, 8, 8}, 0xffffffff},
                 {{0x80000000, 28, 16}, 0xfffffff8},
                 {{0x80000000, 40, 4}, 0xffffffff},
                 {{0x80000000, 0, 0}, 0}});
  expectResults("bfe.u64 %d, %a, %b, %c;", "8:844", {{{0x123456789abcdef0, 32, 16}, 0x5678}});
  expectResults("bfe.s64 %d, %a, %b, %c;", "8:844", {{{0x00f0000000000000, 52, 4}, ~0ull}});
  expectResults("bfi.b32 %d, %a, %b, %c, %e;", "4:4444",
                {{{0xff, 0, 8, 4}, 0xf00},
                 {{0xff, 0x12345678, 40, 4}, 0x12345678},
                 {{0xabcd, 0xffffffff, 0, 0}, 0xffffffff},
                 {{0x55, 0xffffffff, 28, 8}, 0x5fffffff}});
  expectResults("bfi.b64 %d, %a, %b, %c, %e;", "8:8844", {{{0x3, 0, 62, 2}, 3ull << 62}});
  expectResults("szext.clamp.s32 %d, %a, %b;", "4:44", {{{0xff, 8}, 0xffffffff}, {{0xff, 40}, 0xff}, {{0xff, 0}, 0}});
  expectResults("szext.wrap.u32 %d, %a, %b;", "4:44", {{{0xfff, 40}, 0xff}});
  expectResults("bmsk.clamp.b32 %d, %a, %b;", "4:44", {{{4, 4}, 0xf0}, {{0, 40}, 0xffffffff}, {{33, 2}, 0}});
}

TEST(SimulatorInteger, LogicAndTables) {
  expectResults("and.b64 %d, %a, %b;", "8:88", {{{0xf0f0, 0xff00}, 0xf000}});
  expectResults("xor.b16 %d, %a, %b;", "2:22", {{{0xf0f0, 0xff00}, 0x0ff0}});
  expectResults("not.b32 %d, %a;", "4:4", {{{0}, 0xffffffff}});
  expectResults("cnot.b32 %d, %a;", "4:4", {{{0}, 1}, {{5}, 0}});
  expectResults("lop3.b32 %d, %a, %b, %c, 0x96;", "4:444", {{{0xf0, 0xcc, 0xaa}, 0x96}});
  expectResults("lop3.b32 %d, %a, %b, %c, 0xe8;", "4:444", {{{0xf0, 0xcc, 0xaa}, 0xe8}});
  auto both = evaluate("lop3.or.b32 %d|%q, %a, %b, %c, 0x80, %e;", "4p:444p",
                       {{0xf0, 0xcc, 0xaa, 0}, {1, 2, 4, 0}, {1, 2, 4, 1}}, "sm_80");
  EXPECT_EQ(both[0], (std::vector<uint64_t>{0x80, 1}));
  EXPECT_EQ(both[1], (std::vector<uint64_t>{0, 0}));
  EXPECT_EQ(both[2], (std::vector<uint64_t>{0, 1}));
  expectResults("and.pred %d, %a, %b;", "p:pp", {{{1, 1}, 1}, {{1, 0}, 0}});
  expectResults("not.pred %d, %a;", "p:p", {{{1}, 0}, {{0}, 1}});
}

TEST(SimulatorInteger, ShiftsClampAndWrap) {
  expectResults("shl.b32 %d, %a, %b;", "4:44", {{{1, 31}, 0x80000000}, {{1, 32}, 0}, {{1, 0xffffffff}, 0}});
  expectResults("shl.b16 %d, %a, %b;", "2:24", {{{0xffff, 8}, 0xff00}, {{0xffff, 16}, 0}});
  expectResults("shr.u32 %d, %a, %b;", "4:44", {{{0x80000000, 31}, 1}, {{0x80000000, 32}, 0}});
  expectResults("shr.s32 %d, %a, %b;", "4:44", {{{0x80000000, 31}, 0xffffffff}, {{0x80000000, 99}, 0xffffffff}});
  expectResults("shr.s64 %d, %a, %b;", "8:84", {{{1ull << 63, 63}, ~0ull}, {{1ull << 63, 64}, ~0ull}});
  expectResults("shf.l.wrap.b32 %d, %a, %b, %c;", "4:444",
                {{{0x80000000, 1, 1}, 3}, {{0x12345678, 0x9abcdef0, 32}, 0x9abcdef0}});
  expectResults("shf.l.clamp.b32 %d, %a, %b, %c;", "4:444",
                {{{0x12345678, 0x9abcdef0, 32}, 0x12345678}, {{0x12345678, 0x9abcdef0, 99}, 0x12345678}});
  expectResults("shf.r.wrap.b32 %d, %a, %b, %c;", "4:444", {{{2, 1, 1}, 0x80000001}});
  expectResults("shf.r.clamp.b32 %d, %a, %b, %c;", "4:444", {{{2, 7, 32}, 7}});
}

TEST(SimulatorInteger, BytePermutesAndDotProducts) {
  expectResults("prmt.b32 %d, %a, %b, %c;", "4:444",
                {{{0x33221100, 0x77665544, 0x7531}, 0x77553311},
                 {{0x80, 0, 0x8888}, 0xffffffff},
                 {{0x33221100, 0x77665544, 0x0123}, 0x00112233}});
  expectResults("prmt.b32.f4e %d, %a, %b, %c;", "4:444", {{{0x33221100, 0x77665544, 1}, 0x44332211}});
  expectResults("prmt.b32.b4e %d, %a, %b, %c;", "4:444", {{{0x33221100, 0x77665544, 1}, 0x66770011}});
  expectResults("prmt.b32.rc8 %d, %a, %b, %c;", "4:444", {{{0x33221100, 0x77665544, 2}, 0x22222222}});
  expectResults("prmt.b32.ecl %d, %a, %b, %c;", "4:444", {{{0x33221100, 0, 2}, 0x33222222}});
  expectResults("prmt.b32.ecr %d, %a, %b, %c;", "4:444", {{{0x33221100, 0, 2}, 0x22221100}});
  expectResults("prmt.b32.rc16 %d, %a, %b, %c;", "4:444", {{{0x33221100, 0, 1}, 0x33223322}});
  expectResults("dp4a.s32.s32 %d, %a, %b, %c;", "4:444", {{{0xff010203, 0x01010101, 10}, 15}});
  expectResults("dp4a.u32.u32 %d, %a, %b, %c;", "4:444", {{{0xff010203, 0x01010101, 10}, 271}});
  expectResults("dp4a.u32.s32 %d, %a, %b, %c;", "4:444", {{{0xff000000, 0xff000000, 0}, 0xffffff01}});
  expectResults("dp2a.lo.s32.s32 %d, %a, %b, %c;", "4:444", {{{0xffff0002, 0x04030201, 0}, 0}});
  expectResults("dp2a.hi.s32.s32 %d, %a, %b, %c;", "4:444", {{{0xffff0002, 0x04030201, 0}, 2}});
}
