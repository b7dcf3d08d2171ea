// mbarriers: every instruction and qualifier, every misuse, and correct kernels with one line changed.
#include "tests/unit/simulator/AsyncHarness.h"

using namespace tessera::sim;
using namespace tessera::sim::test;

namespace {

class Mbarrier : public AsyncKernel {};

/// Thread 0 makes `bar` expect `count` arrivals, then the block goes on.
std::string initialise(int count) {
  return fmt::format(
      "setp.eq.u32 %p1, %thread, 0; @%p1 mbarrier.init.shared.b64 [bar], {};\nbar.sync 0; // after init\n", count);
}

/// Words change hands through s: every thread reads what the last but it wrote, ordered by the state of an arrival.
constexpr const char *exchange = R"(
  mad.lo.u32 %x1, %thread, 4, %x38; st.shared.u32 [%x1], %thread;
  mbarrier.arrive.shared.b64 %state, [bar];
WAIT:
  mbarrier.test_wait.shared.b64 %done, [bar], %state;
  @!%done bra WAIT;
  sub.u32 %x2, 127, %thread; mad.lo.u32 %x2, %x2, 4, %x38; ld.shared.u32 %x3, [%x2]; st.global.u32 [%to], %x3;
)";
constexpr const char *destroy = R"(
  bar.sync 0; @%p1 mbarrier.inval.shared.b64 [bar];
)";

/// Two stages between one producing warp and three consuming ones, by parity: full[i] at bar+8i, empty[i] at bar+16+8i.
/// Consumers add up eight rounds of words, each 32 that the producer wrote.
constexpr const char *ring = R"(
  setp.eq.u32 %p1, %thread, 0;
  @%p1 mbarrier.init.shared.b64 [bar], 32; @%p1 mbarrier.init.shared.b64 [bar+8], 32;
  @%p1 mbarrier.init.shared.b64 [bar+16], 96; @%p1 mbarrier.init.shared.b64 [bar+24], 96;
  bar.sync 0;
  mov.u32 %x1, 0; // round
  mov.u32 %x7, 0; // sum
ROUND:
  and.b32 %x2, %x1, 1; mad.lo.u32 %x3, %x2, 8, %x39; // full of the stage
  shr.u32 %x4, %x1, 1; and.b32 %x4, %x4, 1; xor.b32 %x5, %x4, 1;
  mad.lo.u32 %x6, %x2, 128, %x38; mad.lo.u32 %x6, %lane, 4, %x6;
  setp.ne.u32 %p2, %warp, 0; @%p2 bra CONSUME;
EMPTY:
  mbarrier.test_wait.parity.shared.b64 %done, [%x3+16], %x5;
  @!%done bra EMPTY;
  mad.lo.u32 %x8, %x1, 32, %lane; st.shared.u32 [%x6], %x8;
  mbarrier.arrive.shared.b64 _, [%x3];
  bra NEXT;
CONSUME:
  mbarrier.test_wait.parity.shared.b64 %done, [%x3], %x4;
  @!%done bra CONSUME;
  ld.shared.u32 %x8, [%x6]; add.u32 %x7, %x7, %x8;
  mbarrier.arrive.shared.b64 _, [%x3+16];
NEXT:
  add.u32 %x1, %x1, 1; setp.lt.u32 %p3, %x1, 8; @%p3 bra ROUND;
  st.global.u32 [%to], %x7;
)";
uint32_t ringSum(uint32_t thread) { return thread < 32 ? 0 : 32 * 28 + 8 * (thread % 32); }

} // namespace

