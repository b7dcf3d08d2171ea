// Images, folders and faults for the cache tests.
#include "tests/unit/cache/CacheFixtures.h"

#include <algorithm>
#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

namespace tessera::test {

KernelImage cacheImage(const std::string &build, size_t padding) {
  KernelImage image;
  image.spec.headDim = image.spec.valueDim = 64;
  image.schedule.tileKv = 128;
  image.target = "sm_80";
  image.entry = "attention_fwd";
  for (Argument argument : {Argument(0), Argument(1)})
    image.parameters.push_back({std::string(name(argument)), typeOf(argument)});
  image.tileQ = image.schedule.tileQ;
  image.blockThreads = 128;
  image.dynamicSharedBytes = 49152;
  image.ptxVersion = 80;
  image.buildId = build;
  image.ptx = ".version 8.0\n";
  for (size_t i = 0; i < padding; ++i)
    image.cubin.push_back(uint8_t(i * 131 >> 3));
  ImageKey key;
  key.compilerBuild = build;
  key.spec = image.spec;
  key.schedule = image.schedule;
  key.target = image.target;
  key.assembler = "nvJitLink 13.0";
  image.keyText = key.text();
  return image;
}

constexpr const char *memory = "/dev/shm/"; // the fault tests make ten thousand folders

TemporaryFolder::TemporaryFolder()
    : path((!std::getenv("TEST_TMPDIR") && ::access(memory, W_OK) == 0 ? memory : testing::TempDir()) +
           "tessera-cache-XXXXXX") {
  EXPECT_NE(::mkdtemp(path.data()), nullptr) << path;
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code error;
  std::filesystem::remove_all(path, error);
}

std::string fileBytes(const std::string &path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

void writeFile(const std::string &path, const std::string &bytes, mode_t mode) {
  std::filesystem::create_directories(std::filesystem::path(path).parent_path());
  std::ofstream(path, std::ios::binary) << bytes;
  ASSERT_EQ(::chmod(path.c_str(), mode), 0) << path;
}

void setStamp(const std::string &path, int64_t seconds) {
  const timespec both[2] = {{time_t(seconds), 0}, {time_t(seconds), 0}};
  ASSERT_EQ(::utimensat(AT_FDCWD, path.c_str(), both, AT_SYMLINK_NOFOLLOW), 0) << path;
}

bool exists(const std::string &path) {
  struct stat status{};
  return ::lstat(path.c_str(), &status) == 0;
}

std::vector<std::string> treeOf(const std::string &folder) {
  std::vector<std::string> paths;
  for (const auto &entry : std::filesystem::recursive_directory_iterator(folder))
    paths.push_back(std::filesystem::relative(entry.path(), folder).string());
  std::sort(paths.begin(), paths.end());
  return paths;
}

EnvironmentValue::EnvironmentValue(const char *name, std::optional<std::string> value) : name_(name) {
  if (const char *before = std::getenv(name))
    before_ = before;
  value ? ::setenv(name, value->c_str(), 1) : ::unsetenv(name);
}

EnvironmentValue::~EnvironmentValue() {
  before_ ? ::setenv(name_.c_str(), before_->c_str(), 1) : ::unsetenv(name_.c_str());
}

template <typename Call> auto FaultyFileSystem::faulty(const char *name, bool changing, Call call) -> decltype(call()) {
  changes += changing;
  const bool meant = calls++ == failAt || failOnly == name;
  if (!meant || failures <= 0)
    return call();
  --failures;
  failed = true;
  if (late || std::string_view(name) == "close") { // a close that fails has closed
    const auto done = call();
    if (done < 0)
      return done;
    if (std::string_view(name) == "open")
      ::close(int(done));
  }
  return -error;
}

int FaultyFileSystem::makeFolder(const std::string &path, mode_t mode) {
  return faulty("makeFolder", true, [&] { return real().makeFolder(path, mode); });
}
int FaultyFileSystem::open(const std::string &path, int flags, mode_t mode) {
  return faulty("open", flags & O_CREAT, [&] { return real().open(path, flags, mode); });
}
int64_t FaultyFileSystem::read(int file, void *bytes, size_t size) {
  return faulty("read", false, [&] { return real().read(file, bytes, std::min(size, mostBytes)); });
}
int64_t FaultyFileSystem::write(int file, const void *bytes, size_t size) {
  return faulty("write", true, [&] { return real().write(file, bytes, std::min(size, mostBytes)); });
}
int FaultyFileSystem::sync(int) {
  if (atSync)
    atSync();
  return faulty("sync", true, [&] { return 0; });
}
int FaultyFileSystem::close(int file) {
  return faulty("close", false, [&] { return real().close(file); });
}
int FaultyFileSystem::status(int file, struct stat &status) {
  return faulty("status", false, [&] { return real().status(file, status); });
}
int FaultyFileSystem::statusOf(const std::string &path, struct stat &status) {
  return faulty("statusOf", false, [&] { return real().statusOf(path, status); });
}
int FaultyFileSystem::rename(const std::string &from, const std::string &to) {
  return faulty("rename", true, [&] { return real().rename(from, to); });
}
int FaultyFileSystem::remove(const std::string &path) {
  return faulty("remove", true, [&] { return real().remove(path); });
}
int FaultyFileSystem::removeFolder(const std::string &path) {
  return faulty("removeFolder", true, [&] { return real().removeFolder(path); });
}
int FaultyFileSystem::touch(int file, int64_t seconds) {
  return faulty("touch", true, [&] { return real().touch(file, seconds); });
}
int FaultyFileSystem::lock(int file) {
  return faulty("lock", false, [&] { return real().lock(file); });
}
int FaultyFileSystem::list(const std::string &path, std::vector<std::string> &names) {
  return faulty("list", false, [&] { return real().list(path, names); });
}

} // namespace tessera::test
