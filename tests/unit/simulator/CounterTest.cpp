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

namespace {
constexpr unsigned at(Pipe pipe) { return static_cast<unsigned>(pipe); }

/// Pipe and modelled clocks of one instruction, executed by one warp on one SM.
std::pair<Pipe, double> costOf(const std::string &instruction) {
  LaunchReport r = count("mov.u32 %x1, 3; mov.u32 %x2, 3; mov.u32 %x3, 3; mov.u64 %y1, 3; mov.u64 %y2, 3; mov.u64 %y3, "
                         "%in; mov.f32 %f1, 0f3f800000; mov.f32 %f2, 0f3f800000;\n.reg .b16 %h<9>; .reg .f64 %d<9>; "
                         "mov.b16 %h1, 1; mov.b16 %h2, 1; mov.f64 %d1, 0d3ff0000000000000;\n st.shared.u32 [%x19], "
                         "%x1;\n" +
                         instruction);
  const InstructionProfile &last = r.instructions[r.instructions.size() - 2]; // then ret
  EXPECT_EQ(last.text + ";", instruction);
  EXPECT_EQ(last.executions, 1u);
  return {last.pipe, last.clocks.busy[at(last.pipe)]};
}
} // namespace

// design/devices.md and the throughput table of the CUDA programming guide; an A100 has 64 f32 lanes, 64 ALU lanes and
// 16 MUFU lanes per SM.
TEST(SimulatorCounters, EveryInstructionIsChargedToItsPipe) {
  using C = std::pair<Pipe, double>;
  EXPECT_EQ(costOf("fma.rn.f32 %f3, %f1, %f1, %f2;"), C(Pipe::Fma, 0.5));
  EXPECT_EQ(costOf("max.f32 %f3, %f1, %f2;"), C(Pipe::Alu, 0.5));
  EXPECT_EQ(costOf("neg.f32 %f3, %f1;"), C(Pipe::Folded, 0));
  EXPECT_EQ(costOf("setp.gt.f32 %p1, %f1, %f2;"), C(Pipe::Alu, 0.5));
  EXPECT_EQ(costOf("ex2.approx.ftz.f32 %f3, %f1;"), C(Pipe::Mufu, 2));
  EXPECT_EQ(costOf("ex2.approx.f16x2 %x3, %x1;"), C(Pipe::Mufu, 4));
  EXPECT_EQ(costOf("rcp.approx.ftz.f32 %f3, %f1;"), C(Pipe::Mufu, 2));
  EXPECT_EQ(costOf("add.s32 %x3, %x1, %x2;"), C(Pipe::Alu, 0.5));
  EXPECT_EQ(costOf("add.s64 %y4, %y1, %y2;"), C(Pipe::Alu, 1));
  EXPECT_EQ(costOf("mad.lo.s32 %x3, %x1, %x2, %x1;"), C(Pipe::Fma, 0.5));
  EXPECT_EQ(costOf("mul.wide.u32 %y4, %x1, %x2;"), C(Pipe::Fma, 0.5));
  EXPECT_EQ(costOf("mul.lo.s64 %y4, %y1, %y2;"), C(Pipe::Fma, 2));
  EXPECT_EQ(costOf("popc.b32 %x3, %x1;"), C(Pipe::Mufu, 2));
  EXPECT_EQ(costOf("lop3.b32 %x3, %x1, %x2, %x1, 0x96;"), C(Pipe::Alu, 0.5));
  EXPECT_EQ(costOf("shfl.sync.bfly.b32 %x3, %x1, 1, 31, -1;"), C(Pipe::Shared, 1));
  EXPECT_EQ(costOf("fma.rn.f16x2 %x3, %x1, %x2, %x1;"), C(Pipe::Half, 0.25));
  EXPECT_EQ(costOf("fma.rn.bf16x2 %x3, %x1, %x2, %x1;"), C(Pipe::Half, 0.5));
  EXPECT_EQ(costOf("add.f64 %d3, %d1, %d1;"), C(Pipe::Fp64, 1));
  EXPECT_EQ(costOf("cvt.rn.bf16x2.f32 %x3, %f1, %f2;"), C(Pipe::Alu, 0.5));
  EXPECT_EQ(costOf("cvt.f32.f16 %f3, %h1;"), C(Pipe::Half, 0.25));
  EXPECT_EQ(costOf("cvt.rn.f32.s32 %f3, %x1;"), C(Pipe::Mufu, 2));
  EXPECT_EQ(costOf("cvt.rzi.s32.f32 %x3, %f1;"), C(Pipe::Mufu, 2));
  EXPECT_EQ(costOf("cvt.u64.u32 %y4, %x1;"), C(Pipe::Folded, 0));
  EXPECT_EQ(costOf("cvt.u32.u64 %x3, %y1;"), C(Pipe::Folded, 0));
  EXPECT_EQ(costOf("mov.b32 {%h3, %h4}, %x1;"), C(Pipe::Alu, 0.5));
  EXPECT_EQ(costOf("mov.b64 {%x3, %x4}, %y1;"), C(Pipe::Folded, 0));
  EXPECT_EQ(costOf("mov.u32 %x3, %x1;"), C(Pipe::Folded, 0));
  EXPECT_EQ(costOf("ld.global.u32 %x3, [%y3];"), C(Pipe::Lsu, 1));
  EXPECT_EQ(costOf("ld.shared.u32 %x3, [%x19];"), C(Pipe::Shared, 1));
  EXPECT_EQ(costOf("bar.sync 0;"), C(Pipe::Control, 0));
}

