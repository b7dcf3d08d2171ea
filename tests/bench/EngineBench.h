// EngineBench: what the parts of tessera-engine-bench share: the clock, the attentions and the driver they are measured
// with.
#pragma once

#include <tessera/tessera.h>

#include <nlohmann/json.hpp>

#include <chrono>
#include <dlfcn.h>
#include <fmt/format.h>
#include <string>
#include <string_view>
#include <vector>

namespace tessera::bench {

inline double secondsSince(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

/// The shortest of some batches, in seconds per call: what else runs on the machine only adds to it.
template <typename Call> double perCall(unsigned calls, Call call) {
  double best = 1e9;
  for (unsigned batch = 0; batch < 7; ++batch) {
    const auto start = std::chrono::steady_clock::now();
    for (unsigned i = 0; i < calls; ++i)
      call();
    best = std::min(best, secondsSince(start) / calls);
  }
  return best;
}

inline AttentionSpec causal() {
  AttentionSpec spec;
  spec.headDim = spec.valueDim = 128;
  spec.mask = Mask::causal(Align::BottomRight);
  return spec;
}

/// Other keys that are as much work to compile as causal() is.
inline std::vector<AttentionSpec> otherKeys() {
  std::vector<AttentionSpec> specs(5, causal());
  specs[0].dtype = DType::F16;
  specs[1].mask = Mask::causal(Align::TopLeft);
  specs[2].outputs = Output::O | Output::LSE;
  specs[3].scale = 0.1f;
  specs[4].outDType = DType::F32;
  return specs;
}

inline constexpr Problem problem = {.batch = 1, .heads = 8, .kvHeads = 8, .seqlenQ = 1024, .seqlenKv = 1024};

/// The unit tests' driver as cuda:0. It carries the driver's name, so that the loader gives it to whoever asks for it.
inline Result<Device> openFake() {
  if (!dlopen(FAKE_CUDA, RTLD_NOW))
    return Status(Code::NoDevice, dlerror());
  return Device::open("cuda:0");
}

// ShippingBench.cpp: kernels that are not compiled, because an earlier process did.

/// Compiles causal() and otherKeys() into the disk cache FOLDER/cache, and writes FOLDER/app.tsb with a kernel and a
/// tuning record for each of shippedSpecs().
Status ship(const std::string &folder, nlohmann::json &report);
Status measureFromDisk(const std::string &folder, nlohmann::json &report);
Status measureFromBundle(const std::string &folder, nlohmann::json &report);

} // namespace tessera::bench
