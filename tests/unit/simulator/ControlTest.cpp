// Control flow, barriers, fences, special registers, functions with memory of their own.
#include "tests/unit/simulator/Harness.h"

#include <fmt/format.h>

using namespace tessera::sim;
using namespace tessera::sim::test;

namespace {

std::string kernel(const std::string &body, const std::string &before = {}, std::string_view target = "sm_80") {
  return header(target) + before + R"(
.visible .entry k(.param .u64 out)
{
  .reg .b64 %out, %o, %y<8>;
  .reg .b32 %r, %lane, %thread, %x<20>;
  .reg .b16 %h<4>;
  .reg .pred %p<8>;
  ld.param.u64 %out, [out];
  mov.u32 %thread, %tid.x;
  mov.u32 %lane, %laneid;
  mad.wide.u32 %out, %thread, 4, %out;
)" + body +
         "\n  st.global.u32 [%out], %r;\n  ret;\n}\n";
}

/// %r of every thread.
std::vector<uint32_t> run(const std::string &body, uint32_t threads = 32, const std::string &before = {},
                          std::string_view target = "sm_80", Dim3 grid = {1, 1, 1}, uint32_t shared = 0,
                          Dim3 block = {}) {
  Machine machine(target == "sm_80" ? "a100" : "h100");
  machine.load(kernel(body, before, target));
  uint64_t out = machine.upload(std::vector<uint32_t>(threads, 0xdead));
  expectClean(machine.run(grid, block.count() > 1 ? block : Dim3{threads, 1, 1}, {out}, shared));
  return machine.download<uint32_t>(out, threads);
}

LaunchReport report(const std::string &body, uint32_t threads = 32) {
  Machine machine;
  machine.load(kernel(body));
  uint64_t out = machine.upload(std::vector<uint32_t>(threads, 0));
  return machine.run({1, 1, 1}, {threads, 1, 1}, {out});
}

} // namespace

