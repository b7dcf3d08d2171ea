// Times of prepare where nothing is compiled: from the disk cache and from a bundle, each in a process that is new.
#include "runtime/bundle/BundleWriter.h"
#include "tests/bench/EngineBench.h"

#include <cstdio>
#include <filesystem>

namespace tessera::bench {
namespace {

constexpr unsigned bundledKernels = 500;

/// Kernels of the size of real ones: one real kernel under specs that differ in the scale.
AttentionSpec shippedSpec(unsigned number) {
  AttentionSpec spec = causal();
  spec.scale = float(1 + number) / 1024;
  return spec;
}

EngineOptions cacheOptions(const std::string &folder) {
  EngineOptions options;
  options.cache.directory = folder + "/cache";
  options.cache.mode = CacheMode::ReadWrite;
  return options;
}

std::string bundlePath(const std::string &folder) { return folder + "/app.tsb"; }

Status writeFile(const std::string &path, std::string_view bytes) {
  std::FILE *file = std::fopen(path.c_str(), "wb");
  const bool written = file && std::fwrite(bytes.data(), 1, bytes.size(), file) == bytes.size();
  return file && std::fclose(file) == 0 && written ? Status() : Status(Code::File, "cannot write " + path);
}

Status writeBundle(const std::string &folder, KernelImage image, nlohmann::json &report) {
  BundleWriter writer;
  for (unsigned number = 0; number < bundledKernels; ++number) {
    image.spec = shippedSpec(number);
    if (Status status = writer.add(image); !status)
      return status;
    writer.add(TuningRecord{image.spec, "NVIDIA A100-SXM4-80GB", image.target, problem, image.schedule});
  }
  Result<std::string> bytes = writer.serialize();
  if (!bytes)
    return bytes.status();
  report["bundle_bytes"] = bytes->size();
  return writeFile(bundlePath(folder), *bytes);
}

/// Prepares one kernel that has to come from `source`, and reports how long that took as `name`.
Status prepareTimed(const Engine &engine, const AttentionSpec &spec, const Device &device, Source source,
                    const char *name, nlohmann::json &report) {
  const auto start = std::chrono::steady_clock::now();
  Result<Kernel> kernel = engine.prepare(spec, problem, device);
  const double seconds = secondsSince(start);
  if (!kernel)
    return kernel.status();
  if (kernel->info().source != source)
    return {Code::Internal, fmt::format("{} came from the {}", name, tessera::name(kernel->info().source))};
  report[name] = seconds;
  return {};
}

} // namespace

Status ship(const std::string &folder, nlohmann::json &report) {
  Result<Device> device = openFake();
  if (!device)
    return device.status();
  Result<Engine> engine = Engine::create(cacheOptions(folder));
  if (!engine)
    return engine.status();
  std::vector<AttentionSpec> specs = otherKeys();
  specs.push_back(causal());
  for (const AttentionSpec &spec : specs)
    if (Result<Kernel> kernel = engine->prepare(spec, problem, *device); !kernel)
      return kernel.status();
  report["compiles"] = engine->counters().compiles;

  uint64_t largest = 0;
  std::optional<KernelImage> image;
  for (const DiskCache::Key &key : engine->cache().keys()) {
    largest = std::max(largest, key.entry.bytes);
    image = engine->cache().find(key.keyText).image;
  }
  if (!image)
    return {Code::Internal, "the compiled kernels are not in the cache in " + engine->cache().directory()};
  report["entry_bytes"] = largest;
  report["ptx_bytes"] = image->ptx.size();
  report["cubin_bytes"] = image->cubin.size();
  return writeBundle(folder, *std::move(image), report);
}

Status measureFromDisk(const std::string &folder, nlohmann::json &report) {
  Result<Device> device = openFake();
  if (!device)
    return device.status();
  Result<Engine> engine = Engine::create(cacheOptions(folder));
  if (!engine)
    return engine.status();
  if (Status status = prepareTimed(*engine, causal(), *device, Source::Disk, "first_s", report); !status)
    return status;
  for (const AttentionSpec &spec : otherKeys()) { // the quickest of them
    const double before = report.value("another_s", 1e9);
    if (Status status = prepareTimed(*engine, spec, *device, Source::Disk, "another_s", report); !status)
      return status;
    report["another_s"] = std::min(before, report["another_s"].get<double>());
  }
  report["compiles"] = engine->counters().compiles;
  return {};
}

Status measureFromBundle(const std::string &folder, nlohmann::json &report) {
  Result<Device> device = openFake();
  if (!device)
    return device.status();
  EngineOptions options;
  options.bundles = {bundlePath(folder)};
  options.policy = Policy::BundleOnly;
  auto start = std::chrono::steady_clock::now();
  {
    Result<std::shared_ptr<const Bundle>> bundle = Bundle::open(bundlePath(folder));
    report["open_s"] = secondsSince(start);
    if (!bundle)
      return bundle.status();
    if ((*bundle)->index().entries.size() != bundledKernels)
      return {Code::Internal, fmt::format("{} holds {} kernels", folder, (*bundle)->index().entries.size())};
  }
  Result<Engine> engine = Engine::create(options);
  if (!engine)
    return engine.status();
  if (Status status =
          prepareTimed(*engine, shippedSpec(bundledKernels / 2), *device, Source::Bundle, "first_s", report);
      !status)
    return status;
  if (Status status = prepareTimed(*engine, shippedSpec(7), *device, Source::Bundle, "another_s", report); !status)
    return status;
  report["compiles"] = engine->counters().compiles;
  return {};
}

} // namespace tessera::bench
