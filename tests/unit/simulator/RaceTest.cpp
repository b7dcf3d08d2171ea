// Data races between warps and between blocks: correct kernels are clean under every schedule, and each of them with
// one line removed or weakened is reported.
#include "tests/unit/simulator/Harness.h"

#include <fmt/format.h>

using namespace tessera::sim;
using namespace tessera::sim::test;

namespace {

constexpr unsigned randomSchedules = 50;

class Race : public testing::Test {
protected:
  /// `body` sees %in (256 written words), %out, %thread, %block, %lane, %warp, and 1024 bytes of shared memory s.
  LaunchReport run(const std::string &body, Dim3 grid, uint32_t threads) {
    Machine machine;
    machine.options = options;
    machine.load(header() + ".shared .align 16 .b8 s[1024];\n" + R"(
.visible .entry k(.param .u64 in, .param .u64 out)
{
  .reg .b64 %in, %out, %y<20>; .reg .b32 %thread, %block, %lane, %warp, %x<40>; .reg .b16 %h<8>; .reg .pred %p<10>;
  ld.param.u64 %in, [in]; ld.param.u64 %out, [out];
  mov.u32 %thread, %tid.x; mov.u32 %block, %ctaid.x; mov.u32 %lane, %laneid; shr.u32 %warp, %thread, 5;
  mov.u32 %x39, s;
)" + body + "\n  ret;\n}\n");
    uint64_t in = machine.upload(std::vector<uint32_t>(256), "input"),
             out = machine.upload(std::vector<uint32_t>(4096), "output");
    LaunchReport report = machine.run(grid, {threads, 1, 1}, {in, out});
    result = machine.download<uint32_t>(out, 4096);
    return report;
  }

  /// Clean in all schedules.
  void expectCleanInAll(const std::string &body, Dim3 grid, uint32_t threads) {
    for (unsigned i = 0; i < randomSchedules + 2; ++i) {
      options.schedule = i == 0 ? Schedule::Late : i == 1 ? Schedule::Eager : Schedule::Random;
      options.seed = i;
      expectClean(run(body, grid, threads));
      if (HasFailure()) {
        ADD_FAILURE() << "in schedule " << i;
        return;
      }
    }
    options = {};
  }
  /// Reported under the default schedule, on any number of host threads, with the other party.
  void expectRace(const std::string &body, Dim3 grid, uint32_t threads, FindingKind kind = FindingKind::DataRace) {
    std::vector<std::string> texts[2];
    for (unsigned i = 0; i < 2; ++i) {
      options.threads = i ? 4 : 1;
      LaunchReport report = run(body, grid, threads);
      const Finding *race = nullptr;
      for (const Finding &f : report.findings) {
        texts[i].push_back(f.text);
        if (f.kind == kind && !race)
          race = &f;
      }
      ASSERT_TRUE(race) << "nothing was found in\n" << body;
      EXPECT_GT(race->otherLine, 0u) << race->text;
      EXPECT_FALSE(race->otherInstruction.empty());
      EXPECT_FALSE(race->object.empty());
    }
    EXPECT_EQ(texts[0], texts[1]);
    options = {};
  }

  Options options;
  std::vector<uint32_t> result;
};

/// Every thread writes its word of %out, and after a barrier reads its neighbour's in the next warp.
constexpr std::string_view exchangeInGlobal = R"(
  mul.wide.u32 %y1, %thread, 4; add.u64 %y1, %out, %y1; st.global.u32 [%y1], %thread;
  bar.sync 0;
  add.u32 %x1, %thread, 32; and.b32 %x1, %x1, 127; mul.wide.u32 %y2, %x1, 4; add.u64 %y2, %out, %y2;
  ld.global.u32 %x2, [%y2];
  bar.sync 1;
  st.global.u32 [%y1], %x2;
)";

} // namespace

TEST_F(Race, WarpsThatExchangeThroughGlobalMemoryNeedBarriers) {
  std::string kernel(exchangeInGlobal);
  expectCleanInAll(kernel, {1, 1, 1}, 128);
  expectRace(mutated(kernel, "bar.sync 0;", ""), {1, 1, 1}, 128);
  expectRace(mutated(kernel, "bar.sync 1;", ""), {1, 1, 1}, 128);
  expectRace(mutated(kernel, "bar.sync 0;", "fence.sc.gpu; bar.warp.sync -1;"), {1, 1, 1}, 128);
}

