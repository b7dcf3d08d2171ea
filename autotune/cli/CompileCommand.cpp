// tessera compile: one kernel, or any stage on the way to it, without running it.
#include "autotune/cli/Commands.h"
#include "autotune/cli/Describe.h"
#include "autotune/cli/DeviceChoice.h"
#include "autotune/cli/KernelChoice.h"
#include "autotune/cli/OutputCheck.h"
#include "autotune/cli/Print.h"
#include "autotune/cli/files/OutputFile.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <unistd.h>

namespace tessera::cli {
namespace {

constexpr std::string_view kEmits[] = {"attn", "tiled", "online", "scheduled", "nvvm", "llvm", "ptx", "cubin", "image"};

struct CompileFlags {
  ProblemFlags problem;
  KernelFlags kernel;
  std::string emit = "ptx", output = "-", replace;
};

Status checkEmit(const CompileFlags &flags) {
  if (std::find(std::begin(kEmits), std::end(kEmits), flags.emit) == std::end(kEmits))
    return Status(Code::InvalidArgument, fmt::format("--emit {} is no stage", flags.emit),
                  fmt::format("give one of {}", fmt::join(kEmits, ", ")));
  const bool binary = flags.emit == "cubin" || flags.emit == "image";
  if (binary && flags.output == "-" && ::isatty(STDOUT_FILENO))
    return Status(Code::InvalidArgument, fmt::format("--emit {} is binary and would go to the terminal", flags.emit),
                  "add -o FILE, or redirect stdout");
  return {};
}

Result<ExitCode> compile(CompileFlags &flags, const CommonFlags &common) {
  if (Status status = checkEmit(flags); !status)
    return status;
  if (common.json && flags.output == "-")
    return Status(Code::InvalidArgument, "--json and the compiled kernel cannot both go to stdout", "add -o FILE");
  const Result<ResolvedProblem> problem = flags.problem.resolve();
  if (!problem)
    return problem.status();
  const Result<Target> target = chooseTarget(flags.kernel.target, flags.kernel.device);
  if (!target)
    return target.status();
  const Result<std::optional<Schedule>> given = flags.kernel.givenSchedule(problem->spec, *target);
  if (!given)
    return given.status();
  CompileRequest request;
  request.spec = problem->spec;
  request.schedule = *given ? **given : defaultSchedule(problem->spec, *target);
  request.target = target->name;
  request.emit = flags.emit == "image" ? "" : flags.emit;
  request.stagesDir = flags.kernel.stages;
  if (!flags.replace.empty()) {
    const size_t equals = flags.replace.find('=');
    if (equals == std::string::npos || equals == 0 || equals + 1 == flags.replace.size())
      return Status(Code::InvalidArgument, fmt::format("--replace {} is not STAGE=FILE", flags.replace),
                    "for example --replace ptx=edited.ptx");
    request.overrideStage = flags.replace.substr(0, equals);
    request.overrideFile = flags.replace.substr(equals + 1);
  }
  if (!flags.kernel.stages.empty())
    if (Status status = makeFolder(flags.kernel.stages); !status)
      return status;
  if (flags.output != "-")
    if (Status status = checkOutputFile("-o", flags.output, {request.overrideFile}); !status)
      return status;
  const Result<std::shared_ptr<const CompilerLibrary>> compiler = CompilerLibrary::open();
  if (!compiler)
    return compiler.status();
  const auto start = std::chrono::steady_clock::now();
  const Result<CompileOutput> output = (*compiler)->compile(request);
  if (!output)
    return output.status();
  const double milliseconds =
      std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
  if (!output->warnings.empty())
    say("tessera: {}\n", output->warnings);
  if (Status status = files::writeOutput(flags.output, output->bytes); !status)
    return status;
  if (common.json) {
    Json report;
    report["problem"] = problemJson(*problem);
    report["schedule"] = request.schedule.text();
    report["target"] = request.target;
    report["emit"] = flags.emit;
    report["file"] = flags.output;
    report["bytes"] = output->bytes.size();
    report["compile_ms"] = milliseconds;
    printJson(report);
  } else if (flags.output != "-" && !common.quiet) {
    say("{}: {} bytes of {} for {}, schedule {}, in {:.0f} ms\n", flags.output, output->bytes.size(), flags.emit,
        request.target, request.schedule.text(), milliseconds);
  }
  return Right;
}

} // namespace

Command declareCompile(CLI::App &app) {
  auto flags = std::make_shared<CompileFlags>();
  flags->problem.addTo(app);
  flags->kernel.addTo(app);
  app.add_option("--emit", flags->emit, fmt::format("{} (default ptx)", fmt::join(kEmits, "|")))
      ->type_name("STAGE")
      ->group("Output");
  app.add_option("-o,--output", flags->output, "file to write; - is stdout (default -)")
      ->type_name("FILE")
      ->group("Output");
  app.add_option("--replace", flags->replace, "go on from this file in place of a stage's own result")
      ->type_name("STAGE=FILE")
      ->group("Kernel");
  app.footer("Example:\n  tessera compile --head-dim 128 --causal bottom-right --target sm_80 --emit cubin -o "
             "attention.cubin");
  return [flags](const CommonFlags &common) { return compile(*flags, common); };
}

} // namespace tessera::cli