TEST(SimulatorControl, SpecialRegistersOfPlace) {
  struct {
    const char *name;
    uint32_t expected; ///< of thread 37: (5, 1, 1) of (8, 2, 4), block (2, 0, 0) of (3, 1, 1)
  } const registers[] = {{"%tid.x", 5},
                         {"%tid.y", 0},
                         {"%tid.z", 2},
                         {"%tid.w", 0},
                         {"%ntid.x", 8},
                         {"%ntid.y", 2},
                         {"%ntid.z", 4},
                         {"%ntid.w", 0},
                         {"%ctaid.x", 2},
                         {"%ctaid.y", 0},
                         {"%ctaid.z", 0},
                         {"%ctaid.w", 0},
                         {"%nctaid.x", 3},
                         {"%nctaid.y", 1},
                         {"%nctaid.z", 1},
                         {"%nctaid.w", 0},
                         {"%laneid", 5},
                         {"%warpid", 1},
                         {"%nwarpid", 2},
                         {"%lanemask_eq", 0x20},
                         {"%lanemask_le", 0x3f},
                         {"%lanemask_lt", 0x1f},
                         {"%lanemask_ge", 0xffffffe0},
                         {"%lanemask_gt", 0xffffffc0},
                         {"%nsmid", 108},
                         {"%dynamic_smem_size", 512},
                         {"%total_smem_size", 512},
                         {"%envreg0", 0},
                         {"%envreg31", 0},
                         {"%pm0", 0},
                         {"%pm7", 0},
                         {"%reserved_smem_offset_begin", 0},
                         {"%reserved_smem_offset_end", 0},
                         {"%reserved_smem_offset_cap", 0},
                         {"%reserved_smem_offset_0", 0},
                         {"%reserved_smem_offset_1", 0}};
  for (const auto &reg : registers) {
    Machine machine;
    machine.load(header() +
                 ".extern .shared .align 4 .b8 dyn[];\n.visible .entry k(.param .u64 out)\n{\n.reg .b64 %out; .reg "
                 ".b32 %r<8>; .reg .pred %p;\n"
                 "ld.param.u64 %out, [out]; mov.u32 %r1, %tid.x; mov.u32 %r2, %tid.z; mov.u32 %r3, %tid.y; mov.u32 "
                 "%r6, %ctaid.x;\n"
                 "mad.lo.u32 %r4, %r2, 16, %r1; mad.lo.u32 %r4, %r3, 8, %r4; mad.lo.u32 %r4, %r6, 64, %r4; setp.ne.u32 "
                 "%p, %r4, 165; @%p exit;\n"
                 "mov.u32 %r5, " +
                 std::string(reg.name) + "; mov.u32 %r7, dyn; st.global.u32 [%out], %r5; ret; }\n");
    uint64_t out = machine.upload(std::vector<uint32_t>{0xdead});
    expectClean(machine.run({3, 1, 1}, {8, 2, 4}, {out}, 512));
    EXPECT_EQ(machine.download<uint32_t>(out, 1)[0], reg.expected) << reg.name;
  }
  auto r = run("mov.u32 %x1, %smid; mov.u32 %x2, %nsmid; setp.lt.u32 %p1, %x1, %x2; selp.u32 %r, 1, 0, %p1;");
  EXPECT_EQ(r[0], 1u);
  r = run("mov.v4.u32 {%x1, %x2, %x3, %x4}, %tid; mad.lo.u32 %r, %x2, 100, %x1; mad.lo.u32 %r, %x3, 10000, %r; add.u32 "
          "%r, %r, %x4;");
  EXPECT_EQ(r[7], 7u);
  r = run("mov.v4.u32 {%x1, _, %x3, %x4}, %ntid; mov.u16 %h1, %tid.x; cvt.u32.u16 %x2, %h1; mad.lo.u32 %r, %x1, 1000, "
          "%x2;");
  EXPECT_EQ(r[31], 32031u);
  r = run("mov.u64 %y1, %gridid; mov.u32 %x1, %gridid; cvt.u32.u64 %x2, %y1; sub.u32 %r, %x1, %x2; mov.u64 %y2, "
          "%pm3_64; mov.u64 %y3, %current_graph_exec;");
  EXPECT_EQ(r[0], 0u);
  // Of clusters: a launch without them is one block each.
  r = run(
      "mov.u32 %r, %cluster_ctarank; mov.u32 %x1, %cluster_nctarank; mov.u32 %x2, %cluster_nctaid.x; mov.u32 %x3, "
      "%clusterid.x; mov.u32 %x4, %nclusterid.x;"
      "mov.u32 %x5, %cluster_ctaid.y; mov.pred %p1, %is_explicit_cluster; mad.lo.u32 %r, %x1, 10, %x2; mad.lo.u32 %r, "
      "%x4, 100, %r; add.u32 %r, %r, %x3; add.u32 %r, %r, %x5; @%p1 mov.u32 %r, 0; mov.u32 %x6, %aggr_smem_size;",
      32, {}, "sm_90");
  EXPECT_EQ(r[0], 111u);
}

TEST(SimulatorControl, ClocksGoForward) {
  auto r = run(R"(
  mov.u32 %x1, %clock; mov.u64 %y1, %clock64; mov.u64 %y2, %globaltimer; mov.u32 %x3, %clock_hi;
  mov.u32 %x4, %globaltimer_lo; mov.u32 %x5, %globaltimer_hi;
  mov.u32 %x9, 0;
LOOP:
  add.u32 %x9, %x9, 1; setp.lt.u32 %p1, %x9, 1000; @%p1 bra LOOP;
  mov.u32 %x2, %clock; mov.u64 %y3, %clock64; mov.u64 %y4, %globaltimer; mov.u32 %x6, %globaltimer_lo;
  setp.lt.u32 %p1, %x1, %x2; setp.lt.and.u64 %p1, %y1, %y3, %p1; setp.lt.and.u64 %p1, %y2, %y4, %p1; setp.eq.and.u32 %p1, %x3, 0, %p1;
  setp.lt.and.u32 %p1, %x4, %x6, %p1;
  selp.u32 %r, 1, 0, %p1;)");
  EXPECT_EQ(r[0], 1u);
}

