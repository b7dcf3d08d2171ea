// cuProfiler* and cuGetExportTable: doors of tools, which find nothing behind them here.
#include "runtime/simulator/driver/State.h"

using namespace tessera::sim::driver;

extern "C" {

__attribute__((visibility("default"))) CUresult cuProfilerStart() {
  return inContext([](std::shared_ptr<Context> &) { return CUDA_SUCCESS; });
}
__attribute__((visibility("default"))) CUresult cuProfilerStop() {
  return inContext([](std::shared_ptr<Context> &) { return CUDA_SUCCESS; });
}
__attribute__((visibility("default"))) CUresult cuProfilerInitialize(const char *, const char *, int) {
  return CUDA_ERROR_NOT_SUPPORTED; // removed with CUDA 11
}

/// The tables are private to NVIDIA's own libraries.
CUresult cuGetExportTable(const void **table, const CUuuid *id) {
  if (!table || !id)
    return CUDA_ERROR_INVALID_VALUE;
  *table = nullptr;
  return CUDA_ERROR_NOT_FOUND;
}

} // extern "C"
