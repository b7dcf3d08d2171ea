// Walks the sources of kernels: memory, bundles, then the disk cache and the compiler.
#include "runtime/engine/Engine.h"

#include "runtime/cache/TuningLog.h"
#include "runtime/engine/KernelTable.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <fmt/format.h>
#include <mutex>

namespace tessera {
namespace {

/// Unloading waits for the device, so it is done for so many kernels at once.
constexpr size_t unloadBatch = 32;

double millisecondsSince(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
}

const detail::KernelTable::Reason &givenReason() {
  // Never destroyed: threads may prepare while the process ends.
  static const auto &reason =
      *new detail::KernelTable::Reason(std::make_shared<const std::string>("given by the caller"));
  return reason;
}

/// The decision about one request: an image of a bundle, or a schedule to look for and to compile.
struct Decision {
  std::optional<Candidate> bundled;
  Schedule schedule;
  detail::KernelTable::Reason reason; // null: the default's
  std::optional<RecordMatch> match;   // of the tuning record that it follows
  bool byShape = false;               // there are tuning records, so that another shape may get another schedule
};

} // namespace

struct Engine::State {
  EngineOptions options;
  std::vector<std::shared_ptr<const Bundle>> bundles;
  std::atomic<bool> byShape{false}; ///< some kernel was chosen by its shape, and is found by it
  detail::KernelTable table;
  std::once_flag sourceOnce, tuningOnce;
  std::unique_ptr<ImageSource> source;     ///< once it is needed
  std::shared_ptr<const TuningLog> tuning; ///< of the cache, as it was when it was first needed
  std::atomic<uint64_t> bundleHits{0}, diskHits{0}, failures{0}, bundleMisses{0};

  explicit State(EngineOptions given) : options(std::move(given)), table(std::max(1u, options.maxKernels)) {
    if (!options.warn)
      options.warn = [](const std::string &warning) { std::fprintf(stderr, "tessera: %s\n", warning.c_str()); };
  }

  ImageSource &images() {
    std::call_once(sourceOnce, [&] {
      source = std::make_unique<ImageSource>(DiskCache::open(options.cache, options.warn), options.compilerLibrary);
    });
    return *source;
  }

  /// What the tuning log of the cache holds for this spec.
  std::span<const TuningRecord> tuned(const AttentionSpec &spec) {
    if (options.policy == Policy::BundleOnly)
      return {};
    // A cache of its own: one that is not usable is no news to those whom a bundle serves, and warns when it is missed.
    std::call_once(tuningOnce, [&] {
      const std::shared_ptr<DiskCache> cache = DiskCache::open(options.cache);
      tuning = cache->tuningLog();
      warnOfTuning(cache->tuningPath());
    });
    return tuning->of(spec);
  }

  /// What was found here would else be lost without a word.
  void warnOfTuning(const std::string &path) const {
    const CacheMiss fault = tuning->fault();
    const std::vector<std::string> &damaged = tuning->all().damaged;
    if (fault != CacheMiss::None && fault != CacheMiss::Absent && fault != CacheMiss::Off)
      options.warn(fmt::format("the tuning log is not used: {}; remove it, or choose another folder with "
                               "TESSERA_CACHE_DIR",
                               tuning->detail()));
    else if (!damaged.empty())
      options.warn(fmt::format("lines of the tuning log {} are passed over: {}{}; `tessera cache verify` shows them",
                               path, damaged.front(), damaged.size() > 1 ? ", and others" : ""));
  }

