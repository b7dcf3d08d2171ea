// For each detector, a correct kernel with one line removed or changed is reported, and the kernel itself never is:
// under the late, the eager and fifty random schedules. (Races and asynchronous copies: RaceTest; mbarriers:
// MbarrierTest.)
#include "tests/unit/simulator/Harness.h"

#include <fmt/format.h>

using namespace tessera::sim;
using namespace tessera::sim::test;

namespace {

constexpr unsigned randomSchedules = 50;

/// Row sums of a ragged matrix of `rows` x `columns` words, 40 columns at most: each block takes two rows into shared
/// memory, one warp per row; lanes 0-7 take a second column where there is one. Warp 1 hands its sum over a named
/// barrier to warp 0, which stores both and, with a vote, whether any was odd.
constexpr std::string_view rowSums = R"(
.shared .align 16 .b8 tile[320];
.shared .align 4 .b32 sums[2];
.visible .entry k(.param .u64 in, .param .u64 out, .param .u64 rows, .param .u64 columns)
{
  .reg .b64 %in, %out, %y<9>; .reg .b32 %thread, %block, %lane, %warp, %row, %rows, %columns, %x<20>; .reg .pred %p<9>;
  .local .align 4 .b8 partial[8];
  ld.param.u64 %in, [in]; ld.param.u64 %out, [out]; ld.param.u32 %rows, [rows]; ld.param.u32 %columns, [columns];
  mov.u32 %thread, %tid.x; mov.u32 %block, %ctaid.x; mov.u32 %lane, %laneid; shr.u32 %warp, %thread, 5;
  mad.lo.u32 %row, %block, 2, %warp;
  mad.lo.u32 %x1, %row, %columns, %lane; mul.wide.u32 %y1, %x1, 4; add.u64 %y1, %in, %y1;
  mul.lo.u32 %x2, %warp, 160; mov.u32 %x3, tile; add.u32 %x2, %x2, %x3; mad.lo.u32 %x2, %lane, 4, %x2;
  mov.u32 %x4, 0;
  st.shared.u32 [%x2], %x4; // clear
  st.shared.u32 [%x2+32], %x4;
  bar.warp.sync -1;
  setp.lt.u32 %p1, %row, %rows;
  setp.lt.and.u32 %p2, %lane, %columns, %p1; // mask
  @%p2 ld.global.u32 %x5, [%y1];
  @%p2 st.shared.u32 [%x2], %x5;
  add.u32 %x6, %lane, 32;
  setp.lt.and.u32 %p3, %x6, %columns, %p1; // second mask
  @%p3 ld.global.u32 %x7, [%y1+128];
  @%p3 st.shared.u32 [%x2+128], %x7;
  bar.warp.sync -1;
  mov.u32 %x9, 0; // zero
  ld.shared.u32 %x8, [%x2];
  @%p3 ld.shared.u32 %x9, [%x2+128];
  add.u32 %x8, %x8, %x9;
  st.local.u32 [partial], %x8; // partial
  ld.local.u32 %x8, [partial];
  shfl.sync.bfly.b32 %x9, %x8, 16, 31, -1; add.u32 %x8, %x8, %x9;
  shfl.sync.bfly.b32 %x9, %x8, 8, 31, -1; add.u32 %x8, %x8, %x9;
  shfl.sync.bfly.b32 %x9, %x8, 4, 31, -1; add.u32 %x8, %x8, %x9;
  shfl.sync.bfly.b32 %x9, %x8, 2, 31, -1; add.u32 %x8, %x8, %x9;
  shfl.sync.bfly.b32 %x9, %x8, 1, 31, -1; add.u32 %x8, %x8, %x9; // last
  mov.u32 %x16, 1; mov.u32 %x17, 64;
  mov.u32 %x10, sums; mad.lo.u32 %x11, %warp, 4, %x10; setp.eq.u32 %p4, %lane, 0; setp.eq.u32 %p5, %warp, 1;
  @%p4 st.shared.u32 [%x11], %x8; // sum
  @%p5 bra Warp1;
  bar.sync %x16, %x17; // collect
  setp.lt.u32 %p6, %lane, 2; mov.u32 %x12, 0; mad.lo.u32 %x13, %lane, 4, %x10;
  @%p6 ld.shared.u32 %x12, [%x13];
  and.b32 %x14, %x12, 1; setp.ne.u32 %p7, %x14, 0;
  vote.sync.any.pred %p8, %p7, -1; selp.u32 %x15, 1, 0, %p8;
  add.u32 %row, %row, %lane; setp.lt.and.u32 %p1, %row, %rows, %p6; // store mask
  mul.wide.u32 %y2, %row, 8; add.u64 %y2, %out, %y2;
  @%p1 st.global.v2.u32 [%y2], {%x12, %x15}; // result
  bra End;
Warp1:
  bar.arrive %x16, %x17; // hand over
End:
  bar.sync 0; // end
  ret;
}
)";

