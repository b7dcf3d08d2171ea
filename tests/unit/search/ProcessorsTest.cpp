// How many processors may be kept busy, by affinity and by control groups as the kernel shows them.
#include "autotune/reference/Processors.h"

#include <fstream>
#include <gtest/gtest.h>
#include <unistd.h>

using namespace tessera;

namespace {

struct ProcessorsTest : testing::Test {
  std::filesystem::path root =
      std::filesystem::path(testing::TempDir()) / ("tessera-groups-" + std::to_string(getpid()));

  ProcessorsTest() { std::filesystem::create_directories(root); }
  ~ProcessorsTest() override { std::filesystem::remove_all(root); }

  void file(const std::string &path, const std::string &text) {
    std::filesystem::create_directories((root / path).parent_path());
    std::ofstream(root / path) << text;
  }
};

} // namespace

TEST_F(ProcessorsTest, TheLeastQuotaOfTheGroupAndThoseAboveItCounts) {
  file("proc/self/cgroup", "0::/system.slice/job.scope\n");
  file("sys/fs/cgroup/system.slice/job.scope/cpu.max", "max 100000\n");
  EXPECT_EQ(processorQuota(root), std::nullopt);
  file("sys/fs/cgroup/system.slice/cpu.max", "150000 100000\n");
  EXPECT_EQ(processorQuota(root), 1.5);
  file("sys/fs/cgroup/system.slice/job.scope/cpu.max", "20000 100000\n");
  EXPECT_EQ(processorQuota(root), 0.2);
}

TEST_F(ProcessorsTest, AContainerSeesItsOwnGroupAsTheRoot) {
  file("proc/self/cgroup", "0::/\n");
  file("sys/fs/cgroup/cpu.max", "300000 100000\n");
  EXPECT_EQ(processorQuota(root), 3);
  file("proc/self/cgroup", "0::/docker/0123\n"); // as the host names it
  EXPECT_EQ(processorQuota(root), 3);
}

TEST_F(ProcessorsTest, QuotasOfTheFirstVersionCountToo) {
  file("proc/self/cgroup", "9:memory:/user\n4:cpu,cpuacct:/user/job\n0::/user/job\n");
  file("sys/fs/cgroup/memory/user/cpu.cfs_quota_us", "1000\n");
  file("sys/fs/cgroup/cpu,cpuacct/user/job/cpu.cfs_quota_us", "-1\n");
  file("sys/fs/cgroup/cpu,cpuacct/user/job/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(processorQuota(root), std::nullopt);
  file("sys/fs/cgroup/cpu,cpuacct/user/cpu.cfs_quota_us", "250000\n");
  file("sys/fs/cgroup/cpu,cpuacct/user/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(processorQuota(root), 2.5);
}

TEST_F(ProcessorsTest, WithoutGroupsThereIsNoLimitAndAlwaysOneProcessor) {
  EXPECT_EQ(processorQuota(root), std::nullopt);
  file("proc/self/cgroup", "nonsense\n0::/..\n");
  file("sys/fs/cgroup/cpu.max", "many\n");
  EXPECT_EQ(processorQuota(root), std::nullopt);
  EXPECT_GE(usableProcessors(), 1u);
}
