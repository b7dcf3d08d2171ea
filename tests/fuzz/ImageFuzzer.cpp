// image-fuzzer: any bytes are taken for a kernel image. What is read is valid and is written as the same bytes again.
#include "runtime/image/KernelImage.h"
#include "tests/fuzz/Expect.h"
#include "tests/fuzz/ImageParts.h"

using namespace tessera;
using fuzz::expect;

namespace {

/// The key text alone, read as listings of caches do it.
Result<std::string> keyTextOf(std::string_view bytes) {
  return KernelImage::readKeyText([&](uint64_t count) {
    const std::string part(bytes.substr(0, count));
    bytes.remove_prefix(part.size());
    return part;
  });
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  const std::string_view bytes = fuzz::viewOf(data, size);
  const Result<std::string> key = keyTextOf(bytes);
  const Result<KernelImage> image = KernelImage::parse(bytes);
  if (!image) {
    expect(image.status().code() == Code::File, "bytes that are no image are Code::File", image.status().text());
    return 0;
  }
  expect(image->validate().ok(), "what is read is valid", image->validate().text());
  expect(key.ok() && *key == image->keyText, "the key text of an image can be read alone");
  const Result<std::string> again = image->serialize();
  expect(again.ok(), "what is read can be written", again.status().text());
  // There is one form but for the compressed PTX, which another version of zstd may have made.
  const auto was = *fuzz::ImageParts::of(bytes), is = *fuzz::ImageParts::of(*again);
  expect(was.metadata == is.metadata, "the metadata has one form", was.metadata + "\n" + is.metadata);
  expect(was.compressedPtx != is.compressedPtx || bytes == *again, "there is one form for one image");
  expect(bytes == *again || *KernelImage::parse(*again) == *image, "what is written is read as the same image");
  return 0;
}

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t maxSize, unsigned seed) {
  fuzz::Random random(seed);
  return fuzz::give(fuzz::mutateImage(fuzz::viewOf(data, size), random), data, maxSize);
}
