// A whole application: attention over values that are all 1 is 1 everywhere, whatever the weights. Its kernel comes
// from the bundles that are linked in or named on the command line, and from the compiler only where there are none.
#include <tessera/tessera.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

using namespace tessera;

template <typename T> static T orExit(Result<T> result) {
  if (!result) {
    std::fprintf(stderr, "%s\n", result.status().text().c_str());
    std::exit(1);
  }
  return std::move(*result);
}

static void orExit(const Status &status) {
  if (!status) {
    std::fprintf(stderr, "%s\n", status.text().c_str());
    std::exit(1);
  }
}

#ifdef EMBEDDED_BUNDLE
#define SIZE_OF(name) name##_size
#define SIZE(name) SIZE_OF(name)
extern "C" const unsigned char EMBEDDED_BUNDLE[];
extern "C" const uint64_t SIZE(EMBEDDED_BUNDLE);
#endif

static Result<Engine> openEngine(int argc, char **argv) {
  EngineOptions options;
  options.bundles.assign(argv + 1, argv + argc);
#ifdef EMBEDDED_BUNDLE
  options.embeddedBundles = {{"linked in", std::as_bytes(std::span(EMBEDDED_BUNDLE, SIZE(EMBEDDED_BUNDLE)))}};
#endif
  if (!options.bundles.empty() || !options.embeddedBundles.empty())
    options.policy = Policy::BundleOnly;
  return Engine::create(std::move(options));
}

int main(int argc, char **argv) {
  const int64_t seqlen = 70, dim = 64;
  const uint16_t one = 0x3f80, half = 0x3f00; // bf16
  AttentionSpec spec;
  spec.dtype = DType::BF16;
  spec.headDim = spec.valueDim = dim;

  Device device = orExit(Device::open("sim:a100"));
  Engine engine = orExit(openEngine(argc, argv));
  Kernel kernel = orExit(engine.prepare(spec, {1, 1, 1, seqlen, seqlen}, device));
  std::printf("%s", kernel.info().text().c_str());
  std::vector<uint16_t> ones(seqlen * dim, one), halves(seqlen * dim, half), answer(seqlen * dim, 0);
  auto upload = [&](const std::vector<uint16_t> &values) {
    DeviceBuffer buffer = orExit(device.allocate(values.size() * sizeof values[0]));
    orExit(buffer.upload(values.data(), buffer.bytes()));
    return buffer;
  };
  DeviceBuffer keys = upload(halves), values = upload(ones), output = upload(answer);
  LaunchArguments arguments;
  auto view = [&](const DeviceBuffer &buffer) {
    return TensorView::contiguous(buffer.pointer(), DType::BF16, 1, seqlen, 1, dim);
  };
  arguments.q = arguments.k = view(keys);
  arguments.v = view(values);
  arguments.o = view(output);
  orExit(kernel.launch(arguments, nullptr));
  orExit(device.synchronize());
  orExit(output.download(answer.data(), output.bytes()));
  const bool right = std::ranges::all_of(answer, [&](uint16_t value) { return value == one; });
  std::printf("%s\n", right ? "right" : "wrong");
  return right ? 0 : 1;
}
