// Affinity and the processor quotas of control groups.
#include "autotune/reference/Processors.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <string>
#include <thread>

namespace tessera {
namespace {

namespace fs = std::filesystem;

template <typename... T> bool readFields(const fs::path &path, T &...fields) {
  std::ifstream file(path);
  return bool((file >> ... >> fields));
}

/// Of one group, whichever version it is of.
std::optional<double> quotaOf(const fs::path &group) {
  std::string quota;
  double allowed = 0, period = 0;
  if (readFields(group / "cpu.max", quota, period)) // "max" is no limit
    allowed = std::strtod(quota.c_str(), nullptr);
  else if (!readFields(group / "cpu.cfs_quota_us", allowed) || !readFields(group / "cpu.cfs_period_us", period))
    return std::nullopt;
  return allowed > 0 && period > 0 ? std::optional(allowed / period) : std::nullopt;
}

bool lists(const std::string &controllers, const std::string &name) {
  return ("," + controllers + ",").find("," + name + ",") != std::string::npos;
}

} // namespace

std::optional<double> processorQuota(const fs::path &root) {
  std::optional<double> least;
  const auto enter = [&](const fs::path &mount, fs::path group) {
    // In a container what is mounted may begin at its own group, which then lies above the path that is told.
    for (;; group = group.parent_path()) {
      if (const std::optional<double> quota = quotaOf(mount / group.relative_path()))
        least = std::min(least.value_or(*quota), *quota);
      if (!group.has_relative_path())
        return;
    }
  };
  std::ifstream groups(root / "proc/self/cgroup");
  for (std::string line; std::getline(groups, line);) { // "0::/a/b" of v2, "4:cpu,cpuacct:/a/b" of v1
    const size_t first = line.find(':'), second = line.find(':', first + 1);
    if (second == std::string::npos)
      continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    const fs::path group = fs::path(line.substr(second + 1)).lexically_normal(), all = root / "sys/fs/cgroup";
    if (controllers.empty())
      enter(all, group);
    else if (lists(controllers, "cpu"))
      for (const std::string &mount : {controllers, std::string("cpu")})
        enter(all / mount, group);
  }
  return least;
}

unsigned usableProcessors() {
  const unsigned allowed = std::max(1u, std::thread::hardware_concurrency());
  const std::optional<double> quota = processorQuota();
  return quota && *quota < allowed ? unsigned(std::max(1.0, std::ceil(*quota))) : allowed;
}

} // namespace tessera
