// tessera explain: which schedule an attention gets on a target, why, and what it costs; compiles nothing.
#include "autotune/cli/Commands.h"
#include "autotune/cli/CounterReport.h"
#include "autotune/cli/Describe.h"
#include "autotune/cli/DeviceChoice.h"
#include "autotune/cli/KernelChoice.h"

#include <fmt/format.h>

namespace tessera::cli {
namespace {

struct ExplainFlags {
  ProblemFlags problem;
  KernelFlags kernel;
};

void printJson(const ResolvedProblem &problem, const Explanation &why) {
  Json report;
  report["problem"] = problemJson(problem);
  report["target"] = why.target;
  report["schedule"] = why.schedule.text();
  report["schedule_reason"] = why.reason;
  report["rejected"] = why.rejected;
  report["shared_bytes"] = why.sharedBytes;
  report["shared_limit"] = why.sharedLimit;
  report["estimated_registers"] = why.estimatedRegisters;
  report["block_threads"] = why.blockThreads;
  report["blocks_per_sm"] = why.blocksPerSm;
  report["least"] = leastJson(leastWork(problem, &why.schedule));
  report["notes"] = problem.notes;
  fmt::print("{}\n", report.dump(2, ' ', false, Json::error_handler_t::replace));
}

void printTable(const ResolvedProblem &problem, const Explanation &why) {
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
  table.print();
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
  Result<Explanation> why = *given ? explain(problem->spec, *target, **given) : explain(problem->spec, *target);
  if (device) { // the engine's own choice, which may know more about this device than the target
    const Result<Engine> engine = Engine::create();
    if (!engine)
      return engine.status();
    why = engine->explain(problem->spec, *device, {*given});
    if (!why)
      return why.status();
  }
  if (common.json)
    printJson(*problem, *why);
  else
    printTable(*problem, *why);
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
  app.footer("Example:\n  tessera explain --head-dim 256 --causal bottom-right --target sm_86");
  return [flags](const CommonFlags &common) { return explainProblem(*flags, common); };
}

} // namespace tessera::cli
