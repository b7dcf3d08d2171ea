// The lists, logs and candidate files behind the flags of `tessera bundle build`.
#include "autotune/cli/bundle/BuildWanted.h"

#include "autotune/cli/Print.h"
#include "autotune/cli/bundle/LogResults.h"
#include "autotune/cli/files/ByteSource.h"
#include "autotune/cli/tune/TuneFlags.h"
#include "runtime/cache/RecordLines.h"

#include <fmt/format.h>

#include <algorithm>

namespace tessera::cli {
namespace {

constexpr uint64_t kMostText = uint64_t(256) << 20; ///< of a list, a log, a candidate file

Status inFile(const std::string &path, const Status &status) {
  return Status(status.code(), fmt::format("{}: {}", path, status.message()), status.hint());
}

Result<std::vector<ResolvedProblem>> readSpecs(const BuildFlags &flags, const CommonFlags &common) {
  const bool piped = flags.specs == "-";
  const Result<std::string> text = piped ? files::readStdin(kMostText) : files::readWhole(flags.specs, kMostText);
  const std::string name = piped ? "stdin" : flags.specs;
  if (!text)
    return text.status();
  Result<std::vector<ResolvedProblem>> problems = parseSpecList(*text);
  if (!problems)
    return inFile(name, problems.status());
  for (size_t i = 0; i < problems->size(); ++i)
    for (const std::string &note : (*problems)[i].notes)
      remark(common, fmt::format("{}, attention [{}]: {}", name, i, note));
  return problems;
}

/// The words between commas and blanks.
std::vector<std::string_view> separated(std::string_view list) {
  constexpr std::string_view separators = ", \t";
  std::vector<std::string_view> words;
  while (list.remove_prefix(std::min(list.find_first_not_of(separators), list.size())), !list.empty()) {
    words.push_back(list.substr(0, list.find_first_of(separators)));
    list.remove_prefix(words.back().size());
  }
  return words;
}

Result<std::vector<Target>> readTargets(const BuildFlags &flags) {
  std::vector<Target> targets;
  for (const std::string &list : flags.targets)
    for (const std::string_view name : separated(list)) {
      const Result<Target> target = Target::parse(name);
      if (!target)
        return Status(Code::InvalidArgument, fmt::format("--targets: {}", target.status().message()),
                      target.status().hint());
      targets.push_back(*target);
    }
  if (targets.empty() && flags.fromLog.empty())
    return Status(Code::InvalidArgument, "--targets names no architecture", "for example --targets sm_80,sm_86");
  return targets;
}

template <typename T> void addOnce(std::vector<T> &values, const T &value) {
  if (std::ranges::find(values, value) == values.end())
    values.push_back(value);
}

/// The winners of tuning logs: their attentions and targets, unless the flags name some of them.
Status takeLogs(const BuildFlags &flags, const CommonFlags &common, Wanted &wanted) {
  Result<std::vector<TuningRecord>> records = recordsOfLogs(flags.fromLog, flags.margin.value_or(TuneFlags().margin),
                                                            [&](const std::string &text) { remark(common, text); });
  if (!records)
    return records.status();
  wanted.schedules = {ScheduleSet::Tuned, {}, *std::move(records)};
  std::vector<AttentionSpec> specs;
  std::vector<Target> targets;
  for (const TuningRecord &record : wanted.schedules.records) {
    const Result<Target> target = Target::parse(record.target);
    if (!target)
      return target.status();
    addOnce(specs, record.spec);
    addOnce(targets, *target);
  }
  if (flags.specs.empty())
    wanted.specs = specs;
  if (wanted.targets.empty())
    wanted.targets = targets;
  return {};
}

/// Contradictions between the flags that say which schedules are built.
Status checkSources(const BuildFlags &flags) {
  const std::pair<bool, const char *> sources[] = {{!flags.fromLog.empty(), "--from-log"},
                                                   {flags.candidates.has_value(), "--candidates"},
                                                   {flags.schedules != "default", "--schedules"}};
  const char *first = nullptr;
  for (const auto &[given, flag] : sources) {
    if (given && first)
      return Status(Code::InvalidArgument, fmt::format("{} and {} both say which schedules to build", first, flag),
                    "leave one of them out");
    if (given)
      first = flag;
  }
  if (flags.margin && flags.fromLog.empty())
    return Status(Code::InvalidArgument, "--margin is for --from-log, which is not given", "leave it out");
  if (flags.specs.empty() && flags.fromLog.empty())
    return Status(Code::InvalidArgument, "nothing says which attentions to build",
                  "add --specs FILE, or --from-log FILE for the winners of a tuning log");
  return {};
}

Result<ScheduleSet> readSchedules(const BuildFlags &flags, const CommonFlags &common,
                                  const std::vector<ResolvedProblem> &problems) {
  ScheduleSet set;
  if (flags.candidates) {
    set.kind = ScheduleSet::Candidates;
    set.candidates = [&problems, count = size_t(*flags.candidates)](const AttentionSpec &spec, const Target &target) {
      return modelCandidates(problems, spec, target, count);
    };
    return set;
  }
  if (flags.records.empty() != (flags.schedules != "tuned"))
    return flags.records.empty()
               ? Status(Code::InvalidArgument, "--schedules tuned needs tuning records",
                        "add --records FILE.jsonl, or build with --schedules default")
               : Status(Code::InvalidArgument,
                        fmt::format("--records {} is for --schedules tuned, not {}", flags.records, flags.schedules),
                        "add --schedules tuned, or leave it out");
  if (flags.schedules == "default")
    return set;
  const std::string &path = flags.schedules == "tuned" ? flags.records : flags.schedules;
  const Result<std::string> text = files::readWhole(path, kMostText);
  if (!text)
    return flags.schedules == "tuned"
               ? text.status()
               : Status(text.status().code(), text.status().message(), "--schedules takes default, tuned or a file");
  if (flags.schedules == "tuned") {
    set.kind = ScheduleSet::Tuned;
    RecordLines lines = readRecordLines(*text);
    for (const std::string &damaged : lines.damaged)
      remark(common, fmt::format("{}: passed over {}", path, damaged));
    set.records = std::move(lines.records);
    return set;
  }
  set.kind = ScheduleSet::Candidates;
  Result<std::vector<Schedule>> candidates = readCandidates(*text);
  if (!candidates)
    return inFile(path, candidates.status());
  set.candidates = [list = *std::move(candidates)](const AttentionSpec &, const Target &) { return list; };
  return set;
}

} // namespace

Result<Wanted> readWanted(const BuildFlags &flags, const CommonFlags &common, std::vector<ResolvedProblem> &problems) {
  if (Status status = checkSources(flags); !status)
    return status;
  Wanted wanted;
  Result<std::vector<Target>> targets = readTargets(flags);
  if (!targets)
    return targets.status();
  wanted.targets = *std::move(targets);
  if (!flags.specs.empty()) {
    Result<std::vector<ResolvedProblem>> list = readSpecs(flags, common);
    if (!list)
      return list.status();
    problems = *std::move(list);
  }
  for (const ResolvedProblem &problem : problems)
    addOnce(wanted.specs, problem.spec);
  if (!flags.fromLog.empty()) {
    if (Status status = takeLogs(flags, common, wanted); !status)
      return status;
    return wanted;
  }
  Result<ScheduleSet> schedules = readSchedules(flags, common, problems);
  if (!schedules)
    return schedules.status();
  wanted.schedules = *std::move(schedules);
  return wanted;
}

} // namespace tessera::cli
