// Shuffles, votes, matches, reductions, divergence and calls.
#include "tests/unit/simulator/Harness.h"

#include <fmt/format.h>

using namespace tessera::sim;
using namespace tessera::sim::test;

namespace {

/// Runs a kernel of `threads` whose body computes %r into out[tid]; %lane and %thread are set.
std::vector<uint32_t> perThread(const std::string &body, uint32_t threads = 32, const std::string &before = {},
                                std::string_view target = "sm_80", LaunchReport *result = nullptr) {
  Machine machine(target == "sm_80" ? "a100" : "h100");
  machine.load(header(target) + before + R"(
.visible .entry k(.param .u64 out)
{
  .reg .b64 %out, %o;
  .reg .b32 %r, %lane, %thread, %x<20>;
  .reg .pred %p<8>;
  ld.param.u64 %out, [out];
  mov.u32 %thread, %tid.x;
  mov.u32 %lane, %laneid;
  mul.wide.u32 %o, %thread, 4;
  add.u64 %out, %out, %o;
)" + body + "\n  st.global.u32 [%out], %r;\n  ret;\n}\n");
  uint64_t out = machine.upload(std::vector<uint32_t>(threads, 0xdead));
  LaunchReport report = machine.run({1, 1, 1}, {threads, 1, 1}, {out});
  if (result)
    *result = report;
  else
    expectClean(report);
  return machine.download<uint32_t>(out, threads);
}

} // namespace

TEST(SimulatorWarp, ShuffleModesAndSegments) {
  auto r = perThread("shfl.sync.bfly.b32 %r|%p1, %lane, 5, 0x1f, -1;");
  for (uint32_t i = 0; i < 32; ++i)
    EXPECT_EQ(r[i], i ^ 5);
  r = perThread("shfl.sync.up.b32 %r, %lane, 3, 0, 0xffffffff;");
  for (uint32_t i = 0; i < 32; ++i)
    EXPECT_EQ(r[i], i >= 3 ? i - 3 : i);
  r = perThread("shfl.sync.down.b32 %r|%p1, %lane, 3, 0x1f, -1; @!%p1 mov.u32 %r, 99;");
  for (uint32_t i = 0; i < 32; ++i)
    EXPECT_EQ(r[i], i + 3 < 32 ? i + 3 : 99);
  // Segments of 8 lanes: mask bits 4..3 of the lane stay.
  r = perThread("shfl.sync.idx.b32 %r, %lane, 2, 0x181f, -1;");
  for (uint32_t i = 0; i < 32; ++i)
    EXPECT_EQ(r[i], (i & 24) + 2);
  r = perThread("shfl.sync.down.b32 %r, %lane, 6, 0x181f, -1;");
  for (uint32_t i = 0; i < 32; ++i)
    EXPECT_EQ(r[i], (i & 7) + 6 < 8 ? i + 6 : i);
  r = perThread("mov.u32 %r, %lane; shfl.sync.bfly.b32 %r, %r, 1, 0x1f, -1;");
  EXPECT_EQ(r[4], 5u);
}

