// Counters from real addresses: coalescing, bank conflicts, pipes, per instruction.
#include "tests/unit/simulator/Harness.h"

using namespace tessera::sim;
using namespace tessera::sim::test;

namespace {
LaunchReport count(const std::string &body, uint32_t threads = 32, Dim3 grid = {1, 1, 1}) {
  Machine machine;
  machine.options.counters = true;
  machine.load(header() + R"(
.shared .align 128 .b8 s[16384];
.visible .entry k(.param .u64 in)
{
  .reg .b64 %in, %o, %y<9>; .reg .b32 %lane, %x<20>; .reg .f32 %f<9>; .reg .pred %p<4>;
  ld.param.u64 %in, [in]; mov.u32 %lane, %laneid; mov.u32 %x19, s;
)" + body + "\n  ret;\n}\n");
  uint64_t in = machine.upload(std::vector<uint32_t>(4096, 1));
  machine.options.checks = false;
  LaunchReport report = machine.run(grid, {threads, 1, 1}, {in});
  expectClean(report);
  return report;
}
std::string strided(int bytes) {
  return "mul.wide.u32 %o, %lane, " + std::to_string(bytes) +
         "; add.u64 %o, %o, %in; cvt.u32.u64 %x9, %o; mul.lo.u32 %x1, %lane, " + std::to_string(bytes) + ";";
}
} // namespace

TEST(SimulatorCounters, GlobalSectorsShowCoalescing) {
  LaunchReport r = count(strided(4) + "ld.global.u32 %x2, [%o];");
  EXPECT_EQ(r.counters.globalLoads.requests, 1u);
  EXPECT_EQ(r.counters.globalLoads.bytes, 128u);
  EXPECT_EQ(r.counters.globalLoads.sectors, 4u);
  EXPECT_EQ(count(strided(32) + "ld.global.u32 %x2, [%o];").counters.globalLoads.sectors, 32u);
  EXPECT_EQ(count(strided(16) + "ld.global.v4.u32 {%x2,%x3,%x4,%x5}, [%o];").counters.globalLoads.sectors, 16u);
  EXPECT_EQ(count("st.global.u32 [%in], %lane;").counters.globalStores.sectors, 1u);
}

TEST(SimulatorCounters, SharedWavefrontsShowBankConflicts) {
  auto waves = [](int stride, const char *access) {
    auto c = count(strided(stride) + access).counters;
    return std::pair(c.sharedLoads.wavefronts + c.ldmatrix.wavefronts + c.sharedStores.wavefronts,
                     c.sharedLoads.ideal + c.ldmatrix.ideal + c.sharedStores.ideal);
  };
  using P = std::pair<uint64_t, uint64_t>;
  EXPECT_EQ(waves(4, "ld.shared.u32 %x2, [%x1];"), P(1, 1));
  EXPECT_EQ(waves(8, "ld.shared.u32 %x2, [%x1];"), P(2, 1));
  EXPECT_EQ(waves(128, "ld.shared.u32 %x2, [%x1];"), P(32, 1));
  EXPECT_EQ(waves(0, "ld.shared.u32 %x2, [%x1];"), P(1, 1)); // one word for all
  EXPECT_EQ(waves(16, "ld.shared.v4.u32 {%x2,%x3,%x4,%x5}, [%x1];"), P(4, 4));
  EXPECT_EQ(waves(128, "st.shared.v4.u32 [%x1], {%x2,%x3,%x4,%x5};"), P(32, 4));
  EXPECT_EQ(waves(16, "ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%x2,%x3,%x4,%x5}, [%x1];"), P(4, 4));
  EXPECT_EQ(waves(128, "ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%x2,%x3,%x4,%x5}, [%x1];"), P(32, 4));
  EXPECT_EQ(waves(144, "ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%x2,%x3,%x4,%x5}, [%x1];"), P(4, 4)); // padded rows
}

TEST(SimulatorCounters, PipesFlopsAndLoops) {
  LaunchReport r = count(R"(
  mov.u32 %x1, 0; mov.u32 %x2, 0; mov.u32 %x3, 0; mov.u32 %x4, 0; mov.f32 %f1, 0f00000000; mov.f32 %f2, %f1; mov.f32 %f3, %f1; mov.f32 %f4, %f1; mov.u32 %x5, 0;
L: mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%f1,%f2,%f3,%f4}, {%x1,%x2,%x3,%x4}, {%x1,%x2}, {%f1,%f2,%f3,%f4};
  ex2.approx.ftz.f32 %f5, %f1;
  fma.rn.f32 %f6, %f5, %f5, %f5;
  add.u32 %x5, %x5, 1;
  setp.lt.u32 %p1, %x5, 10;
  bar.sync 0;
  @%p1 bra L;)",
                         64, {3, 1, 1});
  EXPECT_EQ(r.counters.mmaInstructions, 10u * 6);
  EXPECT_EQ(r.counters.mmaFlops, 10u * 6 * 4096);
  EXPECT_EQ(r.counters.ex2, 60u);
  EXPECT_EQ(r.counters.barrierWaits, 60u);
  EXPECT_EQ(r.counters.byPipe[static_cast<unsigned>(Pipe::Mufu)], 60u);
  EXPECT_EQ(r.counters.byPipe[static_cast<unsigned>(Pipe::Fma)], 60u);
  EXPECT_EQ(r.counters.byPipe[static_cast<unsigned>(Pipe::Tensor)], 60u);
  uint64_t inLoop = 0;
  for (const InstructionProfile &i : r.instructions)
    if (i.executions == 60)
      ++inLoop;
  EXPECT_EQ(inLoop, 7u);
}

TEST(SimulatorCounters, AsyncCopies) {
  auto c = count(strided(16) + "cp.async.cg.shared.global [%x1], [%o], 16; cp.async.wait_all;").counters;
  EXPECT_EQ(c.asyncCopies.bytes, 512u);
  EXPECT_EQ(c.asyncCopies.sectors, 16u);
  EXPECT_EQ(c.asyncWrites.wavefronts, 4u);
}
