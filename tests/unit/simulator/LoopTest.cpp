// Loops of the PTX text: which there are, how they nest, and what is counted for each. Expected values are worked out
// by hand from the texts.
#include "runtime/simulator/program/Loops.h"
#include "runtime/simulator/program/Program.h"
#include "tests/unit/simulator/Harness.h"

using namespace tessera::sim;
using namespace tessera::sim::test;

namespace {

constexpr unsigned at(Pipe pipe) { return static_cast<unsigned>(pipe); }

LaunchReport count(Machine &machine, const std::string &body, uint32_t threads, Dim3 grid) {
  machine.options.counters = true;
  machine.load(header() + R"(.visible .entry k(.param .u64 out)
{
.reg .b64 %o; .reg .b32 %i, %j, %x, %n; .reg .f32 %f; .reg .pred %p, %q, %u;
ld.param.u64 %o, [out];
mov.u32 %x, %tid.x;
mov.f32 %f, 0f00000000;
)" + body + "\nret;\n}\n");
  uint64_t out = machine.upload(std::vector<uint32_t>(1024, 0));
  LaunchReport report = machine.run(grid, {threads, 1, 1}, {out});
  expectClean(report);
  return report;
}

// Line 9 is the first of the body.
constexpr const char *nested = R"(mov.u32 %i, 0;
OUTER:
mov.u32 %j, 0;
INNER:
ex2.approx.ftz.f32 %f, %f;
add.u32 %j, %j, 1;
setp.lt.u32 %q, %j, 5;
@%q bra INNER;
add.f32 %f, %f, %f;
add.u32 %i, %i, 1;
setp.lt.u32 %p, %i, 3;
@%p bra OUTER;)";

TEST(SimulatorLoops, InnerLoopsCountForThemselvesAndForThoseAround) {
  Machine machine;
  LaunchReport r = count(machine, nested, 64, {2, 1, 1}); // 4 warps
  ASSERT_EQ(r.loops.size(), 2u);
  const LoopProfile &outer = r.loops[0], &inner = r.loops[1];
  EXPECT_EQ(outer.label, "OUTER");
  EXPECT_EQ(outer.function, "k");
  EXPECT_EQ(outer.depth, 1u);
  EXPECT_EQ(outer.parent, -1);
  EXPECT_EQ(outer.firstLine, 12u);
  EXPECT_EQ(outer.lastLine, 21u);
  EXPECT_EQ(outer.iterations, 4u * 3);
  EXPECT_EQ(inner.label, "INNER");
  EXPECT_EQ(inner.depth, 2u);
  EXPECT_EQ(inner.parent, 0);
  EXPECT_EQ(inner.headerLine, 14u);
  EXPECT_EQ(inner.lastLine, 17u);
  EXPECT_EQ(inner.iterations, 4u * 3 * 5);
  EXPECT_EQ(inner.warpInstructions, 4u * 15 * 4);
  EXPECT_EQ(inner.byPipe[at(Pipe::Mufu)], 4u * 15);
  EXPECT_EQ(inner.byPipe[at(Pipe::Alu)], 4u * 15 * 2);
  EXPECT_EQ(inner.byPipe[at(Pipe::Control)], 4u * 15);
  EXPECT_EQ(inner.ex2, 60u);
  EXPECT_EQ(outer.warpInstructions, inner.warpInstructions + 4u * 3 * 5);
  EXPECT_EQ(outer.byPipe[at(Pipe::Fma)], 4u * 3);
  EXPECT_EQ(outer.ex2, inner.ex2);
  // Each instruction names its innermost loop.
  for (const InstructionProfile &i : r.instructions)
    EXPECT_EQ(i.loop, i.line >= 14 && i.line <= 17 ? 1 : i.line >= 12 && i.line <= 21 ? 0 : -1) << i.text;
}

