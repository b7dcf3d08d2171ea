// Damage: every byte of a bundle that is changed and every byte that is missing is noticed, and the message says where.
#include "tests/unit/bundle/BundleFile.h"
#include "tests/unit/bundle/SampleImages.h"

#include <fstream>
#include <gtest/gtest.h>
#include <unistd.h>

namespace tessera {
namespace {

using namespace test;

/// What opening, or reading everything, has against these bytes.
Status faultOf(const std::string &bytes) {
  auto bundle = openBytes(bytes);
  return bundle.ok() ? (*bundle)->verify() : bundle.status();
}

std::string smallBundle(const PrivateKey *key) {
  BundleWriter writer;
  for (unsigned i : {0, 1})
    if (Status status = writer.add(sampleImage(i, "sm_80", 40)); !status.ok())
      return {};
  writer.add(sampleRecord(1));
  return must(writer.serialize(key));
}

TEST(BundleDamage, EveryFlippedByteIsNoticed) {
  const PrivateKey key = must(PrivateKey::generate());
  for (const PrivateKey *signer : {(const PrivateKey *)nullptr, &key}) {
    const std::string bytes = smallBundle(signer);
    ASSERT_TRUE(faultOf(bytes).ok()) << faultOf(bytes).text();
    for (size_t i = 0; i < bytes.size(); ++i)
      for (int mask : i < 2048 ? std::vector{0x01, 0x10, 0xff} : std::vector{0x01}) { // header and index thrice
        std::string damaged = bytes;
        damaged[i] ^= char(mask);
        ASSERT_EQ(faultOf(damaged).code(), Code::File) << "byte " << i << ", mask " << mask;
      }
  }
}

TEST(BundleDamage, EveryTruncationIsNoticedAtOpening) {
  const std::string bytes = smallBundle(nullptr);
  for (size_t size = 0; size < bytes.size(); ++size) {
    const std::string shorter = bytes.substr(0, size);
    const Status fault = openBytes(shorter).status();
    ASSERT_EQ(fault.code(), Code::File) << size;
    ASSERT_EQ(fault.message().find("too few for a bundle") != std::string::npos, size < 256) << fault.message();
  }
  EXPECT_EQ(openBytes(bytes + '\0').status().code(), Code::File);
  EXPECT_EQ(openBytes(bytes + std::string(4096, '\0')).status().code(), Code::File);
}

TEST(BundleDamage, EveryFieldOfTheHeaderIsChecked) {
  const std::string bytes = smallBundle(nullptr);
  auto expect = [&](auto value, size_t offset, std::string_view part) {
    std::string forged = bytes;
    putNumber(forged, offset, value);
    Status fault = openBytes(forged).status();
    EXPECT_EQ(fault.code(), Code::File) << offset;
    EXPECT_NE(fault.message().find(part), std::string::npos) << fault.message();
    EXPECT_NE(fault.message().find("bundle 'test.tsb'"), std::string::npos) << fault.message();
  };
  expect('X', 0, "first bytes are not those of a bundle");
  expect('\n', 6, "first bytes are not those of a bundle");
  expect(uint32_t(2), 8, "format version 2, this library reads 1");
  expect(uint32_t(0), 8, "format version 0");
  expect(uint32_t(1), 12, "features that this library does not know: number 0");
  expect(uint32_t(0x80000020), 12, "number 5, 31");
  for (uint64_t value : {uint64_t(0), uint64_t(1), uint64_t(1) << 63, ~uint64_t(0), ~uint64_t(0) - 4095}) {
    expect(value, 16, "the header speaks of");
    expect(value, 24, value < 2 ? "digest" : "an index of");
    expect(value, 32, "images, the index lists 2");
  }
  expect(uint64_t(bytes.size()), 24, "an index of");
  expect(uint8_t(1), 40, "the digest of the index does not match");
  expect(uint32_t(2), 72, "unknown kind 2");
  expect(uint32_t(1), 76, "reserved");
  expect(uint8_t(1), 80, "not signed, yet carries");
  expect(uint8_t(1), 175, "not signed, yet carries");
  expect(uint8_t(1), 176, "reserved");
  expect(uint8_t(1), 255, "reserved");
}

TEST(BundleDamage, AChangedImageIsNoticedWheneverItIsReadAndTheOthersServe) {
  std::string bytes = smallBundle(nullptr);
  const uint64_t offset = must(openBytes(bytes))->index().entries[1].offset;
  bytes[offset + 100] ^= 1;
  auto bundle = must(openBytes(bytes));
  EXPECT_TRUE(bundle->image(bundle->index().entries[0]).ok());
  for (int again = 0; again < 2; ++again) {
    Status fault = bundle->image(bundle->index().entries[1]).status();
    EXPECT_EQ(fault.code(), Code::File);
    EXPECT_NE(fault.message().find("digest of the image for v1:"), std::string::npos) << fault.message();
    EXPECT_EQ(bundle->imageBytes(bundle->index().entries[1]).status().code(), Code::File);
  }
}

/// A bundle in a file of its own.
struct BundleInUse : testing::Test {
  std::string path = testing::TempDir() + "tessera-bundle-in-use-XXXXXX";
  std::string content = smallBundle(nullptr);
  std::shared_ptr<const Bundle> bundle;
  BundleInUse() {
    const int file = mkstemp(path.data());
    EXPECT_GE(file, 0);
    EXPECT_EQ(write(file, content.data(), content.size()), ssize_t(content.size()));
    close(file);
    bundle = must(Bundle::open(path));
  }
  ~BundleInUse() override { unlink(path.c_str()); }
  const BundleEntry &entry() const { return bundle->index().entries[1]; }
};

TEST_F(BundleInUse, BytesThatAreWrittenAfterAReadAreNoticedByTheNext) {
  ASSERT_TRUE(bundle->image(entry()).ok());
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(std::streamoff(entry().offset + 100));
  file.put(char(content[entry().offset + 100] ^ 1));
  file.close();
  EXPECT_EQ(bundle->image(entry()).status().code(), Code::File);
  EXPECT_TRUE(bundle->image(bundle->index().entries[0]).ok()) << "the others serve";
}

TEST_F(BundleInUse, AFileThatIsCutShortIsAnErrorAndNoSignal) {
  for (size_t size : {size_t(entry().offset + 100), size_t(300), size_t(0)}) {
    ASSERT_EQ(truncate(path.c_str(), off_t(size)), 0);
    const Status fault = bundle->image(entry()).status();
    EXPECT_EQ(fault.code(), Code::File);
    EXPECT_NE(fault.message().find("cut short after it was opened"), std::string::npos) << fault.text();
    EXPECT_EQ(bundle->verify().code(), Code::File);
    EXPECT_EQ(bundle->bytes().status().code(), Code::File);
  }
}

TEST_F(BundleInUse, AFileThatIsReplacedByRenameGoesOnServing) {
  const std::string other = path + ".new";
  std::ofstream(other) << "another file";
  ASSERT_EQ(rename(other.c_str(), path.c_str()), 0);
  EXPECT_TRUE(bundle->verify().ok());
}

TEST(BundleDamage, PaddingIsCheckedByVerify) {
  std::string bytes = smallBundle(nullptr);
  bytes[must(openBytes(bytes))->index().entries[1].offset - 1] = 1;
  auto bundle = openBytes(bytes);
  ASSERT_TRUE(bundle.ok());
  EXPECT_NE((*bundle)->verify().message().find("which fills up a page, is not zero"), std::string::npos);
}

} // namespace
} // namespace tessera
