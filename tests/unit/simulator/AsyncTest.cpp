// Asynchronous copies: every operand, groups, arrivals at mbarriers, the moment at which copies take effect, and every
// hazard, by correct kernels with one line changed.
#include "tests/unit/simulator/AsyncHarness.h"

#include <set>

using namespace tessera::sim;
using namespace tessera::sim::test;

namespace {

class Async : public AsyncKernel {
protected:
  /// As expectFinding, and the other party is a copy.
  void expectHazard(const std::string &body, uint32_t threads, FindingKind kind, std::string_view part) {
    Finding f = expectFinding(body, threads, kind, part);
    EXPECT_GT(f.otherLine, 0u) << f.text;
    EXPECT_EQ(f.otherInstruction.substr(0, 8), "cp.async") << f.text;
    EXPECT_NE(f.text.find(f.otherInstruction), std::string::npos) << f.text;
  }
};

/// Three stages of 512 bytes: each of 128 threads copies a word per round, waits for the oldest, and adds the word of
/// the thread opposite.
constexpr const char *stages = R"(
  mov.u32 %x1, 0; mov.u32 %x7, 0; mov.u32 %x9, 127; sub.u32 %x9, %x9, %thread; // round, sum, partner
  mad.lo.u32 %x2, %thread, 4, %x38; mad.lo.u32 %x8, %x9, 4, %x38;
  cp.async.ca.shared.global [%x2], [%from], 4;       // round 0
  cp.async.commit_group;                             // of round 0
  cp.async.ca.shared.global [%x2+512], [%from+512], 4;
  cp.async.commit_group;                             // of round 1
  mov.u64 %y1, %from;
ROUND:
  cp.async.wait_group 1;
  bar.sync 0;                                        // data of all threads
  rem.u32 %x3, %x1, 3; mad.lo.u32 %x4, %x3, 512, %x8; ld.shared.u32 %x5, [%x4]; add.u32 %x7, %x7, %x5;
  bar.sync 0;                                        // all have read
  add.u32 %x3, %x1, 2; setp.lt.u32 %p2, %x3, 7;
  rem.u32 %x3, %x3, 3; mad.lo.u32 %x4, %x3, 512, %x2;
  @%p2 cp.async.ca.shared.global [%x4], [%y1+1024], 4; // round + 2
  cp.async.commit_group;                             // of the round
  add.u64 %y1, %y1, 512;
  add.u32 %x1, %x1, 1; setp.lt.u32 %p3, %x1, 7; @%p3 bra ROUND;
  st.global.u32 [%to], %x7;
)";
uint32_t stagesSum(uint32_t thread) { return 7 * (127 - thread) + 128 * 21; }

/// Warp 0 copies rounds of 128 words for warps 1 to 3 into two stages; full barriers at bar, empty ones at bar+16.
constexpr const char *tracked = R"(
  setp.eq.u32 %p1, %thread, 0;
  @%p1 mbarrier.init.shared.b64 [bar], 32; @%p1 mbarrier.init.shared.b64 [bar+8], 32;
  @%p1 mbarrier.init.shared.b64 [bar+16], 96; @%p1 mbarrier.init.shared.b64 [bar+24], 96;
  bar.sync 0;
  mov.u32 %x1, 0; mov.u32 %x7, 0; mul.wide.u32 %y1, %lane, 16; add.u64 %y1, %in, %y1;
ROUND:
  and.b32 %x2, %x1, 1; mad.lo.u32 %x3, %x2, 8, %x39; mad.lo.u32 %x6, %x2, 512, %x38;
  shr.u32 %x4, %x1, 1; and.b32 %x4, %x4, 1; xor.b32 %x5, %x4, 1;
  setp.ne.u32 %p2, %warp, 0; @%p2 bra CONSUME;
EMPTY:
  mbarrier.test_wait.parity.shared.b64 %done, [%x3+16], %x5;
  @!%done bra EMPTY;
  mad.lo.u32 %x8, %lane, 16, %x6; cp.async.cg.shared.global [%x8], [%y1], 16;
  cp.async.mbarrier.arrive.noinc.shared.b64 [%x3]; // full
  add.u64 %y1, %y1, 512; bra NEXT;
