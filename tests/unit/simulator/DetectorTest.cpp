// Every detector: a kernel with one defect is reported, with line, thread, address and object; without it, it is clean.
#include "tests/unit/simulator/Harness.h"

#include <cmath>
#include <fmt/format.h>

using namespace tessera::sim;
using namespace tessera::sim::test;

namespace {

class Detector : public testing::Test {
protected:
  /// Runs `body`; `in` has 64 words (uninitialised when `fresh`), `out` 256.
  LaunchReport run(const std::string &body, uint32_t threads = 32,
                   const std::string &before = ".shared .align 16 .b8 s[1024];\n", Dim3 grid = {1, 1, 1}) {
    machine.load(header() + before + R"(
.visible .entry k(.param .u64 in, .param .u64 out)
{
  .reg .b64 %in, %out, %o, %y<9>; .reg .b32 %r, %lane, %thread, %x<20>; .reg .f32 %f<40>; .reg .b16 %h<8>; .reg .pred %p<8>;
  ld.param.u64 %in, [in]; ld.param.u64 %out, [out]; mov.u32 %thread, %tid.x; mov.u32 %lane, %laneid;
  mul.wide.u32 %o, %thread, 4; add.u64 %y1, %in, %o; add.u64 %y2, %out, %o;
  mov.u32 %x19, s; // shared variables that no instruction names take no room
)" + body + "\n  ret;\n}\n");
    in = fresh ? *machine.memory.allocate(256, 256, "input") : machine.upload(std::vector<uint32_t>(64, 1), "input");
    out = machine.upload(std::vector<uint32_t>(256), "output");
    if (freed)
      EXPECT_TRUE(machine.memory.free(in).ok());
    return machine.run(grid, {threads, 1, 1}, {in, out});
  }
  /// Exactly one finding, of this kind, whose text has all the parts.
  const Finding &one(const LaunchReport &report, FindingKind kind, std::initializer_list<std::string_view> parts,
                     LaunchStatus status = LaunchStatus::Success) {
    static const Finding nothing;
    EXPECT_EQ(toString(report.status), toString(status));
    EXPECT_EQ(report.findings.size(), 1u);
    for (const Finding &f : report.findings)
      if (f.kind != kind || report.findings.size() != 1)
        ADD_FAILURE() << f.text;
    if (report.findings.empty())
      return nothing;
    const Finding &f = report.findings[0];
    for (std::string_view part : parts)
      EXPECT_NE(f.text.find(part), std::string::npos) << part << " is missing in:\n" << f.text;
    EXPECT_GT(f.line, 0u);
    EXPECT_FALSE(f.instruction.empty());
    return f;
  }
  Machine machine;
  uint64_t in = 0, out = 0;
  bool fresh = false, freed = false;
};

} // namespace

TEST_F(Detector, OutOfBoundsNamesThreadAddressAndAllocation) {
  LaunchReport report = run("st.global.u32 [%y1+132], %thread;");
  const Finding &f = one(report, FindingKind::OutOfBounds,
                         {"4 bytes", "input", "256 bytes", "st.global.u32 [%y1+132], %thread", "thread (31,0,0)"},
                         LaunchStatus::IllegalAddress);
  EXPECT_EQ(f.thread.x, 31u);
  EXPECT_EQ(f.address, in + 256);
  EXPECT_TRUE(f.fatal);
}

TEST_F(Detector, OutOfBoundsOfSharedLocalAndParameters) {
  one(run("mov.u32 %x1, 1022; ld.shared.u16 %h1, [%x1+2];"), FindingKind::OutOfBounds, {"shared", "0x400"},
      LaunchStatus::IllegalAddress);
  one(run(".local .b8 l[8]; mov.u32 %x1, 4096; st.local.u32 [%x1], %x1;"), FindingKind::OutOfBounds, {"local"},
      LaunchStatus::IllegalAddress);
  one(run("mov.u32 %x1, 1020; ld.shared.v2.u32 {%x2,%x3}, [%x1];"), FindingKind::Misaligned, {"multiple of 8"},
      LaunchStatus::MisalignedAddress);
}

