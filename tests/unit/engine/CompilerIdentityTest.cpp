// The compiler's part of a cache key is known without loading the compiler, as long as nothing about it has changed.
#include "runtime/engine/CompilerIdentity.h"
#include "tests/unit/engine/Fakes.h"

#include <cstring>
#include <filesystem>
#include <fstream>

namespace tessera {
namespace {

struct CompilerIdentity : fakes::Test {
  std::string assembler = folder + "/assembler.so";

  CompilerIdentity() {
    std::ofstream(assembler) << "version 1";
    std::strncpy(fakes::compiler().assemblerPath, assembler.c_str(), sizeof fakes::compiler().assemblerPath - 1);
  }
  /// How often the compiler was asked for an identity that came out as this one.
  int asked(const std::string &wanted) {
    const int before = fakes::compiler().identityAsked;
    auto cache = DiskCache::open({.mode = CacheMode::ReadWrite, .directory = folder + "/cache", .maxBytes = {}});
    Result<detail::CompilerIdentity> identity = detail::identifyCompiler(FAKE_COMPILER, *cache);
    EXPECT_TRUE(identity.ok()) << identity.status().text();
    EXPECT_EQ(identity->build + ", " + identity->assembler, wanted);
    return fakes::compiler().identityAsked - before;
  }
};

TEST_F(CompilerIdentity, IsRememberedFromOneProcessToTheNext) {
  EXPECT_EQ(asked("fake build 1, fake 1.0"), 1);
  EXPECT_EQ(asked("fake build 1, fake 1.0"), 0);
}

TEST_F(CompilerIdentity, B2_67_AReplacedAssemblerIsNoticed) {
  EXPECT_EQ(asked("fake build 1, fake 1.0"), 1);
  std::ofstream(assembler) << "version 2, longer";
  fakes::compiler().assembler = 2;
  EXPECT_EQ(asked("fake build 1, fake 2.0"), 1);
  EXPECT_EQ(asked("fake build 1, fake 2.0"), 0);
  std::filesystem::remove(assembler);
  EXPECT_EQ(asked("fake build 1, fake 2.0"), 1);
}

TEST_F(CompilerIdentity, B2_67_AnotherPlaceToLookForTheAssemblerIsNoticed) {
  EXPECT_EQ(asked("fake build 1, fake 1.0"), 1);
  for (const char *variable : {"TESSERA_CUDA_PATH", "LD_LIBRARY_PATH"}) {
    const char *before = std::getenv(variable);
    const std::string kept = before ? before : "";
    setenv(variable, "/elsewhere", 1);
    EXPECT_EQ(asked("fake build 1, fake 1.0"), 1) << variable;
    before ? setenv(variable, kept.c_str(), 1) : unsetenv(variable);
    EXPECT_EQ(asked("fake build 1, fake 1.0"), 0);
  }
}

TEST_F(CompilerIdentity, AMissingAssemblerIsNotRemembered) {
  fakes::compiler().assemblerPath[0] = 0;
  EXPECT_EQ(asked("fake build 1, fake 1.0"), 1);
  EXPECT_EQ(asked("fake build 1, fake 1.0"), 1);
}

TEST_F(CompilerIdentity, ABuildIdIsReadFromElfFilesOnly) {
  EXPECT_EQ(detail::elfBuildId(FAKE_COMPILER).size(), 40u);
  EXPECT_NE(detail::elfBuildId(FAKE_COMPILER), detail::elfBuildId(FAKE_CUDA));
  EXPECT_EQ(detail::elfBuildId(assembler), "");
  EXPECT_EQ(detail::elfBuildId(folder), "");
  EXPECT_EQ(detail::elfBuildId("/nowhere"), "");
  std::ifstream file(FAKE_COMPILER, std::ios::binary);
  std::string bytes(std::istreambuf_iterator<char>(file), {});
  for (size_t size = 0; size < 2000; size += 7) { // cut short anywhere, it is read as far as it goes
    std::ofstream(assembler, std::ios::binary) << bytes.substr(0, size);
    const std::string id = detail::elfBuildId(assembler);
    EXPECT_TRUE(id.empty() || id == detail::elfBuildId(FAKE_COMPILER)) << size;
  }
}

} // namespace
} // namespace tessera
