// Idioms of other compilers' PTX that text written by hand does not have.
#include "tests/unit/simulator/Harness.h"

using namespace tessera::sim;
using namespace tessera::sim::test;

namespace {

/// A kernel over 32-bit words: %t thread, %lane, %out address of the thread's word, %base of all of them.
std::string kernel(const std::string &body, const std::string &before = {}) {
  return header() + before +
         ".visible .entry k(.param .u64 out)\n{\n.reg .b64 %base, %out, %word;\n.reg .b32 %t, %lane, %r<20>;\n"
         ".reg .pred %p, %q;\nld.param.u64 %base, [out];\nmov.u32 %t, %tid.x;\nmov.u32 %lane, %laneid;\n"
         "mul.wide.u32 %out, %t, 4;\nadd.u64 %out, %out, %base;\n" +
         body + "ret;\n}\n";
}

class Idiom : public testing::Test {
protected:
  /// The words after one launch under every schedule, which must agree; `threads` of them, at first 0.
  std::vector<uint32_t> results(const std::string &ptx, uint32_t threads) {
    machine.load(ptx);
    std::vector<uint32_t> first;
    for (unsigned seed = 0; seed < 22 && !HasFailure(); ++seed) {
      machine.options.schedule = seed == 0 ? Schedule::Late : seed == 1 ? Schedule::Eager : Schedule::Random;
      machine.options.seed = seed;
      uint64_t out = machine.upload(std::vector<uint32_t>(threads));
      expectClean(machine.run({1, 1, 1}, {threads, 1, 1}, {out}));
      auto words = machine.download<uint32_t>(out, threads);
      if (seed == 0)
        first = words;
      EXPECT_EQ(words, first) << "seed " << seed;
    }
    return first;
  }

  Machine machine;
};

} // namespace

TEST_F(Idiom, LanesMeetBehindALoopWhoseEndHasNoLabel) {
  // Two lanes share a word, so that one of them tries again; the aligned barrier then needs both.
  auto words = results(kernel("shr.u32 %r1, %t, 1;\nmul.wide.u32 %word, %r1, 4;\nadd.u64 %word, %word, %base;\n"
                              "ld.relaxed.gpu.global.b32 %r2, [%word];\n"
                              "Again:\nadd.u32 %r3, %r2, 1;\natom.relaxed.gpu.global.cas.b32 %r4, [%word], %r2, %r3;\n"
                              "setp.ne.b32 %p, %r4, %r2;\nmov.b32 %r2, %r4;\n@%p bra Again;\nbar.sync 0;\n"),
                       64);
  for (size_t i = 0; i < 64; ++i)
    EXPECT_EQ(words[i], i < 32 ? 2u : 0u) << i;
}

TEST_F(Idiom, TheWarpSizeIsAConstantAnywhere) {
  auto words =
      results(kernel("mov.u32 %r1, WARP_SZ;\nadd.u32 %r1, %r1, WARP_SZ*2-1;\nst.global.u32 [%out], %r1;\n"), 1);
  EXPECT_EQ(words[0], 95u);
}

TEST_F(Idiom, LanesThatNameDifferentMembersAreGroupsOfTheirOwn) {
  // Eight lanes a group, each with its own mask, at one instruction.
  auto words =
      results(kernel("and.b32 %r1, %lane, 24;\nshl.b32 %r2, 255, %r1;\n"
                     "redux.sync.add.u32 %r3, %lane, %r2;\nsetp.gt.u32 %p, %lane, 9;\n"
                     "vote.sync.ballot.b32 %r4, %p, %r2;\nmatch.any.sync.b32 %r5, 7, %r2;\n"
                     "xor.b32 %r6, %lane, 5;\nshfl.sync.idx.b32 %r7, %lane, %r6, 31, %r2;\nbar.warp.sync %r2;\n"
                     "mad.lo.u32 %r3, %r3, 1000, %r7;\nxor.b32 %r4, %r4, %r5;\nxor.b32 %r3, %r3, %r4;\n"
                     "st.global.u32 [%out], %r3;\n"),
              64);
  for (uint32_t t = 0; t < 64; ++t) {
    uint32_t lane = t & 31, mask = 255u << (lane & 24), sum = (lane & 24) * 8 + 28;
    EXPECT_EQ(words[t], (sum * 1000 + (lane ^ 5)) ^ ((mask & 0xfffffc00) ^ mask)) << t;
  }
}

TEST_F(Idiom, LanesMeetAtAnInstructionThatTheyCameToByDifferentCalls) {
  // Unoptimised code wraps each intrinsic in a function; both sides of a branch call it.
  std::string wrapped = ".func (.reg .b32 %r) sum(.reg .b32 %x)\n{\nredux.sync.add.u32 %r, %x, 0xffffffff;\nret;\n}\n"
                        ".func (.reg .b32 %r) from(.reg .b32 %x, .reg .b32 %i)\n{\n"
                        "shfl.sync.idx.b32 %r, %x, %i, 31, 0xffffffff;\nret;\n}\n"
                        ".func meet()\n{\nbar.warp.sync 0xffffffff;\nret;\n}\n";
  auto words = results(kernel("setp.lt.u32 %p, %lane, 12;\nxor.b32 %r2, %lane, 31;\n@%p bra Low;\n"
                              "call (%r3), sum, (%lane);\ncall meet;\ncall (%r4), from, (%lane, %r2);\nbra Both;\n"
                              "Low:\nadd.u32 %r1, %lane, 100;\ncall (%r3), sum, (%r1);\ncall meet;\n"
                              "call (%r4), from, (%r1, %r2);\n"
                              "Both:\nmad.lo.u32 %r3, %r3, 1000, %r4;\nst.global.u32 [%out], %r3;\n",
                              wrapped),
                       32);
  for (uint32_t lane = 0; lane < 32; ++lane) {
    uint32_t other = lane ^ 31;
    EXPECT_EQ(words[lane], (31 * 16 + 1200) * 1000 + other + (other < 12 ? 100 : 0)) << lane;
  }
}

TEST_F(Idiom, WarpsThatHoldCopiesOfAResultMayAllStoreIt) {
  auto body = [](const char *value) {
    return kernel(std::string("mov.u32 %r1, ") + value +
                      ";\nst.shared.u32 [shared], %r1;\nbar.sync 0;\nld.shared.u32 %r2, [shared];\n"
                      "st.global.u32 [%out], %r2;\n",
                  ".shared .align 4 .b8 shared[4];\n");
  };
  EXPECT_EQ(results(body("55"), 64), std::vector<uint32_t>(64, 55));
  machine.load(body("%warpid")); // each its own value: a race
  LaunchReport report = machine.run({1, 1, 1}, {64, 1, 1}, {machine.upload(std::vector<uint32_t>(64))});
  ASSERT_FALSE(report.findings.empty());
  EXPECT_EQ(report.findings[0].kind, FindingKind::DataRace);
}
