// The .npy reader: what NumPy writes is read, and nothing else is.
#include "autotune/cli/files/Npy.h"
#include "tests/unit/cli/Bytes.h"

#include <gtest/gtest.h>

using namespace tessera;
using namespace tessera::files;

namespace {

std::string file(const std::string &dictionary, const std::string &data, int version = 1) {
  std::string text = std::string("\x93NUMPY") + char(version) + '\0';
  for (int n = 0; n < (version == 1 ? 2 : 4); ++n)
    text += char(dictionary.size() >> (8 * n) & 0xff);
  return text + dictionary + data;
}

std::string floats(std::initializer_list<float> values) {
  return {reinterpret_cast<const char *>(values.begin()), values.size() * 4};
}

Result<HostTensor> read(const std::string &bytes) { return readNpy(MemoryBytes(bytesOf(bytes))); }

std::string reason(const std::string &bytes) {
  const Result<HostTensor> tensor = read(bytes);
  EXPECT_FALSE(tensor);
  EXPECT_EQ(tensor.status().code(), Code::File);
  return tensor.status().text();
}

TEST(Npy, ReadsWhatNumPyWrites) {
  // numpy.save of arange(6, dtype='<f4').reshape(2, 3), byte for byte.
  const std::string saved = std::string("\x93NUMPY\x01\0v\0", 10) +
                            "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }" + std::string(58, ' ') +
                            "\n" + floats({0, 1, 2, 3, 4, 5});
  const Result<HostTensor> tensor = read(saved);
  ASSERT_TRUE(tensor) << tensor.status().text();
  EXPECT_EQ(tensor->type, DType::F32);
  EXPECT_EQ(tensor->shape, (std::vector<int64_t>{2, 3}));
  EXPECT_EQ(std::memcmp(tensor->bytes.data(), floats({0, 1, 2, 3, 4, 5}).data(), 24), 0);
}

TEST(Npy, ReadsAllVersionsTypesAndRanks) {
  for (int version : {1, 2, 3})
    for (const auto &[descr, type] : {std::pair("<f2", DType::F16),
                                      {"<f4", DType::F32},
                                      {"|V2", DType::BF16},
                                      {"<V2", DType::BF16},
                                      {"bfloat16", DType::BF16}})
      for (const auto &[shape, count] :
           {std::pair("()", 1), {"(3,)", 3}, {"(2,2)", 4}, {"(0, 5)", 0}, {"(2L, 1L)", 2}}) {
        const std::string text =
            std::string("{'shape': ") + shape + ", \"descr\": '" + descr + "', 'fortran_order': False}\n";
        const Result<HostTensor> tensor = read(file(text, std::string(count * byteSize(type), 'x'), version));
        ASSERT_TRUE(tensor) << text << tensor.status().text();
        EXPECT_EQ(tensor->type, type);
        EXPECT_EQ(tensor->bytes.size(), count * byteSize(type));
      }
}

TEST(Npy, FortranOrderArrivesRowMajor) {
  const Result<HostTensor> tensor =
      read(file("{'descr': '<f4', 'fortran_order': True, 'shape': (2, 3)}", floats({0, 3, 1, 4, 2, 5})));
  ASSERT_TRUE(tensor);
  EXPECT_EQ(std::memcmp(tensor->bytes.data(), floats({0, 1, 2, 3, 4, 5}).data(), 24), 0);
}

TEST(Npy, RoundTripsEveryType) {
  for (DType type : {DType::F16, DType::BF16, DType::F32})
    for (const std::vector<int64_t> &shape : {std::vector<int64_t>{}, {7}, {2, 3, 4, 8}, {1, 0, 2}}) {
      int64_t count = byteSize(type);
      for (int64_t extent : shape)
        count *= extent;
      const HostTensor tensor{type, shape, std::vector<std::byte>(count, std::byte{0x3c})};
      const std::string header = npyHeader(tensor);
      EXPECT_EQ(header.size() % 64, 0u);
      const Result<HostTensor> back = read(header + std::string(count, '\x3c'));
      ASSERT_TRUE(back) << back.status().text();
      EXPECT_EQ(back->type, type);
      EXPECT_EQ(back->shape, shape);
      EXPECT_EQ(back->bytes, tensor.bytes);
    }
}

TEST(Npy, RefusesWithTheReason) {
  const std::string good = "{'descr': '<f4', 'fortran_order': False, 'shape': (2,)}";
  EXPECT_NE(reason("PK\3\4 something else").find("magic"), std::string::npos);
  EXPECT_NE(reason(file(good, floats({1, 2}), 4)).find("version 4.0"), std::string::npos);
  EXPECT_NE(reason(file("{'descr': '>f4', 'fortran_order': False, 'shape': (2,)}", floats({1, 2}))).find("big-endian"),
            std::string::npos);
  EXPECT_NE(reason(file("{'descr': '<f8', 'fortran_order': False, 'shape': (1,)}", floats({1, 2}))).find("astype"),
            std::string::npos);
  EXPECT_NE(reason(file("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (2,)}", "")).find("structured"),
            std::string::npos);
  EXPECT_NE(reason(file("{'descr': '<f4', 'fortran_order': False}", "")).find("lacks 'shape'"), std::string::npos);
  EXPECT_NE(reason(file("{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': (2,)}", "")).find("twice"),
            std::string::npos);
  EXPECT_NE(reason(file("{'descr': '<f4', 'fortran_order': 0, 'shape': (2,)}", "")).find("neither True"),
            std::string::npos);
  EXPECT_NE(reason(file("{'descr': '<f4', 'fortran_order': False, 'shape': (-2,)}", "")).find("tuple"),
            std::string::npos);
  EXPECT_NE(reason(file(good + "{}", floats({1, 2}))).find("goes on"), std::string::npos);
}

TEST(Npy, ShapesThatDoNotFitTheFileAllocateNothing) {
  for (const char *shape : {"(4611686018427387903,)", "(2147483648, 2147483648, 4)", "(4294967296, 4294967296)", "(3,)",
                            "(1,)", "(99999999999999999999,)", "(1073741824,)"}) {
    const std::string text = std::string("{'descr': '<f4', 'fortran_order': False, 'shape': ") + shape + "}";
    EXPECT_FALSE(reason(file(text, floats({1, 2}))).empty());
  }
  std::string lying = file("{'descr': '<f4', 'fortran_order': False, 'shape': (2,)}", floats({1, 2}), 2);
  lying[8] = lying[9] = lying[10] = lying[11] = '\xff';
  EXPECT_NE(reason(lying).find("4294967295"), std::string::npos);
}

TEST(Npy, NoSmallMutationCrashes) {
  everySmallMutation(file("{'descr': '<f4', 'fortran_order': True, 'shape': (2, 1), }\n", floats({1, 2}), 2),
                     [](const std::string &bytes) { (void)read(bytes); });
}

} // namespace