CONSUME:
  mbarrier.test_wait.parity.shared.b64 %done, [%x3], %x4;
  @!%done bra CONSUME;
  mad.lo.u32 %x8, %thread, 4, %x6; ld.shared.u32 %x9, [%x8]; add.u32 %x7, %x7, %x9;
  mbarrier.arrive.shared.b64 _, [%x3+16]; // empty
NEXT:
  add.u32 %x1, %x1, 1; setp.lt.u32 %p3, %x1, 6; @%p3 bra ROUND;
  st.global.u32 [%to], %x7;
)";
uint32_t trackedSum(uint32_t thread) { return thread < 32 ? 0 : 6 * thread + 128 * 15; }

/// All threads copy for each other around one barrier that counts threads.
constexpr const char *together = R"(
  setp.eq.u32 %p1, %thread, 0; @%p1 mbarrier.init.shared.b64 [bar], 64; bar.sync 0;
  mad.lo.u32 %x1, %thread, 4, %x38; cp.async.ca.shared.global [%x1], [%from], 4;
  cp.async.ca.shared.global [%x1+512], [%from+512], 4;
  cp.async.mbarrier.arrive.shared.b64 [bar];
  mbarrier.arrive.shared.b64 %state, [bar];
WAIT:
  mbarrier.test_wait.shared.b64 %done, [bar], %state; @!%done bra WAIT;
  sub.u32 %x2, 63, %thread; mad.lo.u32 %x2, %x2, 4, %x38; ld.shared.u32 %x3, [%x2]; ld.shared.u32 %x4, [%x2+512];
  add.u32 %x3, %x3, %x4; st.global.u32 [%to], %x3;
)";

std::string copyWord(const char *rest = "") {
  return "mad.lo.u32 %x1, %thread, 4, %x38; cp.async.ca.shared.global [%x1], [%from], 4; " + std::string(rest);
}

} // namespace

TEST_F(Async, EveryOperandIsAcceptedWhereTheAssemblerAcceptsIt) {
  for (const char *text :
       {"cp.async.ca.shared.global [smem], [%d1], 4;", "cp.async.cg.shared::cta.global [smem], [%d1], 16;",
        "cp.async.ca.shared.global.L2::128B [smem], [%d1], 8, 4;",
        "cp.async.ca.shared.global.L2::cache_hint.L2::256B [smem], [%d1], 8, %r2, %d2;",
        "cp.async.ca.shared.global.L2::cache_hint [smem], [%d1], 8, %d2;",
        "cp.async.ca.shared.global [smem], [%d1], 8, %p1;", "cp.async.ca.shared.global.L2::64B [smem], [%d1], 8, !%p1;",
        "cp.async.ca.shared.global.L2::cache_hint [smem], [%d1], 8, %p1, %d2;",
        "cp.async.cg.shared.global [%d3], [%d1], 16;", "cp.async.cg.shared.global [%d1], [%d1+64], 16, 0;",
        "cp.async.wait_group 70;", "cp.async.wait_all;", "cp.async.commit_group;",
        "cp.async.mbarrier.arrive.shared.b64 [smem];", "cp.async.mbarrier.arrive.noinc.shared.b64 [smem];",
        "cp.async.mbarrier.arrive.noinc.shared::cta.b64 [%r1];", "cp.async.mbarrier.arrive.noinc.b64 [%d3];",
        "cp.async.mbarrier.arrive.b64 [%d3];"})
    EXPECT_EQ(instructionError(text), "") << text;
}

