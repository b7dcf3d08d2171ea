// Processors: how many threads or processes of ours can work at once.
#pragma once

#include <filesystem>
#include <optional>

namespace tessera {

/// Processors that this process may keep busy: those of its affinity mask, or fewer where its control groups allow less
/// time. At least 1. Reads files; thread-safe.
unsigned usableProcessors();

/// Processors' worth of time that the control group of this process and those above it allow: the least cpu.max (v2) or
/// cpu.cfs_quota_us (v1) among them. Absent: no limit. `root` is where proc and sys are.
std::optional<double> processorQuota(const std::filesystem::path &root = "/");

} // namespace tessera