TEST(SimulatorWarp, VotesMatchesAndReductions) {
  auto r = perThread("setp.lt.u32 %p1, %lane, 7; vote.sync.ballot.b32 %r, %p1, -1;");
  EXPECT_EQ(r[31], 0x7fu);
  r = perThread("setp.lt.u32 %p1, %lane, 32; vote.sync.all.pred %p2, %p1, -1; vote.sync.any.pred %p3, !%p1, -1; "
                "selp.u32 %r, 1, 0, %p2; @%p3 mov.u32 %r, 5;");
  EXPECT_EQ(r[0], 1u);
  r = perThread("setp.eq.u32 %p1, %lane, 3; vote.sync.uni.pred %p2, %p1, -1; selp.u32 %r, 1, 0, %p2;");
  EXPECT_EQ(r[0], 0u);
  r = perThread("and.b32 %x1, %lane, 3; match.any.sync.b32 %r, %x1, -1;");
  EXPECT_EQ(r[5], 0x22222222u);
  r = perThread("mov.u32 %x1, 4; match.all.sync.b32 %r|%p1, %x1, -1; @!%p1 mov.u32 %r, 1;");
  EXPECT_EQ(r[0], 0xffffffffu);
  r = perThread("redux.sync.add.u32 %r, %lane, -1;");
  EXPECT_EQ(r[9], 496u);
  r = perThread("sub.u32 %x1, %lane, 16; redux.sync.min.s32 %r, %x1, -1;");
  EXPECT_EQ(r[9], 0xfffffff0u);
  r = perThread("redux.sync.xor.b32 %r, %lane, -1;");
  EXPECT_EQ(r[9], 0u);
  r = perThread("setp.lt.u32 %p1, %lane, 4; mov.u32 %r, 0; @%p1 activemask.b32 %r;");
  EXPECT_EQ(r[3], 0xfu);
  r = perThread("elect.sync %x1|%p1, -1; selp.u32 %r, 1, 0, %p1; redux.sync.add.u32 %r, %r, -1;", 32, {}, "sm_90");
  EXPECT_EQ(r[0], 1u);
}

TEST(SimulatorWarp, DivergentBranchesReconverge) {
  auto r = perThread(R"(
  mov.u32 %r, 0;
  mov.u32 %x1, %lane;
LOOP:                       // every lane its own trip count
  setp.eq.u32 %p1, %x1, 0;
  @%p1 bra DONE;
  add.u32 %r, %r, %x1;
  sub.u32 %x1, %x1, 1;
  and.b32 %x2, %x1, 1;
  setp.eq.u32 %p2, %x2, 0;
  @%p2 bra EVEN;
  add.u32 %r, %r, 100;
  bra.uni NEXT;
EVEN:
  add.u32 %r, %r, 1000;
NEXT:
  bra LOOP;
DONE:
  vote.sync.ballot.b32 %x3, %p1, -1;
  setp.ne.u32 %p3, %x3, -1;
  @%p3 mov.u32 %r, 1;)");
  for (uint32_t i = 0; i < 32; ++i) {
    uint32_t s = 0;
    for (uint32_t x = i; x; --x)
      s += x + ((x - 1) & 1 ? 100 : 1000);
    EXPECT_EQ(r[i], s) << i;
  }
}

TEST(SimulatorWarp, LanesSynchroniseAcrossDivergentPaths) {
  // Two halves meet at two different bar.warp.sync, as threads of sm_70 and later may.
  LaunchReport report;
  auto r = perThread(R"(
  setp.lt.u32 %p1, %lane, 16;
  mov.u64 %o, s;
  mul.wide.u32 %o, %lane, 4;
  mov.u32 %x5, s;
  mad.lo.u32 %x5, %lane, 4, %x5;
  @%p1 bra A;
  st.shared.u32 [%x5], %lane;
  bar.warp.sync -1;
  mov.u32 %r, 7;
  bra.uni END;
A:
  bar.warp.sync -1;
  ld.shared.u32 %r, [%x5+64];
END:)",
                     32, ".shared .b32 s[32];\n", "sm_80", &report);
  EXPECT_EQ(report.status, LaunchStatus::Success);
  for (uint32_t i = 0; i < 16; ++i)
    EXPECT_EQ(r[i], i + 16);
}

TEST(SimulatorWarp, PartialWarpsAndExitedLanes) {
  auto r = perThread("shfl.sync.bfly.b32 %r, %lane, 1, 0x1f, -1;", 20);
  EXPECT_EQ(r[18], 19u);
  r = perThread("setp.ge.u32 %p1, %lane, 24; mov.u32 %r, 1; st.global.u32 [%out], %r; @%p1 exit; vote.sync.ballot.b32 "
                "%r, !%p1, -1;");
  EXPECT_EQ(r[0], 0xffffffu);
  EXPECT_EQ(r[30], 1u);
}

