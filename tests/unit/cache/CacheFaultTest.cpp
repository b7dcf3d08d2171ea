// B3: every error of the file system at every call of every operation. Nothing crashes, nothing wrong is loaded,
// nothing partial is visible, and a healthy cache goes on.
#include "runtime/cache/DiskCache.h"
#include "runtime/cache/TuningLog.h"
#include "tests/unit/cache/CacheFixtures.h"

#include <algorithm>
#include <cerrno>
#include <ctime>
#include <filesystem>
#include <gtest/gtest.h>

namespace tessera {
namespace {

using namespace tessera::test;

const KernelImage present = cacheImage("present"), stored = cacheImage("stored", 300);

TuningRecord tuned(int64_t seqlen) {
  TuningRecord record;
  record.device = "GPU";
  record.target = "sm_80";
  record.problem.seqlenQ = record.problem.seqlenKv = seqlen;
  return record;
}

struct Operation {
  const char *name;
  void (*run)(DiskCache &cache);
  uint64_t maxBytes = uint64_t(1) << 30;
};

/// A lookup under faults is the right image or a miss.
void expectRight(const DiskCache::Lookup &found, const KernelImage &image) {
  EXPECT_EQ(bool(found.image), found.miss == CacheMiss::None);
  if (found.image)
    EXPECT_EQ(*found.image, image);
}

const Operation operations[] = {
    {"open", [](DiskCache &) {}},
    {"find a hit", [](DiskCache &cache) { expectRight(cache.find(present.keyText), present); }},
    {"find a miss", [](DiskCache &cache) { EXPECT_FALSE(cache.find(stored.keyText).image); }},
    {"store", [](DiskCache &cache) { cache.store(stored); }},
    {"store over an entry", [](DiskCache &cache) { cache.store(present); }},
    {"store and trim", [](DiskCache &cache) { cache.store(stored); }, 1600},
    {"lock", [](DiskCache &cache) { cache.lock(stored.keyText, 2); }},
    {"entries", [](DiskCache &cache) { EXPECT_LE(cache.entries().size(), 1u); }},
    {"keys",
     [](DiskCache &cache) {
       for (const DiskCache::Key &key : cache.keys())
         EXPECT_EQ(key.keyText, present.keyText);
     }},
    {"verify", [](DiskCache &cache) { cache.verify(true); }},
    {"trim", [](DiskCache &cache) { cache.trimTo(0); }},
    {"clear", [](DiskCache &cache) { cache.clear(); }},
    {"note", [](DiskCache &cache) { EXPECT_EQ(cache.note("n").value_or("text"), "text"); }},
    {"keep a note", [](DiskCache &cache) { cache.keepNote("n", "other text"); }},
    {"tuning log", [](DiskCache &cache) { EXPECT_LE(cache.tuningLog()->all().records.size(), 1u); }},
    {"keep tuning", [](DiskCache &cache) { (void)cache.keepTuning(std::vector{tuned(1024)}); }},
};

class CacheFault : public testing::TestWithParam<Operation> {
protected:
  std::vector<std::string> warnings;

  std::shared_ptr<DiskCache> open(const std::string &folder, FileSystem &files, uint64_t maxBytes = 1 << 30) {
    CacheOptions options;
    options.directory = folder;
    options.mode = CacheMode::ReadWrite;
    options.maxBytes = maxBytes;
    return DiskCache::open(options, [this](const std::string &w) { warnings.push_back(w); }, files);
  }

  /// One entry whose stamp is old, a note, and what a dead process left.
  void fill(const std::string &folder) {
    FaultyFileSystem healthy;
    auto cache = open(folder, healthy);
    const detail::CacheLayout layout{folder};
    cache->store(present);
    cache->keepNote("n", "text");
    EXPECT_TRUE(cache->keepTuning(std::vector{tuned(512)}));
    const int64_t old = ::time(nullptr) - 10000;
    setStamp(layout.entry(keyHash(present.keyText)), old);
    const std::string left = layout.folderOf(keyHash(present.keyText)) + "/" + std::string(64, 'c') + ".7-8.tmp";
    writeFile(left, "half");
    setStamp(left, old);
  }