class Mutation : public testing::Test {
protected:
  LaunchReport run(const std::string &text) {
    Machine machine;
    machine.options = options;
    machine.load(header() + text);
    std::vector<uint32_t> matrix(rows * columns);
    for (uint32_t i = 0; i < matrix.size(); ++i)
      matrix[i] = i;
    uint64_t in = machine.upload(matrix, "matrix"), out = *machine.memory.allocate(rows * 8, 256, "sums of rows");
    if (freed)
      EXPECT_TRUE(machine.memory.free(in).ok());
    LaunchReport report = machine.run({(rows + 1) / 2, 1, 1}, {64, 1, 1}, {in, out, rows, columns});
    result = machine.download<uint32_t>(out, rows * 2);
    return report;
  }
  void expect(FindingKind kind, std::string_view from, std::string_view to) {
    LaunchReport report = run(mutated(rowSums, from, to));
    bool found = false;
    std::string all;
    for (const Finding &f : report.findings) {
      found |= f.kind == kind && f.line > 0 && !f.instruction.empty();
      all += f.text + "\n";
    }
    EXPECT_TRUE(found) << "'" << from << "' -> '" << to << "' gave no " << toString(kind) << ", but:\n" << all;
  }
  static constexpr uint32_t rows = 5, columns = 37;
  Options options;
  std::vector<uint32_t> result;
  bool freed = false;
};

} // namespace

TEST_F(Mutation, TheOriginalIsCleanAndRight) {
  for (unsigned i = 0; i < randomSchedules + 2; ++i) {
    options.schedule = i == 0 ? Schedule::Late : i == 1 ? Schedule::Eager : Schedule::Random;
    options.seed = i;
    expectClean(run(std::string(rowSums)));
    for (uint32_t row = 0; row < rows; ++row)
      EXPECT_EQ(result[2 * row], columns * (columns * row) + columns * (columns - 1) / 2);
  }
}

TEST_F(Mutation, OutOfBounds) {
  expect(FindingKind::OutOfBounds, "setp.lt.and.u32 %p2, %lane, %columns, %p1; // mask", "setp.ge.u32 %p2, %lane, 0;");
  expect(FindingKind::OutOfBounds, "%p3, %x6, %columns, %p1; // second mask", "%p3, %lane, %columns, %p1;");
  expect(FindingKind::OutOfBounds, "%p1, %row, %rows, %p6; // store mask", "%p1, %lane, 2, %p6;");
  expect(FindingKind::OutOfBounds, "[%x2+128], %x7", "[%x2+512], %x7");
  expect(FindingKind::OutOfBounds, "st.local.u32 [partial], %x8", "st.local.u32 [partial+1024], %x8");
}

TEST_F(Mutation, Misaligned) {
  expect(FindingKind::Misaligned, "mul.wide.u32 %y2, %row, 8", "mul.wide.u32 %y2, %row, 4");
  expect(FindingKind::Misaligned, "[%y1+128]", "[%y1+126]");
  expect(FindingKind::Misaligned, "st.shared.u32 [%x2+32], %x4", "st.shared.u32 [%x2+33], %x4");
  expect(FindingKind::Misaligned, "mad.lo.u32 %x13, %lane, 4, %x10", "mad.lo.u32 %x13, %lane, 2, %x10");
}

TEST_F(Mutation, UseAfterFree) {
  freed = true;
  expect(FindingKind::UseAfterFree, "// clear", "");
  expect(FindingKind::UseAfterFree, "@%p2 ld.global.u32 %x5, [%y1];\n  @%p2 st.shared.u32 [%x2], %x5;", "");
  expect(FindingKind::UseAfterFree, "@%p2 ld.global.u32", "@%p2 ld.global.nc.u32");
}

