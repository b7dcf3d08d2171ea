// Many processes and one cache: one compile per key, death at any moment, forks, and users without a home.
#include "runtime/cache/DiskCache.h"
#include "runtime/cache/FileLock.h"
#include "tests/unit/cache/CacheFixtures.h"

#include <chrono>
#include <csignal>
#include <fcntl.h>
#include <filesystem>
#include <functional>
#include <gtest/gtest.h>
#include <random>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

namespace tessera {
namespace {

using namespace tessera::test;
using Clock = std::chrono::steady_clock;

/// Runs `work` in a child, which ends with what it returns.
pid_t inChild(const std::function<int()> &work) {
  const pid_t child = ::fork();
  if (child == 0)
    ::_exit(work());
  return child;
}

int exitOf(pid_t child) {
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

int64_t milliseconds(Clock::time_point since) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - since).count();
}

class CacheProcess : public testing::Test {
protected:
  TemporaryFolder folder;
  const std::string directory = folder.path + "/cache";

  std::shared_ptr<DiskCache> open(FileSystem &files = FileSystem::real()) {
    CacheOptions options;
    options.directory = directory;
    options.mode = CacheMode::ReadWrite;
    options.maxBytes = uint64_t(1) << 30;
    return DiskCache::open(options, {}, files);
  }

  /// What an engine does: find, else lock, find again, compile, store. Adds a byte to a file for each compile.
  bool prepare(DiskCache &cache, const KernelImage &image, unsigned compileMs) {
    DiskCache::Lookup found = cache.find(image.keyText);
    if (!found.image) {
      auto lock = cache.lock(image.keyText, 20000);
      found = cache.find(image.keyText, /*again=*/true);
      if (!found.image) {
        const int log = ::open((folder.path + "/compiles").c_str(), O_WRONLY | O_APPEND | O_CREAT, 0600);
        const bool logged = ::write(log, "c", 1) == 1;
        ::close(log);
        std::this_thread::sleep_for(std::chrono::milliseconds(compileMs));
        cache.store(image);
        return logged;
      }
    }
    return *found.image == image;
  }

