// Forged indexes: a right digest over a wrong index. All of them are refused at opening or when the image is read, with
// the reason; none crashes the reader or makes it allocate by a number that it read.
#include "tests/unit/bundle/BundleFile.h"
#include "tests/unit/bundle/SampleImages.h"

#include <gtest/gtest.h>
#include <random>

namespace tessera {
namespace {

using namespace test;

KernelImage first() { return sampleImage(1); }
KernelImage second() { return sampleImage(2); }

/// Two images and two records, as the writer writes them.
BundleFile sample() {
  BundleWriter writer;
  for (const KernelImage &image : {first(), second()})
    if (Status status = writer.add(image); !status.ok())
      return {};
  writer.add(sampleRecord(1));
  writer.add(sampleRecord(2));
  const std::string bytes = must(writer.serialize());
  return {bytes.substr(256, numberAt<uint64_t>(bytes, 24)), {*first().serialize(), *second().serialize()}};
}

void expectRefused(const BundleFile &file, std::string_view part) {
  const std::string bytes = file.bytes();
  Status fault = openBytes(bytes).status();
  EXPECT_EQ(fault.code(), Code::File) << file.index.substr(0, 2000);
  EXPECT_NE(fault.message().find(part), std::string::npos) << fault.message() << "\nexpected: " << part;
}

void expectChange(std::string_view from, std::string_view to, std::string_view part) {
  BundleFile file = sample();
  ASSERT_TRUE(file.replace(from, to)) << from << " in " << file.index;
  expectRefused(file, part);
}

std::string sizeText(const KernelImage &image) { return fmt::format(",{},", image.serialize()->size()); }

TEST(ForgedIndex, TheUnchangedOneOpens) {
  const std::string bytes = sample().bytes();
  auto bundle = openBytes(bytes);
  ASSERT_TRUE(bundle.ok()) << bundle.status().text() << sample().index;
  EXPECT_TRUE((*bundle)->verify().ok());
}

TEST(ForgedIndex, SizesThatLeaveTheFileOrDoNotFillIt) {
  const std::string size = sizeText(first());
  for (std::string value : {"0", "18446744073709551615", "18446744073709551600", "18446744073709547520",
                            "9223372036854775808", "9223372036854775807", "100000000000"})
    expectChange(size, "," + value + ",", "an image of " + value + " bytes at");
  expectChange(size, ",18446744073709551616,", "expected a whole number up to 18446744073709551615");
  BundleFile file = sample();
  file.images.pop_back(); // the second lies outside
  expectRefused(file, "an image of");
  file = sample();
  file.images.push_back("more"); // bytes that no entry names
  expectRefused(file, "the images end at");
}

TEST(ForgedIndex, AnOverlapOrAHoleEndsAtTheWrongPlace) {
  // Places follow from sizes: what is said to be larger moves its successor, what is smaller leaves a rest.
  expectChange(sizeText(first()), ",9000,", "an image of");
  BundleFile file = sample();
  file.images.back() += "rest";
  expectRefused(file, "the images end at");
  // A rest within a page lies where zeros belong, and the digest does not match either.
  file = sample();
  ASSERT_TRUE(file.replace(sizeText(first()), ",100,"));
  const std::string bytes = file.bytes();
  auto bundle = must(openBytes(bytes));
  EXPECT_EQ(bundle->image(bundle->index().entries[0]).status().code(), Code::File);
  EXPECT_EQ(bundle->verify().code(), Code::File);
}

TEST(ForgedIndex, PlacesOutsideTheTables) {
  expectChange("\"entries\":[[0,0,0,", "\"entries\":[[2,0,0,", "sorted");
  expectChange("],[1,0,0,", "],[2,0,0,", "it names spec number 2, there are 2");
  expectChange("],[1,0,0,", "],[1,1,0,", "it names target number 1, there are 1");
  expectChange("],[1,0,0,", "],[1,0,4294967295,", "it names schedule number 4294967295");
  expectChange("],[1,0,0,", "],[1,0,4294967296,", "expected a whole number up to 4294967295");
  expectChange("\"records\":[[0,0,0,", "\"records\":[[0,0,1,", "it names device number 1, there are 1");
  expectChange("[1,0,0,2,32", "[1,0,3,2,32", "it names device number 3, there are 1");
}

TEST(ForgedIndex, OrderAndDuplicates) {
  expectChange("],[1,0,0,", "],[0,0,0,", "two have all three in common");
  expectChange("\"entries\":[[0,0,0,", "\"entries\":[[1,0,0,", "not sorted by spec");
  expectChange("[1,0,0,2,32", "[0,0,0,2,32", "two are for one spec, target, device and shape");
  const std::string schedule = first().schedule.text();
  expectChange("\"schedules\":[", fmt::format("\"schedules\":[\"{}\",", schedule), "tables are sorted");
  expectChange("\"targets\":[\"sm_80\"]", "\"targets\":[\"sm_90\",\"sm_80\"]", "tables are sorted");
  expectChange("\"builds\":[\"build-a\"]", "\"builds\":[\"build-a\",\"build-a\"]", "tables are sorted");
}

TEST(ForgedIndex, WhatNothingUses) {
  expectChange("\"targets\":[\"sm_80\"]", "\"targets\":[\"sm_80\",\"sm_90\"]", "nothing uses target 'sm_90'");
  expectChange("\"schedules\":[", "\"schedules\":[\"a\",", "schedule 'a'"); // now the records' schedule
  expectChange("\"specs\":[", "\"specs\":[\"a\",", "spec");
  expectChange("\"devices\":[", "\"devices\":[\"A\",", "nothing uses device 'NVIDIA A100-SXM4-80GB'");
  expectChange("\"builds\":[\"build-a\"]", "\"builds\":[]", "0 builds for 2 images");
  BundleFile file = sample();
  ASSERT_TRUE(file.replace("\"build-a\"", "\"build-a\",\"build-b\""));
  const std::string bytes = file.bytes();
  EXPECT_NE(must(openBytes(bytes))->verify().message().find("lists build 'build-b'"), std::string::npos);
}

TEST(ForgedIndex, CountsOfRowsAndHeader) {
  BundleFile file = sample();
  std::string bytes = file.bytes();
  for (uint64_t count : {uint64_t(0), uint64_t(1), uint64_t(3), ~uint64_t(0)}) {
    putNumber(bytes, 32, count);
    EXPECT_NE(openBytes(bytes).status().message().find("images, the index lists 2"), std::string::npos);
  }
  expectChange("\"entries\":[[0,0,0,", "\"entries\":[[0,0,0,0,", "expected '\"'");
  expectChange("\"entries\":[[0,0,0,", "\"entries\":[[0,0,", "expected a whole number");
  expectChange("\"records\":[[0,", "\"records\":[[0,0,", "expected ']'");
  expectChange("\"records\":[[0,0,", "\"records\":[[0,", "expected ','");
  expectChange("\"records\":[[0,", "\"records\":[[],[0,", "expected a whole number");
}

TEST(ForgedIndex, OtherTypes) {
  for (const char *value : {"null", "true", "-1", "+1", " 1", "00", "0x1", "{}", "[]", "\"x\"", ""}) {
    expectChange("\"entries\":[[0,", fmt::format("\"entries\":[[{},", value), "expected ");
    expectChange("\"records\":[[0,", fmt::format("\"records\":[[{},", value), "expected ");
  }
  for (const char *value : {"0.5", "0e3", "0 "})
    expectChange("\"entries\":[[0,", fmt::format("\"entries\":[[{},", value), "expected ','");
  for (const char *value : {"[1]", "\"build-a\"", "[[1]]", "{}", "[,]", "[\"build-a\",]", "[null]"})
    expectChange("\"builds\":[\"build-a\"]", fmt::format("\"builds\":{}", value), "expected ");
  for (const char *whole : {"", "1", "null", "\"x\"", "[]", "[[0]]", "{", "{}", "nonsense"}) {
    BundleFile file = sample();
    file.index = whole;
    expectRefused(file, "of the index: expected '");
  }
}

TEST(ForgedIndex, UnknownRepeatedAndMissingParts) {
  expectChange("{\"builds\"", "{\"path\":[\"a/b\"],\"builds\"", "byte 1 of the index: expected '\"builds\":['");
  expectChange("{\"builds\"", "{\"devices\":[],\"builds\"", "expected '\"builds\":['");
  expectChange("],\"schedules\"", "],\"records\":[],\"schedules\"", "expected '\"schedules\":['");
  expectChange("\"records\":", "\"entries\":", "expected '\"records\":['");
  expectChange("\"targets\":[\"sm_80\"]}", "\"targets\":[\"sm_80\"],\"time\":[]}", "expected '}'");
  expectChange(",\"targets\":[\"sm_80\"]}", "}", "expected ','");
}

TEST(ForgedIndex, OtherWaysToWriteTheSame) {
  for (auto [from, to] : {std::pair("{\"builds\"", "{ \"builds\""),
                          {"{\"builds\"", "{\n\"builds\""},
                          {"\"builds\"", "\"b\\u0075ilds\""},
                          {"[[0,0,0,", "[[0,0,0 ,"},
                          {"[[0,0,0,", "[[0,0,00,"},
                          {"[[0,0,0,", "[[-0,0,0,"},
                          {"{\"builds\"", "\xef\xbb\xbf{\"builds\""}})
    expectChange(from, to, "expected ");
  expectChange("build-a", "build\\u002da", "not of plain printable characters");
  BundleFile file = sample();
  file.index += "\n";
  expectRefused(file, "expected the end");
  const std::string digest = hexText(digestOf(*first().serialize()));
  std::string upper = digest;
  for (char &c : upper)
    c = char(std::toupper(c));
  expectChange(digest, upper, "expected a digest");
  expectChange(digest, digest.substr(1), "expected a digest");
  expectChange(digest, digest + "0", "expected a digest");
  expectChange(digest, digest.substr(1) + "g", "expected a digest");
}

TEST(ForgedIndex, TextsThatAreNotPlain) {
  for (const char *text :
       {"", "a\\u0000b", "a\\nb", "\xc3\xa4", "a\\\\b", "\xff", "\xc3", "\xed\xa0\x80", "a\nb", "\x7f"})
    expectChange("build-a", text, "not of plain printable characters");
  expectChange("build-a", std::string("a\0b", 3), "not of plain printable characters");
  expectChange("build-a", std::string(1025, 'b'), "a text of more than 1024 characters, or without end");
  BundleFile file = sample();
  file.index = "{\"builds\":[\"b";
  expectRefused(file, "without end");
}

TEST(ForgedIndex, DepthBombs) {
  for (size_t depth : {4u, 1000u, 1000000u}) {
    const std::string lists = std::string(depth, '[') + std::string(depth, ']');
    BundleFile file = sample();
    file.index = lists;
    expectRefused(file, "byte 0 of the index: expected '{'");
    expectChange("\"entries\":[[0,", "\"entries\":[[" + lists + ",", "expected a whole number");
    expectChange("\"build-a\"", lists, "expected '\"'");
  }
}

TEST(ForgedIndex, AnOversizeIndexIsNotRead) {
  BundleFile file = sample();
  file.index.resize((size_t(16) << 20) + 1, ' ');
  expectRefused(file, "at most 16777216 are allowed");
}

TEST(ForgedIndex, RecordsThatCannotBe) {
  expectChange("2,32,8,2048,2048", "2,32,7,2048,2048", "heads must be a multiple of kv_heads");
  expectChange("2,32,8,2048,2048", "2,32,8,2048,4294967296", "seqlen_kv");
  expectChange("2,32,8,2048,2048", "2,32,8,2048,9223372036854775808",
               "expected a whole number up to 9223372036854775807");
  expectChange("\"sm_80\"", "\"compute_80\"", "'compute_80' is not written canonically");
  expectChange("\"sm_80\"", "\"gfx942\"", "target 'gfx942'");
  // Specs and schedules are understood only where a record names them.
  expectChange("v1:in=bf16,out=bf16,d=16,", "v1:in=bf16,out=bf16,d=17,", "spec 'v1:in=bf16,out=bf16,d=17,");
  expectChange("\"v1:q128,kv128", "\"v1:q128,kv0128", "schedule");
}

TEST(ForgedIndex, FactsThatTheImageDoesNotConfirm) {
  auto readFault = [](std::string_view from, std::string_view to) {
    BundleFile file = sample();
    EXPECT_TRUE(file.replace(from, to)) << from << " in " << file.index;
    const std::string bytes = file.bytes();
    auto bundle = openBytes(bytes);
    EXPECT_TRUE(bundle.ok()) << bundle.status().text();
    Status fault = bundle.ok() ? (*bundle)->image((*bundle)->index().entries[0]).status() : Status();
    EXPECT_EQ(fault.code(), Code::File);
    EXPECT_EQ(bundle.ok() ? (*bundle)->verify().code() : Code::Ok, Code::File);
    return fault.message();
  };
  auto expect = [](std::string message, std::string_view part) {
    EXPECT_NE(message.find(part), std::string::npos) << message;
  };
  const std::string row = ",16400,128,129,1,80,600,";
  expect(readFault(row, ",1,128,129,1,80,600,"), "shared bytes 1 -> 16400");
  expect(readFault(row, ",16400,64,129,1,80,600,"), "block threads 64 -> 128");
  expect(readFault(row, ",16400,128,0,1,80,600,"), "registers 0 -> 129");
  expect(readFault(row, ",16400,128,129,2,80,600,"), "cluster blocks 2 -> 1");
  expect(readFault(row, ",16400,128,129,1,0,600,"), "PTX version 0 -> 80");
  expect(readFault(row, ",16400,128,129,1,80,0,"), "cubin bytes 0 -> 600");
  expect(readFault("\"sm_80\"", "\"sm_86\""), "target sm_86 -> sm_80");
  expect(readFault("\"build-a\"", "\"build-b\""), "of build 'build-a', which the index does not list");
  // The two images change places: both digests right, neither what its entry says.
  BundleFile file = sample();
  const std::string one = hexText(digestOf(file.images[0])), two = hexText(digestOf(file.images[1]));
  file.replace(one, "!");
  file.replace(two, one);
  file.replace("!", two);
  file.replace(sizeText(first()), "!");
  file.replace(sizeText(second()), sizeText(first()));
  file.replace("!", sizeText(second()));
  std::swap(file.images[0], file.images[1]);
  const std::string bytes = file.bytes();
  auto bundle = must(openBytes(bytes));
  expect(bundle->image(bundle->index().entries[0]).status().message(), "contradicts an image: spec");
}

TEST(ForgedIndex, ArchitecturesOfALaterTesseraOpenAndVerifyByDigest) {
  BundleFile file = sample();
  ASSERT_TRUE(file.replace("\"sm_80\"", "\"sm_130a\""));
  std::string bytes = file.bytes();
  auto bundle = must(openBytes(bytes));
  EXPECT_EQ(bundle->index().entries[0].target, (CodeTarget{13, 0, 'a'}));
  EXPECT_TRUE(bundle->verify().ok()) << bundle->verify().text();
  EXPECT_FALSE(bundle->image(bundle->index().entries[0]).ok()); // here the image contradicts the entry
  bytes.back() ^= 1;
  EXPECT_EQ(must(openBytes(bytes))->verify().code(), Code::File);
}

TEST(ForgedIndex, RandomChangesWithTheRightDigestNeverCrash) {
  const BundleFile original = sample();
  std::mt19937 random(3);
  unsigned opened = 0;
  for (int round = 0; round < 20000; ++round) {
    BundleFile file = original;
    for (int changes = 1 + random() % 3; changes > 0; --changes) {
      const size_t at = random() % file.index.size();
      switch (random() % 3) {
      case 0:
        file.index[at] = "0123456789[]{},:\"ab-"[random() % 20];
        break;
      case 1:
        file.index.erase(at, 1 + random() % 4);
        break;
      default:
        file.index.insert(at, 1, "0123456789[]{},:\"ab-"[random() % 20]);
      }
    }
    const std::string bytes = file.bytes();
    auto bundle = openBytes(bytes);
    opened += bundle.ok();
    if (!bundle.ok())
      ASSERT_EQ(bundle.status().code(), Code::File);
    else if (Status status = (*bundle)->verify(); !status.ok())
      ASSERT_EQ(status.code(), Code::File);
  }
  EXPECT_GT(opened, 0u); // changed facts are seen only in the images
}

} // namespace
} // namespace tessera
