// Fat binaries: which PTX of several is taken, how it is unpacked, and that damaged ones are errors.
#include "runtime/simulator/driver/FatBinary.h"
#include "tests/unit/driver/Kernels.h"

#include <gtest/gtest.h>
#include <zstd.h>

#include <cstring>
#include <string>

using namespace tessera::sim;
using namespace tessera::sim::driver;

namespace {

template <typename T> void put(std::string &bytes, size_t at, T value) {
  std::memcpy(bytes.data() + at, &value, sizeof(T));
}

/// One entry in the layout that the toolkit's fatbinary tool writes: 80 bytes of header, then the payload.
std::string entry(uint16_t kind, uint32_t architecture, const std::string &payload, uint64_t flags = 0x11,
                  uint64_t decompressed = 0) {
  std::string bytes(80, '\0');
  put<uint16_t>(bytes, 0, kind);
  put<uint16_t>(bytes, 2, 0x101);
  put<uint32_t>(bytes, 4, 80);
  put<uint64_t>(bytes, 8, payload.size());
  put<uint32_t>(bytes, 16, decompressed ? uint32_t(payload.size()) : 0);
  put<uint32_t>(bytes, 28, architecture);
  put<uint64_t>(bytes, 40, flags);
  put<uint64_t>(bytes, 56, decompressed);
  return bytes + payload;
}

std::string fatBinary(const std::string &entries) {
  std::string bytes(16, '\0');
  put<uint32_t>(bytes, 0, 0xba55ed50);
  put<uint16_t>(bytes, 4, 1);
  put<uint16_t>(bytes, 6, 16);
  put<uint64_t>(bytes, 8, entries.size());
  return bytes + entries;
}

class FatBinary : public testing::Test {
protected:
  const DeviceProfile &a100 = **DeviceProfile::find("a100");
  std::string ptx, why;

  CUresult read(const std::string &image) {
    ptx.clear();
    return ptxOfImage(image.data(), image.size(), a100, &ptx, &why);
  }
};

TEST_F(FatBinary, TheNewestPtxThatTheDeviceCanRunIsTaken) {
  std::string image = fatBinary(entry(2, 80, "machine code") + entry(1, 75, "for 75") + entry(1, 80, "for 80") +
                                entry(1, 90, "for 90") + entry(1, 70, "for 70"));
  ASSERT_EQ(read(image), CUDA_SUCCESS) << why;
  EXPECT_EQ(ptx, "for 80");
}

TEST_F(FatBinary, MachineCodeAloneIsForNoSimulatorAndTheMessageSaysWhatThereIs) {
  EXPECT_EQ(read(fatBinary(entry(2, 80, "code") + entry(1, 90, "newer"))), CUDA_ERROR_NO_BINARY_FOR_GPU);
  EXPECT_NE(why.find("machine code for 80"), std::string::npos) << why;
  EXPECT_NE(why.find("PTX for 90"), std::string::npos) << why;
  EXPECT_EQ(read(fatBinary("")), CUDA_ERROR_NO_BINARY_FOR_GPU);
}

TEST_F(FatBinary, ArchitectureSpecificPtxIsForItsOwnArchitectureOnly) {
  std::string image = fatBinary(entry(1, 75, "any") + entry(1, 75, "only 75", 0x100011));
  ASSERT_EQ(read(image), CUDA_SUCCESS);
  EXPECT_EQ(ptx, "any");
  const DeviceProfile &h100 = **DeviceProfile::find("h100");
  image = fatBinary(entry(1, 90, "any") + entry(1, 90, "90a", 0x100011));
  ASSERT_EQ(ptxOfImage(image.data(), image.size(), h100, &ptx, &why), CUDA_SUCCESS);
  EXPECT_EQ(ptx, "90a");
}

TEST_F(FatBinary, ZstandardIsUnpacked) {
  std::string text = tessera::test::Saxpy, packed(ZSTD_compressBound(text.size()), '\0');
  packed.resize(ZSTD_compress(packed.data(), packed.size(), text.data(), text.size(), 3));
  ASSERT_EQ(read(fatBinary(entry(1, 80, packed, 0x8011, text.size()))), CUDA_SUCCESS) << why;
  EXPECT_EQ(ptx, text);
  EXPECT_EQ(read(fatBinary(entry(1, 80, packed, 0x8011, text.size() + 1))), CUDA_ERROR_INVALID_IMAGE);
  packed[packed.size() / 2] ^= 0x55;
  EXPECT_NE(read(fatBinary(entry(1, 80, packed, 0x8011, text.size()))), CUDA_ERROR_NO_BINARY_FOR_GPU);
}

TEST_F(FatBinary, Lz4IsUnpacked) {
  // "abcabcabcabc-end": three literals, a match of nine bytes three back, four literals.
  const std::string packed("\x35"
                           "abc\x03\x00\x40-end",
                           11);
  ASSERT_EQ(read(fatBinary(entry(1, 80, packed, 0x2011, 16))), CUDA_SUCCESS) << why;
  EXPECT_EQ(ptx, "abcabcabcabc-end");
  // Longer lengths go on in bytes of 255: 270 literals.
  std::string literals(270, 'x'), longer = std::string("\xf0\xff\x00", 3) + literals;
  ASSERT_EQ(read(fatBinary(entry(1, 80, longer, 0x2011, 270))), CUDA_SUCCESS) << why;
  EXPECT_EQ(ptx, literals);
}

TEST_F(FatBinary, DamagedLz4IsAnErrorWhereverItIsDamaged) {
  const std::string packed("\x35"
                           "abc\x03\x00\x40-end",
                           11);
  for (size_t cut = 0; cut < packed.size(); ++cut)
    EXPECT_EQ(read(fatBinary(entry(1, 80, packed.substr(0, cut), 0x2011, 16))), CUDA_ERROR_INVALID_IMAGE) << cut;
  for (size_t at = 0; at < packed.size(); ++at)
    for (int bit = 0; bit < 8; ++bit) {
      std::string damaged = packed;
      damaged[at] = char(damaged[at] ^ (1 << bit));
      CUresult result = read(fatBinary(entry(1, 80, damaged, 0x2011, 16)));
      EXPECT_TRUE(result == CUDA_ERROR_INVALID_IMAGE || (result == CUDA_SUCCESS && ptx.size() <= 16));
    }
}

TEST_F(FatBinary, ShortAndLyingHeadersAreErrors) {
  std::string whole = fatBinary(entry(1, 80, "text of PTX"));
  for (size_t cut = 4; cut < whole.size(); ++cut)
    EXPECT_EQ(read(whole.substr(0, cut)), CUDA_ERROR_INVALID_IMAGE) << cut;
  std::string lying = whole;
  put<uint64_t>(lying, 8, ~uint64_t(0)); // bytes of all entries
  EXPECT_EQ(read(lying), CUDA_ERROR_INVALID_IMAGE);
  lying = whole;
  put<uint32_t>(lying, 16 + 4, 0xffffffff); // header of the entry
  EXPECT_EQ(read(lying), CUDA_ERROR_INVALID_IMAGE);
  lying = whole;
  put<uint64_t>(lying, 16 + 8, ~uint64_t(0)); // payload
  EXPECT_EQ(read(lying), CUDA_ERROR_INVALID_IMAGE);
  EXPECT_EQ(read(fatBinary(entry(1, 80, "x", 0x8011, ~uint64_t(0)))), CUDA_ERROR_INVALID_IMAGE) << "unpacked size";
}

} // namespace