TEST_F(Mbarrier, EveryQualifierIsAcceptedWhereTheAssemblerAcceptsIt) {
  for (const char *text : {"mbarrier.init.b64 [%d3], 4;",
                           "mbarrier.init.shared.b64 [smem], %r2;",
                           "mbarrier.init.shared::cta.b64 [%r1], 4;",
                           "mbarrier.inval.shared.b64 [smem];",
                           "mbarrier.inval.shared::cta.b64 [smem];",
                           "mbarrier.inval.b64 [%d3];",
                           "mbarrier.arrive.b64 %d4, [%d3];",
                           "mbarrier.arrive.shared.b64 %d4, [smem+8];",
                           "mbarrier.arrive.shared::cta.b64 _, [smem];",
                           "mbarrier.arrive.shared.b64 %d4, [%d1+8];",
                           "mbarrier.arrive.release.cta.shared::cta.b64 %d4, [smem];",
                           "mbarrier.arrive.noComplete.shared.b64 %d4, [smem], 2;",
                           "mbarrier.arrive.noComplete.b64 %d4, [%d3], %r2;",
                           "mbarrier.arrive.noComplete.release.cta.shared.b64 _, [smem], %r2;",
                           "mbarrier.arrive.release.cta.noComplete.shared.b64 %d4, [smem], %r2;",
                           "mbarrier.arrive_drop.shared.b64 %d4, [smem];",
                           "mbarrier.arrive_drop.release.cta.shared::cta.b64 _, [smem];",
                           "mbarrier.arrive_drop.noComplete.shared.b64 %d4, [smem], 2;",
                           "mbarrier.arrive_drop.b64 %d4, [%d3];",
                           "mbarrier.test_wait.shared.b64 %p1, [smem], %d4;",
                           "mbarrier.test_wait.b64 %p1, [%d3], %d4;",
                           "mbarrier.test_wait.parity.shared.b64 %p1, [smem], 1;",
                           "mbarrier.test_wait.parity.b64 %p1, [%d3], %r2;",
                           "mbarrier.test_wait.acquire.cta.shared::cta.b64 %p1, [smem], %d4;",
                           "mbarrier.test_wait.parity.acquire.cta.shared::cta.b64 %p1, [smem], %r2;",
                           "mbarrier.pending_count.b64 %r3, %d4;"}) {
    EXPECT_EQ(instructionError(text), "") << text;
    EXPECT_EQ(instructionError(text, "sm_90", "h100"), "") << text;
  }
}

TEST_F(Mbarrier, FormsOfLaterArchitecturesAreRefusedByName) {
  for (const char *text :
       {"mbarrier.arrive.expect_tx.shared.b64 %d4, [smem], 2;",
        "mbarrier.arrive_drop.expect_tx.shared.b64 %d4, [smem], 2;",
        "mbarrier.arrive.relaxed.cta.shared::cta.b64 %d4, [smem];",
        "mbarrier.arrive.release.cluster.shared.b64 %d4, [smem];", "mbarrier.arrive.shared.b64 %d4, [smem], 2;",
        "mbarrier.arrive_drop.shared.b64 %d4, [smem], 2;", "mbarrier.arrive_drop.relaxed.cta.shared.b64 %d4, [smem];",
        "mbarrier.test_wait.acquire.cluster.shared.b64 %p1, [smem], %d4;",
        "mbarrier.test_wait.relaxed.cta.shared.b64 %p1, [smem], %d4;",
        "mbarrier.test_wait.parity.relaxed.cta.shared.b64 %p1, [smem], %r2;",
        "mbarrier.try_wait.shared.b64 %p1, [smem], %d4;", "mbarrier.try_wait.shared.b64 %p1, [smem], %d4, %r2;",
        "mbarrier.try_wait.parity.shared.b64 %p1, [smem], %r2, 100;", "mbarrier.expect_tx.shared.b64 [smem], 4;",
        "mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [smem], 4;",
        "mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [smem], 4;",
        "mbarrier.complete_tx.shared::cta.b64 [smem], 4;"}) {
    EXPECT_NE(instructionError(text).find("sm_90"), std::string::npos) << text << ": " << instructionError(text);
    EXPECT_EQ(instructionError(text, "sm_90", "h100"), "") << text;
  }
}

