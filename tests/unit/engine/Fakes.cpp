// Loads the fakes by path; the runtime then finds them by the names it looks for.
#include "tests/unit/engine/Fakes.h"

#include <cstdlib>
#include <dlfcn.h>
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
  renew(driver(false));
  renew(driver(true));
  renew(compiler());
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

KernelImage image(const AttentionSpec &spec, std::string_view target) {
  CompileRequest request;
  request.spec = spec;
  request.schedule = defaultSchedule(spec, *Target::parse(target));
  request.target = target;
  return *KernelImage::parse((*CompilerLibrary::open())->compile(request)->bytes);
}

} // namespace tessera::fakes