TEST(SimulatorControl, EndsOfThreadsAndLaunches) {
  auto r = run("mov.u32 %r, 1; st.global.u32 [%out], %r; setp.lt.u32 %p1, %lane, 5; @%p1 exit; mov.u32 %r, 2;");
  EXPECT_EQ(r[4], 1u);
  EXPECT_EQ(r[5], 2u);
  r = run("mov.u32 %r, 1; st.global.u32 [%out], %r; setp.lt.u32 %p1, %lane, 5; @%p1 ret; mov.u32 %r, 2; brkpt; pmevent "
          "3; pmevent.mask 0x11;");
  EXPECT_EQ(r[4], 1u);
  EXPECT_EQ(r[5], 2u);
  EXPECT_EQ(report("mov.u32 %r, 0; setp.eq.u32 %p1, %lane, 7; @%p1 trap;").status, LaunchStatus::Trap);
  EXPECT_EQ(report("mov.u32 %r, 0; setp.eq.u32 %p1, %lane, 77; @%p1 trap;").status, LaunchStatus::Success);
  r = run("nanosleep.u32 100; mov.u32 %x1, 20; nanosleep.u32 %x1; mov.u32 %r, 3;");
  EXPECT_EQ(r[0], 3u);
}

TEST(SimulatorControl, NamedBarriersWithCountsAndReductions) {
  // Two halves of the block reduce over barriers of their own.
  for (const char *name : {"bar.red", "bar.cta.red", "barrier.red", "barrier.cta.red"}) {
    std::string aligned = std::string(name).starts_with("barrier") ? ".aligned" : "";
    auto r = run(fmt::format(R"(
  shr.u32 %x1, %thread, 6;                // half
  add.u32 %x2, %x1, 3;                    // barrier 3 or 4
  setp.lt.u32 %p1, %lane, 10;
  {0}.popc{1}.u32 %x3, %x2, 64, %p1;
  {0}.popc{1}.u32 %x4, 0, !%p1;
  setp.lt.u32 %p2, %thread, 64;
  {0}.and{1}.pred %p3, %x2, 64, %p2;
  {0}.or{1}.pred %p4, 5, 128, %p2;
  {0}.or{1}.pred %p5, %x2, 64, !%p2;
  mad.lo.u32 %r, %x3, 1000, %x4;
  @%p3 add.u32 %r, %r, 100000; @%p4 add.u32 %r, %r, 1000000; @%p5 add.u32 %r, %r, 10000000;)",
                             name, aligned),
                 128);
    for (uint32_t i = 0; i < 128; ++i)
      EXPECT_EQ(r[i], 20u * 1000 + 88 + (i < 64 ? 100000 : 10000000) + 1000000) << name << i;
  }
}

TEST(SimulatorControl, BarriersSynchroniseInEveryForm) {
  for (const char *form : {"bar.sync 0;", "bar.cta.sync 0;", "barrier.sync 0;", "barrier.sync.aligned 0;",
                           "barrier.cta.sync.aligned 15, 128;", "bar.sync %x9;", "bar.sync %x9, %x8;",
                           "barrier.sync %x9, 128;", "bar.sync 1, 128;"}) {
    auto r = run(std::string("mov.u32 %x9, 7; mov.u32 %x8, 128; mov.u32 %x1, s; mad.lo.u32 %x2, %thread, 4, %x1; "
                             "st.shared.u32 [%x2], %thread;") +
                     form + "xor.b32 %x3, %thread, 127; mad.lo.u32 %x3, %x3, 4, %x1; ld.shared.u32 %r, [%x3];",
                 128, ".shared .b32 s[128];\n");
    EXPECT_EQ(r[1], 126u) << form;
  }
  // The unaligned form in divergent code: every thread arrives on its own way.
  auto r = run("mov.u32 %x1, s; mad.lo.u32 %x2, %thread, 4, %x1; st.shared.u32 [%x2], %thread; and.b32 %x4, %lane, 1; "
               "setp.eq.u32 %p1, %x4, 0;\n"
               "@%p1 bra EVEN;\n barrier.sync 2;\n bra.uni JOIN;\nEVEN:\n barrier.sync 2;\nJOIN:\n"
               "xor.b32 %x3, %thread, 63; mad.lo.u32 %x3, %x3, 4, %x1; ld.shared.u32 %r, [%x3];",
               64, ".shared .b32 s[64];\n");
  EXPECT_EQ(r[1], 62u);
  // Producers arrive and go on; consumers wait.
  for (const char *arrive : {"bar.arrive 5, 64;", "bar.cta.arrive 5, 64;", "barrier.arrive.aligned 5, 64;",
                             "barrier.cta.arrive 5, 64;", "barrier.arrive %x8, %x9;"}) {
    r = run(std::string("mov.u32 %x8, 5; mov.u32 %x9, 64; mov.u32 %x1, s; mad.lo.u32 %x2, %lane, 4, %x1; mov.u32 %r, "
                        "9; setp.ge.u32 %p1, %thread, 32;\n@%p1 bra C;\n"
                        "st.shared.u32 [%x2], %thread;") +
                arrive + "\nbra.uni E;\nC:\nbar.sync 5, 64;\nld.shared.u32 %r, [%x2];\nE:",
            64, ".shared .b32 s[32];\n");
    EXPECT_EQ(r[40], 8u) << arrive;
    EXPECT_EQ(r[4], 9u) << arrive;
  }
  r = run("mov.u32 %x1, s; mad.lo.u32 %x2, %lane, 4, %x1; st.shared.u32 [%x2], %lane; bar.warp.sync 0xffffffff; "
          "xor.b32 %x3, %lane, 3; mad.lo.u32 %x3, %x3, 4, %x1; ld.shared.u32 %r, [%x3];",
          32, ".shared .b32 s[32];\n");
  EXPECT_EQ(r[1], 2u);
}

