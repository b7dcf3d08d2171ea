// What the tests of the C interface share: handles that destroy themselves, and an engine on the fakes.
#pragma once

#include "tessera/tessera_c.h"
#include "tests/unit/engine/Fakes.h"

#include <memory>

namespace tessera::capi {

template <auto Destroy> struct Destroyer {
  template <typename Handle> void operator()(Handle *handle) const { Destroy(handle); }
};
using DeviceHandle = std::unique_ptr<tessera_device, Destroyer<tessera_device_destroy>>;
using BufferHandle = std::unique_ptr<tessera_buffer, Destroyer<tessera_buffer_destroy>>;
using EngineHandle = std::unique_ptr<tessera_engine, Destroyer<tessera_engine_destroy>>;
using KernelHandle = std::unique_ptr<tessera_kernel, Destroyer<tessera_kernel_destroy>>;
using TextHandle = std::unique_ptr<tessera_text, Destroyer<tessera_text_destroy>>;

/// An A100 of the fake driver.
inline DeviceHandle openDevice(const char *name = "cuda:0") {
  tessera_device *device = nullptr;
  EXPECT_EQ(tessera_device_open(name, &device), TESSERA_OK) << tessera_last_error();
  return DeviceHandle(device);
}

/// An engine that touches no disk.
inline EngineHandle createEngine(int32_t policy = TESSERA_POLICY_JIT) {
  tessera_engine_options options = TESSERA_ENGINE_OPTIONS_INIT;
  options.cache_mode = TESSERA_CACHE_OFF;
  options.policy = policy;
  tessera_engine *engine = nullptr;
  EXPECT_EQ(tessera_engine_create(&options, &engine), TESSERA_OK) << tessera_last_error();
  return EngineHandle(engine);
}

inline tessera_spec bf16Spec(uint32_t headDim = 128) {
  tessera_spec spec = TESSERA_SPEC_INIT;
  spec.dtype = TESSERA_BF16;
  spec.head_dim = headDim;
  return spec;
}

inline tessera_problem problem(int64_t batch, int64_t heads, int64_t kvHeads, int64_t seqlenQ, int64_t seqlenKv) {
  return {sizeof(tessera_problem), batch, heads, kvHeads, seqlenQ, seqlenKv};
}

/// Null, with the error left for the test, where there is none.
inline KernelHandle prepare(const EngineHandle &engine, const DeviceHandle &device, const tessera_spec &spec) {
  const tessera_problem extents = problem(1, 4, 2, 100, 150);
  tessera_kernel *kernel = nullptr;
  tessera_engine_prepare(engine.get(), &spec, &extents, device.get(), nullptr, &kernel);
  return KernelHandle(kernel);
}

} // namespace tessera::capi
