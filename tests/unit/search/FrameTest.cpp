// Messages between search and workers: what is sent comes back, and nothing else is taken for one.
#include "autotune/search/Messages.h"
#include "tests/unit/search/FakeWorkshop.h"

#include <gtest/gtest.h>

using namespace tessera;
using namespace tessera::tune;
using namespace tessera::tune::test;

TEST(FrameTest, ComesTogetherFromAnyPieces) {
  const Frame sent{{{"a", "\xff no UTF-8"}, {"b", 1}}, std::string("bytes\0with zeros", 16)};
  const std::string bytes = encode(sent) + encode({{{"c", 2}}, ""});
  for (size_t piece : {1, 7, 1000}) {
    FrameReader reader;
    std::vector<Frame> frames;
    for (size_t begin = 0; begin < bytes.size(); begin += piece) {
      reader.feed(std::string_view(bytes).substr(begin, piece));
      for (;;) {
        Result<std::optional<Frame>> frame = reader.next();
        ASSERT_TRUE(frame.ok());
        if (!*frame)
          break;
        frames.push_back(**frame);
      }
    }
    ASSERT_EQ(frames.size(), 2u);
    EXPECT_EQ(frames[0].body, sent.body);
    EXPECT_EQ(frames[0].head["b"], 1);
    EXPECT_EQ(frames[1].head["c"], 2);
    EXPECT_TRUE(reader.empty());
  }
}

TEST(FrameTest, OtherBytesAreRefused) {
  const auto refused = [](std::string bytes) {
    FrameReader reader;
    reader.feed(bytes);
    return reader.next().status().code() == Code::File;
  };
  EXPECT_TRUE(refused("x"));
  EXPECT_TRUE(refused("TSW2............"));
  std::string huge = encode({{{"a", 1}}, ""});
  huge[7] = '\x7f';
  EXPECT_TRUE(refused(huge));
  std::string broken = encode({{{"a", 1}}, ""});
  broken[16] = '[';
  EXPECT_TRUE(refused(broken));
}

TEST(FrameTest, RequestsComeBackAsTheyWere) {
  Request begin;
  begin.options.device = "sim:a100";
  begin.options.cache = {CacheMode::ReadOnly, "/a/folder", 12345};
  begin.options.compilerLibrary = "/a/library.so";
  const Result<Request> again = Request::parse(*begin.frame());
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(again->options.device, "sim:a100");
  EXPECT_EQ(again->options.cache.mode, CacheMode::ReadOnly);
  EXPECT_EQ(again->options.cache.directory, "/a/folder");
  EXPECT_EQ(again->options.cache.maxBytes, 12345u);
  EXPECT_EQ(again->options.compilerLibrary, "/a/library.so");

  Request compile;
  compile.service = Service::Compile;
  compile.candidate = {taskOf(1234, 64), *Schedule::parse("v1:q64,kv32,w4,s2,every,add,qreg,online"), "sm_86"};
  const Result<Request> compiled = Request::parse(*compile.frame());
  ASSERT_TRUE(compiled.ok());
  EXPECT_EQ(compiled->candidate.task, compile.candidate.task);
  EXPECT_EQ(compiled->candidate.schedule, compile.candidate.schedule);
  EXPECT_EQ(compiled->candidate.target, "sm_86");
}

TEST(FrameTest, AnswersComeBackAsTheyWere) {
  Reply refused;
  refused.status = Status(Code::CompileError, "why", "what to do");
  const Result<Reply> again = Reply::parse(*refused.frame());
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(again->fate, Fate::Refused);
  EXPECT_EQ(again->status.code(), Code::CompileError);
  EXPECT_EQ(again->status.text(), refused.status.text());

  Reply measured;
  measured.fate = Fate::Done;
  measured.found.task = taskOf();
  measured.found.target = "sm_80";
  measured.found.measurement = Measurement{1.0 / 3, 0.3, 0.4, 12, false, true, true, 1410, "graph replay, cold L2"};
  const Result<Reply> time = Reply::parse(*measured.frame());
  ASSERT_TRUE(time.ok()) << time.status().text();
  ASSERT_TRUE(time->found.measurement);
  EXPECT_EQ(time->found.measurement->milliseconds, 1.0 / 3);
  EXPECT_EQ(time->found.measurement->repeats, 12u);
  EXPECT_TRUE(time->found.measurement->throttled);
}

TEST(FrameTest, AnswersOfOtherFormsAreRefused) {
  EXPECT_FALSE(Reply::parse({{{"fate", 77}}, ""}).ok());
  EXPECT_FALSE(Reply::parse({{{"fate", "x"}}, ""}).ok());
  EXPECT_FALSE(Reply::parse({{{"fate", 0}}, "no image"}).ok());
  EXPECT_FALSE(Request::parse({{{"service", "dance"}}, ""}).ok());
  EXPECT_FALSE(Request::parse({{{"service", "compile"}, {"spec", "x"}, {"schedule", "y"}}, ""}).ok());
  EXPECT_FALSE(Request::parse({{{"service", "measure"}}, "no image"}).ok());
}
