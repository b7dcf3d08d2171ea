// The C functions of engines.
#include "runtime/engine/c/Conversions.h"
#include "runtime/engine/c/Handles.h"
#include "runtime/engine/c/LastError.h"
#include "runtime/engine/c/SizedStruct.h"

using namespace tessera;
using namespace tessera::c;

namespace {

Status toPolicy(int32_t number, Policy &policy) {
  switch (number) {
  case TESSERA_POLICY_JIT:
    policy = Policy::Jit;
    return {};
  case TESSERA_POLICY_CACHE_ONLY:
    policy = Policy::CacheOnly;
    return {};
  case TESSERA_POLICY_BUNDLE_ONLY:
    policy = Policy::BundleOnly;
    return {};
  default:
    return {Code::InvalidArgument,
            fmt::format("tessera_engine_options.policy {} is none of TESSERA_POLICY_...", number)};
  }
}

Status toCacheMode(int32_t number, std::optional<CacheMode> &mode) {
  switch (number) {
  case TESSERA_CACHE_DEFAULT:
    return {};
  case TESSERA_CACHE_READ_WRITE:
    mode = CacheMode::ReadWrite;
    return {};
  case TESSERA_CACHE_READ_ONLY:
    mode = CacheMode::ReadOnly;
    return {};
  case TESSERA_CACHE_REFRESH:
    mode = CacheMode::Refresh;
    return {};
  case TESSERA_CACHE_OFF:
    mode = CacheMode::Off;
    return {};
  default:
    return {Code::InvalidArgument,
            fmt::format("tessera_engine_options.cache_mode {} is none of TESSERA_CACHE_...", number)};
  }
}

Status isNull(std::string what) {
  return {Code::InvalidArgument, fmt::format("tessera_engine_options.{} is NULL", what)};
}

Status toBundles(const tessera_engine_options &given, EngineOptions &options) {
  if (given.bundle_count && !given.bundles)
    return isNull("bundles");
  for (size_t i = 0; i < given.bundle_count; ++i) {
    if (!given.bundles[i])
      return isNull(fmt::format("bundles[{}]", i));
    options.bundles.emplace_back(given.bundles[i]);
  }
  if (given.embedded_bundle_count && !given.embedded_bundles)
    return isNull("embedded_bundles");
  for (size_t i = 0; i < given.embedded_bundle_count; ++i) {
    const tessera_embedded_bundle &bundle = given.embedded_bundles[i];
    if (!bundle.name || !bundle.data)
      return isNull(fmt::format("embedded_bundles[{}].{}", i, bundle.name ? "data" : "name"));
    options.embeddedBundles.push_back({bundle.name, {static_cast<const std::byte *>(bundle.data), bundle.bytes}});
  }
  if (given.bundle_key)
    options.bundleKey = given.bundle_key;
  return {};
}

Status toOptions(const tessera_engine_options *given, EngineOptions &options) {
  if (!given)
    return {};
  tessera_engine_options own;
  if (Status status = readSized(*given, "tessera_engine_options", own); !status)
    return status;
  if (Status status = toBundles(own, options); !status)
    return status;
  if (Status status = toPolicy(own.policy, options.policy); !status)
    return status;
  if (Status status = toCacheMode(own.cache_mode, options.cache.mode); !status)
    return status;
  if (own.cache_directory)
    options.cache.directory = own.cache_directory;
  if (own.cache_bytes)
    options.cache.maxBytes = own.cache_bytes;
  if (own.compiler_library)
    options.compilerLibrary = own.compiler_library;
  if (own.max_kernels)
    options.maxKernels = unsigned(std::min<uint64_t>(own.max_kernels, UINT32_MAX));
  if (own.warn)
    options.warn = [warn = own.warn, user = own.warn_user](const std::string &message) { warn(message.c_str(), user); };
  else if (own.warn_user)
    return {Code::InvalidArgument, "tessera_engine_options.warn_user is given, but warn is NULL"};
  return {};
}

/// What a prepare and an explain are given.
struct Request {
  AttentionSpec spec;
  Problem problem;
  PrepareOptions options;
};

Status toRequest(const tessera_spec *spec, const tessera_problem *problem, const tessera_prepare_options *given,
                 Request &request) {
  if (Status status = toSpec(spec, request.spec); !status)
    return status;
  if (Status status = toProblem(problem, request.problem); !status)
    return status;
  if (!given)
    return {};
  tessera_prepare_options own;
  if (Status status = readSized(*given, "tessera_prepare_options", own); !status)
    return status;
  request.options.stream = own.stream;
  if (own.schedule) {
    Result<Schedule> schedule = Schedule::parse(own.schedule);
    if (!schedule)
      return schedule.status();
    request.options.schedule = *schedule;
  }
  return {};
}

} // namespace