TEST(SimulatorControl, FencesOfEveryOrderAndScope) {
  std::string all;
  for (const char *order : {"", ".sc", ".acq_rel", ".acquire", ".release"})
    for (const char *scope : {".cta", ".gpu", ".sys"})
      all += fmt::format("fence{}{};\n", order, scope);
  for (const char *text : {"membar.cta;", "membar.gl;", "membar.sys;", "membar.proxy.alias;", "fence.proxy.alias;"})
    all += text;
  EXPECT_EQ(run(all + "mov.u32 %r, 4;")[0], 4u);
  EXPECT_EQ(run("fence.sc.cluster; fence.proxy.async; fence.proxy.async.shared::cta; "
                "fence.mbarrier_init.release.cluster; mov.u32 %r, 4;",
                32, {}, "sm_90")[0],
            4u);
}

TEST(SimulatorControl, LoopsWithUniformAndDivergentBranches) {
  auto r = run(R"(
  mov.u32 %r, 0; mov.u32 %x1, 0;
OUTER:
  mov.u32 %x2, 0;
INNER:
  add.u32 %r, %r, 1; add.u32 %x2, %x2, 1;
  setp.le.u32 %p1, %x2, %lane;
  @%p1 bra INNER;
  add.u32 %x1, %x1, 1; setp.lt.u32 %p2, %x1, 3;
  @%p2 bra.uni OUTER;
  and.b32 %x3, %lane, 3;
TABLE: .branchtargets A, B, C, B;
  brx.idx %x3, TABLE;
A: add.u32 %r, %r, 1000; bra.uni END;
B: add.u32 %r, %r, 2000; bra END;
C: add.u32 %r, %r, 3000;
END:)");
  for (uint32_t i = 0; i < 32; ++i)
    EXPECT_EQ(r[i], 3 * (i + 1) + 1000 * (i % 4 == 0 ? 1 : i % 4 == 2 ? 3 : 2)) << i;
  r = run("mov.u32 %x1, 1;\nT: .branchtargets L0, L1;\nbrx.idx.uni %x1, T;\nL0: mov.u32 %r, 5; bra.uni E;\nL1: mov.u32 "
          "%r, 6;\nE:");
  EXPECT_EQ(r[31], 6u);
}

