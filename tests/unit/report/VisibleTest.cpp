// Texts of others are harmless to whoever looks at them, on a terminal, in a table and in JSON.
#include "autotune/report/Visible.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

using namespace tessera::tune::report;

namespace {

constexpr std::string_view hostile("a\x1b[2Jb\0c\x7f\u009b31m\u202ed\u2066\u2028\xff\xc0\xaf\uffff", 30);

TEST(Visible, ReplacesWhatMovesCursorsAndTurnsDirections) {
  EXPECT_EQ(hostile.substr(hostile.size() - 3), "\uffff") << "the whole of it";
  EXPECT_EQ(visible(hostile), "a\uFFFD[2Jb\uFFFDc\uFFFD\uFFFD31m\uFFFDd\uFFFD\uFFFD\uFFFD\uFFFD\uFFFD\uFFFD");
}

TEST(Visible, KeepsLinesAndTheTextOfAllLanguages) {
  EXPECT_EQ(visible("a\n\tb \u00fc \u2192 \u65e5\u672c \U0001F600\n"),
            "a\n\tb \u00fc \u2192 \u65e5\u672c \U0001F600\n");
  EXPECT_EQ(visible("over\rwritten\r\n"), "over written \n");
}

TEST(Visible, ALineIsOne) { EXPECT_EQ(visibleLine("a\n\tb\rc"), "a  b c"); }

TEST(Visible, JsonIsTheSameValueWithoutThem) {
  const nlohmann::json value = {{"text", "\x1b[2J\u009b\u202e\u2028\x7f\n\U0010FFFF \u00fc"}, {"number", 1.5}};
  const std::string text = visibleJson(value.dump(2));
  EXPECT_EQ(nlohmann::json::parse(text), value);
  for (const char *what : {"\u009b", "\u202e", "\u2028", "\x7f", "\U0010FFFF"})
    EXPECT_EQ(text.find(what), std::string::npos) << text;
  EXPECT_NE(text.find("\u00fc"), std::string::npos);
  EXPECT_EQ(visible(text), text);
}

} // namespace
