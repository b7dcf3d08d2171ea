// The engine's ordinary way, and the direct one for stage dumps and foreign targets.
#include "autotune/cli/KernelChoice.h"

#include <fmt/format.h>

#include <chrono>
#include <filesystem>

namespace tessera::cli {

void KernelFlags::addTo(CLI::App &app) {
  const std::string group = "Kernel";
  app.add_option("--device", device,
                 "cuda:N, sim:NAME, or auto: cuda:0 if there is one, else the simulator (default auto)")
      ->type_name("DEVICE")
      ->group(group);
  app.add_option("--target", target, "architecture to compile for, e.g. sm_80 (default: that of the device)")
      ->type_name("ARCH")
      ->group(group);
  app.add_option("--schedule", schedule, "schedule to use in place of the chosen one; `tessera explain` shows the form")
      ->type_name("TEXT")
      ->group(group);
  app.add_option("--stages", stages, "folder that receives the text of every stage of the compile")
      ->type_name("DIR")
      ->group(group);
}

Result<std::optional<Schedule>> KernelFlags::givenSchedule(const AttentionSpec &spec, const Target &target) const {
  if (schedule.empty())
    return std::optional<Schedule>();
  const Result<Schedule> parsed = Schedule::parse(schedule);
  if (!parsed)
    return Status(Code::InvalidArgument, fmt::format("--schedule: {}", parsed.status().message()),
                  parsed.status().hint());
  if (Status status = parsed->legal(spec, target); !status)
    return Status(status.code(), fmt::format("--schedule {}: {}", schedule, status.message()), status.hint());
  return std::optional<Schedule>(*parsed);
}

namespace {

/// What the policy keeps from being served is a request that cannot be served, and no wrong value.
Status unserved(const Status &status) {
  return status.code() == Code::NotFound ? Status(Code::Unsupported, status.message(), status.hint()) : status;
}

Result<PreparedKernel> fromEngine(const EngineOptions &sources, const ResolvedProblem &problem, const Device &device,
                                  const std::optional<Schedule> &given) {
  const Result<Engine> engine = Engine::create(sources);
  if (!engine)
    return engine.status();
  const Result<Kernel> kernel = engine->prepare(problem.spec, problem.problem(), device, {.schedule = given});
  if (!kernel)
    return unserved(kernel.status());
  return PreparedKernel{*kernel, kernel->info()};
}

/// Anew, with the text of every stage in a folder.
Result<FoundImage> compileWithStages(const CompileRequest &request) {
  if (Status status = makeFolder(request.stagesDir); !status)
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
  Result<KernelImage> image = KernelImage::parse(output->bytes);
  if (!image)
    return image.status();
  return FoundImage{*std::move(image), true, milliseconds, output->warnings};
}

} // namespace

Result<PreparedKernel> prepareKernel(const KernelFlags &flags, const EngineOptions &sources,
                                     const ResolvedProblem &problem, const Device &device) {
  const AttentionSpec &spec = problem.spec;
  const Result<Target> target = flags.target.empty() ? Result<Target>(device.target()) : Target::parse(flags.target);
  if (!target)
    return target.status();
  const Result<std::optional<Schedule>> given = flags.givenSchedule(spec, *target);
  if (!given)
    return given.status();
  if (*target == device.target() && flags.stages.empty())
    return fromEngine(sources, problem, device, *given);
  const std::string why = flags.stages.empty() ? fmt::format("--target {} is not that of the device", target->name)
                                               : fmt::format("--stages {} compiles anew", flags.stages);
  if (!sources.bundles.empty() || (!flags.stages.empty() && sources.policy != Policy::Jit))
    return Status(Code::InvalidArgument,
                  fmt::format("{}, and {} was given", why, sources.bundles.empty() ? "--policy" : "--bundle"),
                  "leave one of them out");
  const Explanation choice = *given ? explain(spec, *target, **given) : explain(spec, *target);
  ImageSource source(DiskCache::open(sources.cache, sources.warn), sources.compilerLibrary);
  CompileRequest request;
  request.spec = spec;
  request.schedule = choice.schedule;
  request.target = target->name;
  request.stagesDir = flags.stages;
  const Result<FoundImage> found =
      flags.stages.empty() ? source.get(spec, choice.schedule, *target, sources.policy) : compileWithStages(request);
  if (!found)
    return unserved(found.status());
  const Result<Kernel> kernel = Kernel::load(found->image, device);
  if (!kernel)
    return kernel.status();
  PreparedKernel prepared{*kernel, kernel->info()};
  prepared.info.source = prepared.info.origin = found->compiled ? Source::Compiler : Source::Disk;
  prepared.info.scheduleReason = choice.reason;
  (found->compiled ? prepared.info.compileMs : prepared.info.readMs) = found->milliseconds;
  prepared.info.warnings += found->warnings;
  return prepared;
}

Status makeFolder(const std::string &path) {
  std::error_code error;
  std::filesystem::create_directories(path, error);
  if (error)
    return Status(Code::File, fmt::format("cannot make the folder {}: {}", path, error.message()));
  return {};
}

} // namespace tessera::cli
