// Bundles: what is written is read back, the same content gives the same bytes, and opening asks for a plain file only.
#include "runtime/bundle/Bundle.h"
#include "tests/unit/bundle/SampleImages.h"

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <numeric>
#include <random>
#include <sys/stat.h>
#include <thread>

namespace tessera {
namespace {

using namespace test;
namespace fs = std::filesystem;

/// A folder of its own, removed afterwards.
class BundleFiles : public testing::Test {
protected:
  void SetUp() override {
    std::string name = (fs::temp_directory_path() / "tessera-bundle-XXXXXX").string();
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    folder = name;
  }
  void TearDown() override { fs::remove_all(folder); }
  std::string write(const std::string &name, const std::string &bytes) {
    std::ofstream(folder / name, std::ios::binary) << bytes;
    return (folder / name).string();
  }
  fs::path folder;
};

TEST_F(BundleFiles, ImagesAndRecordsRoundTrip) {
  BundleWriter writer;
  for (unsigned i : {3, 1, 2})
    ASSERT_TRUE(writer.add(sampleImage(i)).ok());
  ASSERT_TRUE(writer.add(sampleImage(1, "sm_90", 0)).ok());
  KernelImage cluster = sampleImage(4, "sm_90");
  cluster.clusterBlocks = 2;
  ASSERT_TRUE(writer.add(cluster).ok());
  writer.add(sampleRecord(2));
  writer.add(sampleRecord(7, "A GPU of no image"));
  EXPECT_EQ(writer.imageCount(), 5u);

  auto bundle = Bundle::open(write("a.tsb", must(writer.serialize())));
  ASSERT_TRUE(bundle.ok()) << bundle.status().text();
  const BundleIndex &index = (*bundle)->index();
  ASSERT_EQ(index.entries.size(), 5u);
  EXPECT_EQ(index.builds, std::vector<std::string>{"build-a"});
  EXPECT_EQ(index.records, (std::vector<TuningRecord>{sampleRecord(2), sampleRecord(7, "A GPU of no image")}));
  EXPECT_FALSE((*bundle)->signature());

  for (const KernelImage &image :
       {sampleImage(1), sampleImage(2), sampleImage(3), sampleImage(1, "sm_90", 0), cluster}) {
    std::span<const BundleEntry> entries = index.find(image.spec.text());
    auto entry = std::ranges::find(entries, image.target, [](const BundleEntry &e) { return e.target.text(); });
    ASSERT_NE(entry, entries.end());
    EXPECT_EQ(entry->schedule, image.schedule.text());
    EXPECT_EQ(entry->sharedBytes, image.dynamicSharedBytes);
    EXPECT_EQ(entry->blockThreads, 128u);
    EXPECT_EQ(entry->registers, image.registers.value_or(0));
    EXPECT_EQ(entry->clusterBlocks, image.clusterBlocks);
    EXPECT_EQ(entry->ptxVersion, 80u);
    EXPECT_EQ(entry->cubinBytes, image.cubin.size());
    EXPECT_EQ(entry->offset % 4096, 0u);
    Result<KernelImage> read = (*bundle)->image(*entry);
    ASSERT_TRUE(read.ok()) << read.status().text();
    EXPECT_EQ(*read, image);
    EXPECT_EQ(*(*bundle)->imageBytes(*entry), *image.serialize());
  }
  EXPECT_EQ(index.find(sampleImage(1).spec.text()).size(), 2u);
  EXPECT_TRUE(index.find("v1:of no spec").empty());
  Status verified = (*bundle)->verify();
  EXPECT_TRUE(verified.ok()) << verified.text();
}

TEST(Bundle, TheSameContentInAnyOrderGivesTheSameBytes) {
  std::vector<unsigned> order(20);
  std::iota(order.begin(), order.end(), 0);
  std::mt19937 random(5);
  std::string first;
  for (int round = 0; round < 5; ++round) {
    BundleWriter writer;
    for (unsigned i : order) {
      writer.add(sampleRecord(i));
      // Whole or serialised, once or twice.
      ASSERT_TRUE(writer.add(sampleImage(i)).ok());
      if (i % 2)
        ASSERT_TRUE(writer.add(*sampleImage(i).serialize()).ok());
    }
    std::string bytes = must(writer.serialize());
    EXPECT_EQ(round ? first : bytes, bytes);
    first = bytes;
    std::ranges::shuffle(order, random);
  }
  // And what is read from a bundle makes the same bundle.
  auto bundle = must(openBytes(first));
  EXPECT_EQ(must(must(mergeBundles({&bundle, 1}, MergeConflict::Refuse)).serialize()), first);
}

TEST(Bundle, FiveHundredImagesOpenWithAnIndexOfModestSize) {
  const std::string bytes = sampleBundle(500);
  auto bundle = must(openBytes(bytes));
  EXPECT_EQ(bundle->index().entries.size(), 500u);
  EXPECT_EQ(bundle->index().specs.size(), 500u);
  EXPECT_EQ(bundle->index().records.size(), 50u);
  EXPECT_LT(bundle->index().entries[0].offset, 160u * 1024); // the budget of 1 ms is for about this much
  EXPECT_TRUE(bundle->verify().ok()) << bundle->verify().text();
  for (unsigned i = 0; i < 500; ++i)
    EXPECT_EQ(bundle->index().find(sampleImage(i).spec.text()).size(), 1u) << i;
}

TEST(Bundle, EmptyAndRecordsOnlyAreLegal) {
  BundleWriter writer;
  std::string bytes = must(writer.serialize());
  auto bundle = must(openBytes(bytes));
  EXPECT_TRUE(bundle->index().entries.empty());
  EXPECT_TRUE(bundle->verify().ok());
  writer.add(sampleRecord(1));
  bytes = must(writer.serialize());
  EXPECT_EQ(must(openBytes(bytes))->index().records.size(), 1u);
}

TEST(Bundle, ARecordOfTheSameQuestionIsReplaced) {
  BundleWriter writer;
  TuningRecord record = sampleRecord(1);
  writer.add(record);
  record.schedule.tileKv = 64;
  writer.add(record);
  EXPECT_EQ(writer.recordCount(), 1u);
  record.problem.seqlenKv = 4096;
  writer.add(record);
  const std::string bytes = must(writer.serialize());
  auto bundle = must(openBytes(bytes));
  ASSERT_EQ(bundle->index().records.size(), 2u);
  EXPECT_EQ(bundle->index().records[0].schedule.tileKv, 64u);
}

TEST(Bundle, EmbeddedBytesNeedNoAlignment) {
  const std::string bytes = "x" + sampleBundle(3);
  auto bundle = Bundle::openEmbedded(std::as_bytes(std::span(bytes)).subspan(1), "embedded");
  ASSERT_TRUE(bundle.ok()) << bundle.status().text();
  EXPECT_TRUE((*bundle)->verify().ok());
  EXPECT_EQ((*bundle)->path(), "embedded");
  EXPECT_EQ((*bundle)->size(), bytes.size() - 1);
}

TEST(Bundle, AnEntryOfAnotherBundleIsRefused) {
  const std::string bytes = sampleBundle(3);
  auto one = must(openBytes(bytes)), other = must(openBytes(bytes));
  EXPECT_EQ(one->image(other->index().entries[0]).status().code(), Code::InvalidArgument);
  EXPECT_EQ(one->image(BundleEntry(one->index().entries[0])).status().code(), Code::InvalidArgument);
}

TEST(Bundle, ManyThreadsReadOneBundle) {
  const std::string bytes = sampleBundle(40);
  auto bundle = must(openBytes(bytes));
  std::atomic<unsigned> read{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&] {
      for (const BundleEntry &entry : bundle->index().entries)
        read += bundle->image(entry).ok();
    });
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(read, 160u);
}

TEST_F(BundleFiles, OnlyPlainFilesOpenAndNothingHangs) {
  auto message = [](const std::string &path) {
    auto bundle = Bundle::open(path);
    EXPECT_EQ(bundle.status().code(), Code::File) << path;
    return bundle.status().message();
  };
  EXPECT_NE(message((folder / "absent.tsb").string()).find("absent.tsb': open: No such file"), std::string::npos);
  EXPECT_NE(message(folder.string()).find("not a plain file"), std::string::npos);
  const std::string pipe = (folder / "pipe").string();
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_NE(message(pipe).find("not a plain file"), std::string::npos);
  EXPECT_NE(message("/dev/null").find("not a plain file"), std::string::npos);
  EXPECT_NE(message(write("empty.tsb", "")).find("the file is empty"), std::string::npos);
  EXPECT_NE(message(write("text.tsb", std::string(5000, 'x'))).find("not those of a bundle"), std::string::npos);
  EXPECT_NE(message(write("image.tsb", *sampleImage(1).serialize())).find("not those of a bundle"), std::string::npos);
  EXPECT_NE(message(std::string("a\0b", 3)).find("zero byte"), std::string::npos);
}

TEST_F(BundleFiles, B3_73_OpeningAndReadingWriteNothing) {
  const std::string path = write("a.tsb", sampleBundle(3));
  fs::permissions(path, fs::perms::owner_read);
  fs::permissions(folder, fs::perms::owner_read | fs::perms::owner_exec);
  struct stat before, after;
  ASSERT_EQ(stat(folder.c_str(), &before), 0);
  {
    auto bundle = must(Bundle::open(path));
    EXPECT_TRUE(bundle->verify().ok());
  }
  ASSERT_EQ(stat(folder.c_str(), &after), 0);
  fs::permissions(folder, fs::perms::owner_all);
  EXPECT_EQ(before.st_mtim.tv_sec, after.st_mtim.tv_sec);
  EXPECT_EQ(before.st_mtim.tv_nsec, after.st_mtim.tv_nsec);
  EXPECT_EQ(std::distance(fs::directory_iterator(folder), {}), 1);
}

TEST(BundleWriter, WhatAnIndexCannotHoldIsRefused) {
  auto message = [](auto change) {
    BundleWriter writer;
    TuningRecord record = sampleRecord(1);
    change(record);
    writer.add(record);
    Result<std::string> bytes = writer.serialize();
    EXPECT_EQ(bytes.status().code(), Code::InvalidArgument);
    return bytes.status().message();
  };
  auto expect = [](std::string message, std::string_view part) {
    EXPECT_NE(message.find(part), std::string::npos) << message;
  };
  expect(message([](TuningRecord &r) { r.device = "GPU \xff"; }), "cannot hold the name 'GPU ?'");
  expect(message([](TuningRecord &r) { r.device = "a \"GPU\""; }), "cannot hold the name");
  expect(message([](TuningRecord &r) { r.device = ""; }), "(0 characters)");
  expect(message([](TuningRecord &r) { r.device = std::string(2000, 'x'); }), "(2000 characters)");
  expect(message([](TuningRecord &r) { r.target = "gfx90a"; }), "'gfx90a'");
  expect(message([](TuningRecord &r) { r.target = "compute_80"; }), "'compute_80' is not written canonically");
  expect(message([](TuningRecord &r) { r.problem.seqlenKv = -1; }), "seqlen_kv");
  expect(message([](TuningRecord &r) { r.spec.headDim = 7; }), "spec");
}

TEST(BundleWriter, AnotherImageOfTheSameKernelIsRefusedNamingBothBuilds) {
  BundleWriter writer;
  ASSERT_TRUE(writer.add(sampleImage(1)).ok());
  ASSERT_TRUE(writer.add(sampleImage(1)).ok());
  KernelImage other = sampleImage(1);
  other.buildId = "build-b";
  Status refused = writer.add(other);
  EXPECT_EQ(refused.code(), Code::InvalidArgument);
  EXPECT_NE(refused.message().find("'build-a'"), std::string::npos) << refused.message();
  EXPECT_NE(refused.message().find("'build-b'"), std::string::npos) << refused.message();
  EXPECT_EQ(writer.imageCount(), 1u);
  ASSERT_TRUE(writer.replace(*other.serialize()).ok());
  EXPECT_EQ(writer.imageCount(), 1u);
  const std::string bytes = must(writer.serialize());
  EXPECT_EQ(must(openBytes(bytes))->index().builds, std::vector<std::string>{"build-b"});
}

TEST(BundleWriter, BytesThatAreNoImageAreRefused) {
  BundleWriter writer;
  EXPECT_EQ(writer.add(std::string("no image")).code(), Code::File);
  EXPECT_EQ(writer.replace(std::string()).code(), Code::File);
  KernelImage image = sampleImage(1);
  image.target = "sm_90a"; // no target of this library's table
  EXPECT_FALSE(writer.add(image).ok());
  image = sampleImage(1);
  image.ptxVersion = 0;
  EXPECT_EQ(writer.add(image).code(), Code::InvalidArgument);
  EXPECT_EQ(writer.imageCount(), 0u);
}

} // namespace
} // namespace tessera