TEST_F(Async, MalformedCopiesAreRefused) {
  for (const char *text :
       {"cp.async.ca.global.shared [%d1], [smem], 16;", "cp.async.ca.shared.global [smem], [%d1], %r2;",
        "cp.async.ca.shared.global [smem], [%d1], 8, %p1, %d2;",
        "cp.async.ca.shared.global.L1::evict_last [smem], [%d1], 16;",
        "cp.async.cg.shared.global [smem], [%d1], 16, 17;", "cp.async.cg.shared.global [smem], [%d1], 8;",
        "cp.async.cg.shared::cluster.global [smem], [%d1], 16;", "cp.async.ca.shared.global [smem], [%d1], 12;",
        "cp.async.shared.global [smem], [%d1], 16;", "cp.async.ca.shared.global.L2::cache_hint [smem], [%d1], 8;",
        "cp.async.wait_group %r2;", "cp.async.wait_group;", "cp.async.mbarrier.arrive.noinc.shared.b64 %d4, [smem];",
        "cp.async.mbarrier.arrive.global.b64 [%d1];", "cp.async.mbarrier.arrive [smem];",
        "cp.async.mbarrier.shared.b64 [smem];", "cp.async.bulk.commit_group;"})
    EXPECT_NE(instructionError(text), "") << text;
  EXPECT_NE(instructionError("cp.async.ca.shared.global [smem], [%d1], 4;", "sm_75").find("sm_80"), std::string::npos);
}

TEST_F(Async, SizesSourceSizesAndIgnoredSources) {
  // Each form writes 16 bytes of s that start as ones; thread 0 then stores them all.
  struct {
    const char *copy;
    std::vector<uint32_t> words;
  } cases[] = {
      {"cp.async.ca.shared.global [s], [%y1], 4;", {4, ~0u, ~0u, ~0u}},
      {"cp.async.ca.shared.global.L2::64B [s+4], [%y1+8], 4;", {~0u, 6, ~0u, ~0u}},
      {"cp.async.ca.shared::cta.global.L2::128B [s], [%y1], 8;", {4, 5, ~0u, ~0u}},
      {"cp.async.ca.shared.global.L2::256B [s], [%y1], 16;", {4, 5, 6, 7}},
      {"cp.async.cg.shared.global [s], [%y1], 16;", {4, 5, 6, 7}},
      {"cp.async.cg.shared.global [%y5], [%y1+16], 16;", {8, 9, 10, 11}},
      {"cp.async.ca.shared.global [s], [%y1], 4, 0;", {0, ~0u, ~0u, ~0u}},
      {"cp.async.ca.shared.global [s], [%y1], 8, 4;", {4, 0, ~0u, ~0u}},
      {"cp.async.ca.shared.global [s], [%y1], 8, 3;", {4, 0, ~0u, ~0u}},
      {"cp.async.cg.shared.global [s], [%y1], 16, 12;", {4, 5, 6, 0}},
      {"cp.async.cg.shared.global [s], [%y1], 16, %x6;", {4, 5 & 0xff, 0, 0}},
      {"cp.async.cg.shared.global [s], [%y2], 16, 0;", {0, 0, 0, 0}}, // nothing is read, so any address will do
      {"cp.async.cg.shared.global [s], [%y2], 16, %p4;", {0, 0, 0, 0}},
      {"cp.async.cg.shared.global [s], [%y1], 16, !%p4;", {4, 5, 6, 7}},
      {"cp.async.ca.shared.global [s], [%y1], 8, %p5;", {4, 5, ~0u, ~0u}},
      {"cp.async.ca.shared.global [s+8], [%y1], 8, !%p5;", {~0u, ~0u, 0, 0}},
      {"cp.async.cg.shared.global.L2::cache_hint [s], [%y1], 16, %y6;", {4, 5, 6, 7}},
      {"cp.async.cg.shared.global.L2::cache_hint.L2::128B [s], [%y1], 16, %x6, %y6;", {4, 5, 0, 0}},
      {"cp.async.ca.shared.global.L2::cache_hint [s], [%y1], 4, %p5, %y6;", {4, ~0u, ~0u, ~0u}}};
  for (auto &[copy, words] : cases)
    expectResult(R"(
      setp.ne.u32 %p1, %thread, 0; @%p1 bra END;
      mov.u32 %x1, -1; st.shared.v4.u32 [s], {%x1, %x1, %x1, %x1};
      add.u64 %y1, %in, 16; mov.u64 %y2, 64; mov.u64 %y5, s; mov.u32 %x6, 5;
      setp.eq.u32 %p4, %thread, 0; setp.ne.u32 %p5, %thread, 0; createpolicy.fractional.L2::evict_first.b64 %y6, 1.0;
      )" + std::string(copy) +
                     R"(
      cp.async.wait_all;
      ld.shared.v4.u32 {%x2, %x3, %x4, %x5}, [s]; st.global.v4.u32 [%out], {%x2, %x3, %x4, %x5};
    END:)",
                 4, [&](uint32_t i) { return words[i]; });
}

