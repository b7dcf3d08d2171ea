// Target: the table, its names, and which target serves which GPU.
#include "runtime/spec/Target.h"

#include <gtest/gtest.h>

namespace tessera {
namespace {

TEST(Target, NamesAreUniqueAndRoundTrip) {
  for (const Target &target : Target::all()) {
    Result<Target> found = Target::parse(target.name);
    ASSERT_TRUE(found.ok());
    EXPECT_EQ(found->major, target.major);
    EXPECT_EQ(found->minor, target.minor);
    EXPECT_EQ(std::string(target.name), "sm_" + std::to_string(target.major * 10 + target.minor));
    EXPECT_LT(target.sharedBytesPerBlock, target.sharedBytesPerSm);
  }
}

TEST(Target, UnknownNameListsTheKnownOnes) {
  Result<Target> found = Target::parse("sm_70");
  EXPECT_EQ(found.status().code(), Code::NotFound);
  EXPECT_NE(found.status().hint().find("sm_80, sm_86, sm_89, sm_90, sm_120"), std::string::npos);
}

TEST(Target, B5_81_DeviceGetsTheNewestThatRunsOnIt) {
  auto nameFor = [](unsigned major, unsigned minor) { return std::string(Target::forDevice(major, minor)->name); };
  EXPECT_EQ(nameFor(8, 0), "sm_80");
  EXPECT_EQ(nameFor(8, 7), "sm_86");
  EXPECT_EQ(nameFor(8, 9), "sm_89");
  EXPECT_EQ(nameFor(9, 0), "sm_90");
  EXPECT_EQ(nameFor(10, 0), "sm_90"); // by PTX
  EXPECT_EQ(nameFor(12, 1), "sm_120");
  EXPECT_EQ(nameFor(13, 0), "sm_120"); // by PTX
  EXPECT_EQ(Target::forDevice(7, 5).status().code(), Code::NotFound);
}

} // namespace
} // namespace tessera
