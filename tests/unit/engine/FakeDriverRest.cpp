// Weak entry points for all of the driver's table, so that the fake driver defines only what the tests use.
// One signature stands for all of them.
#include "runtime/driver/DriverSymbols.h"

#define WEAK(member, exported)                                                                                         \
  extern "C" __attribute__((visibility("default"), weak)) CUresult fakeUnused_##member() __asm__(exported);            \
  extern "C" __attribute__((visibility("default"), weak, no_sanitize("function"))) CUresult fakeUnused_##member() {    \
    return CUDA_ERROR_NOT_SUPPORTED;                                                                                   \
  }

TESSERA_DRIVER_SYMBOLS(WEAK)
