// tessera tune --dry-run, --status and --explain: questions that try nothing.
#include "autotune/cli/DeviceChoice.h"
#include "autotune/cli/tune/BundleWorkshop.h"
#include "autotune/cli/tune/LogTasks.h"
#include "autotune/cli/tune/TuneSession.h"

#include <fmt/format.h>

namespace tessera::cli {

Result<ExitCode> runPlan(const TuneFlags &flags, const CommonFlags &common) {
  std::vector<std::string> notes;
  const Result<std::vector<tune::Task>> tasks = flags.tasks(notes);
  if (!tasks)
    return tasks.status();
  Result<Session> session = openSession(flags, common, tasks->front(), false);
  if (!session)
    return session.status();
  if (Status status = checkTasks(*session, *tasks); !status)
    return status;
  tune::SearchOptions options = flags.options();
  if (session->bundle)
    options.offered = [&, device = DeviceFacts::of(session->device)](const tune::Task &task) {
      return offeredSchedules(session->bundle, device, task);
    };
  const Result<std::vector<tune::Plan>> plans = tune::plan(*tasks, session->facts, options);
  if (!plans)
    return plans.status();
  for (const std::string &note : notes)
    remark(common, note);
  printPlans(*plans, session->device.name(), std::string(session->facts.gpu.name), session->facts.target, common);
  return Right;
}

Result<ExitCode> runStatus(const TuneFlags &flags, const CommonFlags &common) {
  const Result<tune::TrialLines> lines = readLogs(logPaths(flags), false, common);
  if (!lines)
    return lines.status();
  printStatus(*lines, tasksOf(*lines, flags.margin), common);
  return Right;
}

Result<ExitCode> runExplain(const TuneFlags &flags, const CommonFlags &common) {
  const Result<Lengths> lengths = parseShape(flags.explainShape);
  if (!lengths)
    return lengths.status();
  TuneFlags asked = flags;
  asked.seqlens.clear();
  asked.problem.seqlenQ = lengths->q;
  asked.problem.seqlenKv = lengths->kv;
  std::vector<std::string> notes;
  const Result<std::vector<tune::Task>> tasks = asked.tasks(notes);
  if (!tasks)
    return tasks.status();
  if (tasks->size() != 1)
    return Status(Code::InvalidArgument,
                  fmt::format("--explain is about one attention, and --specs has {}", tasks->size()),
                  "name the attention by its flags");
  const Result<Device> device = openDevice(flags.device, common.quiet);
  if (!device)
    return device.status();
  const Result<tune::Gpu> gpu = tune::Gpu::of(device->info());
  if (!gpu)
    return gpu.status();

  ShapeChoice choice;
  choice.task = tasks->front();
  choice.device = device->info().name;
  choice.target = device->target().name;
  const std::vector<std::string> paths = logPaths(flags);
  if (paths.empty()) {
    EngineOptions options;
    options.cache = flags.cache.options();
    options.warn = warnings(common);
    if (!flags.bundle.empty())
      options.bundles = {flags.bundle};
    const Result<Engine> engine = Engine::create(options);
    if (!engine)
      return engine.status();
    const Result<Explanation> why = engine->explain(choice.task.spec, choice.task.problem, *device);
    if (!why)
      return why.status();
    choice.source = "engine";
    choice.schedule = why->schedule;
    choice.reason = why->reason;
    choice.provenance = why->provenance;
  } else {
    const Result<tune::TrialLines> lines = readLogs(paths, false, common);
    if (!lines)
      return lines.status();
    const std::vector<tune::Choice> choices = tune::choose(lines->trials, flags.margin);
    std::vector<TuningRecord> records;
    for (const tune::Choice &one : choices)
      records.push_back(one.winner.record());
    choice.source =
        fmt::format("{}", paths.front()) + (paths.size() > 1 ? fmt::format(" and {} more", paths.size() - 1) : "");
    const auto found = chooseRecord(records, choice.task.spec, choice.task.problem, choice.device, device->target());
    if (found) {
      choice.schedule = found->record->schedule;
      choice.provenance = name(found->match);
      choice.reason = fmt::format("tuned on {} for {} ({})", found->record->device, shapeText(found->record->problem),
                                  choice.provenance);
      choice.trial = choices[size_t(found->record - records.data())].winner;
    } else {
      choice.schedule = defaultSchedule(choice.task.spec, device->target());
      choice.provenance = "default";
      choice.reason = "nothing in the log answers for this attention here: the default";
    }
  }
  choice.prediction = tune::predict(*gpu, choice.task, choice.schedule);
  printShapeChoice(choice, common);
  return Right;
}

} // namespace tessera::cli