TEST_F(Detector, InBoundsAtTheLastByteIsClean) {
  expectClean(run("st.global.u32 [%y1+128], %thread; ld.global.u8 %h1, [%in+255];"));
}

TEST_F(Detector, Misalignment) {
  one(run("ld.global.u32 %x1, [%in+2];"), FindingKind::Misaligned, {"multiple of 4", "input"},
      LaunchStatus::MisalignedAddress);
  one(run("ld.global.v4.u32 {%x1,%x2,%x3,%x4}, [%in+8];"), FindingKind::Misaligned, {"multiple of 16"},
      LaunchStatus::MisalignedAddress);
}

TEST_F(Detector, UseAfterFree) {
  freed = true;
  one(run("ld.global.u32 %x1, [%in];"), FindingKind::UseAfterFree, {"freed", "input"}, LaunchStatus::IllegalAddress);
}

TEST_F(Detector, ChecksOffStillStopAtBadAddresses) {
  machine.options.checks = false;
  LaunchReport report = run("st.global.u32 [%y1+4096], %thread;");
  EXPECT_EQ(report.status, LaunchStatus::IllegalAddress);
}

TEST_F(Detector, UninitialisedMemoryThatIsComputedWithAndStored) {
  fresh = true;
  one(run("ld.global.u32 %x1, [%y1]; add.u32 %x1, %x1, 1; st.global.u32 [%y2], %x1;"), FindingKind::UninitialisedRead,
      {"output", "st.global.u32 [%y2], %x1"});
}

TEST_F(Detector, CopiesOfUninitialisedMemoryAreNoDefect) {
  fresh = true;
  expectClean(run("ld.global.v2.u32 {%x1,%x2}, [%in]; st.global.v2.u32 [%out], {%x1,%x2}; mov.b32 %x3, %x1; selp.b32 "
                  "%x4, %x3, %x2, 1; st.shared.u32 [s], %x4;"));
  EXPECT_EQ(*machine.memory.uninitialisedBytes(out, 1024), 8u); // the copy is as uninitialised as its source
}

TEST_F(Detector, PaddingOfAWordIsNoDefect) {
  // Half a word is written, the word is read, moved, changed in that half, and stored.
  expectClean(run("mov.u16 %h1, 7; mad.lo.u32 %x9, %lane, 4, 0; st.shared.u16 [%x9], %h1; ld.shared.u32 %x1, [%x9]; "
                  "st.global.u32 [%y2], %x1;"
                  ".reg .b16 %never; mov.b32 %x2, {%h1, %never}; st.global.u32 [%y2], %x2;"));
}

TEST_F(Detector, UninitialisedSharedMemoryReachingAnAddress) {
  one(run("ld.shared.u32 %x1, [s]; mul.wide.u32 %o, %x1, 4; add.u64 %o, %o, %out; ld.global.u32 %x2, [%o];"),
      FindingKind::UninitialisedRead, {"an address"});
}

TEST_F(Detector, UninitialisedRegisterReachingABranch) {
  const LaunchReport report = run("setp.eq.u32 %p1, %x7, 3; @%p1 bra L; mov.u32 %x1, 1; L:");
  one(report, FindingKind::UninitialisedRead, {"a branch"});
  expectClean(run("setp.eq.u32 %p1, %lane, 99; @%p1 mov.u32 %x7, 1; @!%p1 mov.u32 %x7, 2; setp.eq.u32 %p2, %x7, 3; "
                  "@%p2 bra L; L:"));
}

