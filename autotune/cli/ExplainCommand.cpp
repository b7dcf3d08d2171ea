// tessera explain: which schedule an attention gets on a target, why, and what it costs; compiles nothing.
#include "autotune/cli/Commands.h"
#include "autotune/cli/CounterReport.h"
#include "autotune/cli/Describe.h"
#include "autotune/cli/DeviceChoice.h"
#include "autotune/cli/KernelChoice.h"
#include "autotune/cli/SourceFlags.h"
#include "autotune/cli/WhyMiss.h"
#include "runtime/cache/TuningLog.h"

#include <fmt/format.h>

namespace tessera::cli {
namespace {

struct ExplainFlags {
  ProblemFlags problem;
  KernelFlags kernel;
  SourceFlags sources;
  bool whyMiss = false;
};

void explainJson(const ResolvedProblem &problem, const Explanation &why, const std::optional<WhyMiss> &miss) {
  Json report;
  report["problem"] = problemJson(problem);
  report["target"] = why.target;
  report["schedule"] = why.schedule.text();
  report["schedule_reason"] = why.reason;
  report["provenance"] = why.provenance;
  report["rejected"] = why.rejected;
  report["shared_bytes"] = why.sharedBytes;
  report["shared_limit"] = why.sharedLimit;
  report["estimated_registers"] = why.estimatedRegisters;
  report["block_threads"] = why.blockThreads;
  report["blocks_per_sm"] = why.blocksPerSm;
  report["least"] = leastJson(leastWork(problem, &why.schedule));
  if (miss)
    report["why_miss"] = miss->json;
  report["notes"] = problem.notes;
  printJson(report);
}

void explainTable(const ResolvedProblem &problem, const Explanation &why, const std::optional<WhyMiss> &miss) {
  Table table;
  table.row("attention", problemText(problem));
  for (const std::string &note : problem.notes)
    table.row("note", note);
  table.row("target", why.target);
  table.row("schedule", why.schedule.text());
  table.row("because", why.reason);
  for (const std::string &one : why.rejected)
    table.row("not", one);
  table.row("shared memory", fmt::format("{} of {} bytes a block", why.sharedBytes, why.sharedLimit));
  table.row("registers", fmt::format("about {} of 255 a thread", why.estimatedRegisters));
  table.row("residency", fmt::format("{} threads a block, {} blocks on an SM", why.blockThreads, why.blocksPerSm));
  const LeastWork least = leastWork(problem, &why.schedule);
  table.row("least work",
            fmt::format("{:.4g} flops in visible scores, {:.4g} in the tiles visited; {:.4g} exponents; "
                        "{:.4g} bytes read, {:.4g} written",
                        least.flops, least.tileFlops, least.exponents, least.readBytes, least.writtenBytes));
  if (miss)
    for (const auto &[name, value] : miss->rows)
      table.row(name, value);
  table.print();
}

/// Whatever the policy: what the bundles hold for such a device, else what was tuned for it, else the default of its
/// target.
Result<Explanation> explainTarget(BundleList bundles, const EngineOptions &sources, const ResolvedProblem &problem,
                                  const Target &target, const DeviceFacts &facts,
                                  const std::optional<Schedule> &given) {
  if (given)
    return explain(problem.spec, target, *given);
  std::shared_ptr<const TuningLog> tuning;
  if (sources.policy != Policy::BundleOnly)
    tuning = DiskCache::open(sources.cache)->tuningLog();
  const std::span<const TuningRecord> log = tuning ? tuning->of(problem.spec) : std::span<const TuningRecord>();
  const BundleChoice choice = chooseFromBundles(bundles, problem.spec, problem.problem(), facts, nullptr, log);
  if (!choice.chosen) {
    const std::vector<TunedSchedule> tuned =
        tunedSchedules(bundles, log, problem.spec, problem.problem(), facts, target);
    if (tuned.empty())
      return explain(problem.spec, target);
    Explanation why = explain(problem.spec, target, tuned.front().schedule);
    why.reason = tuned.front().reason;
    why.provenance = name(tuned.front().match);
    return why;
  }
  const Result<Schedule> schedule = Schedule::parse(choice.chosen->entry->schedule);
  const Result<Target> compiled = Target::parse(choice.chosen->entry->target.text());
  if (!schedule || !compiled)
    return !schedule ? schedule.status() : compiled.status();
  Explanation why = explain(problem.spec, *compiled, *schedule);
  why.reason = choice.scheduleReason;
  why.provenance = choice.match ? name(*choice.match) : "bundle";
  return why;
}

Result<ExitCode> explainProblem(const ExplainFlags &flags, const CommonFlags &common) {
  const Result<ResolvedProblem> problem = flags.problem.resolve();
  if (!problem)
    return problem.status();
  Result<Target> target = flags.kernel.target.empty() ? Status() : Target::parse(flags.kernel.target);
  std::optional<Device> device;
  if (flags.kernel.target.empty()) {
    Result<Device> opened = openDevice(flags.kernel.device, common.quiet);
    if (!opened)
      return opened.status();
    device = *opened;
    target = opened->target();
  }
  if (!target)
    return target.status();
  const Result<std::optional<Schedule>> given = flags.kernel.givenSchedule(problem->spec, *target);
  if (!given)
    return given.status();
  const Result<EngineOptions> sources = flags.sources.engineOptions(common);
  if (!sources)
    return sources.status();
  const Result<Engine> engine = Engine::create(*sources);
  if (!engine)
    return engine.status();
  const DeviceFacts facts = device ? DeviceFacts::of(*device) : factsOf(*target);
  Result<Explanation> why = device ? engine->explain(problem->spec, problem->problem(), *device, {.schedule = *given})
                                   : explainTarget(engine->bundles(), *sources, *problem, *target, facts, *given);
  if (!why && why.status().code() == Code::NotFound && flags.whyMiss) // refused by the policy, and asked why
    why = explainTarget(engine->bundles(), *sources, *problem, *target, facts, *given);
  if (!why)
    return why.status();
  std::optional<WhyMiss> miss;
  if (flags.whyMiss)
    miss = whyMiss(engine->bundles(), *sources,
                   {problem->spec, problem->problem(), facts, *given, why->schedule, *target});
  common.json ? explainJson(*problem, *why, miss) : explainTable(*problem, *why, miss);
  return Right;
}

} // namespace

Command declareExplain(CLI::App &app) {
  auto flags = std::make_shared<ExplainFlags>();
  flags->problem.addTo(app);
  app.add_option("--device", flags->kernel.device, "cuda:N, sim:NAME or auto (default auto)")
      ->type_name("DEVICE")
      ->group("Kernel");
  app.add_option("--target", flags->kernel.target, "architecture, e.g. sm_80, in place of a device")
      ->type_name("ARCH")
      ->group("Kernel");
  app.add_option("--schedule", flags->kernel.schedule, "explain this schedule in place of the chosen one")
      ->type_name("TEXT")
      ->group("Kernel");
  flags->sources.addTo(app);
  app.add_flag(
         "--why-miss", flags->whyMiss,
         "where the kernel would come from, and why not from a bundle or the disk cache: the nearest there, field "
         "by field")
      ->group("Sources");
  app.footer("Example:\n  tessera explain --head-dim 256 --causal bottom-right --target sm_86");
  return [flags](const CommonFlags &common) { return explainProblem(*flags, common); };
}

} // namespace tessera::cli