TEST_F(Mbarrier, MalformedFormsAreRefused) {
  for (const char *text :
       {"mbarrier.init.shared::cluster.b64 [%r1], 4;", "mbarrier.init.global.b64 [%d1], 4;",
        "mbarrier.init.shared [smem], 4;", "mbarrier.arrive.noComplete.shared.b64 %d4, [smem];",
        "mbarrier.arrive.release.shared.b64 %d4, [smem];", "mbarrier.arrive.cta.shared.b64 %d4, [smem];",
        "mbarrier.arrive.acquire.cta.shared.b64 %d4, [smem];", "mbarrier.arrive.release.gpu.shared.b64 %d4, [smem];",
        "mbarrier.arrive.shared.b64 [smem];", "mbarrier.test_wait.shared.b64 _, [smem], %d4;",
        "mbarrier.test_wait.parity.shared.b64 %p1, [smem], 7;",
        "mbarrier.test_wait.release.cta.shared.b64 %p1, [smem], %d4;",
        "mbarrier.test_wait.shared.b64 %p1|%p2, [smem], %d4;", "mbarrier.test_wait.shared.b64 !%p1, [smem], 5;",
        "mbarrier.pending_count.b64 _, %d4;", "mbarrier.shared.b64 [smem];",
        "mbarrier.complete_tx.release.cta.shared::cta.b64 [smem], 4;", "mbarrier.init.shared.u32 [smem], 4;"})
    for (const char *target : {"sm_80", "sm_90"})
      EXPECT_NE(instructionError(text, target, target[3] == '9' ? "h100" : "a100"), "") << text;
}

TEST_F(Mbarrier, StatesCountDownAndPhasesFollowEachOther) {
  // One thread, three arrivals expected: pending counts of the states, tests before and after completion.
  expectResult(initialise(3) + R"(
    setp.ne.u32 %p2, %thread, 0; @%p2 bra END;
    mbarrier.arrive.shared.b64 %y1, [bar]; mbarrier.pending_count.b64 %x1, %y1;
    mbarrier.arrive.noComplete.shared.b64 %y2, [bar], 1; mbarrier.pending_count.b64 %x2, %y2;
    mbarrier.test_wait.shared.b64 %p3, [bar], %y1; selp.u32 %x4, 1, 0, %p3;       // not complete
    mbarrier.arrive.shared.b64 %y3, [bar]; mbarrier.pending_count.b64 %x3, %y3;
    mbarrier.test_wait.shared.b64 %p3, [bar], %y1; selp.u32 %x5, 1, 0, %p3;       // complete
    mbarrier.test_wait.parity.shared.b64 %p3, [bar], 0; selp.u32 %x6, 1, 0, %p3;  // complete
    mbarrier.test_wait.parity.shared.b64 %p3, [bar], 1; selp.u32 %x7, 1, 0, %p3;  // the next one is not
    mbarrier.arrive.shared.b64 %y4, [bar]; mbarrier.pending_count.b64 %x8, %y4;   // all three are expected again
    mbarrier.test_wait.shared.b64 %p3, [bar], %y4; selp.u32 %x9, 1, 0, %p3;
    shl.b32 %x2, %x2, 4; or.b32 %x1, %x1, %x2; shl.b32 %x3, %x3, 8; or.b32 %x1, %x1, %x3; shl.b32 %x8, %x8, 12; or.b32 %x1, %x1, %x8;
    shl.b32 %x4, %x4, 16; or.b32 %x1, %x1, %x4; shl.b32 %x5, %x5, 17; or.b32 %x1, %x1, %x5; shl.b32 %x6, %x6, 18; or.b32 %x1, %x1, %x6;
    shl.b32 %x7, %x7, 19; or.b32 %x1, %x1, %x7; shl.b32 %x9, %x9, 20; or.b32 %x1, %x1, %x9;
    st.global.u32 [%to], %x1;
  END:)",
               32, [](uint32_t i) { return i ? 0u : 0x63123u; });
}