TEST_F(Async, BadAddressesAndSizesStopTheKernel) {
  expectFinding("cp.async.cg.shared.global [s+8], [%in], 16;", 1, FindingKind::Misaligned, "multiple of 16");
  expectFinding("cp.async.ca.shared.global [s], [%in+4], 8;", 1, FindingKind::Misaligned, "asynchronous read");
  expectFinding("mov.u32 %x1, 65536; cp.async.ca.shared.global [%x1], [%in], 8;", 1, FindingKind::OutOfBounds,
                "asynchronous write");
  expectFinding("cp.async.cg.shared.global [s], [%in+4096], 16;", 1, FindingKind::OutOfBounds, "asynchronous read");
  expectFinding("mov.u32 %x1, 17; cp.async.cg.shared.global [s], [%in], 16, %x1;", 1, FindingKind::Unsupported,
                "source size 17");
  expectFinding("cp.async.cg.shared.global [s], [%in], 16, %x1;", 1, FindingKind::UninitialisedRead, "a size");
  // The part that is not read may lie outside.
  expectResult("cp.async.cg.shared.global [s], [%in+4080], 16, 4; cp.async.wait_all; ld.shared.u32 %x1, [s]; "
               "st.global.u32 [%to], %x1;",
               1, [](uint32_t) { return 1020u; });
}

TEST_F(Async, CopiesTakeEffectWhenTheScheduleSays) {
  options.checks = false;
  std::string early = copyWord("cp.async.commit_group; ld.shared.u32 %x2, [%x1]; cp.async.wait_group 0; "
                               "ld.shared.u32 %x3, [%x1]; mad.lo.u32 %x2, %x2, 1000, %x3; st.global.u32 [%to], %x2;");
  EXPECT_EQ(run(early, 32).status, LaunchStatus::Success);
  EXPECT_EQ(result[7], 7u);
  options.schedule = Schedule::Eager;
  run(early, 32);
  EXPECT_EQ(result[7], 7007u);
  options.schedule = Schedule::Random;
  std::set<uint32_t> seen;
  for (options.seed = 0; options.seed < 200; ++options.seed) {
    run(copyWord("cp.async.commit_group; cp.async.ca.shared.global [%x1+512], [%from], 4; cp.async.commit_group; "
                 "ld.shared.u32 %x2, [%x1]; ld.shared.u32 %x4, [%x1+512]; cp.async.wait_group 0; "
                 "ld.shared.u32 %x3, [%x1]; mad.lo.u32 %x2, %x2, 1000, %x3; mad.lo.u32 %x2, %x4, 1000000, %x2; "
                 "st.global.u32 [%to], %x2;"),
        32);
    seen.insert(result[7]);
  }
  EXPECT_EQ(seen, (std::set<uint32_t>{7, 7007, 7000007, 7007007})); // either may have come first
}

TEST_F(Async, ArrivalsTakeEffectWhenTheScheduleSays) {
  // The state of the next arrival tells how many are pending: the copy's own has taken effect or not.
  std::string kernel = R"(
    setp.ne.u32 %p1, %thread, 0; @%p1 bra END;
    mbarrier.init.shared.b64 [bar], 2; cp.async.ca.shared.global [s], [%in], 4;
    cp.async.mbarrier.arrive.noinc.shared.b64 [bar];
    mbarrier.arrive.shared.b64 %state, [bar]; mbarrier.pending_count.b64 %x1, %state;
  WAIT: mbarrier.test_wait.parity.shared.b64 %done, [bar], 0; @!%done bra WAIT;
    st.global.u32 [%to], %x1;
  END:)";
  expectClean(run(kernel, 32));
  EXPECT_EQ(result[0], 2u);
  options.schedule = Schedule::Eager;
  expectClean(run(kernel, 32));
  EXPECT_EQ(result[0], 1u);
  options.schedule = Schedule::Random;
  std::set<uint32_t> seen;
  for (options.seed = 0; options.seed < 100; ++options.seed) {
    expectClean(run(kernel, 32));
    seen.insert(result[0]);
  }
  EXPECT_EQ(seen, (std::set<uint32_t>{1, 2}));
}

