// safetensors-fuzzer: any bytes are taken for a .safetensors file. What is read comes back from the file written of it.
#include "autotune/cli/files/SafeTensors.h"
#include "tests/fuzz/Expect.h"
#include "tests/fuzz/JsonMutator.h"

#include <algorithm>

using namespace tessera;
using namespace tessera::files;
using fuzz::expect;

namespace {

constexpr size_t lengthSize = 8;
constexpr std::string_view words[] = {"F16",   "BF16",         "F32",          "I64", "dtype",
                                      "shape", "data_offsets", "__metadata__", "q",   "layer.0.attn.k"};

MemoryBytes sourceOf(std::string_view bytes) { return MemoryBytes(std::as_bytes(std::span(bytes))); }

/// Every tensor that can be read; ranges may overlap, and then hold the same elements.
std::vector<std::pair<std::string, HostTensor>> readAll(const ByteSource &source,
                                                        const std::vector<SafeTensorsEntry> &index) {
  std::vector<std::pair<std::string, HostTensor>> tensors;
  for (const SafeTensorsEntry &entry : index) {
    expect(entry.begin <= entry.end && entry.end <= source.size(), "a range of the index lies inside the file");
    if (Result<HostTensor> tensor = readSafeTensor(source, entry))
      tensors.emplace_back(entry.name, *std::move(tensor));
    else
      expect(tensor.status().code() == Code::File, "a tensor that cannot be read is Code::File");
  }
  return tensors;
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  const MemoryBytes source = sourceOf(fuzz::viewOf(data, size));
  const Result<std::vector<SafeTensorsEntry>> index = readSafeTensorsIndex(source);
  if (!index) {
    expect(index.status().code() == Code::File, "bytes that are no file of tensors are Code::File");
    return 0;
  }
  expect(std::ranges::is_sorted(*index, {}, &SafeTensorsEntry::name), "the index is sorted by name");
  const auto tensors = readAll(source, *index);
  std::vector<NamedTensor> named;
  for (const auto &[name, tensor] : tensors)
    named.push_back({name, &tensor});
  std::string file = safeTensorsHeader(named);
  expect(file.size() % 8 == 0, "the elements are aligned");
  for (const auto &[name, tensor] : tensors)
    file.append(reinterpret_cast<const char *>(tensor.bytes.data()), tensor.bytes.size());
  const MemoryBytes written = sourceOf(file);
  const Result<std::vector<SafeTensorsEntry>> writtenIndex = readSafeTensorsIndex(written);
  expect(writtenIndex.ok(), "what is written can be read", writtenIndex.status().text());
  const auto again = readAll(written, *writtenIndex);
  expect(std::ranges::equal(again, tensors,
                            [](const auto &a, const auto &b) {
                              return a.first == b.first && a.second.type == b.second.type &&
                                     a.second.shape == b.second.shape && a.second.bytes == b.second.bytes;
                            }),
         "what is written is what was read", file);
  return 0;
}

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t maxSize, unsigned seed) {
  fuzz::Random random(seed);
  if (size < lengthSize || random.chance(6))
    return LLVMFuzzerMutate(data, size, maxSize);
  const std::string_view rest = fuzz::viewOf(data, size).substr(lengthSize);
  const size_t length = std::min<uint64_t>(fuzz::readNumber<uint64_t>(fuzz::viewOf(data, size), 0), rest.size());
  const std::string index = fuzz::mutateJson(rest.substr(0, length), random, words);
  std::string file(lengthSize, '\0');
  fuzz::writeNumber(file, 0, uint64_t(index.size()));
  file += index;
  file += rest.substr(length);
  return fuzz::give(file, data, maxSize);
}
