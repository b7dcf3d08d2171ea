// Loads the fakes by path; the runtime then finds them by the names it looks for.
#include "tests/unit/engine/Fakes.h"

#include <cstdlib>
#include <dlfcn.h>
#include <filesystem>
#include <new>

namespace tessera::fakes {
namespace {

template <typename State> State *find(const char *library, const char *symbol) {
  void *handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);
  if (!handle) {
    std::fprintf(stderr, "%s\n", dlerror());
    std::abort();
  }
  return reinterpret_cast<State *(*)()>(dlsym(handle, symbol))();
}

template <typename State> void renew(State &state) {
  state.~State();
  new (&state) State();
}

} // namespace

FakeDriverState &driver(bool simulator) {
  static FakeDriverState *cuda = find<FakeDriverState>(FAKE_CUDA, "fake_driver_state");
  static FakeDriverState *simulated = find<FakeDriverState>(FAKE_SIMULATOR, "fake_driver_state");
  return simulator ? *simulated : *cuda;
}

FakeCompilerState &compiler() {
  static FakeCompilerState *state = find<FakeCompilerState>(FAKE_COMPILER, "fake_compiler_state");
  return *state;
}

Test::Test() {
  setenv("TESSERA_SIM_LIBRARY", FAKE_SIMULATOR, 1);
  setenv("TESSERA_COMPILER_LIBRARY", FAKE_COMPILER, 1);
  setenv("TESSERA_CACHE", "off", 1);
  folder = (std::filesystem::temp_directory_path() / "tessera-engine-XXXXXX").string();
  if (!mkdtemp(folder.data()))
    std::abort();
  renew(driver(false));
  renew(driver(true));
  renew(compiler());
}

Test::~Test() {
  std::error_code ignored;
  std::filesystem::remove_all(folder, ignored);
}

Device device(std::string_view name) {
  Result<Device> device = Device::open(name);
  if (!device.ok()) {
    std::fprintf(stderr, "%s\n", device.status().text().c_str());
    std::abort();
  }
  return *device;
}

Engine engine() { return *Engine::create(); }

Engine engine(const std::string &cacheFolder, Policy policy, CacheMode mode) {
  EngineOptions options;
  options.cache = {.mode = mode, .directory = cacheFolder, .maxBytes = {}};
  options.policy = policy;
  return *Engine::create(options);
}

std::string bundle(std::initializer_list<KernelImage> images, std::initializer_list<TuningRecord> records,
                   const PrivateKey *key) {
  BundleWriter writer;
  for (const KernelImage &image : images)
    EXPECT_TRUE(writer.add(image));
  for (const TuningRecord &record : records)
    writer.add(record);
  return *writer.serialize(key);
}

KernelImage image(const AttentionSpec &spec, std::string_view target) {
  return image(spec, target, defaultSchedule(spec, *Target::parse(target)));
}

KernelImage image(const AttentionSpec &spec, std::string_view target, const Schedule &schedule) {
  CompileRequest request;
  request.spec = spec;
  request.schedule = schedule;
  request.target = target;
  return *KernelImage::parse((*CompilerLibrary::open())->compile(request)->bytes);
}

} // namespace tessera::fakes
