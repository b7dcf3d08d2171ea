// Schedules: seeds reproduce runs exactly, different seeds order differently, and whoever only polls is found out.
#include "tests/unit/simulator/Harness.h"

#include <set>

using namespace tessera::sim;
using namespace tessera::sim::test;

namespace {

class ScheduleOrder : public testing::Test {
protected:
  struct Outcome {
    std::vector<uint32_t> memory;
    std::vector<std::string> findings;
    std::string printed;
    LaunchStatus status;
    bool operator==(const Outcome &) const = default;
  };

  Outcome run(const std::string &body, Dim3 grid, uint32_t threads) {
    Machine machine;
    machine.options = options;
    machine.load(header() + ".shared .align 16 .b8 s[1024];\n" + R"(
.visible .entry k(.param .u64 out)
{
  .reg .b64 %out, %y<9>; .reg .b32 %thread, %block, %lane, %x<20>; .reg .pred %p<8>;
  ld.param.u64 %out, [out]; mov.u32 %thread, %tid.x; mov.u32 %block, %ctaid.x; mov.u32 %lane, %laneid; mov.u32 %x19, s;
)" + body + "\n  ret;\n}\n");
    uint64_t out = machine.upload(std::vector<uint32_t>(1024), "output");
    LaunchReport report = machine.run(grid, {threads, 1, 1}, {out});
    Outcome outcome{machine.download<uint32_t>(out, 1024), {}, report.printed, report.status};
    for (const Finding &f : report.findings)
      outcome.findings.push_back(f.text);
    return outcome;
  }
  Options options;
};

/// Tickets in the order in which warps come by.
constexpr const char *tickets = R"(
  atom.global.add.u32 %x1, [%out], 1;
  mad.lo.u32 %x2, %block, 128, %thread; mul.wide.u32 %y1, %x2, 4; add.u64 %y1, %out, %y1; st.global.u32 [%y1+4], %x1;
)";

/// Blocks overwrite each other's words: the outcome is the order.
constexpr const char *racy = R"(
  mul.wide.u32 %y1, %lane, 4; add.u64 %y1, %out, %y1; mov.u32 %x3, 0;
L:
  ld.global.u32 %x1, [%y1]; mad.lo.u32 %x1, %x1, 3, %block; st.global.u32 [%y1], %x1;
  add.u32 %x3, %x3, 1; setp.lt.u32 %p1, %x3, 8; @%p1 bra L;
)";

} // namespace

TEST_F(ScheduleOrder, ASeedReproducesARunOnAnyNumberOfHostThreads) {
  for (const char *kernel : {tickets, racy})
    for (uint64_t seed : {1, 2, 99}) {
      options.schedule = Schedule::Random;
      options.seed = seed;
      options.threads = 1;
      Outcome first = run(kernel, {5, 1, 1}, 128);
      for (unsigned threads : {2, 3, 8}) {
        options.threads = threads;
        EXPECT_EQ(run(kernel, {5, 1, 1}, 128), first);
      }
    }
}

TEST_F(ScheduleOrder, SeedsDrawDifferentOrders) {
  for (const char *kernel : {tickets, racy}) {
    std::set<std::vector<uint32_t>> orders;
    for (uint64_t seed = 0; seed < 20; ++seed) {
      options.schedule = Schedule::Random;
      options.seed = seed;
      orders.insert(run(kernel, {3, 1, 1}, 128).memory);
    }
    EXPECT_GE(orders.size(), 15u);
  }
}

TEST_F(ScheduleOrder, LateAndEagerDoNotDependOnHostThreads) {
  for (Schedule schedule : {Schedule::Late, Schedule::Eager}) {
    options.schedule = schedule;
    options.threads = 1;
    Outcome first = run(tickets, {7, 1, 1}, 128);
    options.threads = 4;
    EXPECT_EQ(run(tickets, {7, 1, 1}, 128), first);
  }
}

TEST_F(ScheduleOrder, DivergentLanesAdvanceInAnyOrder) {
  // Each half of a warp draws a ticket; which comes first depends on the seed, and both meet again.
  std::string kernel = R"(
  setp.lt.u32 %p1, %lane, 16; @%p1 bra L;
  atom.global.add.u32 %x1, [%out], 1; bra M;
L:
  atom.global.add.u32 %x1, [%out], 1;
M:
  bar.warp.sync -1;
  mul.wide.u32 %y1, %thread, 4; add.u64 %y1, %out, %y1; st.global.u32 [%y1+4], %x1;
)";
  std::set<bool> lowFirst;
  options.schedule = Schedule::Random;
  for (options.seed = 0; options.seed < 40; ++options.seed) {
    Outcome outcome = run(kernel, {1, 1, 1}, 32);
    EXPECT_TRUE(outcome.findings.empty());
    lowFirst.insert(outcome.memory[1] < outcome.memory[17]);
  }
  EXPECT_EQ(lowFirst.size(), 2u);
}

TEST_F(ScheduleOrder, PollingForWhatNobodyWritesIsADeadlock) {
  std::string poll = "L: ld.volatile.global.u32 %x1, [%out]; setp.eq.u32 %p1, %x1, 0; @%p1 bra L;";
  for (Schedule schedule : {Schedule::Late, Schedule::Random}) {
    options.schedule = schedule;
    Outcome outcome = run(poll, {2, 1, 1}, 64);
    EXPECT_EQ(outcome.status, LaunchStatus::Timeout);
    ASSERT_EQ(outcome.findings.size(), 1u);
    EXPECT_NE(outcome.findings[0].find("deadlock"), std::string::npos);
    EXPECT_NE(outcome.findings[0].find("nothing changes it"), std::string::npos) << outcome.findings[0];
  }
  options = {};
  std::string inShared = "setp.eq.u32 %p2, %thread, 0; mov.u32 %x2, 1; @%p2 st.shared.u32 [s], %x2; bar.sync 0;"
                         "L: atom.shared.cas.b32 %x1, [s], 0, 1; setp.ne.u32 %p1, %x1, 0; @%p1 bra L;";
  EXPECT_EQ(run(inShared, {1, 1, 1}, 64).status, LaunchStatus::Timeout);
  std::string forABarrier = "setp.ge.u32 %p2, %thread, 32; @%p2 bra B; " + poll + " B: bar.sync 0;";
  Outcome outcome = run(forABarrier, {1, 1, 1}, 64);
  ASSERT_EQ(outcome.findings.size(), 1u);
  EXPECT_NE(outcome.findings[0].find("barrier 0 has 32 of 64"), std::string::npos) << outcome.findings[0];
}

TEST_F(ScheduleOrder, BlocksMayWaitForLaterBlocks) {
  // Each block waits for the flag of the next one; the last raises the first flag.
  std::string chain = R"(
  setp.ne.u32 %p1, %thread, 0; @%p1 bra End;
  mul.wide.u32 %y1, %block, 4; add.u64 %y1, %out, %y1; setp.eq.u32 %p2, %block, 9; @%p2 bra Raise;
L:
  ld.acquire.gpu.global.u32 %x1, [%y1+4]; setp.eq.u32 %p1, %x1, 0; @%p1 bra L;
Raise:
  mov.u32 %x2, 1; st.release.gpu.global.u32 [%y1], %x2;
End:
)";
  for (Schedule schedule : {Schedule::Late, Schedule::Eager, Schedule::Random}) {
    options.schedule = schedule;
    Outcome outcome = run(chain, {10, 1, 1}, 32);
    EXPECT_EQ(outcome.status, LaunchStatus::Success);
    EXPECT_TRUE(outcome.findings.empty());
    EXPECT_EQ(outcome.memory[0], 1u);
  }
}