TEST_F(Async, ATestCarriesOutTheArrivalsAtItsOwnMbarrier) {
  // Of two barriers one is tested; the other one's arrival is still outstanding when its state is looked at.
  expectClean(run(R"(
    setp.ne.u32 %p1, %thread, 0; @%p1 bra END;
    mbarrier.init.shared.b64 [bar], 1; mbarrier.init.shared.b64 [bar+8], 2;
    cp.async.ca.shared.global [s], [%in], 4; cp.async.mbarrier.arrive.noinc.shared.b64 [bar];
    cp.async.ca.shared.global [s+4], [%in], 4; cp.async.mbarrier.arrive.noinc.shared.b64 [bar+8];
  WAIT: mbarrier.test_wait.parity.shared.b64 %done, [bar], 0; @!%done bra WAIT;
    mbarrier.arrive.shared.b64 %state, [bar+8]; mbarrier.pending_count.b64 %x1, %state; st.global.u32 [%to], %x1;
  END:)",
                  32));
  EXPECT_EQ(result[0], 2u);
}

TEST_F(Async, ArrivalsCoverTheCopiesBeforeThem) {
  std::string kernel = R"(
    setp.eq.u32 %p1, %thread, 0; @%p1 mbarrier.init.shared.b64 [bar], 32; bar.sync 0;
    mad.lo.u32 %x1, %thread, 4, %x38; cp.async.ca.shared.global [%x1], [%from], 4;
    cp.async.mbarrier.arrive.noinc.shared.b64 [bar];
    cp.async.ca.shared.global [%x1+512], [%from], 4;
  WAIT: mbarrier.test_wait.parity.shared.b64 %done, [bar], 0; @!%done bra WAIT;
    ld.shared.u32 %x2, [%x1]; st.global.u32 [%to], %x2; cp.async.wait_all;)";
  auto same = [](uint32_t i) { return i; };
  expectResult(kernel, 32, same);
  options.races = false; // the marks of the destination alone
  LaunchReport report = run(mutated(kernel, "ld.shared.u32 %x2, [%x1]", "ld.shared.u32 %x2, [%x1+512]"), 32);
  ASSERT_EQ(report.findings.size(), 1u);
  EXPECT_EQ(report.findings[0].kind, FindingKind::AsyncHazard);
  EXPECT_NE(report.findings[0].otherInstruction.find("%x1+512"), std::string::npos) << report.findings[0].text;
  options.checks = false;
  run(mutated(kernel, "ld.shared.u32 %x2, [%x1]", "ld.shared.u32 %x2, [%x1+512]"), 32);
  EXPECT_EQ(result[7], 0u); // and it is not there yet
}

TEST_F(Async, GroupsCompleteInOrderAndAreCountedPerThread) {
  // Lanes below 16 make two groups, the others one; a wait for all but one then covers only the former's first.
  std::string kernel = "setp.lt.u32 %p1, %lane, 16; mad.lo.u32 %x1, %thread, 4, %x38;\n"
                       "cp.async.ca.shared.global [%x1], [%from], 4; cp.async.commit_group;\n"
                       "@%p1 cp.async.commit_group;\n"
                       "cp.async.wait_group 1;\n"
                       "@%p1 ld.shared.u32 %x2, [%x1]; @%p1 st.global.u32 [%to], %x2; cp.async.wait_all;";
  expectResult(kernel, 32, [](uint32_t i) { return i < 16 ? i : 0; });
  expectHazard(mutated(kernel, "@%p1 ld.shared", "ld.shared"), 32, FindingKind::AsyncHazard, "thread (16,0,0)");
  expectHazard(mutated(kernel, "wait_group 1", "wait_group 2"), 32, FindingKind::AsyncHazard, "thread (0,0,0)");
  expectHazard(mutated(kernel, "@%p1 cp.async.commit_group;", ""), 32, FindingKind::AsyncHazard, "thread (0,0,0)");
}

