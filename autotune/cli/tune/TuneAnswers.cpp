// tessera tune --dry-run, --status and --explain: questions that try nothing.
#include "autotune/cli/DeviceChoice.h"
#include "autotune/cli/Print.h"
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
  const Result<tune::TrialLines> known = readLogs(logPaths(flags), true, common);
  if (!known)
    return known.status();
  // Trials stand for those of the compiler that made them, so it is asked for where there are any.
  Result<Session> session = openSession(flags, common, tasks->front(), /*forRun=*/!known->trials.empty());
  if (!session)
    return session.status();
  if (Status status = checkTasks(*session, *tasks); !status)
    return status;
  tune::SearchOptions options = flags.options();
  addCandidates(options, *session, DiskCache::open(flags.cache.options())->tuningLog());
  const Result<std::vector<tune::Plan>> plans = tune::plan(*tasks, session->facts, options, *known);
  if (!plans)
    return plans.status();
  for (const std::string &note : notes)
    remark(common, note);
  printPlans({*plans, session->device.name(), std::string(session->facts.gpu.name), session->facts.target,
              session->bundle != nullptr, flags.budgetSeconds.has_value()},
             common);
  return Right;
}

Result<ExitCode> runStatus(const TuneFlags &flags, const CommonFlags &common) {
  const Result<tune::TrialLines> lines = readLogs(logPaths(flags), false, common);
  if (!lines)
    return lines.status();
  const std::vector<LogTask> tasks = tasksOf(*lines, flags.margin);
  for (const LogTask &task : tasks)
    for (const std::string &missed : task.missed())
      remark(common, missed);
  printStatus(*lines, tasks, common);
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
    if (!flags.publicKey.empty()) {
      const Result<PublicKey> key = readPublicKey(flags.publicKey);
      if (!key)
        return key.status();
      options.bundleKey = key->text();
    }
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
    auto found = chooseRecord(records, choice.task.spec, choice.task.problem, choice.device, device->target());
    // Code of another target, which a bundle brought to this very GPU.
    for (const TuningRecord &record : records)
      if (const Result<Target> code = Target::parse(record.target); !found && code && record.device == choice.device) {
        found = chooseRecord(records, choice.task.spec, choice.task.problem, choice.device, *code);
        if (found && found->match == RecordMatch::Family)
          found.reset();
      }
    if (found) {
      choice.target = found->record->target;
      choice.schedule = found->record->schedule;
      choice.provenance = name(found->match);
      choice.reason = fmt::format(
          "tuned on {} for {} ({}{})", found->record->device, shapeText(found->record->problem), choice.provenance,
          choice.target == device->target().name ? "" : fmt::format(", with code for {} from a bundle", choice.target));
      const tune::Choice &of = choices[size_t(found->record - records.data())];
      choice.trial = of.winner;
      for (const std::string &missed : missedBy(of))
        remark(common, missed);
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
