// Keys: every field counts, and no value can imitate another field.
#include "runtime/image/ImageKey.h"

#include <gtest/gtest.h>
#include <set>

namespace tessera {
namespace {

TEST(ImageKey, EveryFieldChangesTheKey) {
  ImageKey base;
  base.compilerBuild = "b";
  base.target = "sm_80";
  base.assembler = "nvJitLink 13.0";
  std::set<std::string> hashes{keyHash(base.text())};
  auto add = [&](auto change) {
    ImageKey key = base;
    change(key);
    EXPECT_TRUE(hashes.insert(keyHash(key.text())).second) << key.text();
  };
  add([](ImageKey &k) { k.compilerBuild = "c"; });
  add([](ImageKey &k) { k.spec.headDim = 64; });
  add([](ImageKey &k) { k.schedule.tileKv = 32; });
  add([](ImageKey &k) { k.target = "sm_90"; });
  add([](ImageKey &k) { k.assembler = "none"; });
  add([](ImageKey &k) { k.options = "x"; });
}

TEST(ImageKey, FieldsAreLengthPrefixed) {
  ImageKey a, b;
  a.compilerBuild = "x\noptions 1:y";
  b.compilerBuild = "x";
  b.options = "y";
  EXPECT_NE(a.text(), b.text());
  EXPECT_NE(a.text().find("compiler 13:x\noptions 1:y\n"), std::string::npos);
}

TEST(ImageKey, ATextIsTakenApartIntoItsFields) {
  ImageKey key;
  key.compilerBuild = "x\noptions 1:y";
  key.target = "sm_80";
  const auto fields = keyFields(key.text());
  ASSERT_TRUE(fields);
  ASSERT_EQ(fields->size(), 7u);
  EXPECT_EQ((*fields)[0], (KeyField{"schema", "1"}));
  EXPECT_EQ((*fields)[1], (KeyField{"compiler", "x\noptions 1:y"}));
  EXPECT_EQ((*fields)[2], (KeyField{"spec", key.spec.text()}));
  EXPECT_EQ((*fields)[6], (KeyField{"options", ""}));
  const std::string text = key.text();
  for (size_t size = 0; size < text.size(); ++size) // a cut between two lines leaves a key with fewer fields
    EXPECT_TRUE(!keyFields(std::string_view(text).substr(0, size)) || text[size - 1] == '\n') << size;
  for (const char *other : {"", "tessera-key 1", "tessera-key 1\nspec", "tessera-key 1\nspec 5:abc\n",
                            "tessera-key 1\nspec 99999999999999999999:a\n", "tessera-key 1\nspec -1:a\n", "key 1\n"})
    EXPECT_FALSE(keyFields(other)) << other;
}

TEST(ImageKey, HashIsBlake2b256) {
  // Known answer of BLAKE2b-256 for no input.
  EXPECT_EQ(keyHash(""), "0e5751c026e543b2e8ab2eb06099daa1d1e5df47778f7787faab45cdf12fe3a8");
}

} // namespace
} // namespace tessera