TEST_F(Async, StagedCopiesAreCleanAndTheirMutationsAreFound) {
  std::string kernel = stages;
  expectResult(kernel, 128, stagesSum);
  expectHazard(mutated(kernel, "cp.async.wait_group 1;", ""), 128, FindingKind::AsyncHazard, "has not been waited for");
  expectHazard(mutated(kernel, "cp.async.wait_group 1;", "cp.async.wait_group 2;"), 128, FindingKind::AsyncHazard,
               "has not been waited for");
  expectHazard(mutated(kernel, "cp.async.commit_group;                             // of round 0", ""), 128,
               FindingKind::AsyncHazard, "has not been waited for");
  expectHazard(mutated(kernel, "cp.async.commit_group;                             // of the round", ""), 128,
               FindingKind::AsyncHazard, "has not been waited for");
  expectFinding(mutated(kernel, "bar.sync 0;                                        // data of all threads", ""), 128,
                FindingKind::DataRace, "nothing orders");
  // The next copy into a stage that others still read: reported at the copy.
  Finding f =
      expectFinding(mutated(mutated(kernel, "bar.sync 0;                                        // all have read", ""),
                            "setp.lt.u32 %p2, %x3, 7;", "setp.lt.u32 %p2, %x3, 7; add.u32 %x3, %x3, 1;"),
                    128, FindingKind::DataRace, "copies asynchronously over");
  EXPECT_NE(f.instruction.find("cp.async"), std::string::npos);
  EXPECT_EQ(f.otherInstruction.substr(0, 9), "ld.shared");
  // A stage too far ahead.
  expectHazard(mutated(kernel, "add.u32 %x3, %x1, 2;", "add.u32 %x3, %x1, 1;"), 128, FindingKind::AsyncHazard,
               "where another asynchronous copy has not been waited for");
}

TEST_F(Async, TrackedCopiesAreCleanAndTheirMutationsAreFound) {
  std::string kernel = tracked;
  expectResult(kernel, 128, trackedSum);
  expectHazard(mutated(kernel, "@!%done bra CONSUME;", ""), 128, FindingKind::AsyncHazard, "");
  expectHazard(
      mutated(kernel, "cp.async.mbarrier.arrive.noinc.shared.b64 [%x3];", "mbarrier.arrive.shared.b64 _, [%x3];"), 128,
      FindingKind::AsyncHazard, "has not been waited for");
  expectFinding(mutated(kernel, "mbarrier.arrive.noinc.shared", "mbarrier.arrive.shared"), 128, FindingKind::Deadlock,
                "of the mbarrier at shared address");
  expectFinding(mutated(kernel, "@!%done bra EMPTY;", ""), 128, FindingKind::DataRace, "copies asynchronously over");
  expectFinding(mutated(kernel, "mbarrier.arrive.shared.b64 _, [%x3+16];", ""), 128, FindingKind::Deadlock, "0 of 96");
  expectFinding(mutated(kernel, "cp.async.mbarrier.arrive.noinc.shared.b64 [%x3];", ""), 128, FindingKind::Deadlock,
                "0 of 32 arrivals");
  // The arrival before the copy tracks only what came before it.
  expectHazard(mutated(mutated(kernel, "cp.async.mbarrier.arrive.noinc.shared.b64 [%x3];", ""), "cp.async.cg.shared",
                       "cp.async.mbarrier.arrive.noinc.shared.b64 [%x3]; cp.async.cg.shared"),
               128, FindingKind::AsyncHazard, "");
}

