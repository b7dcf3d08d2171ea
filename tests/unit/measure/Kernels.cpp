// Compiles what the tests ask for.
#include "tests/unit/measure/Kernels.h"

#include "runtime/engine/CompilerLibrary.h"

#include <fmt/format.h>
#include <map>

namespace tessera::tune {

const Device &simulatedA100() {
  static const Device device = [] {
    Result<Device> opened = Device::open("sim:a100");
    if (!opened) {
      fmt::print(stderr, "{}\n", opened.status().text());
      std::exit(1);
    }
    return *std::move(opened);
  }();
  return device;
}

const KernelImage &compiled(const AttentionSpec &spec, const Schedule &schedule, const std::string &mutate) {
  static auto &images = *new std::map<std::string, KernelImage>;
  const std::string key = spec.text() + schedule.text() + mutate;
  if (const auto known = images.find(key); known != images.end())
    return known->second;
  KernelImage &image = images[key];
  const auto compiler = CompilerLibrary::open();
  EXPECT_TRUE(compiler) << compiler.status().text();
  if (!compiler)
    return image;
  CompileRequest request;
  request.spec = spec;
  request.schedule = schedule;
  request.target = "sm_80";
  request.mutate = mutate;
  const Result<CompileOutput> output = (*compiler)->compile(request);
  EXPECT_TRUE(output) << output.status().text();
  if (!output)
    return image;
  Result<KernelImage> parsed = KernelImage::parse(output->bytes);
  EXPECT_TRUE(parsed) << parsed.status().text();
  if (parsed)
    image = *std::move(parsed);
  return image;
}

bool compilerIsMissing() {
#ifdef COMPILER_IS_BUILT
  return false;
#else
  return !CompilerLibrary::locate();
#endif
}

AttentionSpec specOf(unsigned dim, const Mask &mask) {
  AttentionSpec spec;
  spec.headDim = spec.valueDim = dim;
  spec.mask = mask;
  spec.outputs = Output::O | Output::LSE;
  return spec;
}

Schedule scheduleOf(const char *text) {
  const Result<Schedule> schedule = Schedule::parse(text);
  EXPECT_TRUE(schedule) << schedule.status().text();
  return schedule ? *schedule : Schedule();
}

} // namespace tessera::tune
