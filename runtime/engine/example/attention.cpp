// A causal attention from the description to a checked answer. Usage: attention [DEVICE], "cuda:0" or "sim:a100".
#include <tessera/tessera.h>

#include <bit>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <vector>

using namespace tessera;

/// The value, or the end of the program with the reason why there is none.
template <typename T> T orExit(Result<T> result) {
  if (!result) {
    std::fprintf(stderr, "%s\n", result.status().text().c_str());
    std::exit(1);
  }
  return *std::move(result);
}
void orExit(const Status &status) { status ? void() : (void)orExit(Result<int>(status)); }

/// Random values in bf16: the upper half of an f32.
std::vector<uint16_t> randomValues(size_t count, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  std::vector<uint16_t> values(count);
  for (uint16_t &value : values)
    value = uint16_t(std::bit_cast<uint32_t>(normal(random)) >> 16);
  return values;
}
double toDouble(uint16_t bits) { return std::bit_cast<float>(uint32_t(bits) << 16); }

int main(int argc, char **argv) {
  const int64_t batch = 1, heads = 4, kvHeads = 2, seqlenQ = 100, seqlenKv = 150, dim = 64;

  // What: everything that changes the meaning of the kernel. Lengths, batch and head counts are given at launch.
  AttentionSpec spec;
  spec.dtype = DType::BF16;
  spec.headDim = spec.valueDim = dim;
  spec.mask = Mask::causal(Align::BottomRight);

  // Where: a device by name. Tessera never replaces a GPU by its simulator on its own.
  Device device = orExit(Device::open(argc > 1 ? argv[1] : "cuda:0"));

  // How: the engine chooses a schedule, compiles (or remembers) the kernel and says what it did.
  Engine engine = orExit(Engine::create());
  Kernel kernel = orExit(engine.prepare(spec, {batch, heads, kvHeads, seqlenQ, seqlenKv}, device));
  std::printf("%s", kernel.info().text().c_str());

  // Tensors (batch, sequence, head, dim) in memory of the device.
  std::vector<uint16_t> q = randomValues(batch * seqlenQ * heads * dim, 1), o(q.size());
  std::vector<uint16_t> k = randomValues(batch * seqlenKv * kvHeads * dim, 2), v = randomValues(k.size(), 3);
  auto upload = [&](const std::vector<uint16_t> &values) {
    DeviceBuffer buffer = orExit(device.allocate(values.size() * sizeof(uint16_t)));
    orExit(buffer.upload(values.data(), buffer.bytes()));
    return buffer;
  };
  DeviceBuffer deviceQ = upload(q), deviceK = upload(k), deviceV = upload(v), deviceO = upload(o);

  LaunchArguments arguments;
  arguments.q = TensorView::contiguous(deviceQ.pointer(), DType::BF16, batch, seqlenQ, heads, dim);
  arguments.k = TensorView::contiguous(deviceK.pointer(), DType::BF16, batch, seqlenKv, kvHeads, dim);
  arguments.v = TensorView::contiguous(deviceV.pointer(), DType::BF16, batch, seqlenKv, kvHeads, dim);
  arguments.o = TensorView::contiguous(deviceO.pointer(), DType::BF16, batch, seqlenQ, heads, dim);
  orExit(kernel.launch(arguments, /*stream=*/nullptr));
  orExit(device.synchronize());
  orExit(deviceO.download(o.data(), deviceO.bytes()));

  // Check: one row in f64. Query row i sees the keys up to i + seqlenKv - seqlenQ.
  const int64_t row = 42, head = 3, kvHead = head / (heads / kvHeads), last = row + seqlenKv - seqlenQ;
  std::vector<double> sum(dim, 0.0);
  double weights = 0;
  for (int64_t j = 0; j <= last; ++j) {
    double score = 0;
    for (int64_t c = 0; c < dim; ++c)
      score += toDouble(q[(row * heads + head) * dim + c]) * toDouble(k[(j * kvHeads + kvHead) * dim + c]);
    const double weight = std::exp(score / std::sqrt(double(dim)));
    weights += weight;
    for (int64_t c = 0; c < dim; ++c)
      sum[c] += weight * toDouble(v[(j * kvHeads + kvHead) * dim + c]);
  }
  double error = 0;
  for (int64_t c = 0; c < dim; ++c)
    error = std::fmax(error, std::fabs(toDouble(o[(row * heads + head) * dim + c]) - sum[c] / weights));
  const double bound = 0.01; // two roundings to bf16 of values below 1
  std::printf("largest error in row %d of head %d: %.2e, at most %.2e\n", int(row), int(head), error, bound);
  return error <= bound ? 0 : 1;
}
