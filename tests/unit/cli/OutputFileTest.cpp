// Files appear whole or not at all.
#include "autotune/cli/files/OutputFile.h"
#include "autotune/cli/files/ByteSource.h"

#include <gtest/gtest.h>

#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

using namespace tessera;
using namespace tessera::files;

namespace {

class OutputFile : public testing::Test {
protected:
  OutputFile() {
    std::string pattern = (std::filesystem::temp_directory_path() / "tessera-files-XXXXXX").string();
    folder = mkdtemp(pattern.data());
  }
  ~OutputFile() override { std::filesystem::remove_all(folder); }
  size_t fileCount() const {
    return size_t(std::distance(std::filesystem::directory_iterator(folder), std::filesystem::directory_iterator()));
  }
  mode_t modeOf(const std::string &path) const {
    struct stat facts{};
    ::stat(path.c_str(), &facts);
    return facts.st_mode & 07777;
  }
  std::string folder;
};

TEST_F(OutputFile, IsReplacedWholeAndLeavesNothingBeside) {
  const std::string path = folder + "/a";
  const std::string_view parts[] = {"one", "", "two"};
  for (int round = 0; round < 2; ++round) {
    ASSERT_TRUE(writeFile(path, parts));
    EXPECT_EQ(*readWhole(path, 100), "onetwo");
    EXPECT_EQ(fileCount(), 1u);
  }
  const mode_t mask = ::umask(0);
  ::umask(mask);
  EXPECT_EQ(modeOf(path), 0666 & ~mask) << "the mode of any new file";
}

TEST_F(OutputFile, WhatIsMappedStaysAsItWas) {
  const std::string path = folder + "/a";
  ASSERT_TRUE(writeOutput(path, "old"));
  const Result<FileBytes> open = FileBytes::open(path);
  ASSERT_TRUE(open);
  ASSERT_TRUE(writeOutput(path, "new"));
  std::string old(3, 0);
  ASSERT_TRUE(open->read(0, std::as_writable_bytes(std::span(old))));
  EXPECT_EQ(old, "old") << "a new file took the name";
}

TEST_F(OutputFile, TroubleIsSaidWithThePath) {
  EXPECT_NE(writeOutput(folder + "/no/a", "x").text().find(folder + "/no/a"), std::string::npos);
  ASSERT_TRUE(std::filesystem::create_directory(folder + "/d"));
  EXPECT_FALSE(writeOutput(folder + "/d", "x"));
  EXPECT_EQ(fileCount(), 1u) << "nothing is left of the attempts";
  EXPECT_NE(readWhole(folder + "/d", 9).status().text().find("it is a folder"), std::string::npos);
}

TEST_F(OutputFile, PipesAndDevicesAreRefusedAndNotReplaced) {
  const std::string pipe = folder + "/pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  for (const Status &status : {checkWritable(pipe), writeOutput(pipe, "x")}) // with no reader: opening it would hang
    EXPECT_NE(status.text().find(pipe + ": it is a pipe"), std::string::npos) << status.text();
  EXPECT_TRUE(std::filesystem::is_fifo(pipe));
  // Devices of its own: a fault here, run by root, would replace those of the machine.
  const std::string full = folder + "/full", null = folder + "/null";
  if (::mknod(full.c_str(), S_IFCHR | 0600, makedev(1, 7)) != 0 ||
      ::mknod(null.c_str(), S_IFCHR | 0600, makedev(1, 3)) != 0)
    GTEST_SKIP() << "the rest needs the right to make devices";
  EXPECT_NE(writeOutput(full, "x").text().find("it is a device"), std::string::npos);
  EXPECT_TRUE(checkWritable(null));
  EXPECT_TRUE(writeOutput(null, "x"));
  for (const std::string &device : {full, null})
    EXPECT_TRUE(std::filesystem::is_character_file(device)) << device;
}

TEST_F(OutputFile, WhatCannotBeWrittenIsKnownBefore) {
  const std::pair<std::string, const char *> cases[] = {{"", "is empty"},
                                                        {folder, "names a folder"},
                                                        {folder + "/.", "names a folder"},
                                                        {folder + "/no/", "names a folder"},
                                                        {folder + "/no/a", "make the folder first"},
                                                        {"/proc/a", "cannot write /proc/a"}};
  for (const auto &[path, part] : cases)
    EXPECT_NE(checkWritable(path).text().find(part), std::string::npos) << path << ": " << checkWritable(path).text();
  EXPECT_EQ(checkWritable("").code(), Code::InvalidArgument);
  EXPECT_EQ(checkWritable(folder).code(), Code::File);
  EXPECT_TRUE(checkWritable(folder + "/a"));
  EXPECT_TRUE(checkWritable("a-name-without-folder"));
  EXPECT_EQ(fileCount(), 0u) << "asking leaves nothing";
  EXPECT_FALSE(std::filesystem::exists("a-name-without-folder"));
}

TEST_F(OutputFile, AReplacedFileKeepsItsModeAndItsLinks) {
  const std::string path = folder + "/a", link = folder + "/link";
  ASSERT_TRUE(writeOutput(path, "old"));
  ASSERT_EQ(::symlink("a", link.c_str()), 0);
  for (const mode_t mode : {0600u, 0640u, 0755u}) {
    ASSERT_EQ(::chmod(path.c_str(), mode), 0);
    ASSERT_TRUE(writeOutput(link, "new"));
    EXPECT_EQ(modeOf(path), mode);
    EXPECT_EQ(*readWhole(path, 9), "new");
    EXPECT_TRUE(std::filesystem::is_symlink(link));
  }
  ASSERT_TRUE(std::filesystem::remove(path));
  EXPECT_NE(writeOutput(link, "x").text().find("a link to nowhere"), std::string::npos);
  EXPECT_TRUE(std::filesystem::is_symlink(link)) << "such as /dev/stdout of a file that was removed";
}

TEST_F(OutputFile, CreateRefusesWhatIsThere) {
  const std::string path = folder + "/key";
  ASSERT_TRUE(createFile(path, "secret", 0600));
  EXPECT_EQ(modeOf(path), 0600u);
  const Status again = createFile(path, "other", 0600);
  EXPECT_NE(again.text().find("exists already"), std::string::npos);
  EXPECT_EQ(*readWhole(path, 100), "secret");
  ASSERT_EQ(::symlink("nowhere", (folder + "/link").c_str()), 0);
  EXPECT_FALSE(createFile(folder + "/link", "x", 0600)) << "a link leads to a place of somebody else's choice";
}

TEST_F(OutputFile, SizesAreBoundedBeforeTheyAreRead) {
  ASSERT_TRUE(writeOutput(folder + "/a", "12345"));
  EXPECT_TRUE(readWhole(folder + "/a", 5));
  EXPECT_NE(readWhole(folder + "/a", 4).status().text().find("has 5 bytes; at most 4"), std::string::npos);
}

TEST_F(OutputFile, OneFileByTwoNames) {
  ASSERT_TRUE(writeOutput(folder + "/a", "x"));
  ASSERT_EQ(::symlink("a", (folder + "/b").c_str()), 0);
  EXPECT_TRUE(sameFile(folder + "/a", folder + "/./b"));
  EXPECT_FALSE(sameFile(folder + "/a", folder + "/c"));
  EXPECT_FALSE(sameFile(folder + "/c", folder + "/c")) << "neither exists";
}

} // namespace
