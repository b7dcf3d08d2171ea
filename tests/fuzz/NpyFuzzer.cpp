// npy-fuzzer: any bytes are taken for a .npy file. What is read comes back from the file that is written of it.
#include "autotune/cli/files/Npy.h"
#include "tests/fuzz/Expect.h"
#include "tests/fuzz/Random.h"

#include <fmt/ranges.h>

using namespace tessera;
using fuzz::expect;

namespace {

Result<files::HostTensor> read(std::string_view bytes) {
  return files::readNpy(files::MemoryBytes(std::as_bytes(std::span(bytes))));
}

std::string_view viewOf(const std::vector<std::byte> &bytes) {
  return {reinterpret_cast<const char *>(bytes.data()), bytes.size()};
}

/// A header of a few dimensions with the data that belong to it, in one of the file versions.
std::string newFile(fuzz::Random &random) {
  static constexpr std::string_view types[] = {"<f2", "<f4", "|V2", "bfloat16", ">f4", "<i8"};
  static constexpr uint64_t extents[] = {0, 1, 2, 3, 5, 16, uint64_t(1) << 31, uint64_t(1) << 61};
  std::vector<uint64_t> shape(random.below(5));
  for (uint64_t &extent : shape)
    extent = extents[random.below(random.chance(8) ? std::size(extents) : 6)];
  const std::string_view type = random.pick(types);
  uint64_t bytes = type.ends_with("4") ? 4 : 2;
  for (uint64_t extent : shape)
    bytes *= extent;
  std::string header =
      fmt::format("{{'descr': '{}', 'fortran_order': {}, 'shape': ({}{})}}", type, random.chance(2) ? "True" : "False",
                  fmt::join(shape, ", "), shape.size() == 1 ? "," : "");
  header.append(random.below(8), ' ');
  const unsigned version = 1 + unsigned(random.below(3)), lengthBytes = version == 1 ? 2 : 4;
  std::string file = "\x93NUMPY";
  file += {char(version), '\0'};
  for (unsigned n = 0; n < lengthBytes; ++n)
    file += char(header.size() >> (8 * n) & 0xff);
  file += header;
  for (uint64_t n = 0; n < std::min<uint64_t>(bytes, 2048); ++n)
    file += char(n * 37);
  return file;
}

/// Changes the text of the header of a version 1.0 file, whose length stays right.
std::string changeHeader(const std::string &file, fuzz::Random &random) {
  const size_t length = fuzz::readNumber<uint16_t>(file, 8), end = std::min(10 + length, file.size());
  std::string header = random.bytes(file.substr(10, end - 10));
  std::string changed = file.substr(0, 10) + header + file.substr(end);
  fuzz::writeNumber(changed, 8, uint16_t(header.size()));
  return changed;
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  const Result<files::HostTensor> tensor = read(fuzz::viewOf(data, size));
  if (!tensor) {
    expect(tensor.status().code() == Code::File, "bytes that are no array are Code::File", tensor.status().text());
    return 0;
  }
  const std::string header = files::npyHeader(*tensor);
  expect(header.size() % 64 == 0, "the elements are aligned");
  const Result<files::HostTensor> again = read(header + std::string(viewOf(tensor->bytes)));
  expect(again.ok(), "what is written can be read", again.status().text());
  expect(again->type == tensor->type && again->shape == tensor->shape && again->bytes == tensor->bytes,
         "what is written is what was read", header);
  return 0;
}

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t maxSize, unsigned seed) {
  fuzz::Random random(seed);
  const std::string file(fuzz::viewOf(data, size));
  if (random.chance(16))
    return fuzz::give(newFile(random), data, maxSize);
  if (size >= 10 && file[6] == 1 && random.chance(2))
    return fuzz::give(changeHeader(file, random), data, maxSize);
  return LLVMFuzzerMutate(data, size, maxSize);
}