TEST_F(Race, BlocksThatWriteApartAreClean) {
  // 16-bit neighbours across blocks share words, not bytes.
  std::string kernel = R"(
  mad.lo.u32 %x1, %thread, 4, %block; mul.wide.u32 %y1, %x1, 2; add.u64 %y1, %out, %y1; cvt.u16.u32 %h1, %thread;
  st.global.u16 [%y1], %h1;
  ld.global.u32 %x2, [%in];)";
  expectCleanInAll(kernel, {4, 1, 1}, 64);
  expectRace(mutated(kernel, "%thread, 4, %block", "%thread, 3, %block"), {4, 1, 1}, 64);
  expectRace(mutated(kernel, "st.global.u16 [%y1], %h1", "st.global.u8 [%y1], %h1; st.global.u8 [%y1+2], %h1"),
             {4, 1, 1}, 64);
  expectRace(mutated(kernel, "[%in]", "[%out+4]"), {4, 1, 1}, 64);
}

TEST_F(Race, ReportNamesBothParties) {
  LaunchReport report = run("st.global.u32 [%out], %block;", {3, 1, 1}, 1);
  ASSERT_EQ(report.findings.size(), 1u);
  const Finding &f = report.findings[0];
  EXPECT_EQ(f.kind, FindingKind::DataRace);
  EXPECT_EQ(f.block.x, 1u);
  EXPECT_EQ(f.otherBlock.x, 0u);
  EXPECT_EQ(f.otherLine, f.line);
  EXPECT_EQ(f.repeats, 1u); // block 2
  EXPECT_NE(f.text.find("output"), std::string::npos);
  EXPECT_NE(f.text.find("by thread (0,0,0) of block (0,0,0)"), std::string::npos) << f.text;
}

TEST_F(Race, AtomicsOfDeviceScopeCountBetweenBlocks) {
  std::string kernel = "red.relaxed.gpu.global.add.u32 [%out], 1; atom.global.max.u32 %x1, [%out+4], %thread;";
  expectCleanInAll(kernel, {4, 1, 1}, 64);
  EXPECT_EQ(result[0], 256u);
  EXPECT_EQ(result[1], 63u);
  expectRace(mutated(kernel, "relaxed.gpu", "relaxed.cta"), {4, 1, 1}, 64);
  expectRace(kernel + "ld.global.u32 %x2, [%out];", {4, 1, 1}, 64);
  expectRace("setp.eq.u32 %p1, %thread, 0; @%p1 st.global.u32 [%out+4], %block;" + kernel, {4, 1, 1}, 32);
}

TEST_F(Race, AtomicsOfBlockScopeCountWithinTheBlock) {
  std::string kernel = R"(
  mul.wide.u32 %y1, %block, 4; add.u64 %y1, %out, %y1;
  red.relaxed.cta.global.add.u32 [%y1], 1;)";
  expectCleanInAll(kernel, {4, 1, 1}, 64);
  expectRace(mutated(kernel, "%block, 4", "%block, 0"), {4, 1, 1}, 64);
  expectRace(mutated(kernel, "red.relaxed.cta.global.add.u32 [%y1], 1",
                     "ld.global.u32 %x1, [%y1]; add.u32 %x1, %x1, 1; st.global.u32 [%y1], %x1"),
             {4, 1, 1}, 64);
  expectRace(kernel + "ld.global.u32 %x1, [%y1];", {4, 1, 1}, 64);
}

namespace {
/// Block 0 writes a word and raises a flag; the others poll the flag and read the word.
constexpr std::string_view message = R"(
  setp.ne.u32 %p1, %block, 0; @%p1 bra Consume;
  mov.u32 %x1, 42;
  st.global.u32 [%out+64], %x1;
  fence.acq_rel.gpu;
  mov.u32 %x2, 1; st.relaxed.gpu.global.u32 [%out], %x2;
  bra End;
Consume:
  ld.relaxed.gpu.global.u32 %x3, [%out]; setp.eq.u32 %p2, %x3, 0; @%p2 bra Consume;
  fence.acq_rel.gpu; // of the reader
  ld.global.u32 %x4, [%out+64];
  mul.wide.u32 %y1, %block, 4; add.u64 %y1, %out, %y1; st.global.u32 [%y1+128], %x4;
End:
)";
} // namespace