  /// The operation with its n-th call failing, for every n there is. Returns how many there are.
  int everyCall(int error, bool late) {
    TemporaryFolder folder;
    for (int n = 0;; ++n) {
      SCOPED_TRACE(testing::Message() << GetParam().name << ", call " << n << (late ? " made, then" : "")
                                      << " fails: " << std::generic_category().message(error));
      fill(folder.path);
      FaultyFileSystem faulty;
      faulty.failAt = n;
      faulty.error = error;
      faulty.late = late;
      warnings.clear();
      {
        auto cache = open(folder.path, faulty, GetParam().maxBytes);
        GetParam().run(*cache);
        GetParam().run(*cache); // and an object that has met a fault goes on
        EXPECT_LE(warnings.size(), 1u);
      }
      FaultyFileSystem healthyFiles;
      auto healthy = open(folder.path, healthyFiles);
      for (const DiskCache::Verdict &verdict : healthy->verify(false))
        EXPECT_EQ(verdict.fault, CacheMiss::None) << verdict.detail;
      expectRight(healthy->find(present.keyText), present);
      const RecordLines records = healthy->tuningLog()->all();
      EXPECT_TRUE(records.damaged.empty());
      if (std::string_view(GetParam().name) != "clear")
        EXPECT_EQ(std::ranges::count(records.records, tuned(512)), 1);
      healthy->store(stored);
      DiskCache::Lookup found = healthy->find(stored.keyText);
      EXPECT_TRUE(found.image) << found.detail;
      std::filesystem::remove_all(folder.path + "/v1"); // or leftovers would add calls to the next round
      if (HasFailure() || !faulty.failed)
        return n;
    }
  }
};

TEST_P(CacheFault, B3_EveryErrorAtEveryCall) {
  for (int error : {ENOSPC, EROFS, EDQUOT, EACCES, EIO, ESTALE, EBUSY, ENOENT, EEXIST, EINTR, ENOLCK, EMFILE}) {
    const int calls = everyCall(error, /*late=*/false);
    EXPECT_GE(calls, 2) << "the operation makes calls at all";
    if (HasFailure())
      return;
  }
}

TEST_P(CacheFault, B3_EveryAnswerLostAtEveryCall) {
  for (int error : {EIO, ESTALE, EEXIST, ENOENT})
    if (everyCall(error, /*late=*/true); HasFailure())
      return;
}

INSTANTIATE_TEST_SUITE_P(Operations, CacheFault, testing::ValuesIn(operations), [](const auto &info) {
  std::string name = info.param.name;
  std::replace(name.begin(), name.end(), ' ', '_');
  return name;
});

TEST_F(CacheFault, B3_AWriteThatFailsTurnsWritingOffWithOneWarningAndReadingGoesOn) {
  for (const char *call : {"makeFolder", "write", "sync", "close", "rename"})
    for (int error : {ENOSPC, EROFS, EDQUOT, EACCES, EIO}) {
      SCOPED_TRACE(testing::Message() << call << " fails: " << std::generic_category().message(error));
      TemporaryFolder folder;
      fill(folder.path);
      std::filesystem::remove_all(detail::CacheLayout{folder.path}.folderOf(keyHash(stored.keyText)));
      warnings.clear();
      FaultyFileSystem faulty;
      auto cache = open(folder.path, faulty);
      faulty.failOnly = call;
      faulty.error = error;
      cache->store(stored);
      EXPECT_EQ(cache->mode(), CacheMode::ReadOnly);
      ASSERT_EQ(warnings.size(), 1u);
      EXPECT_NE(warnings[0].find("no longer writes: " + folder.path), std::string::npos) << warnings[0];
      EXPECT_NE(warnings[0].find(std::generic_category().message(error)), std::string::npos) << warnings[0];
      const int before = faulty.changes;
      cache->store(stored);
      cache->keepNote("n", "other");
      EXPECT_FALSE(cache->lock(stored.keyText, 0));
      EXPECT_EQ(faulty.changes, before) << "it does not try again";
      std::vector<std::string> tree = treeOf(folder.path);
      EXPECT_EQ(std::count_if(tree.begin(), tree.end(), [](const auto &path) { return path.ends_with(".tmp"); }), 1)
          << "the one that was there before";
      EXPECT_EQ(warnings.size(), 1u);
      EXPECT_EQ(cache->counters().failedStores, 1u);
      EXPECT_EQ(cache->find(stored.keyText).miss, CacheMiss::Absent);
      EXPECT_TRUE(cache->find(present.keyText).image);
      EXPECT_EQ(cache->note("n"), "text");
      faulty.failOnly.clear();
      auto again = open(folder.path, faulty);
      again->store(stored);
      EXPECT_TRUE(again->find(stored.keyText).image) << "another object begins anew";
    }
}

TEST_F(CacheFault, B3_ErrorsThatPassAreQuietAndWritingGoesOn) {
  for (const char *call : {"open", "rename"})
    for (int error : {EBUSY, ESTALE, ENOENT, EEXIST, EMFILE}) {
      SCOPED_TRACE(testing::Message() << call << " fails: " << std::generic_category().message(error));
      TemporaryFolder folder;
      fill(folder.path);
      warnings.clear();
      FaultyFileSystem faulty;
      auto cache = open(folder.path, faulty);
      faulty.failOnly = call;
      faulty.error = error;
      cache->store(stored);
      EXPECT_TRUE(warnings.empty()) << warnings[0];
      EXPECT_EQ(cache->counters().failedStores, 1u);
      EXPECT_EQ(cache->mode(), CacheMode::ReadWrite);
      faulty.failOnly.clear();
      cache->store(stored);
      EXPECT_TRUE(cache->find(stored.keyText).image);
    }
}

TEST_F(CacheFault, AnInterruptedCallIsRepeated) {
  for (const char *call : {"open", "read", "write", "sync", "close"}) {
    TemporaryFolder folder;
    FaultyFileSystem faulty;
    auto cache = open(folder.path, faulty);
    faulty.failOnly = call;
    faulty.error = EINTR;
    faulty.failures = 3;
    if (std::string_view(call) != "read")
      cache->store(stored);
    else
      open(folder.path, FileSystem::real())->store(stored);
    EXPECT_TRUE(cache->find(stored.keyText).image) << call;
    EXPECT_TRUE(faulty.failed);
    EXPECT_EQ(cache->counters().failedStores, 0u) << call;
  }
}

TEST_F(CacheFault, B3_FoldersThatAnotherProcessMakesFirstAreAsGood) {
  TemporaryFolder folder;
  FaultyFileSystem faulty;
  faulty.failOnly = "makeFolder";
  faulty.error = EEXIST;
  faulty.late = true;
  auto cache = open(folder.path + "/deep/cache", faulty);
  cache->store(stored);
  EXPECT_EQ(cache->counters().stores, 1u);
  EXPECT_TRUE(cache->lock(present.keyText, 0));
}

TEST_F(CacheFault, B3_AStaleHandleIsAskedOnceMore) {
  TemporaryFolder folder;
  fill(folder.path);
  FaultyFileSystem faulty;
  auto cache = open(folder.path, faulty);
  faulty.error = ESTALE;
  for (int call : {0, 1}) { // the look at its folder, the open of the entry
    faulty.failed = false;
    faulty.failAt = faulty.calls + call;
    EXPECT_TRUE(cache->find(present.keyText).image);
    EXPECT_TRUE(faulty.failed);
  }
}

TEST_F(CacheFault, ShortReadsAndWritesAreCompleted) {
  TemporaryFolder folder;
  FaultyFileSystem slow;
  slow.mostBytes = 7;
  auto cache = open(folder.path, slow);
  cache->store(stored);
  cache->keepNote("n", "a text longer than seven bytes");
  EXPECT_EQ(open(folder.path, FileSystem::real())->find(stored.keyText).image, stored);
  EXPECT_EQ(cache->find(stored.keyText).image, stored);
  EXPECT_EQ(cache->note("n"), "a text longer than seven bytes");
  EXPECT_EQ(cache->keys().at(0).keyText, stored.keyText);
}

TEST_F(CacheFault, B3_AFileSystemWithoutLocksCostsDuplicateWorkOnly) {
  TemporaryFolder folder;
  FaultyFileSystem faulty;
  faulty.failOnly = "lock";
  faulty.error = ENOLCK;
  auto cache = open(folder.path, faulty, 3000);
  EXPECT_FALSE(cache->lock(stored.keyText, 1000));
  for (int i = 0; i < 10; ++i)
    cache->store(cacheImage("k" + std::to_string(i)));
  EXPECT_EQ(cache->counters().stores, 10u);
  EXPECT_GT(cache->counters().evicted, 0u) << "it is trimmed all the same";
  EXPECT_TRUE(warnings.empty());
}

} // namespace
} // namespace tessera
