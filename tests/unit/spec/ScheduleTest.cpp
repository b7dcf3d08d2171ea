// Schedule: canonical text, shared memory, legality, and defaults that are legal for everything that can be asked.
#include "runtime/spec/Schedule.h"
#include "runtime/spec/SharedLayout.h"

#include <cmath>
#include <gtest/gtest.h>
#include <set>

namespace tessera {
namespace {

AttentionSpec specOf(DType type, unsigned dim, unsigned valueDim) {
  AttentionSpec spec;
  spec.dtype = type;
  spec.headDim = dim;
  spec.valueDim = valueDim;
  return spec;
}

Target target(std::string_view name) { return *Target::parse(name); }

TEST(Schedule, TextRoundTrips) {
  EXPECT_EQ(Schedule().text(), "v1:q128,kv64,w4,s1,lazy8,add,qsmem,online");
  for (Rescale rescale : {Rescale::Every, Rescale::Lazy, Rescale::Anchored})
    for (RowSum rowSum : {RowSum::Add, RowSum::Mma})
      for (bool registers : {false, true})
        for (Loops loops : {Loops::Online, Loops::Three})
          for (float threshold : {8.0f, 0.1f, 5.5f}) {
            Schedule s{.tileQ = 64,
                       .tileKv = 48,
                       .warps = 2,
                       .stages = 3,
                       .rescale = rescale,
                       .lazyThreshold = threshold,
                       .rowSum = rowSum,
                       .queryInRegisters = registers,
                       .loops = loops};
            Result<Schedule> read = Schedule::parse(s.text());
            ASSERT_TRUE(read.ok()) << read.status().text();
            EXPECT_EQ(*read, s) << s.text();
            EXPECT_EQ(read->text(), s.text());
          }
}

TEST(Schedule, KnobsOfTheTileOrderStandInTheTextOnlyWhereTheyDifferFromTheDefault) {
  const Schedule every{.packHeads = true, .headGroup = 8, .order = TileOrder::FirstFirst, .persistent = true};
  EXPECT_EQ(every.text(), "v1:q128,kv64,w4,s1,lazy8,add,qsmem,online,pack,h8,first,persist");
  std::set<std::string> texts;
  for (bool pack : {false, true})
    for (unsigned group : {1u, 2u, 64u})
      for (TileOrder order : {TileOrder::LastFirst, TileOrder::FirstFirst})
        for (bool persistent : {false, true})
          for (Loops loops : {Loops::Online, Loops::Three}) {
            Schedule s{.loops = loops, .packHeads = pack, .headGroup = group, .order = order, .persistent = persistent};
            Result<Schedule> read = Schedule::parse(s.text());
            ASSERT_TRUE(read.ok()) << read.status().text();
            EXPECT_EQ(*read, s) << s.text();
            EXPECT_EQ(read->text(), s.text());
            EXPECT_EQ(s == Schedule(), s.text() == Schedule().text()) << s.text();
            texts.insert(s.text());
          }
  EXPECT_EQ(texts.size(), 48u);
}

TEST(Schedule, MalformedTextsAreRefusedWithTheField) {
  for (std::string_view bad :
       {"", "v1:", "q128", "v2:q128,kv64,w4,s1,lazy8,add,qsmem,online", "v1:q128,kv64,w4,s1,lazy8,add,qsmem",
        "v1:q128,kv64,w4,s1,lazy8,add,qsmem,online,", "v1:q128,kv64,w4,s1,lazy,add,qsmem,online",
        "v1:q-128,kv64,w4,s1,lazy8,add,qsmem,online", "v1:q128,kv64,w4,s1,lazyinf,add,qsmem,online",
        "v1:q128,kv64,w4,s1,often,add,qsmem,online", "v1:kv64,q128,w4,s1,lazy8,add,qsmem,online"})
    EXPECT_FALSE(Schedule::parse(bad).ok()) << bad;
  for (std::string_view end : {"pack,", "packed", "pack,pack", "persist,pack", "first,h8", "h8,pack", "h", "h1", "h-2",
                               "h8x", "last", "persist,x"})
    EXPECT_FALSE(Schedule::parse("v1:q128,kv64,w4,s1,lazy8,add,qsmem,online," + std::string(end)).ok()) << end;
  for (std::string_view bad :
       {"v1:q128,kv64,w4,s1,lazy8,add,qsmem,pack,online", "v1:q128,kv64,w4,s1,lazy8,add,qsmem,pack"})
    EXPECT_FALSE(Schedule::parse(bad).ok()) << bad;
  Result<Schedule> bad = Schedule::parse("v1:q128,kvx,w4,s1,lazy8,add,qsmem,online");
  EXPECT_NE(bad.status().message().find("'kv' has 'x'"), std::string::npos) << bad.status().text();
  EXPECT_NE(bad.status().hint().find("v1:q128,kv64"), std::string::npos);
}

TEST(Schedule, SharedMemoryIsTheSumOfItsRegions) {
  Schedule s;
  EXPECT_EQ(s.sharedBytes(specOf(DType::BF16, 128, 128)), 128u * 128 * 2 + 2 * 64 * 128 * 2);
  s.stages = 2;
  SharedLayout layout = SharedLayout::of(s, specOf(DType::F16, 40, 24)); // 48 and 32 padded columns
  EXPECT_EQ(layout.dPad, 48u);
  EXPECT_EQ(layout.dvPad, 32u);
  EXPECT_EQ(layout.key, 128u * 128); // rows of 96 bytes take 128
  EXPECT_EQ(layout.keyStage, 64u * 96);
  EXPECT_EQ(layout.value, layout.key + 2 * layout.keyStage);
  EXPECT_EQ(layout.total, layout.value + 2 * 64 * 64);
  EXPECT_EQ(SharedLayout::of(s, specOf(DType::F32, 40, 24)).dPad, 40u);
}

TEST(Schedule, TilesThatWorkInTheMeasuredLoopsAreLegal) {
  struct Case {
    unsigned dim, tileQ, tileKv, warps;
    bool registers;
  };
  for (Case c : {Case{128, 128, 64, 4, false},
                 {64, 128, 128, 4, false},
                 {256, 128, 64, 8, false},
                 {128, 128, 128, 8, false},
                 {128, 128, 128, 8, true}})
    for (RowSum rowSum : {RowSum::Add, RowSum::Mma}) {
      Schedule s{
          .tileQ = c.tileQ, .tileKv = c.tileKv, .warps = c.warps, .rowSum = rowSum, .queryInRegisters = c.registers};
      EXPECT_TRUE(s.legal(specOf(DType::BF16, c.dim, c.dim), target("sm_80")).ok())
          << s.text() << " at d " << c.dim << ": "
          << s.legal(specOf(DType::BF16, c.dim, c.dim), target("sm_80")).text();
    }
}

TEST(Schedule, APersistentBlockCarriesOneMoreRegister) {
  const AttentionSpec spec = specOf(DType::BF16, 64, 64);
  EXPECT_EQ(estimatedRegisters({.persistent = true}, spec), estimatedRegisters({}, spec) + 1);
  EXPECT_EQ(estimatedRegisters({.packHeads = true, .headGroup = 8}, spec), estimatedRegisters({}, spec));
}

TEST(Schedule, RefusalsCarryTheValue) {
  const AttentionSpec spec = specOf(DType::BF16, 128, 128);
  auto message = [&](Schedule s, const AttentionSpec &spec, std::string_view on = "sm_80") {
    Status status = s.legal(spec, target(on));
    return status.ok() ? "legal" : status.text();
  };
  auto expect = [&](std::string text, std::string_view part) { EXPECT_NE(text.find(part), std::string::npos) << text; };
  expect(message({.tileQ = 96}, spec), "multiple of 64 (16 rows for each of 4 warps) up to 1024, got 96");
  expect(message({.tileQ = 0}, spec), "got 0");
  expect(message({.tileKv = 24}, spec), "tile_kv must be a multiple of 16 from 16 to 256, got 24");
  expect(message({.tileKv = 272}, spec), "got 272");
  expect(message({.warps = 3}, spec), "got 3");
  expect(message({.stages = 5}, spec), "got 5");
  expect(message({.headGroup = 0}, spec), "head_group must be 1 to 64, got 0");
  expect(message({.headGroup = 65}, spec), "got 65");
  for (DType type : {DType::F16, DType::BF16, DType::F32}) {
    Schedule knobs = defaultSchedule(specOf(type, 64, 64), target("sm_80"));
    knobs.packHeads = knobs.persistent = true;
    knobs.headGroup = 64;
    knobs.order = TileOrder::FirstFirst;
    expect(message(knobs, specOf(type, 64, 64)), "legal");
  }
  expect(message({.stages = 2}, specOf(DType::BF16, 256, 256)), "196608 bytes of shared memory; sm_80 has 166912");
  expect(message({.stages = 2}, spec, "sm_86"), "legal");
  expect(message({.tileKv = 128, .stages = 1}, spec, "sm_89"), "would spill");
  expect(message({.rescale = Rescale::Anchored}, specOf(DType::F16, 64, 64)), "lazy only");
  expect(message({.rescale = Rescale::Anchored}, spec), "legal");
  expect(message({.lazyThreshold = 0}, spec), "at most 16 for bf16 inputs, got 0");
  expect(message({.lazyThreshold = 17}, spec), "got 17");
  expect(message({.lazyThreshold = 16}, specOf(DType::F16, 64, 64)), "at most 15 for f16 inputs, got 16");
  expect(message({.lazyThreshold = NAN}, spec), "nan");
  expect(message({.tileQ = 64, .tileKv = 32, .rowSum = RowSum::Mma}, specOf(DType::F32, 64, 64)),
         "16-bit inputs, got f32");
  AttentionSpec withLse = spec;
  withLse.outputs = Output::O | Output::LSE;
  expect(message({.rowSum = RowSum::Mma}, spec), "legal");
  expect(message({.rowSum = RowSum::Mma}, withLse), "LSE off by 0.002");
}

TEST(Schedule, DefaultIsLegalForEverySpecOnEveryTarget) {
  for (const Target &on : Target::all())
    for (DType type : {DType::F16, DType::BF16, DType::F32})
      for (Precision precision : {Precision::Tf32, Precision::Precise})
        for (unsigned dim = 8; dim <= 256; dim += 8)
          for (unsigned valueDim = 8; valueDim <= 256; valueDim += 8) {
            AttentionSpec spec = specOf(type, dim, valueDim);
            if (precision == Precision::Precise && type != DType::F32)
              continue;
            spec.precision = precision;
            Status status = defaultSchedule(spec, on).legal(spec, on);
            ASSERT_TRUE(status.ok()) << on.name << " " << spec.text() << ": " << status.text();
          }
}

TEST(Schedule, DefaultTakesTheTilesOfThePublicTables) {
  auto tiles = [](unsigned dim, std::string_view on) {
    Schedule s = defaultSchedule(specOf(DType::BF16, dim, dim), target(on));
    return std::tuple(s.tileQ, s.tileKv, s.warps);
  };
  EXPECT_EQ(tiles(64, "sm_80"), std::tuple(128u, 128u, 4u));
  EXPECT_EQ(tiles(128, "sm_86"), std::tuple(128u, 64u, 4u));
  EXPECT_EQ(tiles(192, "sm_89"), std::tuple(128u, 64u, 8u));
  EXPECT_EQ(tiles(256, "sm_90"), std::tuple(128u, 64u, 8u));
  EXPECT_EQ(tiles(256, "sm_120"), std::tuple(128u, 32u, 8u));
}

} // namespace
} // namespace tessera
