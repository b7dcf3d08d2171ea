// The table of GPUs: every figure has an origin, and a device finds its row.
#include "autotune/model/Gpu.h"
#include "autotune/model/Occupancy.h"

#include <gtest/gtest.h>

#include <set>

namespace tessera::tune {
namespace {

DeviceInfo device(std::string name, unsigned major, unsigned minor) {
  DeviceInfo info{};
  info.name = std::move(name);
  info.major = major, info.minor = minor;
  info.smCount = 60;
  info.clockKHz = 1'500'000;
  info.l2Bytes = 12 << 20;
  info.sharedBytesPerSm = 100 << 10;
  return info;
}

TEST(Gpu, EveryFigureIsPositiveAndHasAnOrigin) {
  EXPECT_EQ(Gpu::all().size(), 7u);
  std::set<std::string_view> names;
  for (const Gpu &gpu : Gpu::all()) {
    EXPECT_TRUE(names.insert(gpu.name).second);
    for (const Figure &figure : {gpu.sms,
                                 gpu.clockMHz,
                                 gpu.memoryGBps,
                                 gpu.l2Bytes,
                                 gpu.sharedBytesPerSm,
                                 gpu.sharedBytesReservedPerBlock,
                                 gpu.registersPerSm,
                                 gpu.warpsPerSm,
                                 gpu.blocksPerSm,
                                 gpu.schedulers,
                                 gpu.mma16,
                                 gpu.mma16Sum16,
                                 gpu.mmaTf32,
                                 gpu.fma,
                                 gpu.alu,
                                 gpu.mufu,
                                 gpu.shuffle,
                                 gpu.sharedBytes,
                                 gpu.fillBytes,
                                 gpu.l2BytesPerClock,
                                 gpu.latencyMma,
                                 gpu.latencyShared,
                                 gpu.latencyL2,
                                 gpu.latencyMemory,
                                 gpu.latencyBarrier,
                                 gpu.launchMicroseconds,
                                 gpu.latencyDependent,
                                 gpu.memoryShare,
                                 gpu.l2Share,
                                 gpu.overlapPower,
                                 gpu.chainShare,
                                 gpu.blockStartClocks}) {
      EXPECT_GT(figure.value, 0) << gpu.name;
      EXPECT_FALSE(figure.origin.empty()) << gpu.name << " " << figure.value;
    }
  }
}

TEST(Gpu, IsFoundByTheNamesOfProductsAndOfTheirSimulation) {
  const struct {
    const char *name;
    unsigned major, minor;
    const char *row;
  } devices[] = {
      {"NVIDIA A100-SXM4-80GB (Tessera simulator)", 8, 0, "a100"},
      {"NVIDIA A100-SXM4-80GB", 8, 0, "a100"},
      {"NVIDIA GeForce RTX 3090 (Tessera simulator)", 8, 6, "rtx3090"},
      {"NVIDIA GeForce RTX 4090", 8, 9, "rtx4090"},
      {"NVIDIA H100 80GB HBM3 (Tessera simulator)", 9, 0, "h100"},
      {"NVIDIA H200", 9, 0, "h200"},
      {"NVIDIA B200 (Tessera simulator)", 10, 0, "b200"},
      {"NVIDIA GeForce RTX 5090", 12, 0, "rtx5090"},
  };
  for (const auto &one : devices) {
    Result<Gpu> gpu = Gpu::of(device(one.name, one.major, one.minor));
    ASSERT_TRUE(gpu) << one.name << ": " << gpu.status().text();
    EXPECT_EQ(gpu->name, one.row) << one.name;
    EXPECT_EQ(gpu->sms, Gpu::find(one.row)->sms.value);
  }
}

TEST(Gpu, AnUnknownProductIsLikeItsRelativeWithItsOwnLimits) {
  for (const char *name : {"NVIDIA RTX A4000", "NVIDIA GeForce RTX 3090 Ti"}) {
    Result<Gpu> gpu = Gpu::of(device(name, 8, 6));
    ASSERT_TRUE(gpu) << gpu.status().text();
    EXPECT_EQ(gpu->name, "like rtx3090");
    EXPECT_EQ(gpu->sms, 60);
    EXPECT_EQ(gpu->clockMHz, 1500);
    EXPECT_EQ(gpu->l2Bytes, 12 << 20);
    EXPECT_EQ(gpu->sharedBytesPerSm, 100 << 10);
    EXPECT_EQ(gpu->sms.origin, "told by the driver");
    EXPECT_EQ(gpu->mma16, Gpu::find("rtx3090")->mma16.value);
    EXPECT_NEAR(gpu->memoryGBps, 936.0 * 60 / 82, 1e-9);
  }
}

TEST(Gpu, UnknownCapabilitiesAndNamesListTheKnown) {
  Result<Gpu> gpu = Gpu::of(device("NVIDIA Tesla V100", 7, 0));
  ASSERT_FALSE(gpu);
  EXPECT_EQ(gpu.status().code(), Code::NotFound);
  EXPECT_NE(gpu.status().text().find("7.0"), std::string::npos) << gpu.status().text();
  EXPECT_NE(gpu.status().text().find("rtx4090"), std::string::npos) << gpu.status().text();
  EXPECT_EQ(Gpu::find("a1000").status().code(), Code::NotFound);
  EXPECT_EQ(Gpu::find("like a100").status().code(), Code::NotFound);
}

TEST(Occupancy, FollowsTheRulesOfTheProgrammingGuide) {
  const Gpu a100 = *Gpu::find("a100"), rtx4090 = *Gpu::find("rtx4090");
  auto blocks = [](const Gpu &gpu, unsigned registers, uint64_t shared, unsigned threads) {
    Footprint footprint;
    footprint.registers = registers, footprint.sharedBytes = shared, footprint.threads = threads;
    return blocksPerSm(gpu, footprint);
  };
  EXPECT_EQ(blocks(a100, 255, 65536, 128), 2u);  // registers: 8 warps
  EXPECT_EQ(blocks(a100, 168, 32768, 128), 3u);  // 12 warps
  EXPECT_EQ(blocks(a100, 169, 32768, 128), 2u);  // 10 warps of 176, in whole blocks
  EXPECT_EQ(blocks(a100, 200, 1024, 32), 8u);    // 2 warps of 6,400 registers on each scheduler, not 10 on four
  EXPECT_EQ(blocks(a100, 128, 98304, 128), 1u);  // shared memory: 97 KB of 164
  EXPECT_EQ(blocks(a100, 32, 1024, 32), 32u);    // blocks
  EXPECT_EQ(blocks(a100, 32, 1024, 256), 8u);    // 64 warps
  EXPECT_EQ(blocks(rtx4090, 32, 1024, 256), 6u); // 48 warps
  EXPECT_EQ(blocks(rtx4090, 255, 65536, 128), 1u);
  EXPECT_EQ(blocks(rtx4090, 255, 99 * 1024, 256), 1u);
  EXPECT_EQ(blocks(rtx4090, 255, 99 * 1024 + 1, 256), 0u);
  EXPECT_EQ(blocks(a100, 256, 1024, 128), 0u);
  EXPECT_EQ(blocks(a100, 32, 1024, 2048), 0u);
  EXPECT_EQ(blocks(a100, 32, 1024, 0), 0u);
}

} // namespace
} // namespace tessera::tune
