// The .safetensors reader and writer on good, wrong and hostile indices.
#include "autotune/cli/files/SafeTensors.h"
#include "tests/unit/cli/Bytes.h"

#include <gtest/gtest.h>

using namespace tessera;
using namespace tessera::files;

namespace {

std::string file(const std::string &index, const std::string &data) {
  std::string text;
  for (int n = 0; n < 8; ++n)
    text += char(uint64_t(index.size()) >> (8 * n) & 0xff);
  return text + index + data;
}

Result<std::vector<SafeTensorsEntry>> index(const std::string &bytes) {
  return readSafeTensorsIndex(MemoryBytes(bytesOf(bytes)));
}

std::string reason(const std::string &bytes) {
  const auto entries = index(bytes);
  EXPECT_FALSE(entries) << bytes;
  EXPECT_EQ(entries.status().code(), Code::File);
  return entries.status().text();
}

TEST(SafeTensors, ReadsTensorsByTheirOffsets) {
  const std::string bytes =
      file(R"({"__metadata__":{"format":"pt"},"k":{"dtype":"BF16","shape":[1,2],"data_offsets":[4,8]},)"
           R"("ids":{"dtype":"I64","shape":[1],"data_offsets":[8,16]},)"
           R"("q":{"dtype":"F32","shape":[],"data_offsets":[0,4]}}   )",
           "qqqqkkkkiiiiiiii");
  const auto entries = index(bytes);
  ASSERT_TRUE(entries) << entries.status().text();
  ASSERT_EQ(entries->size(), 3u);
  const Result<HostTensor> k = readSafeTensor(MemoryBytes(bytesOf(bytes)), entries->at(1));
  EXPECT_EQ(k->bytes, std::vector<std::byte>(4, std::byte{'k'}));
  EXPECT_EQ(entries->at(0).name, "ids");
  EXPECT_FALSE(readSafeTensor(MemoryBytes(bytesOf(bytes)), entries->at(0))) << "I64 is indexed but not read";
  const Result<HostTensor> q = readSafeTensor(MemoryBytes(bytesOf(bytes)), entries->at(2));
  ASSERT_TRUE(q);
  EXPECT_EQ(q->bytes, std::vector<std::byte>(4, std::byte{'q'}));
  EXPECT_TRUE(q->shape.empty());
}

TEST(SafeTensors, RoundTrips) {
  const HostTensor lse{DType::F32, {1, 3}, std::vector<std::byte>(12, std::byte{1})},
      out{DType::F16, {5}, std::vector<std::byte>(10, std::byte{2})};
  const NamedTensor tensors[] = {{"lse", &lse}, {"out \"1\"", &out}};
  const std::string header = safeTensorsHeader(tensors);
  EXPECT_EQ(header.size() % 8, 0u);
  const std::string bytes = header + std::string(12, '\1') + std::string(10, '\2');
  const auto entries = index(bytes);
  ASSERT_TRUE(entries) << entries.status().text();
  ASSERT_EQ(entries->size(), 2u);
  EXPECT_EQ(entries->at(1).name, "out \"1\"");
  EXPECT_EQ(readSafeTensor(MemoryBytes(bytesOf(bytes)), entries->at(1))->bytes, out.bytes);
  EXPECT_EQ(readSafeTensor(MemoryBytes(bytesOf(bytes)), entries->at(0))->shape, lse.shape);
}

TEST(SafeTensors, RefusesWithTheReason) {
  const auto entry = [](const char *text) { return file(std::string("{\"q\":") + text + "}", "12345678"); };
  EXPECT_NE(reason("short").find("5 bytes"), std::string::npos);
  EXPECT_NE(reason(std::string(8, '\xff') + "{}").find("claims 18446744073709551615"), std::string::npos);
  EXPECT_NE(reason(file("{\"q\":", "")).find("JSON"), std::string::npos);
  EXPECT_NE(reason(file("[]", "")).find("JSON object"), std::string::npos);
  EXPECT_NE(reason(file(std::string(1 << 20, '['), "")).find("nested"), std::string::npos);
  EXPECT_NE(reason(entry("3")).find("no object"), std::string::npos);
  EXPECT_NE(reason(entry("{}")).find("no dtype"), std::string::npos);
  EXPECT_NE(reason(entry(R"({"dtype":"F32","shape":[-2],"data_offsets":[0,8]})")).find("no shape"), std::string::npos);
  EXPECT_NE(reason(entry(R"({"dtype":"F32","shape":[1e9],"data_offsets":[0,8]})")).find("no shape"), std::string::npos);
  EXPECT_NE(reason(entry(R"({"dtype":"F32","shape":[2],"data_offsets":[0,9]})")).find("within the 8 bytes"),
            std::string::npos);
  EXPECT_NE(reason(entry(R"({"dtype":"F32","shape":[2],"data_offsets":[8,0]})")).find("data_offsets"),
            std::string::npos);
  EXPECT_NE(reason(entry(R"({"dtype":"F32","shape":[2],"data_offsets":[18446744073709551608,18446744073709551615]})"))
                .find("data_offsets"),
            std::string::npos);
  EXPECT_NE(reason(entry(R"({"dtype":"F32","shape":[3],"data_offsets":[0,8]})")).find("8 bytes"), std::string::npos);
  EXPECT_NE(reason(entry(R"({"dtype":"F32","shape":[4294967296,4294967296,4294967296],"data_offsets":[0,8]})"))
                .find("8 bytes"),
            std::string::npos);
  EXPECT_NE(
      reason(
          file(
              R"({"q":{"dtype":"F32","shape":[],"data_offsets":[0,4]},"q":{"dtype":"F32","shape":[],"data_offsets":[4,8]}})",
              "12345678"))
          .find("twice"),
      std::string::npos);
}

TEST(SafeTensors, NoSmallMutationCrashes) {
  everySmallMutation(
      file(R"({"q":{"dtype":"F16","shape":[2,2],"data_offsets":[0,8]},"__metadata__":{"a":"b"}})", "12345678"),
      [](const std::string &bytes) {
        if (const auto entries = index(bytes))
          for (const SafeTensorsEntry &entry : *entries)
            (void)readSafeTensor(MemoryBytes(bytesOf(bytes)), entry);
      });
}

} // namespace
