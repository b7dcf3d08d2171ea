// A counter-based generator (the SplitMix64 finaliser) with the Box-Muller transform on top.
#include "autotune/reference/Random.h"

#include "autotune/reference/Numbers.h"

#include <numbers>

namespace tessera::reference {
namespace {

uint64_t mix(uint64_t x) {
  x += 0x9e3779b97f4a7c15u;
  x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
  x = (x ^ x >> 27) * 0x94d049bb133111ebu;
  return x ^ x >> 31;
}

} // namespace

float normalAt(uint64_t seed, uint64_t stream, uint64_t i) {
  const uint64_t bits = mix(mix(mix(seed) ^ stream) ^ i);
  const double u1 = (double(bits >> 32) + 1) * 0x1p-32; // (0, 1]
  const double u2 = double(bits & 0xffffffffu) * 0x1p-32;
  return float(std::sqrt(-2 * std::log(u1)) * std::cos(2 * std::numbers::pi * u2));
}

std::vector<std::byte> normalValues(DType type, size_t count, uint64_t seed, uint64_t stream, float deviation) {
  std::vector<std::byte> bytes(count * byteSize(type));
  for (size_t i = 0; i < count; ++i)
    storeElement(bytes.data() + i * byteSize(type), type, deviation * normalAt(seed, stream, i));
  return bytes;
}

} // namespace tessera::reference
