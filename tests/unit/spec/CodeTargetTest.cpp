// CodeTarget: names, and which devices run which code (B5).
#include "runtime/spec/CodeTarget.h"

#include <gtest/gtest.h>

namespace tessera {
namespace {

CodeTarget target(std::string_view name) { return *CodeTarget::parse(name); }

CodeFit fit(std::string_view name, CodeKind kind, unsigned major, unsigned minor, unsigned ptxVersion = 80) {
  return matchCode(target(name), kind, ptxVersion, {major, minor, 13000}).fit;
}

TEST(CodeTarget, NamesRoundTrip) {
  for (std::string name : {"sm_80", "sm_86", "sm_90a", "sm_100f", "sm_120", "sm_103a"})
    EXPECT_EQ(target(name).text(), name);
  EXPECT_EQ(target("compute_90a"), target("sm_90a"));
  EXPECT_EQ(target("sm_120").major, 12u);
  EXPECT_EQ(target("sm_103a").minor, 3u);
}

TEST(CodeTarget, OtherTextsAreRefused) {
  for (const char *name : {"", "sm_", "sm_a", "80", "sm_080", "sm_8", "sm_80b", "sm_80 ", "sm_-80", "sm_99999999999",
                           "compute", "SM_80", "sm_80aa"})
    EXPECT_EQ(CodeTarget::parse(name).status().code(), Code::InvalidArgument) << name;
}

TEST(CodeMatch, ACubinRunsOnItsMajorVersionWithTheSameOrANewerMinor) {
  EXPECT_EQ(fit("sm_80", CodeKind::Cubin, 8, 0), CodeFit::Exact);
  EXPECT_EQ(fit("sm_80", CodeKind::Cubin, 8, 6), CodeFit::Family);
  EXPECT_EQ(fit("sm_86", CodeKind::Cubin, 8, 9), CodeFit::Family);
  EXPECT_EQ(fit("sm_86", CodeKind::Cubin, 8, 0), CodeFit::None);
  EXPECT_EQ(fit("sm_80", CodeKind::Cubin, 9, 0), CodeFit::None);
  EXPECT_EQ(fit("sm_90", CodeKind::Cubin, 8, 9), CodeFit::None);
  EXPECT_EQ(fit("sm_100", CodeKind::Cubin, 12, 0), CodeFit::None);
}

TEST(CodeMatch, PtxRunsOnEverythingNewer) {
  EXPECT_EQ(fit("sm_80", CodeKind::Ptx, 8, 0), CodeFit::Ptx);
  EXPECT_EQ(fit("sm_80", CodeKind::Ptx, 12, 0), CodeFit::Ptx);
  EXPECT_EQ(fit("sm_89", CodeKind::Ptx, 9, 0), CodeFit::Ptx);
  EXPECT_EQ(fit("sm_89", CodeKind::Ptx, 8, 6), CodeFit::None);
  EXPECT_EQ(fit("sm_120", CodeKind::Ptx, 10, 0), CodeFit::None);
}

TEST(CodeMatch, B5_79_ArchitectureSpecificCodeRunsOnItsOwnArchitectureOnly) {
  EXPECT_EQ(fit("sm_90a", CodeKind::Ptx, 9, 0), CodeFit::Ptx);
  EXPECT_EQ(fit("sm_90a", CodeKind::Cubin, 9, 0), CodeFit::Exact);
  // The report: PTX for 90a and for 80 on an RTX 5090. Only the latter may be taken, and the former is named.
  const CodeDevice rtx5090{12, 0, 13000};
  const CodeMatch specific = matchCode(target("sm_90a"), CodeKind::Ptx, 80, rtx5090);
  EXPECT_EQ(specific.fit, CodeFit::None);
  EXPECT_EQ(specific.reason, "PTX for sm_90a runs on compute capability 9.0 only, and the device has 12.0");
  EXPECT_EQ(matchCode(target("sm_80"), CodeKind::Ptx, 80, rtx5090).fit, CodeFit::Ptx);
  EXPECT_EQ(fit("sm_100a", CodeKind::Cubin, 10, 3), CodeFit::None);
}

TEST(CodeMatch, FamilySpecificCodeRunsInItsFamily) {
  EXPECT_EQ(fit("sm_100f", CodeKind::Cubin, 10, 3), CodeFit::Family);
  EXPECT_EQ(fit("sm_100f", CodeKind::Ptx, 10, 3), CodeFit::Ptx);
  EXPECT_EQ(fit("sm_100f", CodeKind::Ptx, 12, 0), CodeFit::None);
  EXPECT_EQ(fit("sm_103f", CodeKind::Ptx, 10, 0), CodeFit::None);
}

TEST(CodeMatch, PtxNeedsADriverThatKnowsItsVersion) {
  const auto with = [](unsigned ptx, int driver) {
    return matchCode(target("sm_80"), CodeKind::Ptx, ptx, {8, 0, driver});
  };
  EXPECT_EQ(with(80, 12000).fit, CodeFit::Ptx);
  EXPECT_EQ(with(87, 12080).fit, CodeFit::Ptx);
  EXPECT_EQ(with(87, 12070).fit, CodeFit::None);
  EXPECT_EQ(with(87, 12070).reason, "PTX 8.7 needs a driver for CUDA 12.8 or newer, and this one is for CUDA 12.7");
  EXPECT_EQ(with(80, 11080).fit, CodeFit::None);
  EXPECT_EQ(with(79, 13000).reason, "no driver is known that assembles PTX 7.9");
  // A cubin does not ask.
  EXPECT_EQ(matchCode(target("sm_80"), CodeKind::Cubin, 0, {8, 0, 11000}).fit, CodeFit::Exact);
}

TEST(CodeMatch, DriverVersionsRiseWithPtxVersions) {
  int last = 0;
  for (unsigned ptx = 70; ptx <= 91; ++ptx)
    if (int driver = driverVersionForPtx(ptx)) {
      EXPECT_GT(driver, last) << ptx;
      last = driver;
    }
  EXPECT_EQ(last, 13010);
}

} // namespace
} // namespace tessera
