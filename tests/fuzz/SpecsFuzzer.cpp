// specs-fuzzer: any text is given to every reader of texts that name attentions, schedules, architectures, sizes, keys
// and tuning records. What is read is valid, and has one text that reads as the same.
#include "autotune/cli/bundle/SpecList.h"
#include "runtime/bundle/Signature.h"
#include "runtime/cache/CacheOptions.h"
#include "runtime/cache/RecordLines.h"
#include "runtime/spec/CodeTarget.h"
#include "tests/fuzz/Expect.h"
#include "tests/fuzz/JsonMutator.h"

using namespace tessera;
using fuzz::expect;

namespace {

constexpr std::string_view words[] = {
    "dtype",
    "out-dtype",
    "batch",
    "heads",
    "kv-heads",
    "head-dim",
    "value-dim",
    "seqlen-q",
    "seqlen-kv",
    "causal",
    "window",
    "align",
    "scale",
    "softcap",
    "lse",
    "precise",
    "help",
    "spec",
    "device",
    "target",
    "problem",
    "schedule",
    "kv_heads",
    "seqlen_q",
    "seqlen_kv",
    "f16",
    "bf16",
    "f32",
    "bottom-right",
    "top-left",
    "127,0",
    "inf,0",
    "inf,inf",
    "sm_90a",
    "true",
    "1e9999",
    "v1:q64,kv32,w4,s2,anchored,mma,qreg,online",
    "v1:in=f16,out=f16,d=64,dv=64,mask=full,scale=0.125,softcap=none,outputs=o,precision=tf32,access=16"};

/// T::parse and text(): the text of what is read is a fixed point.
template <typename T> void checkText(std::string_view text) {
  const Result<T> value = T::parse(text);
  if (!value) {
    expect(!value.status().message().empty(), "a refusal says why");
    return;
  }
  const std::string canonical = value->text();
  const Result<T> again = T::parse(canonical);
  expect(again.ok(), "the canonical text can be read", canonical);
  expect(*again == *value && again->text() == canonical, "the canonical text reads as the same", canonical);
}

void checkSpecList(std::string_view text) {
  const Result<std::vector<cli::ResolvedProblem>> list = cli::parseSpecList(text);
  if (!list) {
    expect(!list.status().message().empty(), "a refusal says why");
    return;
  }
  expect(!list->empty(), "a list that is read holds an attention");
  for (const cli::ResolvedProblem &problem : *list) {
    expect(problem.spec.validate().ok(), "the attentions of a list are valid", problem.spec.validate().text());
    expect(problem.problem().validate().ok(), "their sizes are valid", problem.problem().validate().text());
    checkText<AttentionSpec>(problem.spec.text());
  }
}

void checkRecords(std::string_view text) {
  for (const TuningRecord &record : readRecordLines(text).records) {
    expect(record.spec.validate().ok() && record.problem.validate().ok(), "a record that is read is valid");
    const RecordLines again = readRecordLines(recordLine(record));
    expect(again.damaged.empty() && again.records.size() == 1 && again.records[0] == record,
           "a record that is written is read as the same", recordLine(record));
    (void)bucketOf(record.problem);
  }
}

void checkByteCount(std::string_view text) {
  const Result<uint64_t> count = parseByteCount(text);
  if (!count)
    return;
  const Result<uint64_t> again = parseByteCount(fmt::format("{}", *count));
  expect(again.ok() && *again == *count, "a count of bytes reads as the same", byteText(*count));
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  const std::string_view text = fuzz::viewOf(data, size);
  checkSpecList(text);
  checkRecords(text);
  checkText<AttentionSpec>(text);
  checkText<Schedule>(text);
  checkText<CodeTarget>(text);
  checkText<PublicKey>(text);
  checkByteCount(text);
  return 0;
}

/// Changes one line, which may be JSON.
extern "C" size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t maxSize, unsigned seed) {
  return fuzz::mutateLine(data, size, maxSize, seed, words);
}