TEST_F(Mbarrier, AFreshOneHasCompletedThePhaseOfParityOne) {
  expectResult(initialise(1) + R"(
    mbarrier.test_wait.parity.shared.b64 %p3, [bar], 1; selp.u32 %x1, 2, 0, %p3;
    mbarrier.test_wait.parity.shared.b64 %p3, [bar], 0; selp.u32 %x2, 1, 0, %p3;
    or.b32 %x1, %x1, %x2; st.global.u32 [%to], %x1;)",
               64, [](uint32_t) { return 2u; });
}

TEST_F(Mbarrier, DroppedArrivalsAreNotExpectedInLaterPhases) {
  // Warp 1 leaves after the first phase; the others need only themselves for the second.
  std::string kernel = initialise(64) + R"(
    setp.eq.u32 %p4, %warp, 1; @%p4 bra DROP;
    mbarrier.arrive.shared.b64 %state, [bar];
  WAIT: mbarrier.test_wait.shared.b64 %done, [bar], %state; @!%done bra WAIT;
    mbarrier.arrive.shared.b64 %y1, [bar]; mbarrier.pending_count.b64 %x1, %y1;
  AGAIN: mbarrier.test_wait.shared.b64 %done, [bar], %y1; @!%done bra AGAIN;
    mad.lo.u32 %x1, %x1, 0, 7; st.global.u32 [%to], %x1; bra END;
  DROP:
    setp.eq.u32 %p5, %lane, 0; @!%p5 bra END;
    mbarrier.arrive_drop.noComplete.shared.b64 _, [bar], 31;
    mbarrier.arrive_drop.shared.b64 %y1, [bar];
  END:)";
  expectResult(kernel, 64, [](uint32_t i) { return i < 32 ? 7u : 0u; });
  expectFinding(mutated(kernel, "arrive_drop.noComplete", "arrive.noComplete"), 64, FindingKind::Deadlock, "mbarrier");
  expectFinding(mutated(kernel, "_, [bar], 31", "_, [bar], 64"), 64, FindingKind::BarrierMisuse, "");
  expectFinding(mutated(kernel, "mbarrier.arrive_drop.shared.b64 %y1, [bar];", ""), 64, FindingKind::Deadlock,
                "63 of 64 arrivals");
}

TEST_F(Mbarrier, GenericAddressesReachTheSameObject) {
  expectResult(R"(
    cvta.shared.u64 %y5, bar; setp.eq.u32 %p1, %thread, 0; @%p1 mbarrier.init.b64 [%y5+8], 64; bar.sync 0;
    mbarrier.arrive.b64 %state, [%y5+8];
  WAIT: mbarrier.test_wait.b64 %done, [%y5+8], %state; @!%done bra WAIT;
    mbarrier.test_wait.parity.shared.b64 %done, [bar+8], 0; selp.u32 %x1, 1, 0, %done; st.global.u32 [%to], %x1;
    bar.sync 0; @%p1 mbarrier.inval.b64 [%y5+8];)",
               64, [](uint32_t) { return 1u; });
}