TEST(SimulatorLoops, ModelledClocksFollowTheRatesOfTheDevice) {
  Machine machine; // a100: MUFU 16 lanes, ALU 64, 4 slots per clock
  LaunchReport r = count(machine, nested, 64, {2, 1, 1});
  EXPECT_DOUBLE_EQ(r.busiestShare, 0.5); // two blocks on two SMs
  const LoopProfile &inner = r.loops[1];
  EXPECT_DOUBLE_EQ(inner.clocks.busy[at(Pipe::Mufu)], 60 * 2 * 0.5);
  EXPECT_DOUBLE_EQ(inner.clocks.busy[at(Pipe::Alu)], 120 * 0.5 * 0.5);
  EXPECT_DOUBLE_EQ(inner.clocks.busy[issueUnit], 240 * 0.25 * 0.5);
  EXPECT_EQ(inner.clocks.binding(), at(Pipe::Mufu));
  EXPECT_DOUBLE_EQ(inner.clocks.most(), 60);
  // 109 blocks on 108 SMs: one SM does two of them.
  Machine many;
  EXPECT_DOUBLE_EQ(count(many, nested, 32, {109, 1, 1}).busiestShare, 2.0 / 109);
}

TEST(SimulatorLoops, ATestOnTopAndAnExitInTheMiddle) {
  Machine machine;
  LaunchReport r = count(machine, R"(mov.u32 %i, 0;
TOP:
setp.ge.u32 %p, %i, 4;
@%p bra DONE;
add.u32 %i, %i, 1;
setp.eq.u32 %q, %i, 3;
@%q bra DONE;
bra TOP;
DONE:
add.u32 %i, %i, 7;)",
                         32, {1, 1, 1});
  ASSERT_EQ(r.loops.size(), 1u);
  EXPECT_EQ(r.loops[0].iterations, 3u); // leaves in the middle of the third
  EXPECT_EQ(r.loops[0].warpInstructions, 3u * 5 + 2);
  EXPECT_EQ(r.loops[0].lastLine, 17u);
}

TEST(SimulatorLoops, SiblingsOneBlockLoopsAndNone) {
  Machine machine;
  LaunchReport r = count(machine, R"(mov.u32 %i, 0;
A:
add.u32 %i, %i, 1;
setp.lt.u32 %p, %i, 2;
@%p bra A;
B:
add.u32 %i, %i, 1;
setp.lt.u32 %p, %i, 9;
@%p bra B;)",
                         32, {1, 1, 1});
  ASSERT_EQ(r.loops.size(), 2u);
  EXPECT_EQ(r.loops[0].label, "A");
  EXPECT_EQ(r.loops[1].label, "B");
  EXPECT_EQ(r.loops[1].parent, -1);
  EXPECT_EQ(r.loops[0].iterations, 2u);
  EXPECT_EQ(r.loops[1].iterations, 7u);
  Machine straight;
  EXPECT_TRUE(count(straight, "add.u32 %i, %x, 1;", 32, {1, 1, 1}).loops.empty());
}

// A cycle with two entries is no natural loop; it is one all the same.
TEST(SimulatorLoops, ACycleWithTwoEntriesIsALoop) {
  Machine machine;
  LaunchReport r = count(machine, R"(mov.u32 %i, 0;
setp.eq.u32 %u, %x, 99;
@%u bra SECOND;
FIRST:
add.u32 %i, %i, 1;
SECOND:
add.u32 %i, %i, 1;
setp.lt.u32 %p, %i, 8;
@%p bra FIRST;)",
                         32, {1, 1, 1});
  ASSERT_EQ(r.loops.size(), 1u);
  EXPECT_EQ(r.loops[0].label, "FIRST");
  EXPECT_EQ(r.loops[0].iterations, 4u);
}

TEST(SimulatorLoops, LoopsOfACalledFunctionAreItsOwn) {
  Machine machine;
  machine.options.counters = true;
  machine.load(header() + R"(.func f()
{
.reg .b32 %i; .reg .pred %p;
mov.u32 %i, 0;
F:
add.u32 %i, %i, 1;
setp.lt.u32 %p, %i, 4;
@%p bra F;
ret;
}
.visible .entry k()
{
.reg .b32 %i; .reg .pred %p;
mov.u32 %i, 0;
K:
call f;
add.u32 %i, %i, 1;
setp.lt.u32 %p, %i, 2;
@%p bra K;
ret;
}
)");
  LaunchReport r = machine.run({1, 1, 1}, {32, 1, 1}, {});
  expectClean(r);
  ASSERT_EQ(r.loops.size(), 2u);
  EXPECT_EQ(r.loops[0].function, "f");
  EXPECT_EQ(r.loops[0].iterations, 2u * 4);
  EXPECT_EQ(r.loops[1].function, "k");
  EXPECT_EQ(r.loops[1].warpInstructions, 2u * 4); // without those of f
  EXPECT_EQ(r.loops[1].depth, 1u);
}

} // namespace
