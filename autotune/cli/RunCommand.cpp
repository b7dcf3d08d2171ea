// tessera run: an attention from flags or files, on a GPU or the simulator, checked against the f64 reference on
// request.
#include "autotune/cli/Commands.h"
#include "autotune/cli/CounterReport.h"
#include "autotune/cli/Describe.h"
#include "autotune/cli/DeviceChoice.h"
#include "autotune/cli/DeviceRun.h"
#include "autotune/cli/KernelChoice.h"
#include "autotune/cli/OutputCheck.h"
#include "autotune/cli/Print.h"
#include "autotune/cli/Progress.h"
#include "autotune/cli/SimulatorFlags.h"
#include "autotune/cli/SourceFlags.h"
#include "autotune/cli/files/OutputFile.h"
#include "autotune/cli/files/TensorFile.h"
#include "autotune/cli/profile/Writers.h"
#include "autotune/measure/SimulatorControl.h"
#include "autotune/reference/Compare.h"

#include <fmt/format.h>

namespace tessera::cli {
namespace {

struct RunFlags {
  ProblemFlags problem;
  InputFlags inputs;
  KernelFlags kernel;
  SourceFlags sources;
  SimulatorFlags simulator;
  std::string out, lseOut, profile;
  bool check = false, counters = false;
};

/// Everything that a report is made of.
struct RunResult {
  HostProblem host;
  std::optional<PreparedKernel> prepared;
  DeviceResult device;
  bool simulated = false;
  std::optional<reference::Comparison> verdict;
  Json findings = Json::array(); ///< of the simulator, as SimulatorApi.h has them
  std::optional<Json> counters;
  std::optional<profile::LaunchProfile> profile; ///< with counters
};

Result<reference::Comparison> judge(const RunResult &run) {
  const HostProblem &host = run.host;
  const AttentionSpec &spec = host.resolved.spec;
  const reference::Sizes &sizes = host.resolved.sizes;
  const reference::Problem problem = reference::Problem::of(spec);
  const Result<reference::Answer> exact = reference::attention(host.view(0), host.view(1), host.view(2), problem);
  if (!exact)
    return exact.status();
  const Result<reference::Answer> plain =
      reference::plainAttention(host.view(0), host.view(1), host.view(2), problem, spec.outputType(), spec.precision);
  if (!plain)
    return plain.status();
  const reference::View out =
      reference::View::dense(run.device.out.bytes.data(), spec.outputType(),
                             {sizes.batch, sizes.queryLength, sizes.queryHeads, sizes.valueDim});
  reference::LseView lse;
  if (run.device.lse)
    lse = {reinterpret_cast<const float *>(run.device.lse->bytes.data()),
           {sizes.queryHeads * sizes.queryLength, sizes.queryLength, 1}};
  return reference::compare(out, run.device.lse ? &lse : nullptr, *exact, *plain, problem, spec.dtype, spec.precision);
}

Status writeOutputs(const RunFlags &flags, const RunResult &run) {
  std::vector<files::Output> outputs;
  if (!flags.out.empty())
    outputs.push_back({flags.out, "out", &run.device.out});
  if (!flags.lseOut.empty())
    outputs.push_back({flags.lseOut, "lse", &*run.device.lse});
  return files::writeTensorFiles(outputs);
}

void runJson(const RunFlags &flags, const RunResult &run) {
  Json report;
  report["problem"] = problemJson(run.host.resolved);
  report["problem"]["layout"] = name(run.host.layout);
  report["problem"]["seed"] = run.host.generated ? Json(run.host.seed) : Json(nullptr);
  report["checked"] = run.verdict.has_value();
  const auto verdict = [&](const char *key, auto member) {
    report[key] = run.verdict ? Json(member(*run.verdict)) : Json(nullptr);
  };
  verdict("ok", [](const reference::Comparison &v) { return Json(v.ok); });
  verdict("error", [](const reference::Comparison &v) { return number(v.error); });
  verdict("bound", [](const reference::Comparison &v) { return number(v.bound); });
  verdict("plain_error", [](const reference::Comparison &v) { return number(v.plainError); });
  const bool lse = run.device.lse.has_value();
  verdict("lse_error", [&](const reference::Comparison &v) { return lse ? number(v.lseError) : Json(nullptr); });
  verdict("lse_bound", [&](const reference::Comparison &v) { return lse ? number(v.lseBound) : Json(nullptr); });
  if (run.verdict && !run.verdict->ok)
    report["complaint"] = run.verdict->complaint;
  addKernel(report, run.prepared->info);
  if (run.device.milliseconds > 0)
    report["time"] = {{"ms", number(run.device.milliseconds)}, {"modelled", run.simulated}};
  else
    report["time"] = nullptr;
  report["rescues"] = orNull(run.device.rescues);
  if (run.simulated)
    report["findings"] = run.findings;
  if (flags.counters && run.counters)
    report["counters"] = counterJson(*run.counters, leastWork(run.host.resolved, &run.prepared->info.schedule));
  if (!flags.profile.empty())
    report["profile"] = flags.profile;
  report["notes"] = run.host.resolved.notes;
  if (!run.prepared->info.warnings.empty())
    report["warnings"] = run.prepared->info.warnings;
  printJson(report);
}

void runTable(const RunFlags &flags, const RunResult &run) {
  const KernelInfo &info = run.prepared->info;
  const auto known = [](const std::optional<uint32_t> &value) { return value ? fmt::format("{}", *value) : "unknown"; };
  Table table;
  table.row("attention", problemText(run.host.resolved));
  for (const std::string &note : run.host.resolved.notes)
    table.row("note", note);
  table.row("device", info.device);
  table.row("schedule", info.schedule.text());
  table.row("because", info.scheduleReason);
  table.row("source", fmt::format("{}, loaded in {:.0f} ms", info.sourceText(), info.loadMs));
  table.row("kernel", fmt::format("{}, {} registers, {} bytes spilled, {} bytes of shared memory, {} threads a block",
                                  info.target, known(info.registers), known(info.spillBytes), info.sharedBytes,
                                  info.blockThreads));
  if (!info.warnings.empty())
    table.row("warning", info.warnings);
  if (run.device.milliseconds > 0)
    table.row("time", fmt::format("{:.4g} ms{}", run.device.milliseconds, run.simulated ? " (modelled)" : ""));
  if (run.device.rescues)
    table.row("rescues", fmt::format("{} query tiles done again", *run.device.rescues));
  if (run.verdict) {
    table.row("error", fmt::format("{:.3g}, at most {:.3g} is allowed (a plain framework errs by {:.3g})",
                                   run.verdict->error, run.verdict->bound, run.verdict->plainError));
    if (run.device.lse)
      table.row("LSE error",
                fmt::format("{:.3g}, at most {:.3g} is allowed", run.verdict->lseError, run.verdict->lseBound));
    table.row("check", run.verdict->ok ? "right" : "WRONG: " + run.verdict->complaint);
  }
  if (!flags.out.empty())
    table.row("output", flags.out);
  if (!flags.lseOut.empty())
    table.row("LSE output", flags.lseOut);
  if (!flags.profile.empty())
    table.row("profile", fmt::format("{} ({})", flags.profile, describe(profile::formOf(flags.profile))));
  table.print();
  if (flags.counters && run.profile)
    printCounters(*run.counters, *run.profile, leastWork(run.host.resolved, &run.prepared->info.schedule));
}

/// What the user asked of the simulator; the program prints what it finds itself.
Status configureSimulator(const RunFlags &flags, const Device &device,
                          const std::optional<tune::SimulatorControl> &simulator) {
  if (simulator) {
    nlohmann::json options = flags.simulator.options();
    options["counters"] = true;
    options["print"] = false;
    return simulator->configure(options);
  }
  std::string simulated = flags.simulator.given();
  if (flags.counters)
    simulated = "--counters";
  if (!flags.profile.empty())
    simulated = "--profile";
  if (!simulated.empty())
    return Status(Code::Unsupported, fmt::format("{} is of the simulator, and {} is a GPU", simulated, device.name()),
                  "add --device sim:a100, or leave the flag out");
  return {};
}

/// Findings as people read them, on stderr.
void printFindings(const Json &findings) {
  for (const Json &finding : findings) {
    say("simulator: {}\n", finding.value("text", finding.dump(-1, ' ', false, Json::error_handler_t::replace)));
    if (const auto repeats = finding.value("repeats", uint64_t(0)))
      say("  and {} more like it\n", repeats);
  }
}

/// What the simulator saw of the launch, and the profile file. Counters are there even where the launch failed.
Status takeReport(const RunFlags &flags, const tune::SimulatorControl &simulator, RunResult &run) {
  run.findings = simulator.report().value("findings", Json::array());
  run.counters = simulator.counters();
  if (run.counters->empty()) // no launch
    return {};
  Result<profile::LaunchProfile> profile = profile::readProfile(*run.counters);
  if (!profile)
    return profile.status();
  run.profile = *std::move(profile);
  return flags.profile.empty() ? Status()
                               : profile::writeProfile(flags.profile, *run.profile, run.prepared->kernel.image().ptx);
}

/// For --json where the launch failed: why, and what was found.
void printFailure(const RunResult &run, const Status &status) {
  Json report;
  report["problem"] = problemJson(run.host.resolved);
  report["error"] = status.message();
  report["findings"] = run.findings;
  printJson(report);
}

/// The file of a tensor's argument; the argument itself where it names none, which its own reader tells.
std::string fileOf(const std::string &argument) {
  const Result<files::TensorPath> parsed = files::parseTensorPath(argument);
  return parsed ? parsed->path : argument;
}

/// No output may be an input or, but for tensors of one .safetensors file, another output.
Status checkOutputs(const RunFlags &flags) {
  if (!flags.kernel.stages.empty()) // an output may lie in it
    if (Status status = makeFolder(flags.kernel.stages); !status)
      return status;
  std::vector<std::string> taken{fileOf(flags.inputs.q), fileOf(flags.inputs.k), fileOf(flags.inputs.v),
                                 flags.sources.publicKey};
  taken.insert(taken.end(), flags.sources.bundles.begin(), flags.sources.bundles.end());
  for (const auto &[flag, path] : {std::pair("--out", &flags.out), {"--lse-out", &flags.lseOut}}) {
    if (path->empty())
      continue;
    if (const Result<files::TensorPath> parsed = files::parseTensorPath(*path); !parsed)
      return parsed.status();
    if (Status status = checkOutputFile(flag, fileOf(*path), taken); !status)
      return status;
  }
  const auto alike = [](const std::string &a, const std::string &b) {
    return !a.empty() && !b.empty() && (a == b || files::sameFile(a, b));
  };
  const std::string out = fileOf(flags.out), lse = fileOf(flags.lseOut);
  if (alike(out, lse) && !out.ends_with(".safetensors"))
    return Status(Code::InvalidArgument, fmt::format("--out and --lse-out are both {}", out),
                  "name two files, or one .safetensors file");
  if (flags.profile.empty())
    return {};
  if (alike(flags.profile, out) || alike(flags.profile, lse))
    return Status(Code::InvalidArgument, fmt::format("--profile and a tensor are both to go to {}", flags.profile),
                  "name two files");
  return checkOutputFile("--profile", flags.profile, taken);
}

Result<ExitCode> run(RunFlags &flags, const CommonFlags &common) {
  if (Status status = checkOutputs(flags); !status)
    return status;
  if (Status status = flags.simulator.check(); !status)
    return status;
  const Result<EngineOptions> sources = flags.sources.engineOptions(common);
  if (!sources)
    return sources.status();
  if (!flags.lseOut.empty())
    flags.problem.lse = true;
  Progress progress(common.quiet);
  RunResult result;
  progress.step("making inputs");
  Result<HostProblem> host = makeHostProblem(flags.problem, flags.inputs);
  if (!host)
    return host.status();
  result.host = *std::move(host);
  progress.done();
  const Result<Device> device = openDevice(flags.kernel.device, common.quiet);
  if (!device)
    return device.status();
  result.simulated = device->simulated();
  const Result<std::optional<tune::SimulatorControl>> simulator = tune::SimulatorControl::of(*device);
  if (!simulator)
    return simulator.status();
  if (Status status = configureSimulator(flags, *device, *simulator); !status)
    return status;
  progress.step("preparing the kernel");
  Result<PreparedKernel> prepared = prepareKernel(flags.kernel, *sources, result.host.resolved, *device);
  if (!prepared)
    return prepared.status();
  result.prepared = *std::move(prepared);
  progress.step(result.simulated ? "running on the simulator" : "running");
  Result<DeviceResult> ran = runOnDevice(*device, result.prepared->kernel, result.host);
  const Status reported = *simulator ? takeReport(flags, **simulator, result) : Status();
  progress.done();
  printFindings(result.findings);
  if (!ran) {
    if (common.json && result.simulated)
      printFailure(result, ran.status());
    return ran.status();
  }
  if (!reported)
    return reported;
  if (!flags.profile.empty() && !common.quiet)
    say("wrote {} ({})\n", flags.profile, describe(profile::formOf(flags.profile)));
  result.device = *std::move(ran);
  if (flags.check) {
    progress.step("checking against the f64 reference");
    Result<reference::Comparison> verdict = judge(result);
    if (!verdict)
      return verdict.status();
    result.verdict = *std::move(verdict);
    progress.done();
  }
  if (Status status = writeOutputs(flags, result); !status)
    return status;
  common.json ? runJson(flags, result) : runTable(flags, result);
  const bool right = (!result.verdict || result.verdict->ok) && result.findings.empty();
  return right ? Right : CheckFailed;
}

} // namespace

Command declareRun(CLI::App &app) {
  auto flags = std::make_shared<RunFlags>();
  flags->problem.addTo(app);
  flags->inputs.addTo(app);
  app.add_option("--out", flags->out, "write the output to a .npy or .safetensors file")
      ->type_name("FILE")
      ->group("Data");
  app.add_option("--lse-out", flags->lseOut, "write the log-sum-exp (batch, head, sequence); implies --lse")
      ->type_name("FILE")
      ->group("Data");
  flags->kernel.addTo(app);
  flags->sources.addTo(app);
  app.add_flag("--check", flags->check, "compare with the f64 reference; exit code 1 if it is out of bounds")
      ->group("Checking");
  app.add_flag("--counters", flags->counters, "what the kernel did, beside the least possible (simulator)")
      ->group("Checking");
  app.add_option(
         "--profile", flags->profile,
         "what each PTX instruction did and its modelled clocks (simulator): an annotated listing; flame graphs "
         "for speedscope.app where FILE ends in .json; a trace for Perfetto or chrome://tracing where it ends "
         "in .trace.json")
      ->type_name("FILE")
      ->group("Checking");
  flags->simulator.addTo(app);
  app.footer("Example:\n  tessera run --dtype bf16 --batch 2 --heads 8 --kv-heads 2 --head-dim 128 --seqlen-q 300 "
             "--seqlen-kv 517 \\\n"
             "      --causal bottom-right --lse --check --device sim:a100");
  return [flags](const CommonFlags &common) { return run(*flags, common); };
}

} // namespace tessera::cli
