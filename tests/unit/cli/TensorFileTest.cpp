// Files on disk: the choice of a tensor by name, shared outputs, and clear refusals.
#include "autotune/cli/files/TensorFile.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sys/stat.h>

using namespace tessera;
using namespace tessera::files;

namespace {

class TensorFile : public testing::Test {
protected:
  std::filesystem::path folder;
  void SetUp() override {
    std::string name = testing::TempDir() + "tessera-files-XXXXXX";
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    folder = name;
  }
  void TearDown() override { std::filesystem::remove_all(folder); }
  std::string path(const char *name) const { return (folder / name).string(); }
  static HostTensor tensor(DType type, int64_t count, int fill) {
    return {type, {count}, std::vector<std::byte>(size_t(count) * byteSize(type), std::byte(fill))};
  }
};

TEST_F(TensorFile, OneSafeTensorsFileHoldsBothOutputsAndGivesThemBackByRoleOrName) {
  const HostTensor out = tensor(DType::BF16, 3, 1), lse = tensor(DType::F32, 2, 2);
  const Output outputs[] = {{path("a.safetensors"), "out", &out}, {path("a.safetensors:my.lse"), "lse", &lse}};
  ASSERT_TRUE(writeTensorFiles(outputs));
  EXPECT_EQ(readTensorFile(path("a.safetensors"), "out")->bytes, out.bytes);
  EXPECT_EQ(readTensorFile(path("a.safetensors:my.lse"), "q")->bytes, lse.bytes);
  const Result<HostTensor> none = readTensorFile(path("a.safetensors"), "q");
  ASSERT_FALSE(none);
  EXPECT_NE(none.status().text().find("my.lse, out"), std::string::npos) << none.status().text();
}

TEST_F(TensorFile, ASingleTensorNeedsNoNameAndNpyRoundTrips) {
  const HostTensor values = tensor(DType::F16, 5, 7);
  const Output outputs[] = {{path("a.safetensors:weights"), "out", &values}, {path("b.npy"), "out", &values}};
  ASSERT_TRUE(writeTensorFiles(outputs));
  EXPECT_EQ(readTensorFile(path("a.safetensors"), "q")->bytes, values.bytes);
  EXPECT_EQ(readTensorFile(path("b.npy"), "q")->bytes, values.bytes);
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder), {}), 2) << "no temporary file stays behind";
}

TEST_F(TensorFile, RefusalsNameTheFileAndTheReason) {
  const auto reason = [](const std::string &argument) {
    const Result<HostTensor> read = readTensorFile(argument, "q");
    EXPECT_FALSE(read);
    return read.status().text();
  };
  EXPECT_NE(reason(path("missing.npy")).find("No such file"), std::string::npos);
  EXPECT_NE(reason("q.pt").find("neither .npy nor .safetensors"), std::string::npos);
  std::filesystem::create_directory(path("folder.npy"));
  EXPECT_NE(reason(path("folder.npy")).find("folder"), std::string::npos);
  ASSERT_EQ(::mkfifo(path("pipe.npy").c_str(), 0600), 0);
  EXPECT_NE(reason(path("pipe.npy")).find("regular file"), std::string::npos);
  std::ofstream(path("empty.npy"));
  EXPECT_NE(reason(path("empty.npy")).find("magic"), std::string::npos);
  const HostTensor values = tensor(DType::F32, 1, 0);
  const Output nowhere[] = {{path("no/such/folder.npy"), "out", &values}};
  EXPECT_EQ(writeTensorFiles(nowhere).code(), Code::File);
  const Output twice[] = {{path("t.safetensors:a"), "out", &values}, {path("t.safetensors:a"), "lse", &values}};
  EXPECT_EQ(writeTensorFiles(twice).code(), Code::InvalidArgument);
}

} // namespace
