// Signatures: right, missing, of another key, over a changed index; and the texts of keys.
#include "runtime/bundle/Signature.h"
#include "tests/unit/bundle/BundleFile.h"
#include "tests/unit/bundle/SampleImages.h"

#include <gtest/gtest.h>

namespace tessera {
namespace {

using namespace test;

TEST(BundleSignature, RightUnsignedAndOtherKey) {
  const PrivateKey key = must(PrivateKey::generate()), other = must(PrivateKey::generate());
  const std::string bytes = sampleBundle(3, &key);
  auto bundle = must(openBytes(bytes));
  ASSERT_TRUE(bundle->signature());
  EXPECT_EQ(bundle->signature()->key, key.publicKey());
  EXPECT_TRUE(bundle->verifySignature(key.publicKey()).ok());
  EXPECT_TRUE(bundle->verify().ok());

  Status refused = bundle->verifySignature(other.publicKey());
  EXPECT_EQ(refused.code(), Code::InvalidArgument);
  EXPECT_NE(refused.message().find("signed with another key: " + key.publicKey().text()), std::string::npos);

  const std::string unsignedBytes = sampleBundle(3);
  refused = must(openBytes(unsignedBytes))->verifySignature(key.publicKey());
  EXPECT_EQ(refused.code(), Code::InvalidArgument);
  EXPECT_NE(refused.message().find("it is not signed"), std::string::npos);
  EXPECT_EQ(bytes.substr(256), unsignedBytes.substr(256)); // the signature lies in the header alone
}

TEST(BundleSignature, SigningTwiceGivesTheSameBytes) {
  const PrivateKey key = must(PrivateKey::generate());
  EXPECT_EQ(sampleBundle(3, &key), sampleBundle(3, &key));
}

TEST(BundleSignature, SignBundleEqualsWritingItSigned) {
  const PrivateKey key = must(PrivateKey::generate()), other = must(PrivateKey::generate());
  const std::string plain = sampleBundle(3), byOther = sampleBundle(3, &other);
  EXPECT_EQ(must(signBundle(*must(openBytes(plain)), key)), sampleBundle(3, &key));
  EXPECT_EQ(must(signBundle(*must(openBytes(byOther)), key)), sampleBundle(3, &key));
  std::string damaged = plain;
  damaged.back() ^= 1;
  EXPECT_EQ(signBundle(*must(openBytes(damaged)), key).status().code(), Code::File);
}

TEST(BundleSignature, AChangedIndexWithTheRightDigestIsNoticed) {
  const PrivateKey key = must(PrivateKey::generate());
  std::string bytes = sampleBundle(3, &key);
  const uint64_t size = numberAt<uint64_t>(bytes, 24);
  const size_t at = bytes.find("build-a");
  ASSERT_LT(at, 256 + size);
  bytes[at + 6] = 'b';
  putNumber(bytes, 40, digestOf(std::string_view(bytes).substr(256, size)));
  auto bundle = must(openBytes(bytes));
  EXPECT_NE(bundle->verifySignature(key.publicKey()).message().find("the signature does not match"), std::string::npos);
  EXPECT_FALSE(bundle->verify().ok());
}

TEST(BundleSignature, TheKeyOfAnotherPutInItsPlaceIsNoticed) {
  const PrivateKey key = must(PrivateKey::generate()), other = must(PrivateKey::generate());
  std::string bytes = sampleBundle(3, &key);
  putNumber(bytes, 80, other.publicKey().bytes);
  EXPECT_FALSE(must(openBytes(bytes))->verifySignature(other.publicKey()).ok());
  putNumber(bytes, 80, std::array<uint8_t, 96>{}); // a key of small order and a signature of zeros
  EXPECT_FALSE(must(openBytes(bytes))->verifySignature(PublicKey{}).ok());
}

TEST(BundleSignature, TheDocumentedBytesAreWhatIsSigned) {
  const PrivateKey key = must(PrivateKey::generate());
  const std::string bytes = sampleBundle(2, &key);
  std::string header = bytes.substr(0, 256);
  EXPECT_EQ(numberAt<uint32_t>(header, 72), 1u);
  header.replace(112, 64, 64, '\0');
  EXPECT_EQ(Signature::sign(key, header).bytes, (numberAt<std::array<uint8_t, 64>>(bytes, 112)));
}

TEST(Signature, KeysRoundTripThroughTheirTexts) {
  const PrivateKey key = must(PrivateKey::generate());
  const PublicKey half = key.publicKey();
  EXPECT_EQ(half.text().size(), std::string_view("tessera-ed25519-public ").size() + 64);
  EXPECT_EQ(must(PublicKey::parse(half.text())), half);
  EXPECT_EQ(must(PublicKey::parse(half.text() + "\n")), half);
  EXPECT_EQ(must(PublicKey::parse(half.text() + "\r\n")), half);
  EXPECT_EQ(must(PrivateKey::parse(key.text())).publicKey(), half);
  EXPECT_EQ(must(PrivateKey::parse(key.text())).text(), key.text());
  EXPECT_NE(must(PrivateKey::generate()).publicKey(), half);
}

TEST(Signature, KnownAnswerOfRfc8032) {
  // RFC 8032, section 7.1, TEST 2.
  const PrivateKey key =
      must(PrivateKey::parse("tessera-ed25519-private 4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba62"
                             "4da8cf6ed4fb8a6fb"));
  EXPECT_EQ(key.publicKey().text(),
            "tessera-ed25519-public 3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c");
  const Signature signature = Signature::sign(key, "\x72");
  EXPECT_EQ(signature.bytes[0], 0x92);
  EXPECT_EQ(signature.bytes[63], 0x00);
  EXPECT_TRUE(signature.matches("\x72"));
  EXPECT_FALSE(signature.matches("\x73"));
}

TEST(Signature, TextsThatAreNoKeysAreRefusedWithoutShowingThem) {
  const PrivateKey key = must(PrivateKey::generate());
  const std::string half = key.publicKey().text(), secret = key.text();
  for (std::string text : {std::string(), std::string("x"), half.substr(0, half.size() - 1), half + "0", half + " ",
                           "\n" + half, half + "\n\n", std::string("tessera-ed25519-public " + std::string(64, 'g')),
                           std::string("tessera-ed25519-public "), half + std::string(1, '\0')}) {
    Result<PublicKey> parsed = PublicKey::parse(text);
    EXPECT_EQ(parsed.status().code(), Code::InvalidArgument) << text;
  }
  Status mixedUp = PublicKey::parse(secret).status();
  EXPECT_NE(mixedUp.message().find("it is a private key"), std::string::npos);
  EXPECT_NE(PrivateKey::parse(half).status().message().find("it is a public key"), std::string::npos);
  const std::string digits = secret.substr(secret.size() - 64);
  EXPECT_EQ(mixedUp.text().find(digits.substr(0, 8)), std::string::npos);
  EXPECT_EQ(PrivateKey::parse(secret + "0").status().text().find(digits.substr(0, 8)), std::string::npos);
}

} // namespace
} // namespace tessera
