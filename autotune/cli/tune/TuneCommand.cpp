// tessera tune: finds the schedule of each attention and shape on a GPU, and keeps it where engines look for it.
#include "autotune/cli/OutputCheck.h"
#include "autotune/cli/Progress.h"
#include "autotune/cli/files/ByteSource.h"
#include "autotune/cli/tune/BundleWorkshop.h"
#include "autotune/cli/tune/Interrupt.h"
#include "autotune/cli/tune/TuneSession.h"
#include "autotune/search/Workers.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <filesystem>

namespace tessera::cli {

using Clock = std::chrono::steady_clock;

namespace {

constexpr uint64_t kMostLog = uint64_t(1) << 30;

/// Refuses to append to a file that holds something else, which would be the end of it. `known`: what it was read as. A
/// log whose lines are all damaged, or whose first was cut short, is one still.
Status checkIsLog(const std::string &path, const tune::TrialLines &known) {
  std::error_code error;
  if (!known.trials.empty() || !known.ends.empty() || !std::filesystem::exists(path, error))
    return {};
  const Result<std::string> text = files::readWhole(path, kMostLog);
  if (!text)
    return text.status();
  if (text->find_first_not_of(" \t\r\n") == text->npos)
    return {};
  for (size_t at = 0; at < text->size(); at = std::min(text->find('\n', at), text->size() - 1) + 1) {
    const std::string_view line = std::string_view(*text).substr(at);
    for (const std::string_view begin : {R"({"kind":"trial")", R"({"kind":"end")"})
      if (line.starts_with(begin) || (at == 0 && begin.starts_with(line)))
        return {};
  }
  return Status(Code::InvalidArgument, fmt::format("{} holds no line of a tuning log, and --log appends to it", path),
                "give the log a file of its own");
}

} // namespace

Result<ExitCode> runSearch(const TuneFlags &flags, const CommonFlags &common) {
  const auto start = Clock::now();
  TuneReport report;
  const Result<std::vector<tune::Task>> tasks = flags.tasks(report.notes);
  if (!tasks)
    return tasks.status();
  if (!flags.report.empty())
    if (Status status =
            checkOutputFile("--report", flags.report, {flags.log, flags.specs, flags.bundle, flags.publicKey});
        !status)
      return status;
  Progress progress(common.quiet);
  progress.step("opening the device");
  Result<Session> session = openSession(flags, common, tasks->front(), true);
  if (!session)
    return session.status();
  if (Status status = checkTasks(*session, *tasks); !status)
    return status;
  const Result<tune::TrialLines> known = readLogs(logPaths(flags), true, common);
  if (!known)
    return known.status();
  std::optional<tune::TrialLog> log;
  if (!flags.log.empty()) {
    if (Status status = checkIsLog(flags.log, *known); !status)
      return status;
    Result<tune::TrialLog> opened = tune::TrialLog::open(flags.log);
    if (!opened)
      return opened.status();
    log = *std::move(opened);
  }

  tune::WorkerOptions workers;
  workers.command = {"/proc/self/exe", "worker"};
  workers.jobs = unsigned(flags.jobs.value_or(0));
  workers.device = session->device.name();
  workers.cache = flags.cache.options();
  const Result<std::unique_ptr<tune::Workshop>> compiling = tune::makeWorkers(workers);
  if (!compiling)
    return compiling.status();
  tune::SearchOptions options = flags.options();
  std::optional<BundleWorkshop> bundled;
  if (session->bundle)
    bundled.emplace(session->bundle, DeviceFacts::of(session->device), **compiling);
  addCandidates(options, *session, DiskCache::open(flags.cache.options())->tuningLog());
  tune::Workshop &workshop = bundled ? static_cast<tune::Workshop &>(*bundled) : **compiling;

  std::string best;
  auto shown = Clock::time_point();
  const auto tell = [&](const tune::SearchEvent &event) {
    if (event.kind == tune::SearchEvent::TaskBegins)
      best.clear();
    if (event.kind == tune::SearchEvent::NewBest && event.trial && event.trial->measurement)
      best = fmt::format("{:.4g} ms{}", event.trial->measurement->milliseconds,
                         event.trial->measurement->modelled ? " (modelled)" : "");
    if (const auto now = Clock::now(); now - shown >= progress.interval()) {
      shown = now;
      tune::SearchEvent kept = event; // goes on being told while the time that is left falls
      kept.trial = nullptr;
      progress.step([kept, best, now, &tasks = *tasks] {
        return progressText(kept, tasks, best, std::chrono::duration<double>(Clock::now() - now).count());
      });
    }
  };
  Interrupt interrupt;
  Result<tune::SearchOutcome> outcome =
      tune::search(*tasks, session->facts, options, workshop, log ? &*log : nullptr, *known, interrupt.stop(), tell);
  progress.done();
  if (!outcome)
    return outcome.status();
  report.device = fmt::format("{} ({})", session->device.name(), session->device.info().name);
  report.gpu = session->facts.gpu.name;
  report.modelled = session->device.simulated();
  report.log = flags.log;
  report.seconds = std::chrono::duration<double>(Clock::now() - start).count();
  return finishRun(flags, common, *outcome, report, session->facts, interrupt.signal() != 0);
}

Command declareTune(CLI::App &app) {
  auto flags = std::make_shared<TuneFlags>();
  flags->addTo(app);
  app.footer(
      "Examples:\n"
      "  tessera tune --heads 32 --kv-heads 8 --causal bottom-right --seqlen 512,2048,8192 --device sim:a100 \\\n"
      "      --budget 2m --log tune.jsonl --report tune.html\n"
      "  tessera tune --specs specs.json --shard 2/8 --log part2.jsonl     one of eight machines; then on any\n"
      "  tessera tune --replay part*.jsonl --report tune.html              the result of all\n"
      "  tessera bundle build --candidates 48 --specs s.json --targets sm_80 -o c.tsb   where the compiler is, and\n"
      "  tessera tune --specs s.json --bundle c.tsb --log tune.jsonl       where the GPU is, and back again\n"
      "  tessera bundle build --from-log tune.jsonl -o app.tsb             the winners, to ship\n"
      "On simulated devices times are modelled, and said to be. Ctrl-C keeps the best; with --log the same command "
      "goes on.\n"
      "Exit code 1: a candidate gave a wrong answer, or an attention has no winner; 130: interrupted.");
  return [flags](const CommonFlags &common) -> Result<ExitCode> {
    if (Status status = flags->check(); !status)
      return status;
    if (flags->dryRun)
      return runPlan(*flags, common);
    if (flags->status)
      return runStatus(*flags, common);
    if (!flags->explainShape.empty())
      return runExplain(*flags, common);
    return flags->replay.empty() ? runSearch(*flags, common) : runReplay(*flags, common);
  };
}

Command declareWorker(CLI::App &app) {
  app.group(""); // no command for people: `tessera tune` starts it
  return [](const CommonFlags &) -> Result<ExitCode> { return ExitCode(tune::serve(0, 1)); };
}

} // namespace tessera::cli
