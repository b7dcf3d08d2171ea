// Lists of attentions: every key means what the flag means, and what is no list is refused with place and reason.
#include "autotune/cli/bundle/SpecList.h"

#include <gtest/gtest.h>

using namespace tessera;
using namespace tessera::cli;

namespace {

AttentionSpec specOf(const std::string &object) {
  const Result<std::vector<ResolvedProblem>> list = parseSpecList("[" + object + "]");
  EXPECT_TRUE(list) << list.status().text();
  return list && list->size() == 1 ? (*list)[0].spec : AttentionSpec();
}

/// What the command line makes of the same flags.
AttentionSpec fromFlags(void (*set)(ProblemFlags &)) {
  ProblemFlags flags;
  set(flags);
  const Result<ResolvedProblem> problem = flags.resolve();
  EXPECT_TRUE(problem);
  return problem->spec;
}

TEST(SpecList, EveryKeyMeansWhatTheFlagMeans) {
  const std::tuple<const char *, void (*)(ProblemFlags &)> cases[] = {
      {"{}", [](ProblemFlags &) {}},
      {R"({"dtype": "f16"})", [](ProblemFlags &f) { f.dtype = DType::F16; }},
      {R"({"out-dtype": "f32"})", [](ProblemFlags &f) { f.outDType = DType::F32; }},
      {R"({"head-dim": 64})", [](ProblemFlags &f) { f.headDim = 64; }},
      {R"({"value-dim": 32})", [](ProblemFlags &f) { f.valueDim = 32; }},
      {R"({"causal": "top-left"})", [](ProblemFlags &f) { f.causal = Align::TopLeft; }},
      {R"({"window": "3,inf", "align": "top-left"})",
       [](ProblemFlags &f) {
         f.window = Window{3, std::nullopt};
         f.align = Align::TopLeft;
       }},
      {R"({"scale": 0.125})", [](ProblemFlags &f) { f.scale = 0.125f; }},
      {R"({"scale": 2})", [](ProblemFlags &f) { f.scale = 2; }},
      {R"({"softcap": 5e1})", [](ProblemFlags &f) { f.softcap = 50; }},
      {R"({"lse": true, "precise": false})", [](ProblemFlags &f) { f.lse = true; }},
      {R"({"lse": false})", [](ProblemFlags &) {}},
      {R"({"dtype": "f32", "precise": true})",
       [](ProblemFlags &f) {
         f.dtype = DType::F32;
         f.precise = true;
       }},
  };
  for (const auto &[object, set] : cases)
    EXPECT_EQ(specOf(object).text(), fromFlags(set).text()) << object;
}

TEST(SpecList, SizesAreTakenAndNotesAreKept) {
  const auto list =
      parseSpecList(R"([{"batch": 2, "heads": 8, "kv-heads": 2, "seqlen-q": 100, "seqlen-kv": 0}, {"window": "3,0"}])");
  ASSERT_TRUE(list) << list.status().text();
  ASSERT_EQ(list->size(), 2u);
  const Problem problem = (*list)[0].problem();
  EXPECT_EQ(problem.batch, 2);
  EXPECT_EQ(problem.heads, 8);
  EXPECT_EQ(problem.kvHeads, 2);
  EXPECT_EQ(problem.seqlenQ, 100);
  EXPECT_EQ(problem.seqlenKv, 0);
  EXPECT_EQ((*list)[1].problem().heads, 4) << "nothing of one attention carries over to the next";
  EXPECT_EQ((*list)[1].notes.size(), 1u) << "an alignment that was assumed is said";
}

TEST(SpecList, RefusalsNameTheAttentionTheKeyAndTheReason) {
  const std::tuple<const char *, Code, const char *> cases[] = {
      {"", Code::File, "no JSON"},
      {"[", Code::File, "no JSON"},
      {"[{}] x", Code::File, "no JSON"},
      {"[{}] [{}]", Code::File, "no JSON"},
      {"[{},]", Code::File, "no JSON"},
      {"[{\"dtype\": \"\xff\"}]", Code::File, "no JSON"},
      {"[{\"scale\": NaN}]", Code::File, "no JSON"},
      {"[{\"scale\": 1e999}]", Code::File, "no JSON"},
      {"[]", Code::InvalidArgument, "holds no attention"},
      {"{}", Code::InvalidArgument, "an object and no list"},
      {"3", Code::InvalidArgument, "3 and no list"},
      {"\"bf16\"", Code::InvalidArgument, "\"bf16\" and no list"},
      {"null", Code::InvalidArgument, "null and no list"},
      {"[3]", Code::InvalidArgument, "element [0] is 3 and no object"},
      {"[{}, []]", Code::InvalidArgument, "element [1] is an array and no object"},
      {R"([{}, {"hed-dim": 64}])", Code::InvalidArgument, R"(attention [1]: "hed-dim" is no flag of an attention)"},
      {R"([{"hed-dim": 64}])", Code::InvalidArgument, "did you mean head-dim?"},
      {R"([{"help": true}])", Code::InvalidArgument, "is no flag"},
      {R"([{"--dtype": "f16"}])", Code::InvalidArgument, "is no flag"},
      {R"([{"": 1}])", Code::InvalidArgument, "is no flag"},
      {R"([{"dtype": "f16", "dtype": "f16"}])", Code::InvalidArgument, "attention [0], dtype: it is given twice"},
      {R"([{"lse": false, "lse": true}])", Code::InvalidArgument, "given twice"},
      {R"([{"dtype": "f8"}])", Code::InvalidArgument, "attention [0], dtype: 'f8' is not an element type"},
      {R"([{"dtype": 16}])", Code::InvalidArgument, "16 is not a string, f16|bf16|f32"},
      {R"([{"dtype": null}])", Code::InvalidArgument, "null is not a string"},
      {R"([{"dtype": ["f16"]}])", Code::InvalidArgument, "an array is not a string"},
      {R"([{"dtype": "[f16,bf16]"}])", Code::InvalidArgument, "dtype"},
      {R"([{"head-dim": "64"}])", Code::InvalidArgument, R"(head-dim: "64" is not a whole number)"},
      {R"([{"head-dim": 64.0}])", Code::InvalidArgument, "'64.0' is not a whole number"},
      {R"([{"head-dim": 0}])", Code::InvalidArgument, "'0' is not a whole number from 1"},
      {R"([{"head-dim": -8}])", Code::InvalidArgument, "'-8'"},
      {R"([{"head-dim": 18446744073709551617}])", Code::InvalidArgument, "head-dim"},
      {R"([{"head-dim": true}])", Code::InvalidArgument, "true is not a whole number"},
      {R"([{"head-dim": 100}])", Code::Unsupported, "attention [0]: head_dim must be a multiple of 8, got 100"},
      {R"([{"lse": 1}])", Code::InvalidArgument, "1 is not true or false"},
      {R"([{"lse": "true"}])", Code::InvalidArgument, R"("true" is not true or false)"},
      {R"([{"scale": "0.5"}])", Code::InvalidArgument, "is not a number"},
      {R"([{"scale": {"x": 1}}])", Code::InvalidArgument, "an object is not a number"},
      {R"([{"window": "3,-1"}])", Code::InvalidArgument, "window: '3,-1' is not a window"},
      {R"([{"window": [3, 0]}])", Code::InvalidArgument, "an array is not a string"},
      {R"([{"causal": true}])", Code::InvalidArgument, "true is not a string, bottom-right|top-left"},
      {R"([{"align": "top-left"}])", Code::InvalidArgument, "attention [0]: --align top-left has no meaning"},
      {R"([{"precise": true}])", Code::InvalidArgument, "--precise"},
      {R"([{"heads": 3, "kv-heads": 2}])", Code::InvalidArgument, "3 query heads"},
  };
  for (const auto &[text, code, part] : cases) {
    const auto list = parseSpecList(text);
    ASSERT_FALSE(list) << text;
    EXPECT_EQ(list.status().code(), code) << text << "\n" << list.status().text();
    EXPECT_NE(list.status().text().find(part), std::string::npos) << text << "\n" << list.status().text();
  }
}

TEST(SpecList, SizesAreBounded) {
  std::string deep = "[";
  for (int i = 0; i < 1000000; ++i)
    deep += "[";
  EXPECT_NE(parseSpecList(deep).status().text().find("element [0] is an array"), std::string::npos);
  std::string nested = "[{\"dtype\": ";
  for (int i = 0; i < 500000; ++i)
    nested += "{\"a\":";
  EXPECT_NE(parseSpecList(nested).status().text().find("an object is not a string"), std::string::npos);
  EXPECT_NE(parseSpecList(std::string((4 << 20) + 1, ' ')).status().text().find("at most 4194304"), std::string::npos);
  const std::string key = "[{\"" + std::string(1 << 20, 'k') + "\": 1}]";
  EXPECT_LT(parseSpecList(key).status().text().size(), 1000u) << "a message repeats no megabytes";
  const std::string value = "[{\"dtype\": \"" + std::string(1 << 20, 'v') + "\"}]";
  EXPECT_LT(parseSpecList(value).status().text().size(), 1000u);
  const std::string number = "[{\"scale\": " + std::string(1 << 20, '1') + "}]";
  EXPECT_LT(parseSpecList(number).status().text().size(), 1000u);
  std::string many = "[{}";
  for (int i = 0; i < 65536; ++i)
    many += ",{}";
  EXPECT_NE(parseSpecList(many + "]").status().text().find("65536"), std::string::npos);
}

} // namespace