TEST(SimulatorWarp, IndirectBranchesAndTables) {
  auto r = perThread(R"(
  and.b32 %x1, %lane, 3;
T: .branchtargets L0, L1, L2, L1;
  brx.idx %x1, T;
L0: mov.u32 %r, 10; bra.uni E;
L1: mov.u32 %r, 11; bra.uni E;
L2: mov.u32 %r, 12;
E:)");
  EXPECT_EQ(r[0], 10u);
  EXPECT_EQ(r[1], 11u);
  EXPECT_EQ(r[2], 12u);
  EXPECT_EQ(r[3], 11u);
}

TEST(SimulatorWarp, CallsWithParametersRegistersAndPointers) {
  std::string functions = R"(
.func (.param .b32 r) twice (.param .b32 x) { .reg .b32 %a; ld.param.b32 %a, [x]; shl.b32 %a, %a, 1; st.param.b32 [r], %a; ret; }
.func (.reg .b32 r) plus (.reg .b32 x, .reg .b32 y) { add.u32 r, x, y; ret; }
.func (.param .b32 r) count (.param .b32 x)   // recursive: x + (x - 1) + …
{
  .reg .b32 %a, %b; .reg .pred %p;
  .param .b32 arg; .param .b32 res;
  ld.param.b32 %a, [x];
  setp.eq.u32 %p, %a, 0;
  @%p bra Z;
  sub.u32 %b, %a, 1;
  st.param.b32 [arg], %b;
  call (res), count, (arg);
  ld.param.b32 %b, [res];
  add.u32 %a, %a, %b;
Z:
  st.param.b32 [r], %a;
  ret;
}
.global .u64 table[2] = {twice, count};
)";
  auto r = perThread(R"(
  { .param .b32 a; .param .b32 b;
  st.param.b32 [a], %lane;
  call.uni (b), twice, (a);
  ld.param.b32 %r, [b]; }
  call (%r), plus, (%r, 1000);
  setp.lt.u32 %p1, %lane, 5;
  { .param .b32 a2; .param .b32 b2;
  st.param.b32 [a2], %lane;
  mov.u32 %x1, 0;
  st.param.b32 [b2], %x1;
  @%p1 call (b2), count, (a2);
  ld.param.b32 %x1, [b2]; }
  add.u32 %r, %r, %x1;)",
                     32, functions);
  for (uint32_t i = 0; i < 32; ++i)
    EXPECT_EQ(r[i], 2 * i + 1000 + (i < 5 ? i * (i + 1) / 2 : 0)) << i;
  r = perThread(R"(
  .reg .b64 %f, %at;
  and.b32 %x1, %lane, 1;
  mul.wide.u32 %at, %x1, 8;
  mov.u64 %f, table;
  add.u64 %at, %at, %f;
  ld.global.u64 %f, [%at];
  P: .callprototype (.param .b32 _) _ (.param .b32 _);
  { .param .b32 a; .param .b32 b;
  st.param.b32 [a], %lane;
  call (b), %f, (a), P;
  ld.param.b32 %r, [b]; })",
                32, functions);
  for (uint32_t i = 0; i < 32; ++i)
    EXPECT_EQ(r[i], i & 1 ? i * (i + 1) / 2 : 2 * i) << i;
}

TEST(SimulatorWarp, SpecialRegistersAsOperands) {
  auto r = perThread("mad.lo.u32 %r, %ctaid.x, %ntid.x, %tid.x;", 64);
  EXPECT_EQ(r[63], 63u);
  r = perThread("mov.u32 %r, %lanemask_lt;");
  EXPECT_EQ(r[5], 31u);
  r = perThread("mov.u32 %x1, %nwarpid; mov.u32 %r, %warpid; mad.lo.u32 %r, %x1, 100, %r;", 96);
  EXPECT_EQ(r[64], 302u);
}
