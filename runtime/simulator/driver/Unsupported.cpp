// The entry points that the simulator does not implement. It does not see cuda.h, so that one signature serves them
// all: the C calling conventions that we run on let a function ignore its arguments.
#define ENTRY(name, version)                                                                                           \
  extern "C" __attribute__((visibility("default"))) int name() { return 801; } /* CUDA_ERROR_NOT_SUPPORTED */
#include "runtime/simulator/driver/Unsupported.def"
