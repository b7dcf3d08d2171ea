// KernelImage: one serialised form, read back exactly; every damaged byte is noticed and none can crash the reader.
#include "runtime/image/KernelImage.h"
#include "runtime/image/Digest.h"

#include <cstring>
#include <gtest/gtest.h>
#include <random>

namespace tessera {
namespace {

KernelImage example(bool withCubin = true) {
  KernelImage image;
  image.spec.headDim = image.spec.valueDim = 64;
  image.spec.mask = Mask::causal(Align::BottomRight);
  image.schedule.tileKv = 128;
  image.target = "sm_80";
  image.entry = "attention_fwd";
  for (Argument argument : allArguments())
    image.parameters.push_back({std::string(name(argument)), typeOf(argument)});
  image.tileQ = 128;
  image.blockThreads = 128;
  image.dynamicSharedBytes = 49152;
  if (withCubin) {
    image.registers = 200;
    image.spillBytes = 0;
    for (int i = 0; i < 1000; ++i)
      image.cubin.push_back(uint8_t(i * 7));
  }
  image.assemblerLog = "ptxas info : \"quoted\" \xff bytes";
  image.ptxVersion = 80;
  image.toolVersions = {{"llvm", "22.1"}, {"assembler", "nvJitLink 13.0"}};
  image.buildId = "build";
  image.keyText = "tessera-key 1\n";
  image.ptx = ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry attention_fwd() { ret; }\n";
  return image;
}

/// The digest made right again after `bytes` was changed, so that the checks behind it are reached.
std::string resealed(std::string bytes) {
  const Digest digest = digestOf(std::string_view(bytes).substr(0, bytes.size() - 32));
  std::memcpy(bytes.data() + bytes.size() - 32, digest.data(), 32);
  return bytes;
}

TEST(KernelImage, RoundTripsWithAndWithoutCubin) {
  for (bool withCubin : {true, false}) {
    KernelImage image = example(withCubin);
    Result<std::string> bytes = image.serialize();
    ASSERT_TRUE(bytes.ok()) << bytes.status().text();
    Result<KernelImage> read = KernelImage::parse(*bytes);
    ASSERT_TRUE(read.ok()) << read.status().text();
    EXPECT_NE(read->assemblerLog.find("\"quoted\""), std::string::npos);
    read->assemblerLog = image.assemblerLog; // a byte that is no UTF-8 is replaced
    EXPECT_EQ(*read, image);
  }
}

TEST(KernelImage, EveryGridRuleRoundTripsAndIsThatOfTheSchedule) {
  for (bool pack : {false, true})
    for (bool persistent : {false, true}) {
      KernelImage image = example();
      image.schedule.packHeads = pack;
      image.schedule.persistent = persistent;
      EXPECT_EQ(image.validate().ok(), !pack && !persistent) << "the grid is still that of the default";
      image.grid = gridRuleOf(image.schedule);
      EXPECT_EQ(parseGridRule(text(image.grid)), image.grid);
      Result<std::string> bytes = image.serialize();
      ASSERT_TRUE(bytes.ok()) << bytes.status().text();
      EXPECT_NE(bytes->find("\"grid\":\"" + std::string(text(image.grid)) + "\""), std::string::npos);
      Result<KernelImage> read = KernelImage::parse(*bytes);
      ASSERT_TRUE(read.ok()) << read.status().text();
      EXPECT_EQ(read->grid, image.grid);
    }
  EXPECT_EQ(parseGridRule(""), std::nullopt);
  EXPECT_EQ(parseGridRule("resident"), std::nullopt);
  // Images of before these rules were known say it in this way.
  EXPECT_EQ(text(gridRuleOf({})), "ceil(seqlen_q/tile_q)*heads*batch");
}

TEST(KernelImage, SameImageSameBytes) {
  EXPECT_EQ(*example().serialize(), *example().serialize());
  EXPECT_EQ(*KernelImage::parse(*example().serialize())->serialize(), *example().serialize());
}

TEST(KernelImage, CubinIsAlignedTo16Bytes) {
  const KernelImage image = example();
  const std::string bytes = *image.serialize();
  const std::string_view cubin(reinterpret_cast<const char *>(image.cubin.data()), image.cubin.size());
  EXPECT_EQ(bytes.find(cubin) % 16, 0u);
}

TEST(KernelImage, EveryFlippedByteAndEveryTruncationIsNoticed) {
  const std::string bytes = *example().serialize();
  for (size_t i = 0; i < bytes.size(); ++i) {
    std::string damaged = bytes;
    damaged[i] ^= 0x10;
    Result<KernelImage> read = KernelImage::parse(damaged);
    ASSERT_EQ(read.status().code(), Code::File) << i;
  }
  for (size_t size = 0; size < bytes.size(); ++size)
    ASSERT_EQ(KernelImage::parse(std::string_view(bytes).substr(0, size)).status().code(), Code::File) << size;
  EXPECT_EQ(KernelImage::parse(bytes + '\0').status().code(), Code::File);
}

TEST(KernelImage, ForgedHeadersWithTheRightDigestAreRefused) {
  const std::string bytes = *example().serialize();
  for (size_t field : {16, 24, 32, 40, 48, 56})
    for (uint64_t value :
         {uint64_t(0), uint64_t(1), uint64_t(1) << 26, uint64_t(1) << 63, ~uint64_t(0), ~uint64_t(0) - 15}) {
      std::string forged = bytes;
      if (!std::memcmp(forged.data() + field, &value, 8))
        continue;
      std::memcpy(forged.data() + field, &value, 8);
      Result<KernelImage> read = KernelImage::parse(resealed(forged));
      EXPECT_EQ(read.status().code(), Code::File) << "field at " << field << ", value " << value;
    }
}

TEST(KernelImage, DamagedContentWithTheRightDigestNeverCrashes) {
  const std::string bytes = *example().serialize();
  std::mt19937 random(1);
  for (int round = 0; round < 20000; ++round) {
    std::string damaged = bytes;
    for (int flips = 1 + random() % 4; flips > 0; --flips)
      damaged[64 + random() % (damaged.size() - 96)] = char(random());
    Result<KernelImage> read = KernelImage::parse(resealed(damaged));
    if (!read.ok())
      ASSERT_EQ(read.status().code(), Code::File);
  }
}

TEST(KernelImage, MetadataFaultsNameTheField) {
  const std::string bytes = *example().serialize();
  auto messageWith = [&](std::string_view from, std::string_view to) {
    std::string changed = bytes;
    EXPECT_EQ(from.size(), to.size());
    changed.replace(changed.find(from), from.size(), to);
    return KernelImage::parse(resealed(changed)).status().message();
  };
  auto expect = [](std::string message, std::string_view part) {
    EXPECT_NE(message.find(part), std::string::npos) << message;
  };
  expect(messageWith("\"tile_q\":128", "\"tile_q\":-28"), "'tile_q' is not a 32-bit number");
  expect(messageWith("\"tile_q\":128", "\"tile_x\":128"), "'tile_q' is missing");
  expect(messageWith("\"tile_q\":128", "\"tile_q\":129"), "tile_q is 129, the schedule's 128");
  expect(messageWith("tile_q)*heads*batch", "tile_q)*heads*botch"), "'grid' has the unknown rule");
  expect(messageWith("[\"q_batch\",\"i64\"]", "[\"q_batch\",\"i32\"]"), "'q_batch' has type i32, expected i64");
  expect(messageWith("[\"q_batch\",\"i64\"]", "[\"q_botch\",\"i64\"]"), "no parameter 'q_botch'");
  expect(messageWith("[\"q_batch\",\"i64\"]", "[\"k_batch\",\"i64\"]"), "'k_batch' stands twice");
  expect(messageWith("sm_80\",\"tile_q", "sm_81\",\"tile_q"), "unknown target 'sm_81'");
  expect(messageWith("\"registers\":200", "\"registers\":\"a\""), "'registers' is not a 32-bit number");
  expect(messageWith("d=64,dv=64", "d=65,dv=64"), "'spec' is malformed");
}

TEST(KernelImage, BytesBehindTheImageAreRefused) {
  std::string bytes = *example().serialize();
  bytes.insert(bytes.size() - 32, 16, '\0');
  Result<KernelImage> read = KernelImage::parse(resealed(bytes));
  EXPECT_EQ(read.status().code(), Code::File);
  EXPECT_NE(read.status().message().find("the header speaks of"), std::string::npos);
}

TEST(KernelImage, DeepJsonIsRefused) {
  // A valid container around metadata that nests 200,000 levels.
  std::string bytes = *example().serialize();
  uint64_t metadata;
  std::memcpy(&metadata, bytes.data() + 24, 8);
  std::string deep = "{\"spec\":" + std::string(200000, '[') + std::string(200000, ']') + "}";
  deep.resize((deep.size() + 15) / 16 * 16, ' ');
  uint64_t size = deep.size(), total = bytes.size() - (metadata + 15) / 16 * 16 + size;
  bytes.replace(64, (metadata + 15) / 16 * 16, deep);
  std::memcpy(bytes.data() + 24, &size, 8);
  std::memcpy(bytes.data() + 16, &total, 8);
  Result<KernelImage> read = KernelImage::parse(resealed(bytes));
  EXPECT_EQ(read.status().code(), Code::File);
  EXPECT_NE(read.status().message().find("'spec' is not a string"), std::string::npos) << read.status().message();
}

TEST(KernelImage, ContradictionsAreNotWritten) {
  auto message = [](auto change) {
    KernelImage image = example();
    change(image);
    return image.serialize().status().message();
  };
  auto expect = [](std::string message, std::string_view part) {
    EXPECT_NE(message.find(part), std::string::npos) << message;
  };
  expect(message([](KernelImage &i) { i.entry = "a b"; }), "'a b' is not the name of a kernel");
  expect(message([](KernelImage &i) { i.blockThreads = 100; }), "100 threads");
  expect(message([](KernelImage &i) { i.dynamicSharedBytes = 200000; }),
         "200000 bytes of shared memory; sm_80 has 166912");
  expect(message([](KernelImage &i) { i.ptx.clear(), i.cubin.clear(); }), "neither PTX nor a cubin");
  expect(message([](KernelImage &i) { i.ptx[3] = 0; }), "the PTX holds a zero byte");
  expect(message([](KernelImage &i) { i.clusterBlocks = 0; }), "clusters of 0 blocks");
  expect(message([](KernelImage &i) { i.clusterBlocks = 2; }), "clusters of 2 blocks; sm_80 allows none");
  expect(message([](KernelImage &i) { i.tileQ = 64; }), "tile_q is 64");
  expect(
      message([](KernelImage &i) { i.grid = GridRule::ResidentQueryTiles; }),
      "the grid is min(ceil(seqlen_q/tile_q)*heads*batch,resident), the schedule's ceil(seqlen_q/tile_q)*heads*batch");
}

} // namespace
} // namespace tessera