TEST_F(Race, FlagsBetweenBlocksNeedFencesOnBothSides) {
  std::string kernel(message);
  expectCleanInAll(kernel, {3, 1, 1}, 1);
  EXPECT_EQ(result[33], 42u);
  EXPECT_EQ(result[34], 42u);
  expectRace(mutated(kernel, "  fence.acq_rel.gpu;\n  mov", "  mov"), {3, 1, 1}, 1);
  expectRace(mutated(kernel, "fence.acq_rel.gpu; // of the reader", ""), {3, 1, 1}, 1);
  expectRace(mutated(kernel, "  fence.acq_rel.gpu;\n  mov", "  fence.acq_rel.cta;\n  mov"), {3, 1, 1}, 1);
  expectRace(mutated(kernel, "fence.acq_rel.gpu; // of the reader", "membar.cta;"), {3, 1, 1}, 1);
  expectRace(mutated(kernel, "st.relaxed.gpu.global", "st.global"), {3, 1, 1}, 1);
  expectRace(mutated(kernel, "st.relaxed.gpu.global", "st.relaxed.cta.global"), {3, 1, 1}, 1);
  expectRace(mutated(kernel, "st.global.u32 [%out+64], %x1;\n  fence.acq_rel.gpu;",
                     "fence.acq_rel.gpu; st.global.u32 [%out+64], %x1;"),
             {3, 1, 1}, 1);
}

TEST_F(Race, ReleaseAndAcquireNeedNoFences) {
  std::string kernel = mutated(std::string(message), "  fence.acq_rel.gpu;\n  mov", "  mov");
  kernel = mutated(kernel, "fence.acq_rel.gpu; // of the reader", "");
  kernel = mutated(kernel, "st.relaxed.gpu.global", "st.release.gpu.global");
  kernel = mutated(kernel, "ld.relaxed.gpu.global", "ld.acquire.gpu.global");
  expectCleanInAll(kernel, {3, 1, 1}, 1);
  expectRace(mutated(kernel, "st.release.gpu", "st.relaxed.gpu"), {3, 1, 1}, 1);
  expectRace(mutated(kernel, "ld.acquire.gpu", "ld.relaxed.gpu"), {3, 1, 1}, 1);
  expectRace(mutated(kernel, "st.release.gpu", "st.release.cta"), {3, 1, 1}, 1);
  // An atomic goes on with the release that it reads; a plain strong store in between ends it.
  std::string chain = mutated(kernel, "mov.u32 %x2, 1; st.release.gpu.global.u32 [%out], %x2;",
                              "mov.u32 %x2, 1; st.release.gpu.global.u32 [%out], %x2; red.relaxed.gpu.global.add.u32 "
                              "[%out], 1;");
  expectCleanInAll(chain, {2, 1, 1}, 1);
}

TEST_F(Race, TheLastBlockMaySumWhatTheOthersWrote) {
  // Partial results, a fence, a ticket; who draws the last ticket reads them all.
  std::string kernel = R"(
  setp.ne.u32 %p1, %thread, 0;
  mad.lo.u32 %x1, %block, 64, %thread; mul.wide.u32 %y1, %x1, 4; add.u64 %y1, %out, %y1; st.global.u32 [%y1+1024], %x1;
  bar.sync 0;
  @%p1 bra Join;
  fence.acq_rel.gpu; // release
  atom.relaxed.gpu.global.add.u32 %x2, [%out], 1;
  fence.acq_rel.gpu; // acquire
  st.shared.u32 [s], %x2;
Join:
  bar.sync 0; // again
  ld.shared.u32 %x3, [s]; setp.ne.u32 %p2, %x3, 3; @%p2 bra End;
  xor.b32 %x4, %thread, 33; mul.wide.u32 %y2, %x4, 4; add.u64 %y2, %out, %y2;
  ld.global.u32 %x5, [%y2+1024]; ld.global.u32 %x6, [%y2+1280]; ld.global.u32 %x7, [%y2+1536];
  add.u32 %x5, %x5, %x6; add.u32 %x5, %x5, %x7; st.global.u32 [%y2+8192], %x5;
End:
)";
  expectCleanInAll(kernel, {4, 1, 1}, 64);
  EXPECT_EQ(result[2048 + 5], 5u + 69 + 133);
  expectRace(mutated(kernel, "fence.acq_rel.gpu; // release", ""), {4, 1, 1}, 64);
  expectRace(mutated(kernel, "fence.acq_rel.gpu; // acquire", ""), {4, 1, 1}, 64);
  expectRace(mutated(kernel, "bar.sync 0;\n  @%p1", "@%p1"), {4, 1, 1}, 64);
  expectRace(mutated(kernel, "bar.sync 0; // again", "bar.warp.sync -1;"), {4, 1, 1}, 64);
}

