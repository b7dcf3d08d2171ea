// Tuning records as lines: what is written is read back, and a damaged line costs nothing but itself.
#include "runtime/cache/RecordLines.h"

#include <gtest/gtest.h>

using namespace tessera;

namespace {

TuningRecord record() {
  TuningRecord record;
  record.spec.mask = Mask::causal(Align::BottomRight);
  record.device = "NVIDIA \"A100\"";
  record.target = "sm_80";
  record.problem = {2, 8, 2, 300, 517};
  record.schedule = *Schedule::parse("v1:q64,kv64,w4,s2,lazy8,add,qsmem,online");
  return record;
}

TEST(RecordLines, WhatIsWrittenIsReadBack) {
  TuningRecord other = record();
  other.device = "another";
  const RecordLines lines = readRecordLines(recordLine(record()) + "\n  \r\n" + recordLine(other));
  EXPECT_TRUE(lines.damaged.empty());
  EXPECT_EQ(lines.records, (std::vector{record(), other}));
}

TEST(RecordLines, FurtherKeysArePassedOver) {
  std::string line = recordLine(record());
  line.insert(1, R"("milliseconds": [1, {"a": 2}], )");
  EXPECT_EQ(readRecordLines(line).records, std::vector{record()});
}

TEST(RecordLines, OfATargetThatIsNotKnownAnyScheduleIsRead) {
  TuningRecord older = record();
  older.target = "sm_70";
  older.schedule.tileKv = 24;
  EXPECT_EQ(readRecordLines(recordLine(older)).records, std::vector{older});
}

TEST(RecordLines, ADamagedLineIsNamedAndCostsNothingElse) {
  const std::string good = recordLine(record());
  const auto without = [&](const std::string &text, const std::string &by) {
    std::string line = good;
    const size_t at = line.find(text);
    EXPECT_NE(at, std::string::npos) << text;
    return line.replace(at, text.size(), by);
  };
  const std::pair<std::string, const char *> cases[] = {
      {good.substr(0, good.size() / 2) + "\n", "no JSON object"},
      {"[]\n", "no JSON object"},
      {"\xff\n", "no JSON object"},
      {without("\"spec\"", "\"sec\""), "'spec' is not there"},
      {without("\"sm_80\"", "80"), "'target' is not there, or no text"},
      {without("\"sm_80\"", "\"sn_80\""), "sn_80"},
      {without("v1:in=bf16", "v9:in=bf16"), "v9"},
      {without("v1:q64", "v9:q64"), "v9"},
      {without("kv64", "kv24"), "is not legal for sm_80: "},
      {without("\"kv_heads\":2", "\"kv_heads\":3"), "8"},
      {without("\"kv_heads\":2", "\"kv_heads\":18446744073709551615"), "-1"},
      {without("\"batch\":2", "\"batch\":2.5"), "'batch'"},
      {without("\"batch\":2,", ""), "'batch'"},
      {without("\"problem\"", "\"poblem\""), "'problem' is not there"},
      {std::string(70000, '[') + "\n", "70000 bytes"},
  };
  for (const auto &[line, part] : cases) {
    const RecordLines lines = readRecordLines(good + line + good);
    EXPECT_EQ(lines.records.size(), 2u) << line.substr(0, 200);
    ASSERT_EQ(lines.damaged.size(), 1u) << line.substr(0, 200);
    EXPECT_EQ(lines.damaged[0].rfind("line 2: ", 0), 0u) << lines.damaged[0];
    EXPECT_NE(lines.damaged[0].find(part), std::string::npos) << lines.damaged[0];
  }
}

} // namespace
