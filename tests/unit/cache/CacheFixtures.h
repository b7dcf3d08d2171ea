// What the cache tests share: small images, folders that vanish, and a file system whose n-th call fails.
#pragma once

#include "runtime/cache/CacheLayout.h"
#include "runtime/cache/DiskCache.h"

#include <atomic>
#include <functional>
#include <optional>

namespace tessera::test {

/// A small sound image; `build` tells its key from others, `padding` adds bytes of cubin.
KernelImage cacheImage(const std::string &build = "build", size_t padding = 0);

/// A fresh folder of this user's with mode 0700, removed with all in it at the end. In memory where the machine has
/// such a file system and TEST_TMPDIR does not say otherwise.
class TemporaryFolder {
public:
  TemporaryFolder();
  ~TemporaryFolder();
  std::string path;
};

std::string fileBytes(const std::string &path);
void writeFile(const std::string &path, const std::string &bytes, mode_t mode = 0600);
void setStamp(const std::string &path, int64_t seconds);
bool exists(const std::string &path);
/// Every path below `folder`, sorted, relative to it.
std::vector<std::string> treeOf(const std::string &folder);

/// Sets or (nullopt) unsets an environment variable, and puts it back at the end.
class EnvironmentValue {
public:
  EnvironmentValue(const char *name, std::optional<std::string> value);
  ~EnvironmentValue();

private:
  std::string name_;
  std::optional<std::string> before_;
};

/// The real file system, of which one call fails, and whose user and clock can be others. `sync` does nothing: the
/// tests that use this are about what is visible, and many.
class FaultyFileSystem final : public FileSystem {
public:
  int failAt = -1;   ///< index of the call that fails
  int error = 0;     ///< with which errno
  bool late = false; ///< the call is made, then reports the error, as a lost answer of a server does
  std::optional<uint32_t> otherUser;
  std::optional<int64_t> clock;
  size_t mostBytes = SIZE_MAX; ///< of one read or write
  std::string failOnly;        ///< if not empty, calls of this name fail, and no other
  int failures = INT32_MAX;    ///< after so many no more fail

  std::function<void()> atSync; ///< what others do while a file is being written

  std::atomic<int> calls{0};
  std::atomic<int> changes{0}; ///< calls that write
  bool failed = false;

  int makeFolder(const std::string &path, mode_t mode) override;
  int open(const std::string &path, int flags, mode_t mode) override;
  int64_t read(int file, void *bytes, size_t size) override;
  int64_t write(int file, const void *bytes, size_t size) override;
  int sync(int file) override;
  int close(int file) override;
  int status(int file, struct stat &status) override;
  int statusOf(const std::string &path, struct stat &status) override;
  int rename(const std::string &from, const std::string &to) override;
  int remove(const std::string &path) override;
  int removeFolder(const std::string &path) override;
  int touch(int file, int64_t seconds) override;
  int lock(int file) override;
  int list(const std::string &path, std::vector<std::string> &names) override;
  uint32_t user() override { return otherUser.value_or(FileSystem::real().user()); }
  int64_t now() override { return clock.value_or(FileSystem::real().now()); }

private:
  template <typename Call> auto faulty(const char *name, bool changing, Call call) -> decltype(call());
};

} // namespace tessera::test
