// Where the lanes of a warp meet again when some of them leave the kernel or trap on the way, under every schedule.
#include "tests/unit/simulator/AsyncHarness.h"

using namespace tessera::sim;
using namespace tessera::sim::test;

namespace {

class Reconvergence : public AsyncKernel {};

} // namespace

TEST_F(Reconvergence, LanesMeetBehindASideThatExits) {
  // if (a) { if (b) { store; exit } … } barrier
  expectResult(R"(
    setp.lt.u32 %p1, %lane, 16; @!%p1 bra BARRIER; mov.u32 %x3, 5;
    setp.lt.u32 %p2, %lane, 8; @%p2 bra LEAVE; mov.u32 %x4, 7; bra BARRIER;
  LEAVE: st.global.u32 [%to], %x3; exit;
  BARRIER: bar.sync 0; mov.u32 %x1, 1; st.global.u32 [%to], %x1;)",
               64, [](uint32_t i) { return i % 32 < 8 ? 5u : 1u; });
}

TEST_F(Reconvergence, LanesMeetWhereverTheSideStandsInTheText) {
  for (const char *leave : {"st.global.u32 [%to], %x3; exit;", "st.global.u32 [%to], %x3; bra END;"})
    expectResult(R"(
      mov.u32 %x3, 5; mov.u32 %x1, 1; setp.lt.u32 %p1, %lane, 16; @%p1 bra SIDE;
    BARRIER: bar.sync 0; st.global.u32 [%to], %x1; ret;
    SIDE: setp.lt.u32 %p2, %lane, 8; @%p2 bra LEAVE; bra BARRIER;
    LEAVE: )" + std::string(leave) +
                     "\nEND: ret;",
                 64, [](uint32_t i) { return i % 32 < 8 ? 5u : 1u; });
  expectResult(R"(
    mov.u32 %x1, 1; setp.lt.u32 %p1, %lane, 16; @%p1 bra SIDE;
  BARRIER: bar.sync 0; st.global.u32 [%to], %x1; ret;
  SIDE: setp.gt.u32 %p2, %lane, 80; @%p2 bra TRAP; bra BARRIER;
  TRAP: trap;)",
               64, [](uint32_t) { return 1u; });
}

TEST_F(Reconvergence, LanesWithoutWorkReturnBeforeABarrier) {
  expectResult(R"(
    setp.gt.u32 %p1, %thread, 40; @%p1 bra END;
    bar.sync 0; mov.u32 %x1, 1; st.global.u32 [%to], %x1;
  END: ret;)",
               64, [](uint32_t i) { return i > 40 ? 0u : 1u; });
}

TEST_F(Reconvergence, LanesThatReturnToACommonEndAreNotMissed) {
  // if (a) { if (b) return; … } barrier, with one return of the text
  expectResult(R"(
    setp.lt.u32 %p1, %lane, 16; @!%p1 bra BARRIER; mov.u32 %x3, 5;
    setp.lt.u32 %p2, %lane, 8; @%p2 bra END; mov.u32 %x4, 7;
  BARRIER: bar.sync 0; mov.u32 %x1, 1; st.global.u32 [%to], %x1;
  END: ret;)",
               64, [](uint32_t i) { return i % 32 < 8 ? 0u : 1u; });
}

TEST_F(Reconvergence, LanesMeetBehindATrapThatNobodyTakes) {
  expectResult(R"(
    setp.lt.u32 %p1, %lane, 16; @!%p1 bra BARRIER; mov.u32 %x3, 5;
    setp.gt.u32 %p2, %lane, 80; @%p2 bra TRAP; mov.u32 %x4, 7; bra BARRIER;
  TRAP: st.global.u32 [%to], %x3; trap;
  BARRIER: bar.sync 0; mov.u32 %x1, 1; st.global.u32 [%to], %x1;)",
               64, [](uint32_t) { return 1u; });
}

TEST_F(Reconvergence, LanesMeetInsideALoopThatEndsInAReturn) {
  expectResult(R"(
    mov.u32 %x1, 0;
  LOOP: setp.ge.u32 %p1, %x1, %warp; @%p1 bra END;
    and.b32 %x2, %lane, 1; setp.eq.u32 %p2, %x2, 0; @%p2 bra EVEN;
    mov.u32 %x3, 3; bra MEET;
  EVEN: mov.u32 %x3, 4;
  MEET: shfl.sync.bfly.b32 %x4, %x3, 1, 31, -1; bar.warp.sync -1; add.u32 %x1, %x1, 1; bra LOOP;
  END: st.global.u32 [%to], %x1; ret;)",
               96, [](uint32_t i) { return i / 32; });
}

TEST_F(Reconvergence, LanesOnTheirWayOutMayWaitForOthers) {
  // One lane arrives for the rest of its warp, which does not wait for it at a join.
  expectResult(R"(
    setp.eq.u32 %p1, %thread, 0; @%p1 mbarrier.init.shared.b64 [bar], 1; bar.warp.sync -1; @%p1 bra ARRIVE;
  WAIT: mbarrier.test_wait.parity.shared.b64 %done, [bar], 0; @!%done bra WAIT;
    mov.u32 %x1, 1; st.global.u32 [%to], %x1; ret;
  ARRIVE: mbarrier.test_wait.parity.shared.b64 %done, [bar], 1; @!%done bra ARRIVE;
    mbarrier.arrive.shared.b64 _, [bar]; mov.u32 %x1, 2; st.global.u32 [%to], %x1; exit;)",
               32, [](uint32_t i) { return i ? 1u : 2u; });
}

TEST_F(Reconvergence, BitFieldsOfUninitialisedWordsCanBeReadBack) {
  // As compilers write them: load the garbage, mask it, put the field in; then take the field out.
  std::string kernel = R"(
    mad.lo.u32 %x9, %thread, 4, %x38;
    ld.shared.u32 %x1, [%x9]; and.b32 %x1, %x1, 65535; shl.b32 %x2, %thread, 16; or.b32 %x1, %x1, %x2; st.shared.u32 [%x9], %x1;
    ld.shared.u32 %x3, [%x9]; shr.u32 %x3, %x3, 16; mul.wide.u32 %y1, %x3, 4; add.u64 %y1, %out, %y1; st.global.u32 [%y1], %x3;)";
  expectResult(kernel, 32, [](uint32_t i) { return i; });
  expectFinding(mutated(kernel, "and.b32 %x1, %x1, 65535;", "add.u32 %x1, %x1, 1;"), 32, FindingKind::UninitialisedRead,
                "");
  expectFinding(
      "mad.lo.u32 %x9, %thread, 4, %x38; ld.shared.u32 %x1, [%x9]; and.b32 %x1, %x1, 255; st.global.u32 [%to], %x1;",
      32, FindingKind::UninitialisedRead, "stores a result");
  expectFinding(
      "mad.lo.u32 %x9, %thread, 4, %x38; ld.shared.u32 %x1, [%x9]; and.b32 %x1, %x1, 1; setp.eq.u32 %p1, %x1, 1;\n"
      "@%p1 bra L; L:",
      32, FindingKind::UninitialisedRead, "a branch");
}
