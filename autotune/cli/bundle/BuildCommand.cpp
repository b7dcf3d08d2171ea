// tessera bundle build: a list of attentions, compiled for several targets, in one file.
#include "autotune/cli/Columns.h"
#include "autotune/cli/Print.h"
#include "autotune/cli/bundle/BuildWanted.h"
#include "autotune/cli/bundle/BundleCommands.h"
#include "autotune/cli/bundle/ParallelCompile.h"
#include "autotune/cli/files/OutputFile.h"
#include "autotune/cli/tune/TuneFlags.h"
#include "autotune/reference/Processors.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <set>

namespace tessera::cli {
namespace {

constexpr size_t kLargest = 5; ///< entries shown

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