TEST_F(Detector, UninitialisedFragmentSpoilsItsRowOfTheProduct) {
  // Lane 0's word of A was never written: row 0 of D is undefined, the other rows are fine.
  std::string body = "mov.u32 %x1, 0; mov.u32 %x2, 0; mov.u32 %x3, 0; mov.u32 %x4, 0; mov.u32 %x5, 0; mov.u32 %x6, 0; "
                     "mov.f32 %f1, 0f00000000; mov.f32 %f2, %f1; mov.f32 %f3, %f1; mov.f32 %f4, %f1;"
                     "setp.eq.u32 %p1, %lane, 0; @%p1 ld.shared.u32 %x1, [s];"
                     "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%f1,%f2,%f3,%f4}, {%x1,%x2,%x3,%x4}, "
                     "{%x5,%x6}, {%f1,%f2,%f3,%f4};";
  expectClean(run(body + "st.global.f32 [%y2], %f3; setp.gt.u32 %p2, %lane, 3; @%p2 st.global.f32 [%y2], %f1;"));
  one(run(body + "st.global.f32 [%y2], %f1;"), FindingKind::UninitialisedRead, {"output", "thread (0,0,0)"});
}

TEST_F(Detector, MissingWaitOfAnAsyncCopy) {
  std::string copy = "mad.lo.u32 %x1, %lane, 4, 0; cp.async.ca.shared.global [%x1], [%y1], 4; cp.async.commit_group;";
  one(run(copy + "ld.shared.u32 %x2, [%x1]; st.global.u32 [%y2], %x2; cp.async.wait_group 0;"),
      FindingKind::AsyncHazard, {"has not been waited for", "shared variable s"});
  expectClean(run(copy + "cp.async.wait_group 0; ld.shared.u32 %x2, [%x1]; st.global.u32 [%y2], %x2;"));
  one(run(copy + "cp.async.wait_group 1; ld.shared.u32 %x2, [%x1]; st.global.u32 [%y2], %x2;"),
      FindingKind::AsyncHazard, {"reads"});
  one(run(copy + "st.shared.u32 [%x1], %lane; cp.async.wait_all;"), FindingKind::AsyncHazard,
      {"writes what an asynchronous copy"});
  one(run("mad.lo.u32 %x1, %lane, 4, 0; cp.async.ca.shared.global [%x1], [%y1], 4; cp.async.wait_group 0; "
          "ld.shared.u32 %x2, [%x1];"),
      FindingKind::AsyncHazard, {"reads"});
  machine.options.schedule = Schedule::Eager;
  one(run(copy + "ld.shared.u32 %x2, [%x1]; st.global.u32 [%y2], %x2; cp.async.wait_group 0;"),
      FindingKind::AsyncHazard, {"has not been waited for"});
}

TEST_F(Detector, MissingBarrierBehindAnAsyncCopy) {
  std::string copy = "mad.lo.u32 %x1, %thread, 4, 0; cp.async.ca.shared.global [%x1], [%in], 4; cp.async.wait_all;";
  std::string use =
      "xor.b32 %x2, %thread, 32; mad.lo.u32 %x2, %x2, 4, 0; ld.shared.u32 %x3, [%x2]; st.global.u32 [%y2], %x3;";
  LaunchReport report = run(copy + use, 64);
  EXPECT_FALSE(report.findings.empty());
  expectClean(run(copy + "bar.sync 0;" + use, 64));
}

TEST_F(Detector, RacesBetweenWarps) {
  std::string write = "mad.lo.u32 %x1, %thread, 4, 0; st.shared.u32 [%x1], %thread;",
              read = "xor.b32 %x2, %thread, 32; mad.lo.u32 %x2, %x2, 4, 0; ld.shared.u32 %x3, [%x2];";
  expectClean(run(write + "bar.sync 0;" + read, 64));
  const LaunchReport before =
      run(write + "bar.sync 0;" + read + write, 64); // overwrites what the other warp may still read
  one(before, FindingKind::DataRace, {"nothing orders", "other access is at line"});
  one(run("st.shared.u32 [s], %thread;", 64), FindingKind::DataRace, {"writes what warp 0 wrote"});
  expectClean(run("setp.lt.u32 %p1, %thread, 32; mov.u32 %x4, 0; @%p1 st.shared.u32 [s], %x4; bar.sync 0; "
                  "atom.shared.add.u32 %x3, [s], 1;",
                  64));
  // Neighbouring halves of one word do not conflict.
  expectClean(run("cvt.u16.u32 %h1, %thread; mad.lo.u32 %x1, %lane, 4, 0; shr.u32 %x2, %thread, 5; mad.lo.u32 %x1, "
                  "%x2, 2, %x1; st.shared.u16 [%x1], %h1;",
                  64));
}

