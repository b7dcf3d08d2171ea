// Estimates of work and footprint: exact where a formula is exact. What the simulator counts is compared in CountsTest.
#include "autotune/model/Occupancy.h"
#include "tests/unit/model/Tasks.h"

#include <gtest/gtest.h>

namespace tessera::tune {
namespace {

Schedule schedule(const char *text) { return *Schedule::parse(text); }

TEST(Estimate, CountsMatrixWorkExponentsAndBytesExactly) {
  Task task = usualTask(128, false, 1024);
  const Schedule s = schedule("v1:q128,kv64,w4,s1,lazy8,add,qreg,online");
  const BlockWork work = estimateWork(task, s);
  EXPECT_EQ(work.perTile.mmaFlops, 2.0 * 2 * 128 * 64 * 128);
  EXPECT_EQ(work.perTile.mufu, 128.0 * 64 / 32);
  EXPECT_EQ(work.perTile.fillBytes, 64.0 * 2 * 128 * 2);
  EXPECT_EQ(work.fixed.fillBytes, 128.0 * 128 * 2);
  EXPECT_EQ(work.fixed.storeBytes, 128.0 * 128 * 2);
  EXPECT_EQ(work.perTile.barriers, 2);
  EXPECT_EQ(work.basis, Basis::Estimated);
  const BlockWork summed = estimateWork(task, schedule("v1:q128,kv64,w4,s1,lazy8,mma,qreg,online"));
  EXPECT_EQ(summed.perTile.mmaFlops - work.perTile.mmaFlops, 128.0 * 64 / 16 / 16 * 4096) << "one column of ones";
  EXPECT_LT(summed.perTile.fma, work.perTile.fma);
}

TEST(Estimate, AMoveOfTheReferenceCostsWhatPoliciesSave) {
  const Task task = usualTask(128, false, 1024);
  const Work every = estimateWork(task, schedule("v1:q128,kv64,w4,s1,every,add,qreg,online")).perTile;
  const Work lazy = estimateWork(task, schedule("v1:q128,kv64,w4,s1,lazy8,add,qreg,online")).perTile;
  const Work anchored = estimateWork(task, schedule("v1:q128,kv64,w4,s1,anchored,add,qreg,online")).perTile;
  EXPECT_GE(every.fma - lazy.fma, 128.0 * 128 / 32) << "a product for every output";
  EXPECT_GE(lazy.alu - anchored.alu, 128.0 * 64 / 32) << "a maximum for every score";
  EXPECT_EQ(anchored.shuffle, 0);
  EXPECT_LT(anchored.instructions, lazy.instructions);
  EXPECT_LT(lazy.instructions, every.instructions);
}

TEST(Estimate, RowsOfAWarpShareItsMatrixLoads) {
  const Task task = usualTask(128, false, 1024);
  const double four = estimateWork(task, schedule("v1:q128,kv64,w4,s1,lazy8,add,qreg,online")).perTile.sharedWavefronts;
  const double eight =
      estimateWork(task, schedule("v1:q128,kv64,w8,s1,lazy8,add,qreg,online")).perTile.sharedWavefronts;
  const double written = 64.0 * 2 * 128 * 2 / 128;
  EXPECT_EQ(eight - written, 2 * (four - written));
}

TEST(Estimate, EdgesCostMaskCodeUnderAMaskOnly) {
  const Schedule s = schedule("v1:q128,kv64,w4,s1,lazy8,add,qreg,online");
  EXPECT_GT(estimateWork(usualTask(128, true, 1024), s).fixed.alu,
            estimateWork(usualTask(128, false, 1024), s).fixed.alu);
  Task ragged = usualTask(128, false, 1024);
  ragged.problem.seqlenKv = 1000;
  EXPECT_GT(estimateWork(ragged, s).fixed.alu, estimateWork(usualTask(128, false, 1024), s).fixed.alu);
}

TEST(Estimate, FootprintsLeaveRoomForAsManyBlocksAsTheAssemblersReportDoes) {
  const struct {
    unsigned dim;
    const char *text;
    unsigned registers; ///< reported by nvJitLink 13.0 for sm_80
  } kernels[] = {
      {64, "v1:q128,kv128,w4,s1,lazy8,add,qsmem,online", 255},
      {128, "v1:q128,kv64,w4,s1,lazy8,add,qsmem,online", 255},
      {64, "v1:q64,kv64,w4,s1,lazy8,mma,qreg,online", 138},
      {128, "v1:q128,kv48,w8,s1,every,add,qsmem,online", 168},
      {192, "v1:q128,kv128,w8,s1,lazy8,add,qsmem,online", 244},
      {96, "v1:q64,kv64,w4,s1,anchored,add,qsmem,online", 150},
  };
  for (const auto &kernel : kernels) {
    const Footprint footprint = estimateFootprint(usualTask(kernel.dim, false, 1024), schedule(kernel.text));
    Footprint reported = footprint;
    reported.registers = kernel.registers;
    for (const Gpu &gpu : Gpu::all())
      EXPECT_EQ(blocksPerSm(gpu, footprint), blocksPerSm(gpu, reported))
          << gpu.name << " d " << kernel.dim << " " << kernel.text << ": " << footprint.registers << " registers";
    EXPECT_EQ(footprint.threads, 32 * schedule(kernel.text).warps);
    EXPECT_EQ(footprint.sharedBytes, schedule(kernel.text).sharedBytes(usualTask(kernel.dim, false, 1024).spec));
  }
}

TEST(Estimate, FewWarpsOnAWideTileHoldTheirCopies) {
  const struct {
    DType dtype;
    unsigned dim;
    const char *text;
    unsigned registers, spillBytes; ///< reported by nvJitLink 13.0 for sm_80, under a causal mask
  } kernels[] = {
      {DType::F32, 128, "v1:q16,kv32,w1,s1,lazy8,add,qsmem,online", 226, 0},
      {DType::F32, 128, "v1:q16,kv64,w1,s1,every,add,qsmem,online", 254, 32},
      {DType::F32, 128, "v1:q16,kv80,w1,s1,every,add,qsmem,online", 255, 136},
      {DType::F32, 128, "v1:q16,kv128,w1,s1,lazy8,add,qreg,online", 255, 1520},
      {DType::F32, 64, "v1:q16,kv80,w1,s1,lazy8,add,qsmem,online", 234, 0},
      {DType::F32, 64, "v1:q32,kv64,w2,s1,anchored,add,qsmem,online", 172, 0},
      {DType::BF16, 128, "v1:q16,kv48,w1,s1,lazy8,add,qsmem,online", 198, 0},
      {DType::BF16, 128, "v1:q16,kv96,w1,s1,anchored,add,qsmem,online", 255, 0},
      {DType::BF16, 64, "v1:q32,kv128,w2,s1,anchored,add,qsmem,online", 196, 0},
  };
  for (const auto &kernel : kernels) {
    Task task = usualTask(kernel.dim, true, 1024);
    task.spec.dtype = kernel.dtype;
    const Footprint footprint = estimateFootprint(task, schedule(kernel.text));
    EXPECT_NEAR(footprint.registers, kernel.registers, 0.12 * kernel.registers) << kernel.text;
    EXPECT_EQ(footprint.spillBytes > 0, kernel.spillBytes > 0) << kernel.text << ": " << footprint.spillBytes;
  }
}

TEST(Estimate, NoCountIsBelowZeroWhateverTheDims) {
  for (unsigned dim : {8, 64, 192, 256})
    for (unsigned valueDim : {8, 64, 256})
      for (DType dtype : {DType::BF16, DType::F32}) {
        Task task = usualTask(dim, true, 2048);
        task.spec.valueDim = valueDim;
        task.spec.dtype = dtype;
        const Space space = *Space::of(task, *Target::parse("sm_90"));
        for (const Schedule &one : space.legal) {
          const BlockWork work = estimateWork(task, one);
          for (const Work *part : {&work.fixed, &work.perTile})
            for (double count : {part->mmaFlops, part->instructions, part->fma, part->alu, part->mufu, part->shuffle,
                                 part->sharedWavefronts, part->fillBytes, part->storeBytes, part->barriers})
              ASSERT_GE(count, 0) << task.spec.text() << " " << one.text();
        }
      }
}

TEST(Work, WithoutNegativesKeepsTheTotalOfABlock) {
  BlockWork work;
  work.fixed = {10, 10, -60, 10, 10, 10, 10, -20, 10, 10, 3};
  work.perTile = {5, 5, 20, -1, 5, 5, 5, 8, 5, 5, 2};
  const BlockWork spread = work.withoutNegatives(4);
  EXPECT_EQ(spread.fixed.fma, 0);
  EXPECT_EQ(spread.perTile.fma, 5);
  EXPECT_EQ(spread.fixed.alu, 6);
  EXPECT_EQ(spread.perTile.alu, 0);
  EXPECT_EQ(spread.fixed.fillBytes, 0);
  EXPECT_EQ(spread.perTile.fillBytes, 3);
  EXPECT_EQ(spread.fixed.mmaFlops, 10) << "what is not negative stays";
  EXPECT_EQ(spread.perTile.barriers, 2);
  const BlockWork none = work.withoutNegatives(0);
  EXPECT_EQ(none.fixed.fillBytes, 0) << "a block that visits no tile has no last one";
  EXPECT_EQ(none.perTile.fillBytes, 8);
}

TEST(Work, AddsAndScalesEveryCount) {
  Work one{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11};
  Work sum = one;
  sum += 2.0 * one;
  EXPECT_EQ(sum.mmaFlops, 3);
  EXPECT_EQ(sum.instructions, 6);
  EXPECT_EQ(sum.fma, 9);
  EXPECT_EQ(sum.alu, 12);
  EXPECT_EQ(sum.mufu, 15);
  EXPECT_EQ(sum.shuffle, 18);
  EXPECT_EQ(sum.sharedWavefronts, 21);
  EXPECT_EQ(sum.fillBytes, 24);
  EXPECT_EQ(sum.storeBytes, 27);
  EXPECT_EQ(sum.localBytes, 30);
  EXPECT_EQ(sum.barriers, 33);
}

} // namespace
} // namespace tessera::tune
