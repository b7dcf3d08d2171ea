// Loads images and launches them.
#include "runtime/engine/Kernel.h"

#include "runtime/engine/DeviceFit.h"
#include "runtime/engine/Explain.h"
#include "runtime/engine/LoadedKernel.h"

#include <chrono>

namespace tessera {
namespace {

/// The lines of a driver's log that warn; the others only inform.
std::string warningsOf(std::string_view log) {
  std::string out;
  for (size_t at = 0; at < log.size();) {
    const size_t end = std::min(log.find('\n', at), log.size());
    const std::string_view line = log.substr(at, end - at);
    if (line.find("warning") != std::string_view::npos)
      out.append(out.empty() ? "" : "\n").append(line);
    at = end + 1;
  }
  return out;
}

} // namespace

namespace detail {
namespace {

/// The cubin where the device runs it, else the PTX.
Result<std::shared_ptr<const Module>> loadModule(const KernelImage &image, const Device &device, CodeFit fit,
                                                 bool &fromCubin) {
  fromCubin = false;
  if (fit != CodeFit::Ptx && !device.simulated()) {
    bool fits = true;
    auto module =
        Module::load(device.context(), {reinterpret_cast<const char *>(image.cubin.data()), image.cubin.size()}, &fits);
    fromCubin = module.ok();
    if (module.ok() || fits)
      return module;
  }
  if (image.ptx.empty())
    return Status(Code::Unsupported,
                  fmt::format("{} ({}) refuses the cubin for {}, and the image holds no PTX to assemble anew",
                              device.name(), device.info().name, image.target),
                  "keep the PTX in the bundle, or build it with a toolkit as old as the driver");
  return Module::load(device.context(), image.ptx);
}

} // namespace

Result<std::shared_ptr<LoadedKernel>> LoadedKernel::load(KernelImage image, const Device &device) {
  if (Status status = image.validate(); !status)
    return status;
  const CodeMatch match = fitOnDevice(KernelNeeds::of(image), DeviceFacts::of(device));
  if (match.fit == CodeFit::None)
    return Status(Code::Unsupported,
                  fmt::format("the kernel for {} cannot run on {} ({}): {}", image.target, device.name(),
                              device.info().name, match.reason),
                  fmt::format("compile it for {}", device.target().name));
  const auto start = std::chrono::steady_clock::now();
  bool fromCubin = false;
  Result<std::shared_ptr<const Module>> module = loadModule(image, device, match.fit, fromCubin);
  if (!module)
    return module.status();
  Result<Function> function = (*module)->function(image.entry);
  if (!function)
    return function.status();
  if (function->attributes().maxThreadsPerBlock < image.blockThreads)
    return Status(Code::Unsupported,
                  fmt::format("kernel \"{}\" needs {} threads per block; {} ({}) allows {} with its registers",
                              image.entry, image.blockThreads, device.name(), device.info().name,
                              function->attributes().maxThreadsPerBlock));
  if (Status status = function->allowDynamicShared(image.dynamicSharedBytes); !status)
    return status;
  std::vector<Argument> parameters;
  for (const KernelParameter &parameter : image.parameters)
    parameters.push_back(*parseArgument(parameter.name)); // known: validated above
  Result<unsigned> blocks = function->blocksPerSm(image.blockThreads, image.dynamicSharedBytes);
  if (blocks && *blocks == 0)
    return Status(
        Code::Unsupported,
        fmt::format("no block of kernel \"{}\" ({} threads, {} registers, {} bytes of shared memory) fits on {} ({})",
                    image.entry, image.blockThreads, function->attributes().registers, image.dynamicSharedBytes,
                    device.name(), device.info().name));
  uint32_t mostBlocks = INT32_MAX;
  if (image.schedule.persistent) {
    if (!blocks)
      return blocks.status();
    mostBlocks = *blocks * device.info().smCount;
  }
  const double loadMs = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
  return std::make_shared<LoadedKernel>(std::move(image), device, *function, std::move(parameters),
                                        blocks ? std::optional<uint32_t>(*blocks) : std::nullopt, mostBlocks, fromCubin,
                                        loadMs, warningsOf((*module)->log()));
}

} // namespace detail

Result<Kernel> Kernel::load(const KernelImage &image, const Device &device) {
  Result<std::shared_ptr<detail::LoadedKernel>> loaded = detail::LoadedKernel::load(image, device);
  if (!loaded)
    return loaded.status();
  static const auto &reason =
      *new std::shared_ptr<const std::string>(std::make_shared<std::string>("recorded in the image"));
  return Kernel(*loaded, Source::Image, reason);
}

Status Kernel::launch(const LaunchArguments &arguments, StreamHandle stream) const {
  const detail::LoadedKernel &kernel = *loaded_;
  detail::LaunchValues launch;
  if (Status status = detail::fillLaunchValues(kernel.image, arguments, launch); !status) [[unlikely]]
    return status;
  if (launch.tiles == 0)
    return {};
  void *parameters[argumentCount];
  unsigned count = 0;
  for (Argument argument : kernel.parameters)
    parameters[count++] = &launch.values[unsigned(argument)];
  return kernel.function.launch({.grid = {std::min(launch.tiles, kernel.mostBlocks), 1, 1},
                                 .block = {kernel.image.blockThreads, 1, 1},
                                 .cluster = {kernel.image.clusterBlocks, 1, 1},
                                 .dynamicSharedBytes = kernel.image.dynamicSharedBytes},
                                parameters, stream);
}

const KernelImage &Kernel::image() const { return loaded_->image; }

KernelInfo Kernel::info() const {
  const detail::LoadedKernel &kernel = *loaded_;
  const KernelImage &image = kernel.image;
  KernelInfo info;
  info.source = source_;
  info.spec = image.spec;
  info.schedule = image.schedule;
  info.scheduleReason = scheduleReason_ ? *scheduleReason_ : explain(image.spec, kernel.device.target()).reason;
  info.target = image.target;
  info.device = fmt::format("{} ({})", kernel.device.name(), kernel.device.info().name);
  info.entry = image.entry;
  info.code = kernel.fromCubin            ? "cubin"
              : kernel.device.simulated() ? "PTX, executed by the simulator"
                                          : "PTX, assembled by the driver";
  info.registers = image.registers;
  info.spillBytes = image.spillBytes;
  if (!kernel.device.simulated() && !info.registers) {
    info.registers = kernel.function.attributes().registers;
    info.spillBytes = kernel.function.attributes().localBytes;
  }
  info.sharedBytes = image.dynamicSharedBytes;
  info.blockThreads = image.blockThreads;
  info.blocksPerSm = kernel.blocksPerSm;
  if (auto tool = image.toolVersions.find("assembler"); tool != image.toolVersions.end())
    info.assembler = tool->second;
  info.ptxVersion = image.ptxVersion;
  info.origin = kernel.origin;
  info.bundle = kernel.bundle;
  (kernel.origin == Source::Compiler ? info.compileMs : info.readMs) = kernel.fetchMs;
  info.loadMs = kernel.loadMs;
  info.warnings = kernel.warnings;
  return info;
}

} // namespace tessera