tessera_code tessera_engine_create(const tessera_engine_options *options, tessera_engine **engine) noexcept {
  return makeHandle(engine, "engine", {}, [&]() -> Result<std::unique_ptr<tessera_engine>> {
    EngineOptions own;
    if (Status status = toOptions(options, own); !status)
      return status;
    Result<Engine> created = Engine::create(std::move(own));
    if (!created)
      return created.status();
    return std::make_unique<tessera_engine>(*std::move(created));
  });
}

void tessera_engine_destroy(tessera_engine *engine) noexcept { delete engine; }

tessera_code tessera_engine_prepare(const tessera_engine *engine, const tessera_spec *spec,
                                    const tessera_problem *problem, const tessera_device *device,
                                    const tessera_prepare_options *options, tessera_kernel **kernel) noexcept {
  return makeHandle(kernel, "kernel", {{"engine", engine}, {"device", device}},
                    [&]() -> Result<std::unique_ptr<tessera_kernel>> {
                      Request request;
                      if (Status status = toRequest(spec, problem, options, request); !status)
                        return status;
                      Result<Kernel> prepared =
                          engine->engine.prepare(request.spec, request.problem, device->device, request.options);
                      if (!prepared)
                        return prepared.status();
                      return std::make_unique<tessera_kernel>(*std::move(prepared));
                    });
}

tessera_code tessera_engine_explain(const tessera_engine *engine, const tessera_spec *spec,
                                    const tessera_problem *problem, const tessera_device *device,
                                    const tessera_prepare_options *options, tessera_text **text) noexcept {
  return makeHandle(text, "text", {{"engine", engine}, {"device", device}},
                    [&]() -> Result<std::unique_ptr<tessera_text>> {
                      Request request;
                      if (Status status = toRequest(spec, problem, options, request); !status)
                        return status;
                      Result<Explanation> explained =
                          engine->engine.explain(request.spec, request.problem, device->device, request.options);
                      if (!explained)
                        return explained.status();
                      return std::make_unique<tessera_text>(explained->text());
                    });
}

tessera_code tessera_engine_get_counters(const tessera_engine *engine, tessera_counters *counters) noexcept {
  return guarded([&]() -> Status {
    if (Status status = required({{"engine", engine}, {"counters", counters}}); !status)
      return status;
    const EngineCounters all = engine->engine.counters();
    auto misses = [&](CacheMiss reason) { return all.disk.misses[unsigned(reason)]; };
    tessera_counters own{};
    own.memory_hits = all.memoryHits;
    own.bundle_hits = all.bundleHits;
    own.disk_hits = all.diskHits;
    own.compiles = all.compiles;
    own.failures = all.failures;
    own.bundle_misses = all.bundleMisses;
    own.evictions = all.evictions;
    own.loaded_kernels = all.loadedKernels;
    own.cache_hits = all.disk.hits;
    own.cache_misses_off = misses(CacheMiss::Off);
    own.cache_misses_absent = misses(CacheMiss::Absent);
    own.cache_misses_untrusted = misses(CacheMiss::Untrusted);
    own.cache_misses_malformed = misses(CacheMiss::Malformed);
    own.cache_misses_other_key = misses(CacheMiss::OtherKey);
    own.cache_misses_unreadable = misses(CacheMiss::Unreadable);
    own.cache_stores = all.disk.stores;
    own.cache_failed_stores = all.disk.failedStores;
    own.cache_bytes_read = all.disk.bytesRead;
    own.cache_bytes_written = all.disk.bytesWritten;
    own.cache_evictions = all.disk.evicted;
    return writeSized(*counters, "tessera_counters", own);
  });
}