  Result<Decision> decide(const AttentionSpec &spec, const Problem &problem, const Device &device,
                          const Schedule *given);
  Result<Kernel> make(const AttentionSpec &spec, const Problem &problem, const Device &device,
                      const PrepareOptions &options);
  Result<detail::KernelTable::Loaded> load(const Decision &decision, const AttentionSpec &spec, const Device &device);
};

Result<Engine> Engine::create(EngineOptions options) {
  std::optional<PublicKey> signer;
  if (options.bundleKey) {
    Result<PublicKey> key = PublicKey::parse(*options.bundleKey);
    if (!key)
      return key.status();
    signer = *key;
  }
  auto state = std::make_shared<State>(std::move(options));
  const auto add = [&](Result<std::shared_ptr<const Bundle>> bundle) -> Status {
    if (!bundle)
      return bundle.status();
    if (signer)
      if (Status status = (*bundle)->verifySignature(*signer); !status)
        return status;
    state->bundles.push_back(*std::move(bundle));
    return {};
  };
  for (const std::string &path : state->options.bundles)
    if (Status status = add(Bundle::open(path)); !status)
      return status;
  for (const EmbeddedBundle &embedded : state->options.embeddedBundles)
    if (Status status = add(Bundle::openEmbedded(embedded.bytes, embedded.name)); !status)
      return status;
  return Engine(std::move(state));
}

Result<Kernel> Engine::prepare(const AttentionSpec &spec, const Problem &problem, const Device &device,
                               const PrepareOptions &options) const {
  // Before any lock: a child may have been forked while another thread held it.
  if (Status status = device.context()->driver().usable(); !status) [[unlikely]]
    return status;
  if (Status status = problem.validate(); !status) [[unlikely]]
    return status;
  const Schedule *given = options.schedule ? &*options.schedule : nullptr;
  detail::KernelTable::Found found = state_->table.find({*device.context(), spec, given});
  if (!found.kernel && !given && state_->byShape.load(std::memory_order_relaxed))
    found = state_->table.find({*device.context(), spec, nullptr, &problem});
  if (found.kernel) [[likely]] {
    if (given)
      found.reason = givenReason();
    return Kernel(std::move(found.kernel), Source::Memory, std::move(found.reason));
  }
  Result<Kernel> kernel = state_->make(spec, problem, device, options);
  if (!kernel)
    ++state_->failures;
  return kernel;
}

Result<Kernel> Engine::State::make(const AttentionSpec &spec, const Problem &problem, const Device &device,
                                   const PrepareOptions &options) {
  if (Status status = spec.validate(); !status)
    return status;
  // Each thread for its own stream, and not the one that happens to make the kernel for others too.
  Result<bool> capturing = device.context()->capturing(options.stream);
  if (!capturing)
    return capturing.status();
  if (*capturing)
    return Status(Code::Unsupported,
                  "a graph is being captured, and this kernel is not in memory: loading it would end the capture",
                  "prepare every kernel that a graph launches before it begins to be captured");
  const Schedule *given = options.schedule ? &*options.schedule : nullptr;
  Result<Decision> decision = decide(spec, problem, device, given);
  if (!bundles.empty() && !(decision && decision->bundled))
    ++bundleMisses;
  if (!decision)
    return decision.status();
  bool made = false;
  Result<detail::KernelTable::Loaded> kernel = table.findOrMake(
      detail::KernelKey(*device.context(), spec, &decision->schedule), [&] { return load(*decision, spec, device); },
      made);
  if (!kernel)
    return kernel.status();
  if (decision->byShape)
    byShape = true;
  table.add({*device.context(), spec, given, decision->byShape ? &problem : nullptr}, *kernel, decision->reason);
  return Kernel(*kernel, made ? (*kernel)->origin : Source::Memory, decision->reason);
}

Result<Decision> Engine::State::decide(const AttentionSpec &spec, const Problem &problem, const Device &device,
                                       const Schedule *given) {
  const auto reason = [](std::string text) { return std::make_shared<const std::string>(std::move(text)); };
  Decision decision;
  const DeviceFacts facts = DeviceFacts::of(device);
  const std::span<const TuningRecord> log = given ? std::span<const TuningRecord>() : tuned(spec);
  BundleChoice choice = chooseFromBundles(bundles, spec, problem, facts, given, log);
  decision.byShape = choice.byShape;
  if (choice.chosen) {
    Result<Schedule> schedule = Schedule::parse(choice.chosen->entry->schedule);
    if (!schedule)
      return Status(Code::File, fmt::format("{}: {}", choice.chosen->bundle->path(), schedule.status().message()));
    decision.schedule = *schedule;
    decision.reason = reason(std::move(choice.scheduleReason));
    decision.match = choice.match;
    decision.bundled = std::move(choice.chosen);
    return decision;
  }
  if (options.policy == Policy::BundleOnly)
    return Status(Code::NotFound,
                  fmt::format("no bundle serves {} on {} ({})", spec.text(), device.name(), device.info().name),
                  bundles.empty() ? "the policy bundle-only needs a bundle" : describeNearest(bundles, spec, choice));
  std::vector<TunedSchedule> schedules;
  if (!given)
    schedules = tunedSchedules(bundles, log, spec, problem, facts, device.target());
  decision.byShape = !schedules.empty();
  if (given) {
    decision.schedule = *given;
    decision.reason = givenReason();
  } else if (!schedules.empty()) {
    decision.schedule = schedules.front().schedule;
    decision.reason = reason(std::move(schedules.front().reason));
    decision.match = schedules.front().match;
  } else {
    decision.schedule = defaultSchedule(spec, device.target());
  }
  if (Status status = decision.schedule.legal(spec, device.target()); !status)
    return status;
  return decision;
}

Result<detail::KernelTable::Loaded> Engine::State::load(const Decision &decision, const AttentionSpec &spec,
                                                        const Device &device) {
  const Context &context = *device.context();
  if (context.retired() >= unloadBatch)
    if (Status status = context.unloadRetired(); !status)
      return status;

  const auto start = std::chrono::steady_clock::now();
  FoundImage found;
  Source origin = Source::Bundle;
  if (decision.bundled) {
    Result<KernelImage> image = decision.bundled->bundle->image(*decision.bundled->entry);
    if (!image)
      return image.status();
    found.image = *std::move(image);
    found.milliseconds = millisecondsSince(start);
  } else {
    Result<FoundImage> image = images().get(spec, decision.schedule, device.target(), options.policy);
    if (!image)
      return image.status();
    found = *std::move(image);
    origin = found.compiled ? Source::Compiler : Source::Disk;
  }
  Result<std::shared_ptr<detail::LoadedKernel>> loaded = detail::LoadedKernel::load(std::move(found.image), device);
  if (!loaded)
    return loaded.status();
  detail::LoadedKernel &kernel = **loaded;
  kernel.origin = origin;
  kernel.fetchMs = found.milliseconds;
  if (decision.bundled)
    kernel.bundle = decision.bundled->bundle->path();
  if (!found.warnings.empty())
    kernel.warnings = found.warnings + (kernel.warnings.empty() ? "" : "\n") + kernel.warnings;
  bundleHits += origin == Source::Bundle;
  diskHits += origin == Source::Disk;
  return detail::KernelTable::Loaded(*loaded);
}

Result<Explanation> Engine::explain(const AttentionSpec &spec, const Problem &problem, const Device &device,
                                    const PrepareOptions &options) const {
  if (Status status = problem.validate(); !status)
    return status;
  if (Status status = spec.validate(); !status)
    return status;
  if (options.schedule)
    return tessera::explain(spec, device.target(), *options.schedule);
  Result<Decision> decision = state_->decide(spec, problem, device, nullptr);
  if (!decision)
    return decision.status();
  if (!decision->reason)
    return tessera::explain(spec, device.target());
  Result<Target> target =
      Target::parse(decision->bundled ? decision->bundled->entry->target.text() : std::string(device.target().name));
  if (!target)
    return target.status();
  Explanation why = tessera::explain(spec, *target, decision->schedule);
  why.reason = *decision->reason;
  why.provenance = decision->match ? name(*decision->match) : decision->bundled ? "bundle" : "default";
  return why;
}

EngineCounters Engine::counters() const {
  EngineCounters counters;
  counters.memoryHits = state_->table.hits();
  counters.bundleHits = state_->bundleHits;
  counters.diskHits = state_->diskHits;
  counters.failures = state_->failures;
  counters.bundleMisses = state_->bundleMisses;
  counters.evictions = state_->table.evictions();
  counters.loadedKernels = state_->table.size();
  if (state_->options.policy != Policy::BundleOnly) {
    ImageSource &images = state_->images();
    counters.compiles = images.compiles();
    counters.disk = images.cache().counters();
  }
  return counters;
}

DiskCache &Engine::cache() const { return state_->images().cache(); }

std::span<const std::shared_ptr<const Bundle>> Engine::bundles() const { return state_->bundles; }

} // namespace tessera