// An A100 does 1024 FMA with 16-bit inputs and f32 sums per SM and clock, 512 with tf32, 2048 with 8 bits.
TEST(SimulatorCounters, MatrixInstructionsTakeWhatTheirTypeTakes) {
  auto clocks = [](const std::string &instruction) {
    LaunchReport r = count("mov.u32 %x1, 0; mov.u32 %x2, 0; mov.u32 %x3, 0; mov.u32 %x4, 0; mov.u32 %x5, 0; mov.u32 "
                           "%x6, 0; mov.u32 %x7, 0; mov.u32 %x8, 0; mov.f32 %f1, 0f00000000; mov.f32 %f2, %f1; mov.f32 "
                           "%f3, %f1; mov.f32 %f4, %f1;\n" +
                           instruction);
    return r.clocks.busy[at(Pipe::Tensor)];
  };
  EXPECT_DOUBLE_EQ(clocks("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%f1,%f2,%f3,%f4}, {%x1,%x2,%x3,%x4}, "
                          "{%x1,%x2}, {%f1,%f2,%f3,%f4};"),
                   2048 / 1024.0);
  EXPECT_DOUBLE_EQ(clocks("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%f1,%f2,%f3,%f4}, {%x1,%x2,%x3,%x4}, "
                          "{%x1,%x2}, {%f1,%f2,%f3,%f4};"),
                   1024 / 512.0);
  EXPECT_DOUBLE_EQ(clocks("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%x5,%x6,%x7,%x8}, {%x1,%x2,%x3,%x4}, "
                          "{%x1,%x2}, {%x5,%x6,%x7,%x8};"),
                   4096 / 2048.0);
}