TEST_F(Mbarrier, TransactionsHoldThePhaseOpen) {
  profile = "h100";
  target = "sm_90";
  std::string kernel = initialise(1) + R"(
    setp.ne.u32 %p2, %thread, 0; @%p2 bra END;
    mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [bar], 16; // ahead of its expectation
    mbarrier.arrive.expect_tx.shared.b64 %state, [bar], 64;
    mbarrier.test_wait.shared.b64 %p3, [bar], %state; selp.u32 %x1, 1, 0, %p3;
    mbarrier.complete_tx.shared::cta.b64 [bar], 48;
  WAIT: mbarrier.try_wait.shared.b64 %p3, [bar], %state, 100; @!%p3 bra WAIT;
    mbarrier.expect_tx.shared.b64 [bar], 1048575; mbarrier.complete_tx.shared.b64 [bar], 1048575;
    mbarrier.arrive.shared.b64 _, [bar], 1;
  LAST: mbarrier.try_wait.parity.relaxed.cta.shared.b64 %p3, [bar], 1; @!%p3 bra LAST;
    add.u32 %x1, %x1, 5; st.global.u32 [%to], %x1;
    mbarrier.inval.shared.b64 [bar];
  END:)";
  expectResult(kernel, 32, [](uint32_t i) { return i ? 0u : 5u; });
  expectFinding(mutated(kernel, "[bar], 48", "[bar], 44"), 32, FindingKind::Deadlock, "lacks 4 bytes");
  expectFinding(
      mutated(kernel, "mbarrier.complete_tx.shared.b64 [bar], 1048575;", "mbarrier.expect_tx.shared.b64 [bar], 1;"), 32,
      FindingKind::BarrierMisuse, "transaction count");
  expectFinding(mutated(kernel, "mbarrier.inval", "mbarrier.expect_tx.shared.b64 [bar], 8; mbarrier.inval"), 32,
                FindingKind::BarrierMisuse, "lacks 8 bytes");
}

TEST_F(Mbarrier, ExchangeByStateIsCleanAndItsMutationsAreFound) {
  std::string kernel = initialise(128) + exchange + destroy;
  expectResult(kernel, 128, [](uint32_t i) { return 127 - i; });
  expectFinding(mutated(kernel, "@!%done bra WAIT;", ""), 128, FindingKind::DataRace, "nothing orders");
  expectFinding(mutated(kernel, "bar.sync 0; // after init", ""), 128, FindingKind::DataRace, "mbarrier.init");
  expectFinding(mutated(kernel, "[bar], 128", "[bar], 127"), 128, FindingKind::BarrierMisuse,
                "no wait has seen phase 0 complete");
  Finding f = expectFinding(mutated(kernel, "[bar], 128", "[bar], 129"), 128, FindingKind::Deadlock,
                            "phase 0 has 128 of 129 arrivals");
  EXPECT_NE(f.text.find("variable bar"), std::string::npos) << f.text;
  EXPECT_NE(f.text.find("initialised at line"), std::string::npos) << f.text;
  expectFinding(mutated(kernel, "bar.sync 0; @%p1 mbarrier.inval", "@%p1 mbarrier.inval"), 128, FindingKind::DataRace,
                "mbarrier.inval");
}

TEST_F(Mbarrier, RelaxedOperationsOrderNothing) {
  profile = "h100";
  target = "sm_90";
  std::string kernel = initialise(128) + exchange;
  expectResult(kernel, 128, [](uint32_t i) { return 127 - i; });
  expectFinding(mutated(kernel, "mbarrier.arrive.shared", "mbarrier.arrive.relaxed.cta.shared"), 128,
                FindingKind::DataRace, "nothing orders");
  expectFinding(mutated(kernel, "mbarrier.test_wait.shared", "mbarrier.test_wait.relaxed.cta.shared"), 128,
                FindingKind::DataRace, "nothing orders");
  expectFinding(mutated(kernel, "mbarrier.test_wait.shared", "mbarrier.try_wait.relaxed.cluster.shared"), 128,
                FindingKind::DataRace, "nothing orders");
}

