// Why a kernel is missed, told by the nearest key.
#include "runtime/cache/KeyComparison.h"

#include <gtest/gtest.h>

namespace tessera {
namespace {

ImageKey base() {
  ImageKey key;
  key.compilerBuild = "b1";
  key.target = "sm_80";
  key.assembler = "nvJitLink 13.0";
  return key;
}

std::string differences(const std::string &wanted, const std::string &found) {
  std::string text;
  for (const KeyDifference &d : compareKeys(wanted, found))
    text += d.field + ": " + d.wanted + " | " + d.found + "\n";
  return text;
}

std::string with(void (*change)(ImageKey &)) {
  ImageKey key = base();
  change(key);
  return differences(base().text(), key.text());
}

TEST(KeyComparison, B2_EveryFieldIsNamedAsPeopleKnowIt) {
  EXPECT_EQ(differences(base().text(), base().text()), "");
  EXPECT_EQ(with([](ImageKey &k) { k.compilerBuild = "b2"; }), "compiler: b1 | b2\n");
  EXPECT_EQ(with([](ImageKey &k) { k.target = "sm_90a"; }), "target: sm_80 | sm_90a\n");
  EXPECT_EQ(with([](ImageKey &k) { k.assembler = "none"; }), "assembler: nvJitLink 13.0 | none\n");
  EXPECT_EQ(with([](ImageKey &k) { k.options = "x\noptions 1:y"; }), "options:  | x\noptions 1:y\n");
  EXPECT_EQ(with([](ImageKey &k) { k.spec.mask = Mask::causal(Align::BottomRight); }),
            "spec mask: full | *:0:bottom-right\n");
  EXPECT_EQ(with([](ImageKey &k) { k.spec.softcap = 30.0f; }), "spec softcap: none | 30\n");
  EXPECT_EQ(with([](ImageKey &k) { k.schedule.tileQ = 64; }), "schedule tile_q: 128 | 64\n");
  EXPECT_EQ(with([](ImageKey &k) { k.schedule.tileKv = 32; }), "schedule tile_kv: 64 | 32\n");
  EXPECT_EQ(with([](ImageKey &k) { k.schedule.warps = 8; }), "schedule warps: 4 | 8\n");
  EXPECT_EQ(with([](ImageKey &k) { k.schedule.stages = 2; }), "schedule stages: 1 | 2\n");
  EXPECT_EQ(with([](ImageKey &k) { k.schedule.rescale = Rescale::Every; }), "schedule rescale: lazy8 | every\n");
  EXPECT_EQ(with([](ImageKey &k) { k.schedule.lazyThreshold = 4.5f; }), "schedule rescale: lazy8 | lazy4.5\n");
  EXPECT_EQ(with([](ImageKey &k) { k.schedule.rowSum = RowSum::Mma; }), "schedule row_sum: add | mma\n");
  EXPECT_EQ(with([](ImageKey &k) { k.schedule.queryInRegisters = !k.schedule.queryInRegisters; }).substr(0, 16),
            "schedule query: ");
  EXPECT_EQ(with([](ImageKey &k) { k.schedule.loops = Loops::Three; }), "schedule loops: online | three\n");
}

TEST(KeyComparison, SeveralDifferencesStandInTheOrderOfTheKey) {
  ImageKey other = base();
  other.compilerBuild = "b2";
  other.spec.headDim = 64;
  other.schedule.stages = 2;
  other.target = "sm_86";
  std::vector<std::string> fields;
  for (const KeyDifference &d : compareKeys(base().text(), other.text()))
    fields.push_back(d.field);
  EXPECT_EQ(fields, (std::vector<std::string>{"compiler", "spec d", "spec scale", "schedule stages", "target"}));
}

TEST(KeyComparison, KeysOfOtherVersionsAreComparedAsFarAsTheyGo) {
  auto key = [](std::string schema, std::string spec, std::string rest = "") {
    return "tessera-key " + schema + "\nspec " + std::to_string(spec.size()) + ":" + spec + "\n" + rest;
  };
  EXPECT_EQ(differences(key("1", "v1:d=8"), key("2", "v1:d=8")), "schema: 1 | 2\n");
  EXPECT_EQ(differences(key("1", "v1:d=8"), key("1", "v2:d=8,new=3,word")),
            "spec version: v1 | v2\nspec new:  | 3\nspec word:  | word\n");
  EXPECT_EQ(differences(key("1", "v1:d=8", "extra 1:x\n"), key("1", "v1:d=8")), "extra: x | \n");
  EXPECT_EQ(differences(key("1", ""), key("1", "v1:")), "spec version:  | v1\n");
}

TEST(KeyComparison, WhatIsNoKeyDiffersInTheKey) {
  const std::string good = base().text();
  for (std::string bad :
       {std::string(), std::string("x"), good.substr(0, good.size() - 1), good + "x", good + "a 5:b\n",
        good + "a 99999999999999999999:b\n", good + "a -1:b\n", good + ":\n", std::string("tessera-key 1")}) {
    std::vector<KeyDifference> differences = compareKeys(good, bad);
    ASSERT_EQ(differences.size(), 1u) << bad;
    EXPECT_EQ(differences[0].field, "key") << bad;
    EXPECT_EQ(compareKeys(bad, good).size(), 1u);
    EXPECT_TRUE(compareKeys(bad, bad).empty());
  }
}

TEST(KeyComparison, TheNearestKeyHasFewestDifferencesThenTheSameSpecThenTheLatestUse) {
  auto entry = [](std::string hash, int64_t lastUse, void (*change)(ImageKey &)) {
    ImageKey key = base();
    change(key);
    return DiskCache::Key{{"", std::move(hash), 1, lastUse}, key.text()};
  };
  std::vector<DiskCache::Key> keys = {
      entry("two", 9, [](ImageKey &k) { k.compilerBuild = "b2", k.target = "sm_86"; }),
      entry("spec", 8, [](ImageKey &k) { k.spec.softcap = 30.0f; }),
      entry("old", 1, [](ImageKey &k) { k.target = "sm_86"; }),
      entry("new", 2, [](ImageKey &k) { k.schedule.stages = 2; }),
      {{"", "none", 1, 99}, "no key"},
  };
  std::optional<NearestKey> nearest = nearestKey(base().text(), keys);
  ASSERT_TRUE(nearest);
  EXPECT_EQ(nearest->entry.hash, "new");
  ASSERT_EQ(nearest->differences.size(), 1u);
  EXPECT_EQ(nearest->differences[0].field, "schedule stages");
  keys.assign(1, keys.back());
  EXPECT_EQ(nearestKey(base().text(), keys)->differences[0].field, "key") << "comes last, but is better than nothing";
  EXPECT_FALSE(nearestKey(base().text(), {}));
}

} // namespace
} // namespace tessera