TEST(SimulatorControl, FunctionsWithStructsPointersAndMemoryOfTheirOwn) {
  // A struct by value, an array in local memory behind a generic pointer, a shared static of a function, recursion.
  std::string functions = R"(
.const .align 4 .b32 weights[4] = {1, 10, 100, 1000};
.global .align 8 .u64 table[2] = {first, second};
.func (.param .align 8 .b8 ret[16]) swap(.param .align 8 .b8 in[16])
{
  .reg .b64 %a<3>;
  ld.param.v2.b64 {%a1, %a2}, [in];
  st.param.b64 [ret], %a2; st.param.b64 [ret+8], %a1;
  ret;
}
.func (.param .b32 r) dot(.param .b64 p)
{
  .reg .b64 %p; .reg .b32 %v<5>, %w<5>, %s;
  ld.param.b64 %p, [p];
  ld.v4.u32 {%v1, %v2, %v3, %v4}, [%p];
  ld.const.v4.u32 {%w1, %w2, %w3, %w4}, [weights];
  mul.lo.u32 %s, %v1, %w1; mad.lo.u32 %s, %v2, %w2, %s; mad.lo.u32 %s, %v3, %w3, %s; mad.lo.u32 %s, %v4, %w4, %s;
  st.param.b32 [r], %s;
  ret;
}
.func (.reg .b32 r) keep(.reg .b32 thread, .reg .b32 value)
{
  .shared .align 4 .b32 slots[32];
  .reg .b32 %at;
  mov.u32 %at, slots; mad.lo.u32 %at, thread, 4, %at;
  st.shared.b32 [%at], value; ld.shared.b32 r, [%at]; add.u32 r, r, 1;
  ret;
}
.func (.param .b32 r) factorial(.param .b32 n)
{
  .local .align 4 .b32 frame[2]; .reg .b32 %n, %m; .reg .pred %p;
  ld.param.b32 %n, [n];
  st.local.b32 [frame], %n;
  setp.le.u32 %p, %n, 1;
  mov.u32 %m, 1;
  @%p bra DONE;
  { .param .b32 a; .param .b32 b;
    sub.u32 %m, %n, 1; st.param.b32 [a], %m;
    call.uni (b), factorial, (a);
    ld.param.b32 %m, [b]; }
  ld.local.b32 %n, [frame];       // its own frame is untouched by the deeper calls
  mul.lo.u32 %m, %m, %n;
DONE:
  st.param.b32 [r], %m;
  ret;
}
.func (.param .b32 r) first(.param .b32 n) { .reg .b32 %n; ld.param.b32 %n, [n]; add.u32 %n, %n, 100; st.param.b32 [r], %n; ret; }
.func (.param .b32 r) second(.param .b32 n) { .reg .b32 %n; ld.param.b32 %n, [n]; mul.lo.u32 %n, %n, 2; st.param.b32 [r], %n; ret.uni; }
)";
  auto r = run(R"(
  { .param .align 8 .b8 a[16]; .param .align 8 .b8 b[16];
    cvt.u64.u32 %y1, %lane; mov.u64 %y2, 77;
    st.param.v2.b64 [a], {%y1, %y2};
    call (b), swap, (a);
    ld.param.b64 %y3, [b]; ld.param.b64 %y4, [b+8]; }
  cvt.u32.u64 %x1, %y3; cvt.u32.u64 %x2, %y4; mad.lo.u32 %r, %x1, 1000, %x2;)",
               32, functions);
  EXPECT_EQ(r[9], 77009u);
  r = run(R"(
  .local .align 16 .b32 array[4];
  mov.u32 %x1, 1; st.local.v4.b32 [array], {%lane, %x1, %lane, %x1};
  mov.u64 %y1, array; cvta.local.u64 %y1, %y1;
  { .param .b64 p; .param .b32 s; st.param.b64 [p], %y1; call (s), dot, (p); ld.param.b32 %r, [s]; })",
          32, functions);
  for (uint32_t i = 0; i < 32; ++i)
    EXPECT_EQ(r[i], i * 101 + 1010);
  r = run("call (%r), keep, (%lane, 41); ", 32, functions);
  EXPECT_EQ(r[31], 42u);
  r = run("and.b32 %x1, %lane, 7; { .param .b32 a; .param .b32 b; st.param.b32 [a], %x1; call (b), factorial, (a); "
          "ld.param.b32 %r, [b]; }",
          32, functions);
  EXPECT_EQ(r[7], 5040u);
  EXPECT_EQ(r[8], 1u);
  // Indirect, per lane and through a list of targets.
  for (const char *prototype :
       {"P: .callprototype (.param .b32 _) _ (.param .b32 _);", "P: .calltargets first, second;"}) {
    r = run(fmt::format(R"(
  and.b32 %x1, %lane, 1; mul.wide.u32 %y1, %x1, 8; mov.u64 %y2, table; add.u64 %y2, %y2, %y1; ld.global.u64 %y3, [%y2];
  {}
  {{ .param .b32 a; .param .b32 b; st.param.b32 [a], %lane; call (b), %y3, (a), P; ld.param.b32 %r, [b]; }})",
                        prototype),
            32, functions);
    for (uint32_t i = 0; i < 32; ++i)
      EXPECT_EQ(r[i], i & 1 ? 2 * i : i + 100) << i;
  }
}