TEST_F(Async, CopiesByAllAreCleanAndTheirMutationsAreFound) {
  std::string kernel = together;
  auto sum = [](uint32_t i) { return 2 * (63 - i) + 128; };
  expectResult(kernel, 64, sum);
  expectResult(
      mutated(mutated(kernel, "cp.async.mbarrier.arrive", "cp.async.mbarrier.arrive.noinc"), "[bar], 64", "[bar], 128"),
      64, sum);
  expectResult(mutated(kernel, "cp.async.mbarrier.arrive.shared.b64 [bar];",
                       "cvta.shared.u64 %y5, bar; cp.async.mbarrier.arrive.b64 [%y5];"),
               64, sum);
  expectHazard(mutated(kernel, "cp.async.mbarrier.arrive.shared.b64 [bar];", ""), 64, FindingKind::AsyncHazard,
               "has not been waited for");
  expectHazard(mutated(kernel, "@!%done bra WAIT;", ""), 64, FindingKind::DataRace, "copied there asynchronously");
  expectFinding(mutated(kernel, "mbarrier.arrive.shared.b64 %state, [bar];", "mov.u64 %state, 0;"), 64,
                FindingKind::Deadlock, "64 of 128 arrivals");
  expectHazard(mutated(kernel, "cp.async.mbarrier.arrive", "cp.async.mbarrier.arrive.noinc"), 64, FindingKind::DataRace,
               "copied there asynchronously");
  // Waiting with the group makes the copies the thread's own, not the others'.
  expectFinding(mutated(mutated(kernel, "@!%done bra WAIT;", ""), "cp.async.mbarrier.arrive.shared.b64 [bar];",
                        "cp.async.wait_all;"),
                64, FindingKind::DataRace, "nothing orders");
}

TEST_F(Async, WhoWaitsAtTheMbarrierNeedsNoGroupAndTheReverse) {
  // Both kinds of wait on the same copies, in either order.
  expectResult(mutated(together, "cp.async.mbarrier.arrive.shared.b64 [bar];",
                       "cp.async.commit_group; cp.async.mbarrier.arrive.shared.b64 [bar]; cp.async.wait_group 0;"),
               64, [](uint32_t i) { return 2 * (63 - i) + 128; });
  expectResult(mutated(together, "sub.u32 %x2, 63", "cp.async.wait_all; bar.sync 0; sub.u32 %x2, 63"), 64,
               [](uint32_t i) { return 2 * (63 - i) + 128; });
}

TEST_F(Async, SourcesMustNotChangeWhileTheyAreRead) {
  std::string kernel =
      copyWord("cp.async.commit_group;\ncp.async.wait_group 0;\nst.global.u32 [%from], %x38; ld.shared.u32 %x2, [%x1]; "
               "st.global.u32 [%to], %x2;");
  expectResult(kernel, 64, [](uint32_t i) { return i; });
  expectHazard(mutated(kernel, "cp.async.wait_group 0;\nst.global.u32 [%from], %x38;",
                       "st.global.u32 [%from], %x38; cp.async.wait_group 0;"),
               64, FindingKind::AsyncHazard, "is reading");
  expectHazard(mutated(kernel, "wait_group 0;", "wait_group 1;"), 64, FindingKind::AsyncHazard, "is reading");
  expectHazard(mutated(kernel, "cp.async.commit_group;\n", ""), 64, FindingKind::AsyncHazard, "is reading");
  expectHazard(mutated(kernel, "cp.async.wait_group 0;\nst.global.u32 [%from], %x38;",
                       "red.global.add.u32 [%from], 1; cp.async.wait_group 0;"),
               64, FindingKind::AsyncHazard, "is reading");
  // By another warp: the source is free once the reader's wait has reached the writer.
  std::string other = "setp.ne.u32 %p1, %warp, 0; @%p1 bra WRITE;\n" + copyWord("cp.async.wait_all;\n") +
                      "bar.sync 0; bra END;\nWRITE: bar.sync 0;\nst.global.u32 [%from+-128], %x38;\nEND:";
  expectResult(other, 64, [](uint32_t) { return 0u; });
  expectHazard(mutated(other, "cp.async.wait_all;\n", ""), 64, FindingKind::AsyncHazard, "is reading");
  expectHazard(mutated(other, "cp.async.wait_all;\nbar.sync 0;", "bar.sync 0; cp.async.wait_all;"), 64,
               FindingKind::AsyncHazard, "is reading");
  expectFinding(mutated(mutated(other, "bar.sync 0; bra END", "bra END"), "WRITE: bar.sync 0;", "WRITE:"), 64,
                FindingKind::DataRace, "nothing orders");
}

