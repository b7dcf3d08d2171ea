// Whole bundles: merge with its three ways out of a conflict, split, strip-ptx, diff.
#include "tests/unit/bundle/SampleImages.h"

#include <gtest/gtest.h>
#include <list>

namespace tessera {
namespace {

using namespace test;
using Bundles = std::vector<std::shared_ptr<const Bundle>>;

/// Keeps the bytes of the bundles that a test opens.
class BundleOperations : public testing::Test {
protected:
  std::shared_ptr<const Bundle> open(const BundleWriter &writer, std::string name = "test.tsb",
                                     const PrivateKey *key = nullptr) {
    kept.push_back(must(writer.serialize(key)));
    return must(openBytes(kept.back(), std::move(name)));
  }
  static BundleWriter writerOf(std::initializer_list<KernelImage> images) {
    BundleWriter writer;
    for (const KernelImage &image : images)
      if (Status status = writer.add(image); !status.ok())
        must(Result<int>(status));
    return writer;
  }
  std::list<std::string> kept;
};

KernelImage ofBuild(KernelImage image, std::string build) {
  image.buildId = std::move(build);
  image.registers = 200;
  return image;
}

TEST_F(BundleOperations, MergeHoldsEverythingAndDropsTheSignature) {
  const PrivateKey key = must(PrivateKey::generate());
  BundleWriter one = writerOf({sampleImage(1), sampleImage(2)}), two = writerOf({sampleImage(2), sampleImage(3)});
  one.add(sampleRecord(1));
  two.add(sampleRecord(1));
  two.add(sampleRecord(3));
  Bundles bundles{open(one, "one", &key), open(two, "two")};
  auto merged = open(must(mergeBundles(bundles, MergeConflict::Refuse)));
  EXPECT_EQ(merged->index().entries.size(), 3u);
  EXPECT_EQ(merged->index().records.size(), 2u);
  EXPECT_FALSE(merged->signature());
  std::swap(bundles[0], bundles[1]);
  auto swapped = open(must(mergeBundles(bundles, MergeConflict::Refuse)));
  EXPECT_EQ(must(merged->bytes()), must(swapped->bytes()));
  EXPECT_EQ(must(mergeBundles({}, MergeConflict::Refuse)).imageCount(), 0u);
}

TEST_F(BundleOperations, MergeConflictOfImages) {
  Bundles bundles{open(writerOf({sampleImage(1), sampleImage(2)}), "one"),
                  open(writerOf({ofBuild(sampleImage(2), "build-b")}), "two"),
                  open(writerOf({ofBuild(sampleImage(2), "build-c")}), "three")};
  Status refused = mergeBundles(bundles, MergeConflict::Refuse).status();
  EXPECT_EQ(refused.code(), Code::InvalidArgument);
  for (std::string_view part : {"'two'", "'build-a'", "'build-b'"})
    EXPECT_NE(refused.message().find(part), std::string::npos) << refused.message();
  auto first = open(must(mergeBundles(bundles, MergeConflict::KeepFirst)));
  EXPECT_EQ(first->index().builds, std::vector<std::string>{"build-a"});
  auto last = open(must(mergeBundles(bundles, MergeConflict::KeepLast)));
  EXPECT_EQ(last->index().builds, (std::vector<std::string>{"build-a", "build-c"}));
  EXPECT_EQ(last->index().entries.size(), 2u);
}

TEST_F(BundleOperations, MergeConflictOfRecords) {
  BundleWriter one, two;
  TuningRecord record = sampleRecord(1);
  one.add(record);
  record.schedule.tileKv = 32;
  two.add(record);
  Bundles bundles{open(one), open(two)};
  Status refused = mergeBundles(bundles, MergeConflict::Refuse).status();
  EXPECT_EQ(refused.code(), Code::InvalidArgument);
  EXPECT_NE(refused.message().find("chooses differently"), std::string::npos) << refused.message();
  EXPECT_EQ(open(must(mergeBundles(bundles, MergeConflict::KeepFirst)))->index().records[0].schedule.tileKv, 128u);
  EXPECT_EQ(open(must(mergeBundles(bundles, MergeConflict::KeepLast)))->index().records[0].schedule.tileKv, 32u);
}

TEST_F(BundleOperations, ADamagedImageStopsMergeSplitAndStrip) {
  std::string bytes = sampleBundle(2);
  bytes.back() ^= 1;
  Bundles bundles{must(openBytes(bytes))};
  EXPECT_EQ(mergeBundles(bundles, MergeConflict::KeepLast).status().code(), Code::File);
  EXPECT_EQ(splitBundle(*bundles[0], {8, 0, 0}).status().code(), Code::File);
  EXPECT_EQ(stripPtx(*bundles[0]).status().code(), Code::File);
}

TEST_F(BundleOperations, SplitKeepsOneTargetWithItsRecords) {
  BundleWriter writer = writerOf({sampleImage(1), sampleImage(2, "sm_90"), sampleImage(1, "sm_90")});
  writer.add(sampleRecord(1));
  TuningRecord hopper = sampleRecord(2, "NVIDIA H100");
  hopper.target = "sm_90";
  writer.add(hopper);
  auto bundle = open(writer, "app.tsb");
  auto part = open(must(splitBundle(*bundle, {9, 0, 0})));
  EXPECT_EQ(part->index().entries.size(), 2u);
  EXPECT_EQ(part->index().records, std::vector<TuningRecord>{hopper});
  // The parts make the whole again.
  Bundles parts{part, open(must(splitBundle(*bundle, {8, 0, 0})))};
  EXPECT_EQ(must(open(must(mergeBundles(parts, MergeConflict::Refuse)))->bytes()), must(bundle->bytes()));

  for (CodeTarget target : {CodeTarget{9, 0, 'a'}, CodeTarget{8, 6, 0}}) {
    Status none = splitBundle(*bundle, target).status();
    EXPECT_EQ(none.code(), Code::NotFound);
    EXPECT_NE(none.message().find("'app.tsb' holds no image for " + target.text()), std::string::npos);
    EXPECT_NE(none.hint().find("sm_80, sm_90"), std::string::npos) << none.hint();
  }
}

TEST_F(BundleOperations, StripPtxLeavesTheCubins) {
  BundleWriter writer = writerOf({sampleImage(1), sampleImage(2)});
  writer.add(sampleRecord(1));
  auto bundle = open(writer), stripped = open(must(stripPtx(*bundle)));
  EXPECT_EQ(stripped->index().records.size(), 1u);
  EXPECT_TRUE(stripped->verify().ok());
  for (const BundleEntry &entry : stripped->index().entries) {
    EXPECT_EQ(entry.ptxVersion, 0u);
    Result<KernelImage> image = stripped->image(entry);
    ASSERT_TRUE(image.ok()) << image.status().text();
    EXPECT_TRUE(image->ptx.empty());
    EXPECT_EQ(image->cubin.size(), 600u);
  }
  EXPECT_EQ(must(open(must(stripPtx(*stripped)))->bytes()), must(stripped->bytes()));

  Status refused = stripPtx(*open(writerOf({sampleImage(1), sampleImage(2, "sm_86", 0)}))).status();
  EXPECT_EQ(refused.code(), Code::InvalidArgument);
  EXPECT_NE(refused.message().find(sampleImage(2).spec.text()), std::string::npos) << refused.message();
}

TEST_F(BundleOperations, DiffNamesWhatDiffers) {
  KernelImage changed = ofBuild(sampleImage(2), "build-b");
  changed.cubin[0] ^= 1;
  BundleWriter one = writerOf({sampleImage(1), sampleImage(2), sampleImage(5)}),
               two = writerOf({sampleImage(3), changed, sampleImage(5)});
  one.add(sampleRecord(1));
  TuningRecord record = sampleRecord(1);
  record.schedule.tileKv = 32;
  two.add(record);
  two.add(sampleRecord(5, "GPU"));
  std::vector<BundleDifference> differences = diffBundles(*open(one), *open(two));
  ASSERT_EQ(differences.size(), 5u);
  auto of = [&](BundleDifference::Kind kind, BundleDifference::Of of) {
    for (const BundleDifference &difference : differences)
      if (difference.kind == kind && difference.of == of)
        return difference;
    ADD_FAILURE();
    return differences[0];
  };
  const size_t size = sampleImage(1).serialize()->size();
  EXPECT_EQ(of(BundleDifference::OnlyFirst, BundleDifference::Image).spec, sampleImage(1).spec.text());
  EXPECT_EQ(of(BundleDifference::OnlyFirst, BundleDifference::Image).detail, fmt::format("{} bytes", size));
  EXPECT_EQ(of(BundleDifference::OnlySecond, BundleDifference::Image).spec, sampleImage(3).spec.text());
  EXPECT_EQ(of(BundleDifference::Changed, BundleDifference::Image).detail,
            "build build-a -> build-b, registers 130 -> 200, cubin of the same size");
  EXPECT_EQ(of(BundleDifference::Changed, BundleDifference::Image).target, "sm_80");
  EXPECT_NE(of(BundleDifference::Changed, BundleDifference::Record).detail.find("A100-SXM4-80GB, batch 2"),
            std::string::npos);
  EXPECT_NE(of(BundleDifference::Changed, BundleDifference::Record).detail.find("kv32"), std::string::npos);
  EXPECT_EQ(of(BundleDifference::OnlySecond, BundleDifference::Record).spec, sampleImage(5).spec.text());

  const PrivateKey key = must(PrivateKey::generate());
  EXPECT_TRUE(diffBundles(*open(one), *open(one, "signed", &key)).empty());
}

TEST_F(BundleOperations, DiffOfAStrippedBundleSpeaksOfThePtx) {
  auto bundle = open(writerOf({sampleImage(1)})), stripped = open(must(stripPtx(*bundle)));
  std::vector<BundleDifference> differences = diffBundles(*bundle, *stripped);
  ASSERT_EQ(differences.size(), 1u);
  EXPECT_EQ(differences[0].detail.find("PTX version 80 -> 0, PTX of "), 0u) << differences[0].detail;
}

} // namespace
} // namespace tessera
