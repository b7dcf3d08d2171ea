// Walks the sources of kernels: memory, then the compiler.
#include "runtime/engine/Engine.h"

#include "runtime/engine/KernelTable.h"

#include <chrono>
#include <fmt/format.h>

namespace tessera {

struct Engine::State {
  EngineOptions options;
  detail::KernelTable table;
};

namespace {

double millisecondsSince(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
}

Result<detail::KernelTable::Loaded> compileAndLoad(const std::string &library, const AttentionSpec &spec,
                                                   const Schedule &schedule, const Device &device) {
  const auto start = std::chrono::steady_clock::now();
  Result<std::shared_ptr<const CompilerLibrary>> compiler = CompilerLibrary::open(library);
  if (!compiler)
    return compiler.status();
  CompileRequest request;
  request.spec = spec;
  request.schedule = schedule;
  request.target = device.target().name;
  Result<CompileOutput> output = (*compiler)->compile(request);
  if (!output)
    return output.status();
  Result<KernelImage> image = KernelImage::parse(output->bytes);
  if (!image)
    return Status(Code::Internal,
                  fmt::format("{} returned no image: {}", (*compiler)->path(), image.status().message()),
                  "libtessera.so and libtessera-compiler.so must come from one build");
  if (!(image->spec == spec) || image->schedule != schedule || image->target != request.target)
    return Status(Code::Internal, fmt::format("{} was asked for {} {} {} and returned {} {} {}", (*compiler)->path(),
                                              spec.text(), schedule.text(), request.target, image->spec.text(),
                                              image->schedule.text(), image->target));
  const double compileMs = millisecondsSince(start);
  Result<std::shared_ptr<detail::LoadedKernel>> loaded = detail::LoadedKernel::load(std::move(*image), device);
  if (!loaded)
    return loaded.status();
  (*loaded)->compileMs = compileMs;
  if (!output->warnings.empty())
    (*loaded)->warnings = output->warnings + ((*loaded)->warnings.empty() ? "" : "\n") + (*loaded)->warnings;
  return detail::KernelTable::Loaded(*loaded);
}

} // namespace

Result<Engine> Engine::create(EngineOptions options) {
  auto state = std::make_shared<State>();
  state->options = std::move(options);
  return Engine(std::move(state));
}

Result<Kernel> Engine::prepare(const AttentionSpec &spec, const Problem &problem, const Device &device,
                               const PrepareOptions &options) const {
  if (Status status = problem.validate(); !status) [[unlikely]]
    return status;
  const bool given = options.schedule.has_value();
  const Context &context = *device.context();
  const detail::KernelKey asked(context, spec, given ? &*options.schedule : nullptr);
  if (detail::KernelTable::Loaded kernel = state_->table.find(asked)) [[likely]]
    return Kernel(std::move(kernel), Source::Memory, given);

  if (Status status = spec.validate(); !status)
    return status;
  const Schedule schedule = given ? *options.schedule : defaultSchedule(spec, device.target());
  if (Status status = schedule.legal(spec, device.target()); !status)
    return status;
  bool made = false;
  Result<detail::KernelTable::Loaded> kernel = state_->table.findOrMake(
      detail::KernelKey(context, spec, &schedule),
      [&] { return compileAndLoad(state_->options.compilerLibrary, spec, schedule, device); }, made);
  if (!kernel)
    return kernel.status();
  if (!given)
    state_->table.add(asked, *kernel);
  return Kernel(*kernel, made ? Source::Compiler : Source::Memory, given);
}

Result<Explanation> Engine::explain(const AttentionSpec &spec, const Device &device,
                                    const PrepareOptions &options) const {
  if (Status status = spec.validate(); !status)
    return status;
  return options.schedule ? tessera::explain(spec, device.target(), *options.schedule)
                          : tessera::explain(spec, device.target());
}

} // namespace tessera