TEST_F(Detector, AlignedInstructionsInDivergentWarps) {
  one(run("setp.lt.u32 %p1, %lane, 16; @%p1 bra L; bar.sync 0; exit; L: mov.u32 %x1, 0;", 32),
      FindingKind::ConvergenceViolation, {".aligned", "0x0000ffff"});
  one(run("setp.lt.u32 %p1, %lane, 16; @%p1 bra L; ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%x1}, [s]; L: ", 32),
      FindingKind::ConvergenceViolation, {".aligned"});
  one(run("setp.lt.u32 %p1, %lane, 16; @%p1 bra.uni L; L: "), FindingKind::ConvergenceViolation, {".uni diverges"});
  one(run("setp.lt.u32 %p1, %lane, 16; @%p1 bra L; bar.warp.sync 0xffff; L:"), FindingKind::ConvergenceViolation,
      {"not in their member mask"});
  one(run("setp.lt.u32 %p1, %lane, 16; @%p1 bra L; shfl.sync.idx.b32 %x1, %lane, 3, 31, 0xffff0000; L:"),
      FindingKind::ConvergenceViolation, {"reads lane 3"});
}

TEST_F(Detector, BarrierMisuse) {
  one(run("mov.u32 %x1, 16; bar.sync %x1;"), FindingKind::BarrierMisuse, {"barrier 16"},
      LaunchStatus::IllegalInstruction);
  one(run("mov.u32 %x1, 33; bar.sync 1, %x1;", 64), FindingKind::BarrierMisuse, {"33", "multiple of 32"},
      LaunchStatus::IllegalInstruction);
  one(run("setp.lt.u32 %p1, %thread, 32; @%p1 bra L; bar.sync 1, 64; bra E; L: bar.sync 1; E:", 64),
      FindingKind::BarrierMisuse, {"in use with"}, LaunchStatus::IllegalInstruction);
  one(run("bar.arrive 1, 64; bar.arrive 1, 64;", 64), FindingKind::BarrierMisuse, {"second time"},
      LaunchStatus::IllegalInstruction);
}

TEST_F(Detector, DeadlockSaysWhoWaitsOnWhat) {
  one(run("setp.lt.u32 %p1, %thread, 32; @%p1 bra L; bar.sync 0; L: bar.sync 1;", 64), FindingKind::Deadlock,
      {"warp 0", "warp 1", "barrier 1 has 32 of 64", "barrier 0 has 32 of 64"}, LaunchStatus::Timeout);
  expectClean(run("bar.sync 3, 96;", 96));
}

TEST_F(Detector, DeadlockOfACountThatNobodyReaches) {
  one(run("setp.lt.u32 %p1, %thread, 32; @%p1 exit; bar.sync 2, 64;", 64), FindingKind::Deadlock,
      {"barrier 2 has 32 of 64", "32 threads have exited"}, LaunchStatus::Timeout);
}

TEST_F(Detector, DeadlockAmongLanes) {
  one(run("setp.lt.u32 %p1, %lane, 16; @%p1 bra L; bar.warp.sync -1; bra E; L: shfl.sync.idx.b32 %x1, %lane, 3, 31, "
          "-1; E:"),
      FindingKind::Deadlock, {"for lanes"}, LaunchStatus::Timeout);
}

TEST_F(Detector, TrapsAndLimits) {
  one(run("setp.eq.u32 %p1, %thread, 7; @%p1 trap;"), FindingKind::Trap, {"thread (7,0,0)"}, LaunchStatus::Trap);
  machine.options.instructionLimit = 100000;
  one(run("L: bra L;"), FindingKind::Limit, {"without ending"}, LaunchStatus::Timeout);
}

