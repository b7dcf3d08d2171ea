// The table of simulated GPUs against the limits that every device of its kind keeps.
#include "runtime/simulator/DeviceProfile.h"

#include <gtest/gtest.h>

#include <set>

using namespace tessera::sim;

namespace {

TEST(DeviceProfile, EveryNameIsFoundOnce) {
  std::set<std::string_view> names;
  for (const DeviceProfile &profile : DeviceProfile::all()) {
    EXPECT_TRUE(names.insert(profile.name).second) << profile.name;
    auto found = DeviceProfile::find(profile.name);
    ASSERT_TRUE(found);
    EXPECT_EQ(*found, &profile);
  }
  EXPECT_EQ(names, (std::set<std::string_view>{"a100", "rtx3090", "rtx4090", "h100", "h200", "b200", "rtx5090"}));
}

TEST(DeviceProfile, UnknownNameListsTheKnownOnes) {
  auto found = DeviceProfile::find("v100");
  ASSERT_FALSE(found);
  EXPECT_EQ(found.status().code(), tessera::Code::NotFound);
  for (const DeviceProfile &profile : DeviceProfile::all())
    EXPECT_NE(found.status().hint().find(profile.name), std::string::npos);
}

TEST(DeviceProfile, ArchitectureNamesTheComputeCapability) {
  for (const DeviceProfile &profile : DeviceProfile::all()) {
    std::string digits = std::to_string(profile.major) + std::to_string(profile.minor);
    EXPECT_EQ(profile.architecture.substr(0, 3 + digits.size()), "sm_" + digits) << profile.name;
  }
}

TEST(DeviceProfile, PeakMatrixRateIsThatOfTheDataSheet) {
  // Dense 16-bit TFLOP/s with f32 sum as the vendors print them, from SMs, clock and FMA per SM and clock.
  const std::pair<const char *, double> sheets[] = {{"a100", 312}, {"rtx3090", 71}, {"rtx4090", 165},
                                                    {"h100", 989}, {"b200", 2250},  {"rtx5090", 209.5}};
  for (auto [name, teraflops] : sheets) {
    const DeviceProfile &profile = **DeviceProfile::find(name);
    double computed = 2.0 * profile.smCount * profile.rates.clockMHz * profile.rates.mma16Sum32 * 1e-6;
    EXPECT_NEAR(computed, teraflops, teraflops * 0.015) << name;
  }
}

TEST(DeviceProfile, OccupancyIsTheLeastOfAllLimits) {
  const DeviceProfile &a100 = **DeviceProfile::find("a100");
  EXPECT_EQ(a100.blocksPerSm(32, 16, 0), 32u);               // blocks
  EXPECT_EQ(a100.blocksPerSm(1024, 32, 0), 2u);              // warps
  EXPECT_EQ(a100.blocksPerSm(128, 255, 0), 2u);              // registers: 8 warps of 8192
  EXPECT_EQ(a100.blocksPerSm(128, 128, 0), 4u);              // registers: 16 warps of 4096
  EXPECT_EQ(a100.blocksPerSm(128, 32, 163 * 1024), 1u);      // shared memory
  EXPECT_EQ(a100.blocksPerSm(128, 32, 81 * 1024), 2u);       // with the reserved KiB of each block
  EXPECT_EQ(a100.blocksPerSm(128, 32, 81 * 1024 + 512), 1u); // just over
  EXPECT_EQ(a100.blocksPerSm(128, 32, 163 * 1024 + 1), 0u);  // never
  EXPECT_EQ(a100.blocksPerSm(1025, 32, 0), 0u);
  EXPECT_EQ(a100.blocksPerSm(0, 32, 0), 0u);
  EXPECT_EQ(a100.blocksPerSm(32, 256, 0), 0u);
}

TEST(DeviceProfile, EveryFigureHasAPositiveValueAndAnOrigin) {
  for (const DeviceProfile &profile : DeviceProfile::all()) {
    const DeviceRates &rates = profile.rates;
    for (const Sourced<double> &figure :
         {rates.clockMHz, rates.memoryGBps, rates.l2BytesPerClock, rates.fma, rates.alu, rates.mufu, rates.mma16Sum32,
          rates.mma16Sum16, rates.mma8, rates.mmaSyncShare, rates.hostLinkGBps}) {
      EXPECT_GT(figure.value, 0) << profile.name;
      EXPECT_NE(toString(figure.origin), "unknown");
    }
  }
}

} // namespace