TEST_F(Async, DestinationsAreUntouchedUntilTheWait) {
  std::string kernel = copyWord("cp.async.commit_group;\ncp.async.wait_group 0;\nst.shared.u32 [%x1], %thread; "
                                "ld.shared.u32 %x2, [%x1]; st.global.u32 [%to], %x2;");
  expectResult(kernel, 64, [](uint32_t i) { return i; });
  for (const char *use : {"st.shared.u32 [%x1], %thread;", "ld.shared.u32 %x2, [%x1];",
                          "atom.shared.add.u32 %x2, [%x1], 1;", "st.shared.u8 [%x1+3], %thread;",
                          "mul.wide.u32 %y1, %thread, 4; cvta.shared.u64 %y2, s; "
                          "add.u64 %y1, %y1, %y2; ld.u16 %x2, [%y1+2];",
                          "cp.async.ca.shared.global [%x1], [%from+256], 4;"})
    expectHazard(mutated(kernel, "cp.async.wait_group 0;\n", std::string(use) + "\ncp.async.wait_group 0;\n"), 64,
                 FindingKind::AsyncHazard, "has not been waited for");
  expectHazard("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%x5}, [%x38];\n" +
                   copyWord("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%x5}, [%x38]; cp.async.wait_all;"),
               32, FindingKind::AsyncHazard, "has not been waited for");
}

TEST_F(Async, LanesMayFetchTheSameBytesToTheSamePlace) {
  // Surplus lanes of a cooperative group repeat the last copy.
  std::string kernel =
      "min.u32 %x3, %lane, 5; mad.lo.u32 %x1, %x3, 4, %x38; mul.wide.u32 %y1, %x3, 4; add.u64 %y1, %in, "
      "%y1;\ncp.async.ca.shared.global [%x1], [%y1], 4; cp.async.wait_all; ld.shared.u32 %x2, [%x1]; "
      "st.global.u32 [%to], %x2;";
  expectResult(kernel, 32, [](uint32_t i) { return std::min(i, 5u); });
  expectHazard(mutated(kernel, "[%x1], [%y1], 4", "[%x1], [%from], 4"), 32, FindingKind::AsyncHazard,
               "where another asynchronous copy");
}

TEST_F(Async, ArrivalsOutliveTheirThreads) {
  // Warp 0 leaves with its copies in flight; warp 1 waits for them.
  expectResult(R"(
    setp.eq.u32 %p1, %thread, 0; @%p1 mbarrier.init.shared.b64 [bar], 32; bar.sync 0;
    setp.ne.u32 %p2, %warp, 0; @%p2 bra WAIT;
    mad.lo.u32 %x1, %lane, 4, %x38; cp.async.ca.shared.global [%x1], [%from], 4;
    cp.async.mbarrier.arrive.noinc.shared.b64 [bar]; exit;
  WAIT: mbarrier.test_wait.parity.shared.b64 %done, [bar], 0; @!%done bra WAIT;
    mad.lo.u32 %x1, %lane, 4, %x38; ld.shared.u32 %x2, [%x1]; st.global.u32 [%to], %x2;)",
               64, [](uint32_t i) { return i < 32 ? 0 : i - 32; });
}

TEST_F(Async, AnMbarrierMustOutliveItsArrivals) {
  std::string kernel = R"(
    setp.ne.u32 %p1, %thread, 0; @%p1 bra END;
    mbarrier.init.shared.b64 [bar], 1; cp.async.ca.shared.global [s], [%in], 4;
    cp.async.mbarrier.arrive.noinc.shared.b64 [bar];
  WAIT: mbarrier.test_wait.parity.shared.b64 %done, [bar], 0; @!%done bra WAIT;
    mbarrier.inval.shared.b64 [bar];
  END:)";
  expectResult(kernel, 32, [](uint32_t) { return 0u; });
  LaunchReport report = run(mutated(kernel, "@!%done bra WAIT;", ""), 32);
  expectClean(report); // tested once: it has taken effect
  report =
      run(mutated(kernel, "WAIT: mbarrier.test_wait.parity.shared.b64 %done, [bar], 0; @!%done bra WAIT;", ""), 32);
  ASSERT_EQ(report.findings.size(), 1u);
  EXPECT_NE(report.findings[0].text.find("1 asynchronous arrivals are outstanding"), std::string::npos)
      << report.findings[0].text;
}