TEST(SimulatorControl, ReductionsAndMatchesOfEveryKind) {
  struct {
    const char *text;
    uint32_t expected;
  } const reductions[] = {{"redux.sync.add.u32 %r, %x1, -1;", 32 * 31 / 2 * 3},
                          {"redux.sync.add.s32 %r, %x1, -1;", 32 * 31 / 2 * 3},
                          {"redux.sync.min.u32 %r, %x2, -1;", 0},
                          {"redux.sync.max.u32 %r, %x2, -1;", 0xffffffff},
                          {"redux.sync.min.s32 %r, %x2, -1;", 0xfffffff1},
                          {"redux.sync.max.s32 %r, %x2, -1;", 16},
                          {"redux.sync.and.b32 %r, %x3, -1;", 0x100},
                          {"redux.sync.or.b32 %r, %x3, -1;", 0x11f},
                          {"redux.sync.xor.b32 %r, %x3, -1;", 0}};
  for (const auto &reduction : reductions) {
    auto r =
        run(std::string("mul.lo.u32 %x1, %lane, 3; sub.u32 %x2, 16, %lane; or.b32 %x3, %lane, 256;") + reduction.text);
    EXPECT_EQ(r[13], reduction.expected) << reduction.text;
  }
  // Part of the warp, with a mask of its own.
  auto r = run("mov.u32 %r, 0; setp.ge.u32 %p1, %lane, 28; @%p1 redux.sync.add.u32 %r, %lane, 0xf0000000;");
  EXPECT_EQ(r[30], 28u + 29 + 30 + 31);
  EXPECT_EQ(r[3], 0u);
  r = run("shr.u32 %x1, %lane, 4; cvt.u64.u32 %y1, %x1; shl.b64 %y1, %y1, 40; match.any.sync.b64 %r, %y1, -1;");
  EXPECT_EQ(r[20], 0xffff0000u);
  r = run("shr.u32 %x1, %lane, 4; cvt.u64.u32 %y1, %x1; match.all.sync.b64 %r|%p1, %y1, -1; @%p1 mov.u32 %r, 7;");
  EXPECT_EQ(r[20], 0u);
  r = run("mov.u64 %y1, 5; match.all.sync.b64 %x1|%p1, %y1, -1; selp.u32 %r, %x1, 3, %p1;");
  EXPECT_EQ(r[0], 0xffffffffu);
  r = run("match.all.sync.b32 _|%p1, %lane, -1; selp.u32 %r, 1, 0, %p1;");
  EXPECT_EQ(r[0], 0u);
  r = run("setp.lt.u32 %p1, %lane, 9; vote.sync.any.pred %p2, %p1, -1; vote.sync.all.pred %p3, %p1, -1; "
          "vote.sync.uni.pred %p4, %p2, -1; vote.sync.ballot.b32 %x1, !%p1, -1;"
          "selp.u32 %r, 1, 0, %p2; @%p3 add.u32 %r, %r, 10; @%p4 add.u32 %r, %r, 100; xor.b32 %r, %r, %x1;");
  EXPECT_EQ(r[0], (0xffffffffu << 9) ^ 101u);
  r = run("mov.u32 %r, 0; setp.gt.u32 %p1, %lane, 20; @%p1 activemask.b32 %r;");
  EXPECT_EQ(r[25], 0xffffffffu << 21);
}