TEST_F(Detector, RepeatsAreCountedOnce) {
  fresh = true;
  LaunchReport report = run("ld.global.u32 %x1, [%in]; add.u32 %x1, %x1, 1; mov.u32 %x2, %ctaid.x; mul.wide.u32 %y3, "
                            "%x2, 256; add.u64 %y2, %y2, %y3; st.global.u32 [%y2], %x1;",
                            64, ".shared .b32 s;\n", {4, 1, 1});
  const Finding &f = one(report, FindingKind::UninitialisedRead, {});
  EXPECT_EQ(f.repeats, 4u * 64 - 1);
}

TEST_F(Detector, LaunchesThatDoNotFitAreRefused) {
  machine.load(header() + ".visible .entry k(.param .u64 a) .reqntid 64 { ret; }");
  EXPECT_EQ(machine.run({1, 1, 1}, {32, 1, 1}, {0}).status, LaunchStatus::InvalidConfiguration);
  EXPECT_EQ(machine.run({0, 1, 1}, {64, 1, 1}, {0}).status, LaunchStatus::InvalidConfiguration);
  EXPECT_EQ(machine.run({1, 1, 1}, {64, 1, 1}, {0}, 164 * 1024).status, LaunchStatus::OutOfResources);
  EXPECT_EQ(machine.run({1, 1, 1}, {64, 1, 1}, {0}, 163 * 1024).status, LaunchStatus::Success);
  EXPECT_EQ(machine.run({1, 1, 1}, {64, 1, 1}, {}).status, LaunchStatus::Success);
}

TEST(SimulatorStress, ApproximationsMoveWithinTheirBounds) {
  Options options;
  options.mma = MmaMode::Stress;
  unsigned moved = 0;
  std::vector<std::vector<uint64_t>> cases;
  for (int i = 0; i < 64; ++i)
    cases.push_back({f32(0.37f * static_cast<float>(i) - 9.0f)});
  auto exact = evaluate("ex2.approx.ftz.f32 %d, %a;", "4:4", cases),
       stressed = evaluate("ex2.approx.ftz.f32 %d, %a;", "4:4", cases, "sm_80", options);
  for (size_t i = 0; i < cases.size(); ++i) {
    auto value = [](uint64_t bits) { return double(std::bit_cast<float>(static_cast<uint32_t>(bits))); };
    double difference = value(exact[i][0]) - value(stressed[i][0]);
    // The manual's bound, in units of the exact value; ApproximationTest checks it against what that is before
    // rounding.
    EXPECT_LE(std::abs(difference), 2 * std::ldexp(1.0, std::ilogb(value(exact[i][0])) - 23));
    moved += difference != 0;
  }
  EXPECT_GT(moved, 16u);
}

TEST_F(Detector, AccessesThatStraddleTheEndAreOutOfBounds) {
  machine.load(
      header() +
      ".visible .entry k(.param .u64 in) { .reg .b64 %a, %b; ld.param.u64 %a, [in]; ld.global.u64 %b, [%a+8]; ret; }");
  LaunchReport report = machine.run({1, 1, 1}, {32, 1, 1}, {machine.upload(std::vector<uint32_t>(3), "twelve bytes")});
  one(report, FindingKind::OutOfBounds, {"8 bytes", "twelve bytes"}, LaunchStatus::IllegalAddress);
  machine.load(header() +
               ".shared .align 16 .b8 s[16]; .visible .entry k(.param .u64 in) { .reg .b64 %a; ld.param.u64 %a, [in];"
               "cp.async.cg.shared.global [s], [%a+16], 16; cp.async.wait_all; ret; }");
  report = machine.run({1, 1, 1}, {1, 1, 1}, {machine.upload(std::vector<uint32_t>(7), "28 bytes")});
  one(report, FindingKind::OutOfBounds, {"16 bytes", "28 bytes"}, LaunchStatus::IllegalAddress);
}