TEST_F(Mbarrier, RingByParityIsCleanAndItsMutationsAreFound) {
  std::string kernel = ring;
  expectResult(kernel, 128, ringSum);
  // Waits that are missing or look at the wrong phase.
  expectFinding(mutated(kernel, "@!%done bra CONSUME;", ""), 128, FindingKind::DataRace, "nothing orders");
  expectFinding(mutated(kernel, "@!%done bra EMPTY;", ""), 128, FindingKind::DataRace, "nothing orders");
  expectFinding(mutated(kernel, "xor.b32 %x5, %x4, 1;", "mov.u32 %x5, %x4;"), 128, FindingKind::Deadlock, "mbarrier");
  expectFinding(mutated(kernel, "[%x3], %x4;", "[%x3], %x5;"), 128, FindingKind::DataRace, "nothing orders");
  // Arrivals too many and too few.
  expectFinding(mutated(kernel, "mbarrier.arrive.shared.b64 _, [%x3+16];", ""), 128, FindingKind::Deadlock,
                "0 of 96 arrivals");
  expectFinding(mutated(kernel, "[bar+16], 96", "[bar+16], 48"), 128, FindingKind::BarrierMisuse,
                "no wait has seen phase");
  expectFinding(mutated(kernel, "mbarrier.arrive.shared.b64 _, [%x3];",
                        "mbarrier.arrive.shared.b64 _, [%x3]; mbarrier.arrive.shared.b64 _, [%x3];"),
                128, FindingKind::BarrierMisuse, "no wait has seen phase");
  // Rounds out of step.
  expectFinding(mutated(kernel, "shr.u32 %x4, %x1, 1; and.b32 %x4, %x4, 1;", "and.b32 %x4, %x1, 1;"), 128,
                FindingKind::BarrierMisuse, "has missed its completion");
}

TEST_F(Mbarrier, OperationsNeedALiveObject) {
  for (const char *text :
       {"mbarrier.arrive.shared.b64 _, [bar+8];", "mbarrier.arrive_drop.shared.b64 _, [bar+8];",
        "mbarrier.inval.shared.b64 [bar+8];", "mbarrier.test_wait.parity.shared.b64 %done, [bar+8], 0;",
        "cp.async.mbarrier.arrive.noinc.shared.b64 [bar+8];"}) {
    expectFinding(initialise(1) + text, 32, FindingKind::BarrierMisuse, "no mbarrier was initialised here");
    expectFinding("setp.eq.u32 %p2, %thread, 0; @!%p2 bra END; mbarrier.init.shared.b64 [bar+8], 5; "
                  "mbarrier.inval.shared.b64 [bar+8];\n" +
                      std::string(text) + "\nEND:",
                  32, FindingKind::BarrierMisuse, "has been invalidated");
  }
  expectFinding("mbarrier.arrive.b64 _, [%in];", 32, FindingKind::BarrierMisuse, "lies in shared memory");
  expectFinding("mbarrier.init.shared.b64 [bar+4], 5;", 32, FindingKind::Misaligned, "multiple of 8");
  expectFinding("mov.u32 %x1, 8192; mbarrier.init.shared.b64 [%x1], 5;", 32, FindingKind::OutOfBounds,
                "outside shared memory");
}

TEST_F(Mbarrier, LifeOfAnObjectIsChecked) {
  std::string once =
      "setp.eq.u32 %p1, %thread, 0; @!%p1 bra END; mov.u32 %x1, 4; mbarrier.init.shared.b64 [bar], %x1;\n";
  std::string twice = once + "mbarrier.inval.shared.b64 [bar]; mbarrier.init.shared.b64 [bar], 5;\nEND:";
  expectResult(twice, 32, [](uint32_t) { return 0u; });
  Finding f = expectFinding(mutated(twice, "mbarrier.inval.shared.b64 [bar];", ""), 32, FindingKind::BarrierMisuse,
                            "is live already");
  EXPECT_GT(f.otherLine, 0u);
  EXPECT_NE(f.otherInstruction.find("mbarrier.init"), std::string::npos);
  expectFinding(mutated(twice, "mov.u32 %x1, 4", "mov.u32 %x1, 0"), 32, FindingKind::BarrierMisuse,
                "the count 0 is not");
  expectFinding(mutated(twice, "mov.u32 %x1, 4", "mov.u32 %x1, 1048576"), 32, FindingKind::BarrierMisuse,
                "the count 1048576 is not");
  expectResult(mutated(twice, "mov.u32 %x1, 4", "mov.u32 %x1, 1048575"), 32, [](uint32_t) { return 0u; });
}