  void runEight(int keys, unsigned compileMs) {
    std::vector<pid_t> children;
    for (int child = 0; child < 8; ++child)
      children.push_back(inChild([&] {
        auto cache = open();
        for (int i = 0; i < keys; ++i)
          if (!prepare(*cache, cacheImage("k" + std::to_string((i + child * 12) % keys)), compileMs))
            return 1;
        return 0;
      }));
    for (pid_t child : children)
      EXPECT_EQ(exitOf(child), 0);
    EXPECT_EQ(fileBytes(folder.path + "/compiles").size(), size_t(keys)) << "one compile for each key";
    auto cache = open();
    EXPECT_EQ(cache->entries().size(), size_t(keys));
    for (const DiskCache::Verdict &verdict : cache->verify(false))
      EXPECT_EQ(verdict.fault, CacheMiss::None) << verdict.detail;
    for (const std::string &path : treeOf(directory))
      EXPECT_TRUE(path.ends_with(".tski") || path.find('.') == std::string::npos) << path << " is left over";
  }
};

TEST_F(CacheProcess, B3_EightProcessesWithOneKeyCompileItOnce) { runEight(1, 50); }

TEST_F(CacheProcess, B3_EightProcessesWithAHundredKeysCompileEachOnce) { runEight(100, 1); }

TEST_F(CacheProcess, B3_KilledAtAnyMomentLeavesOnlySoundEntries) {
  std::mt19937 random(7);
  const KernelImage fresh = cacheImage("fresh");
  auto cache = open();
  for (int round = 0; round < 200; ++round) {
    const pid_t child = inChild([&] {
      auto mine = open();
      for (int i = 0;; ++i) {
        const KernelImage image = cacheImage("k" + std::to_string(i % 5), 3000 + 1000 * (i % 3));
        auto lock = mine->lock(image.keyText, 0);
        mine->store(image);
      }
      return 0;
    });
    std::this_thread::sleep_for(std::chrono::microseconds(random() % 6000));
    ::kill(child, SIGKILL);
    ASSERT_EQ(exitOf(child), 128 + SIGKILL);
    for (const DiskCache::Verdict &verdict : cache->verify(false))
      ASSERT_EQ(verdict.fault, CacheMiss::None) << "round " << round << ": " << verdict.detail;
    const KernelImage next = cacheImage("k" + std::to_string(round % 5), 3000);
    auto lock = cache->lock(next.keyText, 0);
    ASSERT_TRUE(lock) << "a lock outlived its process";
    cache->store(next);
    ASSERT_TRUE(cache->find(next.keyText).image);
  }
  EXPECT_EQ(cache->counters().failedStores, 0u);
  // What the dead left behind is gone after the first trim that finds it old.
  FaultyFileSystem later;
  later.clock = FileSystem::real().now() + 7200;
  open(later)->trimTo(UINT64_MAX);
  for (const std::string &path : treeOf(directory))
    EXPECT_TRUE(path.ends_with(".tski") || path.find('.') == std::string::npos) << path << " is left over";
}

TEST_F(CacheProcess, B3_ALockDiesWithItsOwner) {
  int ready[2];
  ASSERT_EQ(::pipe(ready), 0);
  const std::string key = cacheImage().keyText;
  const pid_t owner = inChild([&] {
    auto cache = open();
    auto lock = cache->lock(key, 0);
    if (::write(ready[1], lock ? "y" : "n", 1) == 1)
      ::pause();
    return 0;
  });
  char held = 0;
  ASSERT_EQ(::read(ready[0], &held, 1), 1);
  ASSERT_EQ(held, 'y');
  auto cache = open();
  EXPECT_FALSE(cache->lock(key, 0));
  std::thread killer([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    ::kill(owner, SIGKILL);
    exitOf(owner);
  });
  const Clock::time_point start = Clock::now();
  EXPECT_TRUE(cache->lock(key, 10000));
  EXPECT_LT(milliseconds(start), 2000);
  killer.join();
  ::close(ready[0]);
  ::close(ready[1]);
}

TEST_F(CacheProcess, B3_TheWaitForALockIsBounded) {
  auto cache = open();
  const std::string key = cacheImage().keyText;
  auto held = cache->lock(key, 0);
  ASSERT_TRUE(held);
  const Clock::time_point start = Clock::now();
  EXPECT_FALSE(cache->lock(key, 150));
  EXPECT_GE(milliseconds(start), 150);
  EXPECT_LT(milliseconds(start), 2000);
  EXPECT_TRUE(cache->lock(cacheImage("other").keyText, 0)) << "other keys are free";
  held.reset();
  EXPECT_TRUE(cache->lock(key, 0));
}

TEST_F(CacheProcess, ALockIsHeldByOneWhateverIsRemovedMeanwhile) {
  auto cache = open();
  const std::string key = cacheImage().keyText;
  std::atomic<int> inside{0}, shared{0};
  std::atomic<bool> done{false};
  std::vector<std::thread> threads;
  for (int t = 0; t < 6; ++t)
    threads.emplace_back([&] {
      for (int taken = 0; taken < 40;)
        if (auto lock = cache->lock(key, 20000)) { // null where the folder has just been removed again
          shared += ++inside > 1;
          ++taken;
          std::this_thread::yield();
          --inside;
        }
    });
  std::thread cleaner([&] {
    while (!done)
      cache->clear();
  });
  for (std::thread &thread : threads)
    thread.join();
  done = true;
  cleaner.join();
  EXPECT_EQ(shared, 0);
}

TEST_F(CacheProcess, AForkedChildStoresUnderNamesOfItsOwnAndLeavesTheLockToItsParent) {
  auto cache = open();
  const std::string key = cacheImage("locked").keyText;
  cache->store(cacheImage("before"));
  auto lock = cache->lock(key, 0);
  ASSERT_TRUE(lock);
  std::vector<pid_t> children;
  for (int i = 0; i < 4; ++i)
    children.push_back(inChild([&] {
      lock.reset(); // as a child does that ends by exit()
      for (int k = 0; k < 20; ++k)
        cache->store(cacheImage("same " + std::to_string(k)));
      return cache->counters().failedStores == 0 && cache->find(cacheImage("before").keyText).image ? 0 : 1;
    }));
  for (pid_t child : children)
    EXPECT_EQ(exitOf(child), 0);
  EXPECT_FALSE(open()->lock(key, 0)) << "the parent still holds it";
  EXPECT_EQ(open()->entries().size(), 21u);
  lock.reset();
  EXPECT_TRUE(open()->lock(key, 0));
}

TEST_F(CacheProcess, TheParentsReleaseCountsThoughAChildLives) {
  auto cache = open();
  const std::string key = cacheImage().keyText;
  auto lock = cache->lock(key, 0);
  ASSERT_TRUE(lock);
  const pid_t child = inChild([] {
    ::pause();
    return 0;
  });
  lock.reset();
  EXPECT_TRUE(open()->lock(key, 0));
  ::kill(child, SIGKILL);
  exitOf(child);
}

TEST_F(CacheProcess, B3_ALoserOfARaceKeepsTheWinnersEntry) {
  const KernelImage image = cacheImage();
  std::vector<pid_t> children;
  for (int i = 0; i < 8; ++i)
    children.push_back(inChild([&] {
      auto cache = open();
      for (int k = 0; k < 20; ++k) {
        cache->store(image);
        if (!cache->find(image.keyText).image)
          return 1;
      }
      return int(cache->counters().failedStores);
    }));
  for (pid_t child : children)
    EXPECT_EQ(exitOf(child), 0);
  EXPECT_EQ(treeOf(directory).size(), 3u) << "v1, one folder, one entry";
}

/// The child's work as a user without name and home.
int asRandomUser(const std::function<int()> &work) {
  return exitOf(inChild([&] {
    ::unsetenv("HOME");
    ::unsetenv("XDG_CACHE_HOME");
    ::unsetenv("TESSERA_CACHE");
    ::unsetenv("TESSERA_CACHE_DIR");
    ::unsetenv("TESSERA_CACHE_SIZE");
    return ::setgid(54321) == 0 && ::setuid(54321) == 0 ? work() : 100;
  }));
}

/// 0 where the cache is memory only, with exactly one warning that has `what`.
int expectMemoryOnly(const std::string &what) {
  int warnings = 0, fitting = 0;
  auto cache = DiskCache::open({}, [&](const std::string &warning) {
    ++warnings;
    fitting += warning.find(what) != std::string::npos;
  });
  const KernelImage image = cacheImage();
  if (cache->find(image.keyText).image)
    return 1;
  cache->store(image);
  cache->keepNote("n", "t");
  if (cache->lock(image.keyText, 0))
    return 2;
  if (cache->find(image.keyText).image || cache->mode() == CacheMode::ReadWrite)
    return 3;
  return warnings == 1 && fitting == 1 ? 0 : 4;
}

TEST_F(CacheProcess, B3_ARandomUserWithoutHomeHasMemoryOnlyAndOneWarning) {
  if (::geteuid() != 0)
    GTEST_SKIP() << "skipped: only root can become another user";
  EXPECT_EQ(asRandomUser([] { return expectMemoryOnly("HOME is not set"); }), 0);
  EXPECT_EQ(asRandomUser([] {
              ::setenv("HOME", "/", 1);
              return expectMemoryOnly("HOME is '/'");
            }),
            0);
  EXPECT_EQ(asRandomUser([] {
              ::setenv("HOME", "/nowhere/at/all", 1);
              return expectMemoryOnly("Permission denied");
            }),
            0);
  // A home that may be looked at but not written to, and one that may not even be entered.
  ASSERT_EQ(::chmod(folder.path.c_str(), 0755), 0);
  EXPECT_EQ(asRandomUser([&] {
              ::setenv("HOME", folder.path.c_str(), 1);
              return expectMemoryOnly("Permission denied");
            }),
            0);
  ASSERT_EQ(::chmod(folder.path.c_str(), 0700), 0);
  EXPECT_EQ(asRandomUser([&] {
              ::setenv("HOME", folder.path.c_str(), 1);
              return expectMemoryOnly("Permission denied");
            }),
            0);
  EXPECT_TRUE(treeOf(folder.path).empty());
}

TEST_F(CacheProcess, B3_ASecondUserIsNotDisturbedByFilesOfTheFirst) {
  if (::geteuid() != 0)
    GTEST_SKIP() << "skipped: only root can become another user";
  // The folder is the second user's; the first (root) has left an entry, a lock and a folder in it.
  ASSERT_EQ(::chmod(folder.path.c_str(), 0755), 0);
  const KernelImage image = cacheImage("contested"), other = cacheImage("other");
  const detail::CacheLayout layout{directory};
  open()->store(image);
  writeFile(layout.lock(keyHash(image.keyText)), "");
  writeFile(layout.folderOf(keyHash(other.keyText)) + "/x", "");
  for (const std::string &path : {directory, layout.version(), layout.folderOf(keyHash(image.keyText))})
    ASSERT_EQ(::chown(path.c_str(), 54321, 54321), 0);
  ASSERT_EQ(::chmod(layout.folderOf(keyHash(other.keyText)).c_str(), 0755), 0);
  EXPECT_EQ(asRandomUser([&] {
              auto cache = open();
              if (cache->find(image.keyText).miss != CacheMiss::Unreadable) // mode 0600 of root
                return 1;
              if (cache->lock(image.keyText, 10)) // root's lock file
                return 2;
              cache->store(image);
              if (!cache->find(image.keyText).image)
                return 3;
              cache->store(other); // into a folder that is not ours
              if (cache->find(other.keyText).miss != CacheMiss::Untrusted || cache->counters().failedStores != 1)
                return 4;
              return cache->find(image.keyText).image && cache->mode() == CacheMode::ReadWrite ? 0 : 5;
            }),
            0);
}

TEST_F(CacheProcess, B3_FoldersWithoutPermissionAreSaidByAllThatListAndRemove) {
  if (::geteuid() != 0)
    GTEST_SKIP() << "skipped: only root can become another user, and root is refused nothing";
  ASSERT_EQ(::chmod(folder.path.c_str(), 0755), 0);
  const KernelImage image = cacheImage();
  const detail::CacheLayout layout{directory};
  const std::string shard = layout.folderOf(keyHash(image.keyText)), entry = layout.entry(keyHash(image.keyText));
  open()->store(image);
  for (const std::string &path : {directory, layout.version(), shard, entry})
    ASSERT_EQ(::chown(path.c_str(), 54321, 54321), 0);
  const struct {
    std::string path;
    mode_t mode;
    std::string failure;
    bool listed;
  } refusals[] = {{layout.version(), 0000, layout.version(), false},
                  {layout.version(), 0400, shard, false},
                  {shard, 0000, shard, false},
                  {shard, 0400, entry, false},
                  {shard, 0500, entry, true}};
  for (const auto &refused : refusals) {
    SCOPED_TRACE(testing::Message() << refused.path << " with mode " << std::oct << refused.mode);
    ASSERT_EQ(::chmod(refused.path.c_str(), refused.mode), 0);
    EXPECT_EQ(asRandomUser([&] {
                auto cache = open();
                const std::string expected = refused.failure + ": Permission denied";
                std::string listing, keys, verify;
                cache->entries(&listing);
                cache->keys(&keys);
                cache->verify(true, &verify);
                for (const std::string &failure : {listing, keys, verify})
                  if (failure != (refused.listed ? "" : expected))
                    return 1;
                const DiskCache::Removed trimmed = cache->trimTo(0), cleared = cache->clear();
                for (const DiskCache::Removed &removed : {trimmed, cleared})
                  if (removed.entries || !removed.failed || removed.failure != expected)
                    return 2;
                return 0;
              }),
              0);
    ASSERT_EQ(::chmod(refused.path.c_str(), 0700), 0);
    EXPECT_TRUE(exists(entry));
  }
}

} // namespace
} // namespace tessera