TEST_F(Mutation, UninitialisedRead) {
  expect(FindingKind::UninitialisedRead, "st.shared.u32 [%x2], %x4; // clear", "");
  expect(FindingKind::UninitialisedRead, "mov.u32 %x9, 0; // zero", "");
  expect(FindingKind::UninitialisedRead, "mov.u32 %x12, 0; mad", "mad");
  expect(FindingKind::UninitialisedRead, "mov.u32 %x4, 0;", "");
  expect(FindingKind::UninitialisedRead, "st.local.u32 [partial], %x8; // partial", "");
}

TEST_F(Mutation, ConvergenceViolation) {
  expect(FindingKind::ConvergenceViolation, "shfl.sync.bfly.b32 %x9, %x8, 1, 31, -1; add.u32 %x8, %x8, %x9; // last",
         "shfl.sync.bfly.b32 %x9, %x8, 1, 31, 0xffff; add.u32 %x8, %x8, %x9;");
  expect(FindingKind::ConvergenceViolation, "bar.sync 0; // end", "@%p4 bar.sync 0;");
  expect(FindingKind::ConvergenceViolation, "shfl.sync.bfly.b32 %x9, %x8, 1, 31, -1; add",
         "mov.u32 %x18, 0x0000ffff; @%p4 mov.u32 %x18, 0x0000ffff; setp.lt.u32 %p6, %lane, 16; @%p6 bra Low; bra All;\n"
         "Low: shfl.sync.idx.b32 %x9, %x8, 20, 31, %x18;\nAll: shfl.sync.bfly.b32 %x9, %x8, 1, 31, -1; add");
  expect(FindingKind::ConvergenceViolation, "@%p5 bra Warp1;", "@%p4 bra.uni Warp1;");
}

TEST_F(Mutation, BarrierMisuse) {
  expect(FindingKind::BarrierMisuse, "mov.u32 %x17, 64;", "mov.u32 %x17, 48;");
  expect(FindingKind::BarrierMisuse, "mov.u32 %x16, 1;", "mov.u32 %x16, 16;");
  expect(FindingKind::BarrierMisuse, "bar.arrive %x16, %x17; // hand over",
         "bar.arrive %x16, 32; bar.arrive %x16, 96;");
  expect(FindingKind::BarrierMisuse, "bar.sync %x16, %x17; // collect", "bar.arrive %x16, %x17; bar.sync %x16, %x17;");
  expect(FindingKind::BarrierMisuse, "bar.arrive %x16, %x17; // hand over", "bar.arrive %x16, 96;");
}

TEST_F(Mutation, Deadlock) {
  expect(FindingKind::Deadlock, "bar.arrive %x16, %x17; // hand over", "");
  expect(FindingKind::Deadlock, "bar.sync 0; // end", "@%p5 bar.sync 2; @!%p5 bar.sync 0;");
  expect(FindingKind::Deadlock, "bar.arrive %x16, %x17; // hand over", "bar.arrive 2, %x17;");
  expect(
      FindingKind::Deadlock, "bar.sync 0; // end",
      "@%p5 bra Out; Poll: ld.volatile.shared.u32 %x18, [sums]; setp.ne.u32 %p2, %x18, 0x7fffffff; @%p2 bra Poll; Out: "
      "bar.sync 0;");
}

TEST_F(Mutation, RacesOfThisKernelToo) {
  expect(FindingKind::DataRace, "bar.sync %x16, %x17; // collect", "bar.arrive %x16, %x17;");
  expect(FindingKind::DataRace, "mad.lo.u32 %row, %block, 2, %warp", "mov.u32 %row, %warp");
  expect(FindingKind::DataRace, "mul.lo.u32 %x2, %warp, 160", "mul.lo.u32 %x2, %warp, 128");
}

TEST_F(Mutation, Traps) {
  expect(FindingKind::Trap, "@%p5 bra Warp1;", "@%p4 trap; @%p5 bra Warp1;");
  expect(FindingKind::Trap, "bar.sync 0; // end", "trap;");
  expect(FindingKind::Trap, "mov.u32 %x9, 0; // zero", "mov.u32 %x9, 0; @!%p1 trap;");
}

TEST_F(Mutation, Limit) {
  options.instructionLimit = 10000;
  expect(FindingKind::Limit, "bar.sync 0; // end", "Loop: bra Loop;");
  expect(FindingKind::Limit, "mov.u32 %x9, 0; // zero", "mov.u32 %x9, 0; Z: add.u32 %x9, %x9, 1; @%p1 bra Z;");
  expect(FindingKind::Limit, "@%p5 bra Warp1;", "@%p5 bra Warp1; X: @%p5 bra Y; @!%p5 bra X; Y:");
}