TEST_F(Mbarrier, CountsOfArrivalsAreChecked) {
  std::string start = initialise(4) + "setp.ne.u32 %p2, %thread, 0; @%p2 bra END; mov.u32 %x1, 2;\n";
  std::string kernel = start + "mbarrier.arrive.noComplete.shared.b64 _, [bar], %x1; mbarrier.arrive.shared.b64 _, "
                               "[bar];\nmbarrier.arrive.shared.b64 _, [bar];\nEND:";
  expectResult(kernel, 32, [](uint32_t) { return 0u; });
  expectFinding(mutated(kernel, "%x1, 2", "%x1, 4"), 32, FindingKind::BarrierMisuse, ".noComplete completes phase 0");
  expectFinding(mutated(kernel, "%x1, 2", "%x1, 5"), 32, FindingKind::BarrierMisuse,
                "5 arrivals, but phase 0 lacks only 4");
  expectFinding(mutated(kernel, "%x1, 2", "%x1, 0"), 32, FindingKind::BarrierMisuse, "the count 0 is not");
  expectFinding(mutated(kernel, "END:", "mbarrier.arrive.shared.b64 _, [bar];\nEND:"), 32, FindingKind::BarrierMisuse,
                "no wait has seen phase 0 complete");
  // Everyone has left: nobody may arrive any more.
  expectFinding(
      start + "mbarrier.arrive_drop.noComplete.shared.b64 _, [bar], 3; mbarrier.arrive_drop.shared.b64 _, [bar];\n"
              "mbarrier.test_wait.parity.shared.b64 %done, [bar], 0; mbarrier.arrive.shared.b64 _, [bar];\nEND:",
      32, FindingKind::BarrierMisuse, "1 arrivals, but phase 1 lacks only 0");
}

TEST_F(Mbarrier, StatesOfLongGonePhasesAreFound) {
  std::string kernel = initialise(1) + R"(
    setp.ne.u32 %p2, %thread, 0; @%p2 bra END;
    mbarrier.arrive.shared.b64 %y1, [bar]; mbarrier.test_wait.shared.b64 %done, [bar], %y1;
    mbarrier.arrive.shared.b64 %y2, [bar]; mbarrier.test_wait.shared.b64 %done, [bar], %y2;
    mbarrier.test_wait.shared.b64 %done, [bar], %y2; // last
  END:)";
  expectResult(kernel, 32, [](uint32_t) { return 0u; });
  expectFinding(mutated(kernel, "%y2; // last", "%y1;"), 32, FindingKind::BarrierMisuse, "from 2 phases before");
  expectFinding(mutated(kernel,
                        "mbarrier.test_wait.shared.b64 %done, [bar], %y2;\n    mbarrier.test_wait.shared.b64 %done, "
                        "[bar], %y2; // last",
                        "mbarrier.arrive.shared.b64 _, [bar];"),
                32, FindingKind::BarrierMisuse, "no wait has seen phase 1 complete");
  expectFinding(mutated(kernel, "mbarrier.test_wait.shared.b64 %done, [bar], %y1;", ""), 32, FindingKind::BarrierMisuse,
                "no wait has seen phase 0 complete");
  expectFinding(
      mutated(kernel, "%y2; // last", "%y1; mov.u32 %x1, 2;\nmbarrier.test_wait.parity.shared.b64 %done, [bar], %x1;"),
      32, FindingKind::BarrierMisuse, "the phase parity is 2");
}

