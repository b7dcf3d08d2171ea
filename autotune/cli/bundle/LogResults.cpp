// Reads logs and ranks spaces for the builder of bundles.
#include "autotune/cli/bundle/LogResults.h"

#include "autotune/cli/files/ByteSource.h"
#include "autotune/cli/tune/LogTasks.h"
#include "autotune/log/TrialLog.h"

#include <fmt/format.h>

#include <algorithm>

namespace tessera::cli {
namespace {

constexpr uint64_t kMostLog = uint64_t(1) << 30;

} // namespace

Result<std::vector<TuningRecord>> recordsOfLogs(const std::vector<std::string> &paths, double margin,
                                                const std::function<void(const std::string &)> &remark) {
  std::vector<std::vector<tune::Trial>> logs;
  for (const std::string &path : paths) {
    const Result<std::string> text = files::readWhole(path, kMostLog);
    if (!text)
      return text.status();
    tune::TrialLines lines = tune::readTrials(*text);
    for (const std::string &line : lines.damaged)
      remark(fmt::format("{}: passed over {}", path, line));
    logs.push_back(std::move(lines.trials));
  }
  std::vector<TuningRecord> records;
  for (const tune::Choice &choice : tune::choose(tune::mergeTrials(logs), margin)) {
    records.push_back(choice.winner.record());
    for (const std::string &missed : missedBy(choice))
      remark(missed);
  }
  if (records.empty())
    return Status(Code::InvalidArgument, fmt::format("{} holds no measured trial", paths.front()),
                  "run `tessera tune --log FILE` first; `tessera tune --status --log FILE` tells what a log holds");
  return records;
}

std::vector<Schedule> modelCandidates(const std::vector<ResolvedProblem> &problems, const AttentionSpec &spec,
                                      const Target &target, size_t count) {
  std::vector<Schedule> candidates{defaultSchedule(spec, target)};
  const auto add = [&](const Schedule &schedule) {
    if (std::ranges::find(candidates, schedule) == candidates.end())
      candidates.push_back(schedule);
  };
  for (const ResolvedProblem &problem : problems) {
    if (problem.spec != spec)
      continue;
    const tune::Task task{spec, problem.problem()};
    const Result<tune::Space> space = tune::Space::of(task, target);
    if (!space)
      continue;
    for (const tune::Gpu &gpu : tune::Gpu::all()) {
      if (gpu.major != target.major || gpu.minor != target.minor)
        continue;
      const std::vector<size_t> ranked = tune::rank(gpu, task, space->legal, target);
      for (size_t i = 0; i < std::min(count, ranked.size()); ++i)
        add(space->legal[ranked[i]]);
    }
  }
  return candidates;
}

} // namespace tessera::cli
