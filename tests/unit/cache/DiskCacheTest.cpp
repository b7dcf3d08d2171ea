// DiskCache in health: what goes in comes out, modes, counters, notes, listings.
#include "runtime/cache/DiskCache.h"
#include "tests/unit/cache/CacheFixtures.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <thread>

namespace tessera {
namespace {

using namespace tessera::test;

class DiskCacheTest : public testing::Test {
protected:
  TemporaryFolder folder;
  std::vector<std::string> warnings;

  std::shared_ptr<DiskCache> open(CacheMode mode = CacheMode::ReadWrite, FileSystem &files = FileSystem::real()) {
    CacheOptions options;
    options.directory = folder.path + "/cache";
    options.mode = mode;
    options.maxBytes = uint64_t(1) << 30;
    return DiskCache::open(options, [this](const std::string &w) { warnings.push_back(w); }, files);
  }
  std::string entryPath(const KernelImage &image) {
    return detail::CacheLayout{folder.path + "/cache"}.entry(keyHash(image.keyText));
  }
};

TEST_F(DiskCacheTest, WhatIsStoredIsFoundByAnotherProcess) {
  const KernelImage image = cacheImage("a", 5000);
  auto first = open();
  EXPECT_EQ(first->find(image.keyText).miss, CacheMiss::Absent);
  first->store(image);
  DiskCache::Lookup found = open()->find(image.keyText);
  ASSERT_TRUE(found.image) << found.detail;
  EXPECT_EQ(*found.image, image);
  EXPECT_EQ(found.miss, CacheMiss::None);
  EXPECT_EQ(open()->find(cacheImage("b").keyText).miss, CacheMiss::Absent);
  EXPECT_TRUE(warnings.empty());
}

TEST_F(DiskCacheTest, LayoutAndModesAreThoseOfTheDesign) {
  const KernelImage image = cacheImage();
  open()->store(image);
  const std::string hash = keyHash(image.keyText);
  EXPECT_EQ(treeOf(folder.path), (std::vector<std::string>{"cache", "cache/v1", "cache/v1/" + hash.substr(0, 2),
                                                           "cache/v1/" + hash.substr(0, 2) + "/" + hash + ".tski"}));
  struct stat status{};
  for (const std::string &path : treeOf(folder.path)) {
    ASSERT_EQ(::stat((folder.path + "/" + path).c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 07777, S_ISDIR(status.st_mode) ? 0700u : 0600u) << path;
  }
  EXPECT_EQ(fileBytes(entryPath(image)), *image.serialize());
}

TEST_F(DiskCacheTest, OpeningAndMissingMakesNoFolder) {
  auto cache = open();
  EXPECT_EQ(cache->find(cacheImage().keyText).miss, CacheMiss::Absent);
  EXPECT_FALSE(cache->note("n"));
  EXPECT_TRUE(cache->entries().empty());
  EXPECT_TRUE(treeOf(folder.path).empty());
}

TEST_F(DiskCacheTest, AFolderThatIsMadeLaterIsFound) {
  auto early = open();
  EXPECT_EQ(early->find(cacheImage().keyText).miss, CacheMiss::Absent);
  open()->store(cacheImage());
  EXPECT_TRUE(early->find(cacheImage().keyText).image);
}

TEST_F(DiskCacheTest, ModesDoWhatTheySay) {
  const KernelImage stored = cacheImage("stored"), other = cacheImage("other");
  open()->store(stored);
  for (CacheMode mode : {CacheMode::ReadOnly, CacheMode::Off}) {
    auto cache = open(mode);
    EXPECT_EQ(cache->mode(), mode);
    cache->store(other);
    cache->keepNote("n", "t");
    EXPECT_FALSE(cache->lock(other.keyText, 0));
    EXPECT_EQ(cache->trimTo(0).entries, 0u);
    EXPECT_EQ(cache->clear().entries, 0u);
    EXPECT_EQ(cache->find(stored.keyText).miss, mode == CacheMode::Off ? CacheMiss::Off : CacheMiss::None);
    EXPECT_EQ(cache->counters().failedStores, 0u);
    EXPECT_EQ(cache->entries().size(), 1u);
  }
  auto refresh = open(CacheMode::Refresh);
  EXPECT_EQ(refresh->find(stored.keyText).miss, CacheMiss::Off);
  writeFile(entryPath(stored), "damaged");
  refresh->store(stored);
  EXPECT_TRUE(open()->find(stored.keyText).image);
}

TEST_F(DiskCacheTest, CountersTellWhatHappened) {
  const KernelImage image = cacheImage();
  const uint64_t bytes = image.serialize()->size();
  auto cache = open();
  cache->find(image.keyText);
  cache->find(image.keyText, /*again=*/true);
  cache->store(image);
  cache->find(image.keyText);
  cache->find(image.keyText, /*again=*/true);
  writeFile(entryPath(image), "damaged");
  cache->find(image.keyText);
  const CacheCounters counters = cache->counters();
  EXPECT_EQ(counters.misses[size_t(CacheMiss::Absent)], 1u) << "a second look counts no second miss";
  EXPECT_EQ(counters.misses[size_t(CacheMiss::Malformed)], 1u);
  EXPECT_EQ(counters.allMisses(), 2u);
  EXPECT_EQ(counters.hits, 2u);
  EXPECT_EQ(counters.stores, 1u);
  EXPECT_EQ(counters.failedStores, 0u);
  EXPECT_EQ(counters.bytesWritten, bytes);
  EXPECT_EQ(counters.bytesRead, 2 * bytes + 7);
}

TEST_F(DiskCacheTest, AnImageThatContradictsItselfIsNotKept) {
  KernelImage image = cacheImage();
  image.blockThreads = 33;
  auto cache = open();
  cache->store(image);
  EXPECT_EQ(cache->counters().failedStores, 1u);
  EXPECT_EQ(cache->mode(), CacheMode::ReadWrite);
}

TEST_F(DiskCacheTest, NotesComeBackAndAreReplaced) {
  auto cache = open();
  for (const std::string text : {"nvJitLink 13.0", "", "two\nlines\n", "nvJitLink 13.1"}) {
    cache->keepNote("assembler of x", text);
    EXPECT_EQ(open()->note("assembler of x"), text);
  }
  cache->keepNote("other", "o");
  EXPECT_EQ(cache->note("assembler of x"), "nvJitLink 13.1");
  cache->keepNote("large", std::string(1 << 20, 'x'));
  EXPECT_FALSE(cache->note("large"));
  EXPECT_FALSE(exists(detail::CacheLayout{folder.path + "/cache"}.note(keyHash("large"))));
  EXPECT_EQ(cache->counters().stores + cache->counters().allMisses() + cache->counters().hits, 0u);
  cache->clear();
  EXPECT_FALSE(cache->note("other"));
}

TEST_F(DiskCacheTest, AnUnchangedNoteIsNotWrittenAgain) {
  open()->keepNote("n", "t");
  FaultyFileSystem files;
  open(CacheMode::ReadWrite, files)->keepNote("n", "t");
  EXPECT_EQ(files.changes, 0);
}

TEST_F(DiskCacheTest, KeysAreReadWithoutTheCode) {
  auto cache = open();
  const KernelImage a = cacheImage("a", 100000), b = cacheImage("b", 10);
  cache->store(a);
  cache->store(b);
  // Damage behind the metadata does not matter to an explanation.
  std::string bytes = fileBytes(entryPath(a));
  bytes.back() ^= 1;
  writeFile(entryPath(a), bytes);
  writeFile(folder.path + "/cache/v1/00/" + std::string(64, '0') + ".tski", "no image");
  std::vector<std::string> texts;
  for (const DiskCache::Key &key : cache->keys())
    texts.push_back(key.keyText);
  std::sort(texts.begin(), texts.end());
  EXPECT_EQ(texts, (std::vector<std::string>{a.keyText, b.keyText}));
  EXPECT_EQ(cache->counters().bytesRead, 0u);
}

TEST_F(DiskCacheTest, ClearRemovesEverySchemaVersionAndNothingOfOthers) {
  auto cache = open();
  const std::string root = folder.path + "/cache/";
  const std::string hash(64, 'a');
  cache->store(cacheImage("a"));
  cache->store(cacheImage("b"));
  cache->keepNote("n", "t");
  writeFile(root + "v7/aa/" + hash + ".tski", "of another version");
  writeFile(root + "v1/aa/" + hash + ".12-34.tmp", "");
  writeFile(root + "v1/aa/" + hash + ".lock", "");
  writeFile(root + "v1/aa/mine.txt", "");
  writeFile(root + "v1/aa/" + std::string(64, 'x') + ".tski", "");
  writeFile(root + "v1/readme", "");
  writeFile(root + "v1x/aa/" + hash + ".tski", "");
  writeFile(root + "aa/" + hash + ".tski", "");
  const DiskCache::Removed removed = cache->clear();
  EXPECT_EQ(removed.entries, 3u);
  EXPECT_EQ(removed.leftovers, 2u);
  EXPECT_EQ(
      treeOf(folder.path),
      (std::vector<std::string>{"cache", "cache/aa", "cache/aa/" + hash + ".tski", "cache/v1", "cache/v1/aa",
                                "cache/v1/aa/mine.txt", "cache/v1/aa/" + std::string(64, 'x') + ".tski",
                                "cache/v1/readme", "cache/v1x", "cache/v1x/aa", "cache/v1x/aa/" + hash + ".tski"}));
  cache->store(cacheImage("a"));
  EXPECT_TRUE(cache->find(cacheImage("a").keyText).image) << "goes on after a clear";
}

TEST_F(DiskCacheTest, ClearSparesWhatIsBeingWritten) {
  auto cache = open();
  cache->store(cacheImage("a"));
  auto held = cache->lock(cacheImage("a").keyText, 0);
  ASSERT_TRUE(held);
  EXPECT_EQ(open()->clear().failed, 0u) << "what others are at is no failure";
  EXPECT_TRUE(exists(detail::CacheLayout{folder.path + "/cache"}.lock(keyHash(cacheImage("a").keyText))));
  EXPECT_FALSE(open()->lock(cacheImage("a").keyText, 0));
}

TEST_F(DiskCacheTest, ManyThreadsShareOneObject) {
  auto cache = open();
  std::vector<std::thread> threads;
  std::atomic<int> wrong{0};
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      for (int i = 0; i < 30; ++i) {
        const KernelImage image = cacheImage("k" + std::to_string((i * 7 + t) % 10));
        DiskCache::Lookup found = cache->find(image.keyText);
        if (found.image ? *found.image != image : found.miss != CacheMiss::Absent)
          ++wrong;
        cache->store(image);
      }
    });
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(cache->counters().stores, 120u);
  EXPECT_EQ(cache->entries().size(), 10u);
}

} // namespace
} // namespace tessera