TEST_F(Mbarrier, AWaiterThatSleepsThroughAPhaseIsFound) {
  // Warp 0 polls for phase 0 and sleeps; warp 1 completes two phases meanwhile and watches them itself.
  std::string kernel = initialise(1) + R"(
    mov.u32 %x1, 0; setp.ne.u32 %p2, %warp, 0; @%p2 bra WORK;
  POLL: mbarrier.test_wait.parity.shared.b64 %done, [bar], 0; @%done bra END;
    bar.sync 1, 64; bar.sync 2, 64; bra POLL;
  WORK: bar.sync 1, 64; setp.ne.u32 %p3, %lane, 0; @%p3 bra SLEEP;
  PHASE: mbarrier.arrive.shared.b64 %y1, [bar]; mbarrier.test_wait.shared.b64 %done, [bar], %y1;
    add.u32 %x1, %x1, 1; setp.lt.u32 %p4, %x1, 1; @%p4 bra PHASE;
  SLEEP: bar.sync 2, 64;
  END:)";
  expectResult(kernel, 64, [](uint32_t) { return 0u; });
  expectFinding(mutated(kernel, "%x1, 1; @%p4", "%x1, 2; @%p4"), 64, FindingKind::BarrierMisuse, "waits for phase 0");
  expectFinding(mutated(kernel, "%x1, 1; @%p4", "%x1, 4; @%p4"), 64, FindingKind::BarrierMisuse, "waits for phase 0");
  expectFinding(mutated(kernel, "%x1, 1; @%p4", "%x1, 6; @%p4"), 64, FindingKind::BarrierMisuse, "waits for phase 0");
}

TEST_F(Mbarrier, OnlyMbarrierInstructionsTouchALiveObject) {
  std::string kernel = initialise(64) + "mov.u64 %y1, 0; mov.u32 %x1, 0; setp.ne.u32 %p2, %thread, 1; @%p2 bra END;\n";
  struct {
    const char *text, *part;
  } cases[] = {{"ld.shared.u32 %x2, [bar+4];", "reads"},
               {"ld.shared.v2.u64 {%y2,%y3}, [bar];", "reads"},
               {"st.shared.u8 [bar+7], %x1;", "writes"},
               {"st.shared.u64 [bar], %y1;", "writes"},
               {"cvta.shared.u64 %y5, bar; st.u32 [%y5], %x1;", "writes"},
               {"atom.shared.add.u32 %x2, [bar], 1;", "the bytes of a live mbarrier"},
               {"red.shared.add.u64 [bar], 1;", "the bytes of a live mbarrier"},
               {"cp.async.ca.shared.global [bar], [%in], 8; cp.async.wait_all;", "writes"},
               {"mov.u32 %x3, bar; cp.async.cg.shared.global [%x3], [%in], 16; cp.async.wait_all;", "writes"}};
  for (auto [text, part] : cases) {
    Finding f = expectFinding(kernel + text + "\nEND:", 64, FindingKind::BarrierMisuse, part);
    EXPECT_NE(f.text.find("0 of 64 arrivals"), std::string::npos) << f.text;
    EXPECT_NE(f.otherInstruction.find("mbarrier.init"), std::string::npos);
  }
  // Beside it, and once it is gone, the same is ordinary memory.
  expectResult(kernel +
                   "st.shared.u64 [bar+8], %y1; ld.shared.u32 %x2, [bar+12]; atom.shared.add.u32 %x2, [bar+8], 1;\nEND:"
                   "bar.sync 0; @%p1 mbarrier.inval.shared.b64 [bar]; @%p1 st.shared.u64 [bar], %y1;",
               64, [](uint32_t) { return 0u; });
}

TEST_F(Mbarrier, UndefinedOperandsAreReported) {
  expectFinding("mbarrier.init.shared.b64 [bar], %x5;", 1, FindingKind::UninitialisedRead, "a count");
  expectFinding(initialise(1) + "mbarrier.test_wait.shared.b64 %done, [bar], %y5;", 1, FindingKind::UninitialisedRead,
                "a state");
  expectFinding(initialise(1) + "mbarrier.test_wait.parity.shared.b64 %done, [bar], %x5;", 1,
                FindingKind::UninitialisedRead, "a phase parity");
}
