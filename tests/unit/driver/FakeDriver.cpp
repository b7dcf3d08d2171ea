// A driver library that does nothing, in several variants, for the tests of the loader.
#include "runtime/driver/DriverSymbols.h"

#include <atomic>
#include <thread>

// The bodies ignore their arguments, as the C calling convention allows, so that one signature serves the whole table.
#define FAKE(member, exported)                                                                                         \
  extern "C" __attribute__((visibility("default"))) int fake_##member() __asm__(exported);                             \
  extern "C" int fake_##member() { return answer(exported); }

#ifdef FAKE_SLOW
extern "C" {
__attribute__((visibility("default"))) std::atomic<int> fake_entered{0}; // cuInit was called
__attribute__((visibility("default"))) std::atomic<int> fake_go{0};      // and returns once this is set
}
#endif

namespace {

int answer([[maybe_unused]] const char *symbol) {
#ifdef FAKE_NO_DEVICE
  if (__builtin_strcmp(symbol, "cuInit") == 0)
    return CUDA_ERROR_NO_DEVICE;
#endif
#ifdef FAKE_INHERITED
  if (__builtin_strcmp(symbol, "cuInit") == 0)
    return CUDA_ERROR_NOT_INITIALIZED;
#endif
#ifdef FAKE_SLOW
  if (__builtin_strcmp(symbol, "cuInit") == 0)
    for (fake_entered = 1; !fake_go;)
      std::this_thread::yield();
#endif
  // Texts, counts and handles stay as the caller set them.
  return CUDA_SUCCESS;
}

} // namespace

#ifdef FAKE_MISSING
FAKE(cuInit, "cuInit")
FAKE(cuDriverGetVersion, "cuDriverGetVersion")
#else
TESSERA_DRIVER_SYMBOLS(FAKE)
#endif