TEST_F(Race, ASpinLockOrdersWhatItGuards) {
  std::string kernel = R"(
  setp.ne.u32 %p1, %thread, 0; @%p1 bra End;
Lock:
  atom.acquire.gpu.global.cas.b32 %x1, [%out], 0, 1; setp.ne.u32 %p2, %x1, 0; @%p2 bra Lock;
  ld.global.u32 %x2, [%out+4]; add.u32 %x2, %x2, 1; st.global.u32 [%out+4], %x2;
  atom.release.gpu.global.exch.b32 %x3, [%out], 0;
End:
)";
  expectCleanInAll(kernel, {5, 1, 1}, 32);
  EXPECT_EQ(result[1], 5u);
  expectRace(mutated(kernel, "atom.acquire.gpu", "atom.relaxed.gpu"), {5, 1, 1}, 32);
  expectRace(mutated(kernel, "atom.release.gpu", "atom.relaxed.gpu"), {5, 1, 1}, 32);
  expectRace(mutated(kernel, "atom.acquire.gpu", "atom.acquire.cta"), {5, 1, 1}, 32);
}

TEST_F(Race, APlainReadThatACompareAndSwapThenProvesIsNone) {
  // The usual loop: read, compute, swap if still the same.
  std::string kernel = R"(
  ld.global.u32 %x1, [%out]; // guess
Again:
  add.u32 %x2, %x1, 3;
  atom.global.cas.b32 %x3, [%out], %x1, %x2;
  setp.ne.u32 %p1, %x3, %x1; mov.u32 %x1, %x3; @%p1 bra Again;
)";
  expectCleanInAll(kernel, {3, 1, 1}, 64);
  EXPECT_EQ(result[0], 3u * 192);
  expectRace(kernel + "ld.global.u32 %x4, [%out];", {3, 1, 1}, 64);
  expectRace(mutated(kernel, "atom.global.cas.b32 %x3, [%out], %x1, %x2;",
                     "atom.global.exch.b32 %x3, [%out], %x2; mov.u32 %x1, %x3;"),
             {3, 1, 1}, 64);
  expectRace(mutated(kernel, "[%out]; // guess", "[%out+4]; red.global.add.u32 [%out+4], 1;"), {3, 1, 1}, 64);
  std::string inShared =
      "setp.eq.u32 %p2, %thread, 0; mov.u32 %x9, 0; @%p2 st.shared.u32 [s], %x9; bar.sync 0;" + kernel;
  for (size_t at; (at = inShared.find("global")) != std::string::npos;)
    inShared.replace(at, 6, "shared");
  for (size_t at; (at = inShared.find("%out")) != std::string::npos;)
    inShared.replace(at, 4, "s");
  expectCleanInAll(inShared, {2, 1, 1}, 64);
  expectRace(inShared + "ld.shared.u32 %x4, [s];", {2, 1, 1}, 64);
}

TEST_F(Race, NamedBarriersHandOverBetweenProducersAndConsumers) {
  // Warp 0 fills, warp 1 drains; "full" is barrier 1, "empty" barrier 2.
  std::string kernel = R"(
  mov.u32 %x9, 0; mad.lo.u32 %x1, %lane, 4, 0; setp.eq.u32 %p1, %warp, 1; @%p1 bra Drain;
Fill:
  st.shared.u32 [%x1], %x9;
  bar.arrive 1, 64;
  bar.sync 2, 64; // empty again
  add.u32 %x9, %x9, 1; setp.lt.u32 %p2, %x9, 4; @%p2 bra Fill;
  bra End;
Drain:
  bar.sync 1, 64; // full
  xor.b32 %x2, %x1, 4; ld.shared.u32 %x3, [%x2];
  bar.arrive 2, 64;
  add.u32 %x9, %x9, 1; setp.lt.u32 %p2, %x9, 4; @%p2 bra Drain;
End:
)";
  expectCleanInAll(kernel, {2, 1, 1}, 64);
  // What is written behind the arrival is not handed over by it.
  expectRace(mutated(kernel, "st.shared.u32 [%x1], %x9;\n  bar.arrive 1, 64;",
                     "bar.arrive 1, 64; st.shared.u32 [%x1], "
                     "%x9;"),
             {2, 1, 1}, 64);
  expectRace(mutated(kernel, "ld.shared.u32 %x3, [%x2];\n  bar.arrive 2, 64;",
                     "bar.arrive 2, 64; ld.shared.u32 %x3, "
                     "[%x2];"),
             {2, 1, 1}, 64);
  std::string early = mutated(kernel, "bar.sync 1, 64; // full\n  xor.b32 %x2, %x1, 4; ld.shared.u32 %x3, [%x2];",
                              "xor.b32 %x2, %x1, 4; ld.shared.u32 %x3, [%x2]; bar.sync 1, 64;");
  expectRace(mutated(early, "mov.u32 %x9, 0;",
                     "mov.u32 %x9, 0; mad.lo.u32 %x8, %thread, 4, 0; st.shared.u32 [%x8], %x9; "
                     "bar.sync 3;"),
             {2, 1, 1}, 64);
}

