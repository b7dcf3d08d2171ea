// tessera bundle build: a list of attentions, compiled for several targets, in one file.
#include "autotune/cli/Columns.h"
#include "autotune/cli/Print.h"
#include "autotune/cli/SourceFlags.h"
#include "autotune/cli/bundle/BundleCommands.h"
#include "autotune/cli/bundle/LogResults.h"
#include "autotune/cli/bundle/ParallelCompile.h"
#include "autotune/cli/bundle/SpecList.h"
#include "autotune/cli/files/ByteSource.h"
#include "autotune/cli/files/OutputFile.h"
#include "autotune/cli/tune/TuneFlags.h"
#include "autotune/reference/Processors.h"
#include "runtime/cache/RecordLines.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <set>

namespace tessera::cli {
namespace {

constexpr uint64_t kMostText = uint64_t(256) << 20; ///< of a list, a log, a candidate file
constexpr size_t kLargest = 5;                      ///< entries shown

struct BuildFlags {
  std::string specs, output, records, signKey;
  std::vector<std::string> targets, fromLog;
  std::string schedules = "default";
  std::optional<int64_t> jobs, candidates;
  std::optional<double> margin;
  bool noPtx = false;
  CacheFlags cache;
};

void remark(const CommonFlags &common, const std::string &text) {
  if (!common.quiet)
    say("tessera: {}\n", text);
}

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

/// What is to be built.
struct Wanted {
  std::vector<AttentionSpec> specs;
  std::vector<Target> targets;
  ScheduleSet schedules;
};

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

/// Attentions, targets and schedules. `problems` outlives what is returned.
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

/// What is left out is said. Without any winner of the logs the bundle would be another than the one asked for.
Status checkPlan(const BuildFlags &flags, const CommonFlags &common, const BuildPlan &plan) {
  for (const std::string &skipped : plan.skipped)
    remark(common, fmt::format("left out {}", skipped));
  if (!flags.fromLog.empty() && plan.records.empty())
    return Status(Code::InvalidArgument,
                  fmt::format("no winner of the logs is of the attentions and targets to be built:\n  {}",
                              fmt::join(plan.unused, "\n  ")),
                  "build for the targets and attentions that were tuned (without --targets and --specs: all of them)");
  if (flags.fromLog.empty() && plan.records.empty() && !plan.unused.empty())
    remark(common, fmt::format("none of the {} in {} is of the attentions and targets to be built",
                               counted(plan.unused.size(), "record"), flags.records));
  for (const std::string &unused : plan.unused)
    if (!flags.fromLog.empty())
      remark(common, fmt::format("left out the winner for {}", unused));
  return {};
}

struct Built {
  BundleWriter writer;
  size_t compiled = 0; ///< the others came from the disk
};

/// Every failure, those of one reason together.
Status failure(const std::map<std::string, std::vector<std::string>> &failed, Code code, size_t count) {
  size_t failures = 0;
  std::string text;
  for (const auto &[reason, items] : failed) {
    failures += items.size();
    text += fmt::format("\n  {}\n    {}", fmt::join(items, "\n  "), reason);
  }
  return Status(code,
                fmt::format("{} of {} failed, and nothing is written:{}", failures, counted(count, "kernel"), text));
}

/// All images, or every failure in one message.
Result<Built> collect(const BuildPlan &plan, std::vector<Result<FoundImage>> outcomes, const BuildFlags &flags,
                      const CommonFlags &common) {
  Built built;
  std::map<std::string, std::vector<std::string>> failed; // by reason
  Code code = Code::Ok;
  std::set<std::string> warned;
  for (size_t i = 0; i < outcomes.size(); ++i) {
    Status status = outcomes[i].status();
    if (outcomes[i]) {
      FoundImage found = *std::move(outcomes[i]);
      if (!found.warnings.empty() && warned.insert(found.warnings).second)
        remark(common, found.warnings);
      built.compiled += found.compiled;
      if (flags.noPtx && found.image.cubin.empty())
        status = Status(Code::Unsupported, "it has no cubin, and --no-ptx would leave nothing of it");
      else if (flags.noPtx)
        found.image.ptx.clear();
      if (status)
        status = built.writer.add(found.image);
    }
    if (!status) {
      code = status.code();
      failed[status.text()].push_back(plan.items[i].text());
    }
  }
  if (!failed.empty())
    return failure(failed, code, outcomes.size());
  for (const TuningRecord &record : plan.records)
    built.writer.add(record);
  return built;
}

std::vector<const BundleEntry *> largest(const BundleIndex &index) {
  std::vector<const BundleEntry *> entries;
  for (const BundleEntry &entry : index.entries)
    entries.push_back(&entry);
  std::sort(entries.begin(), entries.end(),
            [](auto *a, auto *b) { return a->size != b->size ? a->size > b->size : a < b; });
  entries.resize(std::min(entries.size(), kLargest));
  return entries;
}

void report(const BuildFlags &flags, const CommonFlags &common, const BuildPlan &plan, const Built &built,
            const Bundle &bundle, double seconds) {
  const BundleIndex &index = bundle.index();
  if (common.json) {
    Json json;
    json["file"] = flags.output;
    json["bytes"] = bundle.size();
    json["kernels"] = index.entries.size();
    json["compiled"] = built.compiled;
    json["from_cache"] = index.entries.size() - built.compiled;
    json["seconds"] = number(seconds);
    json["records"] = index.records.size();
    json["signed_by"] = bundle.signature() ? Json(bundle.signature()->key.text()) : Json(nullptr);
    json["skipped"] = plan.skipped;
    json["unused_records"] = plan.unused;
    json["targets"] = sizesByTarget(index);
    json["largest"] = Json::array();
    for (const BundleEntry *entry : largest(index))
      json["largest"].push_back({{"spec", entry->spec},
                                 {"schedule", entry->schedule},
                                 {"target", entry->target.text()},
                                 {"bytes", entry->size}});
    return printJson(json);
  }
  show("{}: {} ({} compiled, {} from the cache), {}, {}{}, in {:.1f} s\n\n", flags.output,
       counted(index.entries.size(), "kernel"), built.compiled, index.entries.size() - built.compiled,
       counted(index.records.size(), "record"), byteText(bundle.size()), bundle.signature() ? ", signed" : "", seconds);
  printSizesByTarget(index);
  show("\nlargest:\n");
  Columns columns({{"", Columns::Right}, {"target"}, {"attention"}, {"schedule"}});
  for (const BundleEntry *entry : largest(index))
    columns.row({byteText(entry->size), entry->target.text(), specText(entry->spec), std::string(entry->schedule)});
  columns.print();
}

Result<ExitCode> build(const BuildFlags &flags, const CommonFlags &common) {
  const auto start = std::chrono::steady_clock::now();
  std::vector<std::string> inputs{flags.specs, flags.records, flags.schedules, flags.signKey};
  inputs.insert(inputs.end(), flags.fromLog.begin(), flags.fromLog.end());
  if (Status status = checkOutput(flags.output, inputs); !status)
    return status;
  std::vector<ResolvedProblem> problems;
  const Result<Wanted> wanted = readWanted(flags, common, problems);
  if (!wanted)
    return wanted.status();
  std::optional<PrivateKey> key;
  if (!flags.signKey.empty()) {
    const Result<PrivateKey> read = readPrivateKey(flags.signKey);
    if (!read)
      return read.status();
    key = *read;
  }
  const Result<BuildPlan> plan = planBuild(wanted->specs, wanted->targets, wanted->schedules);
  if (!plan)
    return plan.status();
  if (Status status = checkPlan(flags, common, *plan); !status)
    return status;
  ImageSource source(DiskCache::open(flags.cache.options(), warnings(common)), {});
  Progress progress(common.quiet);
  const unsigned jobs = unsigned(flags.jobs.value_or(usableProcessors()));
  const Result<Built> built = collect(*plan, compileAll(source, plan->items, jobs, progress), flags, common);
  if (!built)
    return built.status();
  const Result<std::string> bytes = built->writer.serialize(key ? &*key : nullptr);
  if (!bytes)
    return bytes.status();
  // Read back before it gets its name: what cannot be opened is not shipped.
  const Result<BundlePointer> bundle = Bundle::openEmbedded(std::as_bytes(std::span(*bytes)), flags.output);
  if (!bundle)
    return bundle.status();
  if (Status status = files::writeOutput(flags.output, *bytes); !status)
    return status;
  report(flags, common, *plan, *built, **bundle,
         std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  return Right;
}

} // namespace

Command declareBundleBuild(CLI::App &app) {
  auto flags = std::make_shared<BuildFlags>();
  app.add_option("--specs", flags->specs,
                 "JSON list of attentions; the keys are the flags of `tessera run`; - is stdin")
      ->type_name("FILE")
      ->group("Content");
  app.add_option("--targets", flags->targets, "architectures, e.g. sm_80,sm_86 (with --from-log: those of the log)")
      ->type_name("ARCH")
      ->group("Content");
  app.add_option("--from-log", flags->fromLog,
                 "the winners of these logs of `tessera tune`, with records that choose them, beside the defaults")
      ->type_name("FILE")
      ->group("Content");
  addValue(app, "--margin", flags->margin, parseMargin,
           "with --from-log: times within so much of the best are equal, and a fixed order decides (default 1%)", "P%")
      ->group("Content");
  addValue(app, "--candidates", flags->candidates, parsePositive,
           "the schedules that the model puts first for each attention, to be tuned where no compiler is: `tessera "
           "tune --bundle`",
           "N")
      ->group("Content");
  app.add_option(
         "--schedules", flags->schedules,
         "default: one for each attention; tuned: also those of --records; FILE: those in it, one a line, as far "
         "as they are legal (default default)")
      ->type_name("default|tuned|FILE")
      ->group("Content");
  app.add_option("--records", flags->records, "tuning records, JSON Lines; those that fit go into the bundle")
      ->type_name("FILE")
      ->group("Content");
  app.add_flag("--no-ptx", flags->noPtx, "cubins only: smaller, and for no newer GPU than the targets")
      ->group("Content");
  app.add_option("--sign", flags->signKey, "sign with this private key")->type_name("KEYFILE")->group("Content");
  addOutput(app, flags->output, "the bundle to write");
  addValue(app, "--jobs", flags->jobs, parsePositive,
           "compiles at a time (default: one for each processor that may be used)", "N")
      ->group("Compiling");
  flags->cache.addTo(app);
  app.footer("Example:\n  tessera bundle build --specs specs.json --targets sm_80,sm_86 -o app.tsb\n"
             "with specs.json:\n  [{\"dtype\": \"bf16\", \"head-dim\": 128, \"causal\": \"bottom-right\"}]");
  return [flags](const CommonFlags &common) { return build(*flags, common); };
}

} // namespace tessera::cli