TEST(SimulatorCounters, TheFootprintHoldsEachByteOnce) {
  // All warps of all blocks read the same 128 bytes, with a hole in every second sector.
  LaunchReport r = count(
      strided(8) + "ld.global.u16 %x2, [%o]; ld.global.u16 %x3, [%o]; st.global.u32 [%in+2048], %x2;", 64, {3, 1, 1});
  EXPECT_EQ(r.footprint.readBytes, 32u * 2);
  EXPECT_EQ(r.footprint.readSectors, 8u);
  EXPECT_EQ(r.footprint.writtenBytes, 4u);
  EXPECT_EQ(r.footprint.writtenSectors, 1u);
  EXPECT_EQ(r.counters.globalLoads.bytes, 6u * 2 * 64);
  EXPECT_EQ(r.counters.globalLoads.ideal, 6u * 2 * 2); // 64 distinct bytes of each request fill two sectors
  EXPECT_EQ(r.counters.globalLoads.sectors, 6u * 2 * 8);
  EXPECT_EQ(count("atom.global.add.u32 %x2, [%in], 1;").footprint.readBytes, 4u); // reads and writes
  EXPECT_EQ(count("atom.global.add.u32 %x2, [%in], 1;").footprint.writtenBytes, 4u);
  EXPECT_EQ(count(strided(16) + "cp.async.cg.shared.global [%x1], [%o], 16; cp.async.wait_all;").footprint.readBytes,
            512u);
}

TEST(SimulatorCounters, MemoryBoundsWhatTouchesMuchAndDoesLittle) {
  // 32 lanes of 16 bytes: 16 sectors, at 2039 GB/s and 1410 MHz 1446 bytes per clock.
  LaunchReport r = count(strided(16) + "ld.global.v4.u32 {%x2,%x3,%x4,%x5}, [%o];");
  EXPECT_DOUBLE_EQ(r.clocks.busy[memoryUnit], 16 * 32 / (2039e3 / 1410));
  EXPECT_DOUBLE_EQ(r.clocks.busy[l2Unit], 16 * 32 / 48.0);
}

TEST(SimulatorCounters, BroadcastAndUnalignedRequestsHaveTheirIdeal) {
  auto loads = [](const std::string &body) { return count(body).counters.globalLoads; };
  EXPECT_EQ(loads("ld.global.u32 %x2, [%in];").sectors, 1u); // one word for all lanes
  EXPECT_EQ(loads("ld.global.u32 %x2, [%in];").ideal, 1u);
  EXPECT_EQ(loads("ld.global.u32 %x2, [%in];").bytes, 128u);
  GlobalTraffic shifted = loads(strided(4) + "ld.global.u32 %x2, [%o+16];");
  EXPECT_EQ(shifted.sectors, 5u); // 128 bytes that begin in the middle of a sector
  EXPECT_EQ(shifted.ideal, 4u);
  // Lanes in reverse order touch the same sectors.
  EXPECT_EQ(loads("xor.b32 %lane, %lane, 31;" + strided(4) + "ld.global.u32 %x2, [%o];").sectors, 4u);
}

TEST(SimulatorCounters, SumsByPipeAndByInstructionAgree) {
  LaunchReport r = count(strided(4) + "ld.global.u32 %x2, [%o]; st.shared.u32 [%x1], %x2; bar.sync 0; ld.shared.u32 "
                                      "%x3, [%x1]; popc.b32 %x3, %x3; st.global.u32 [%o], %x3;",
                         96, {5, 1, 1});
  uint64_t byPipe = 0, executions = 0, sectors = 0, wavefronts = 0;
  for (uint64_t n : r.counters.byPipe)
    byPipe += n;
  UnitClocks clocks;
  for (const InstructionProfile &i : r.instructions) {
    executions += i.executions;
    sectors += i.sectors;
    wavefronts += i.wavefronts;
    clocks += i.clocks;
  }
  EXPECT_EQ(byPipe, r.counters.warpInstructions);
  EXPECT_EQ(executions, r.counters.warpInstructions);
  EXPECT_EQ(sectors, r.counters.globalLoads.sectors + r.counters.globalStores.sectors);
  EXPECT_EQ(wavefronts, r.counters.sharedLoads.wavefronts + r.counters.sharedStores.wavefronts);
  for (unsigned unit = 0; unit < memoryUnit; ++unit)
    EXPECT_DOUBLE_EQ(clocks.busy[unit], r.clocks.busy[unit]) << unitName(unit);
}