TEST_F(Race, FlagsInSharedMemoryNeedFencesToo) {
  std::string kernel = R"(
  setp.eq.u32 %p4, %thread, 0; mov.u32 %x8, 0; @%p4 st.shared.u32 [s], %x8; bar.sync 0;
  mad.lo.u32 %x1, %lane, 4, 0; setp.ne.u32 %p1, %warp, 0; @%p1 bra Consume;
  st.shared.u32 [%x1+128], %lane;
  bar.warp.sync -1; setp.ne.u32 %p3, %lane, 0; @%p3 bra End;
  membar.cta; // writer
  mov.u32 %x5, 1; st.volatile.shared.u32 [s], %x5;
  bra End;
Consume:
  ld.volatile.shared.u32 %x6, [s]; setp.eq.u32 %p2, %x6, 0; @%p2 bra Consume;
  membar.cta; // reader
  ld.shared.u32 %x7, [%x1+128];
End:
)";
  expectCleanInAll(kernel, {1, 1, 1}, 64);
  expectRace(mutated(kernel, "membar.cta; // writer", ""), {1, 1, 1}, 64);
  expectRace(mutated(kernel, "membar.cta; // reader", ""), {1, 1, 1}, 64);
  expectRace(mutated(kernel, "st.volatile.shared", "st.shared"), {1, 1, 1}, 64);
}

TEST_F(Race, AsynchronousCopiesAreAPartyOfTheirOwn) {
  // Two stages of a ring: warp 0 copies, both warps read.
  std::string kernel = R"(
  mad.lo.u32 %x1, %thread, 16, 0; mul.wide.u32 %y1, %lane, 16; add.u64 %y1, %in, %y1; setp.ne.u32 %p1, %warp, 0;
  @!%p1 cp.async.cg.shared.global [%x1], [%y1], 16;
  cp.async.commit_group;
  cp.async.wait_group 0;
  bar.sync 0; // full
  mad.lo.u32 %x2, %lane, 16, 0; ld.shared.u32 %x3, [%x2];
  bar.sync 1; // empty
  @!%p1 cp.async.cg.shared.global [%x1], [%y1+512], 16;
  cp.async.wait_all;
  bar.sync 2; // full again
  ld.shared.u32 %x4, [%x2+4];
)";
  expectCleanInAll(kernel, {2, 1, 1}, 64);
  expectRace(mutated(kernel, "bar.sync 0; // full", ""), {2, 1, 1}, 64);
  expectRace(mutated(kernel, "bar.sync 1; // empty", ""), {2, 1, 1}, 64); // overwrites what warp 1 may still read
  expectRace(mutated(kernel, "bar.sync 2; // full again", ""), {2, 1, 1}, 64);
  expectRace(mutated(kernel, "cp.async.wait_group 0;", ""), {2, 1, 1}, 64, FindingKind::AsyncHazard);
  expectRace(mutated(kernel, "cp.async.wait_group 0;", "cp.async.wait_group 1;"), {2, 1, 1}, 64,
             FindingKind::AsyncHazard);
  expectRace(mutated(kernel, "cp.async.wait_all;", ""), {2, 1, 1}, 64, FindingKind::AsyncHazard);
}

TEST_F(Race, TheSourceOfACopyStaysUntouchedUntilItIsWaitedFor) {
  std::string kernel = R"(
  mad.lo.u32 %x1, %thread, 4, 0; mul.wide.u32 %y1, %thread, 4; add.u64 %y1, %in, %y1;
  cp.async.ca.shared.global [%x1], [%y1], 4;
  cp.async.wait_all;
  st.global.u32 [%y1], %thread;
)";
  expectCleanInAll(kernel, {1, 1, 1}, 32);
  expectRace(mutated(kernel, "cp.async.wait_all;", ""), {1, 1, 1}, 32, FindingKind::AsyncHazard);
  expectRace(mutated(kernel, "cp.async.wait_all;", "cp.async.commit_group; cp.async.wait_group 1;"), {1, 1, 1}, 32,
             FindingKind::AsyncHazard);
  expectRace(mutated(kernel, "st.global.u32 [%y1], %thread;",
                     "xor.b32 %x2, %thread, 32; mul.wide.u32 %y2, %x2, 4; add.u64 %y2, %in, %y2; st.global.u32 [%y2], "
                     "%thread;"),
             {1, 1, 1}, 64); // the other warp's source
}

TEST_F(Race, CanBeLeftOut) {
  options.races = false;
  expectClean(run("st.global.u32 [%out], %thread; st.shared.u32 [s], %thread;", {4, 1, 1}, 64));
}
