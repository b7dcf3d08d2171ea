// Escaping: whatever bytes a name or a reason holds, they stand in a page as text.
#include "autotune/report/Html.h"

#include <gtest/gtest.h>

using namespace tessera::tune::report;

namespace {

TEST(Html, EscapesMarkupInContentAndAttributes) {
  EXPECT_EQ(escape("a<b> & \"c\" 'd'"), "a&lt;b&gt; &amp; &quot;c&quot; &#39;d&#39;");
}

TEST(Html, KeepsTextOfAllLanguages) {
  EXPECT_EQ(escape("\u00fc \u2192 \u65e5\u672c \U0001F600"), "\u00fc \u2192 \u65e5\u672c \U0001F600");
}

TEST(Html, ReplacesBytesThatAreNoUtf8) {
  EXPECT_EQ(escape("a\xff"
                   "b"),
            "a\uFFFD"
            "b");
  EXPECT_EQ(escape("\xc3"), "\uFFFD") << "cut short";
  EXPECT_EQ(escape("\xc0\xbc"), "\uFFFD\uFFFD") << "a long form of <";
  EXPECT_EQ(escape("\xed\xa0\x80"), "\uFFFD\uFFFD\uFFFD") << "half of a surrogate pair";
  EXPECT_EQ(escape("\xf4\x90\x80\x80"), "\uFFFD\uFFFD\uFFFD\uFFFD") << "above U+10FFFF";
}

TEST(Html, ReplacesControlsAndTurnedDirections) {
  EXPECT_EQ(escape(std::string_view("a\0b", 3)), "a\uFFFD"
                                                 "b");
  EXPECT_EQ(escape("\x1b[31m"), "\uFFFD[31m");
  EXPECT_EQ(escape("\u202e"), "\uFFFD");
  EXPECT_EQ(escape("\uFFFF"), "\uFFFD") << "XML has no such character";
  EXPECT_EQ(escape("a\n\tb"), "a  b");
}

TEST(Html, TableNamesItsRowsAndScrollsByItself) {
  Table table("Best & worst", {{"A"}, {"B", Table::Number}});
  EXPECT_TRUE(table.empty());
  table.row({"x", "1"}, "best");
  const std::string html = table.html();
  EXPECT_FALSE(table.empty());
  EXPECT_NE(html.find("class=\"scroll\""), std::string::npos);
  EXPECT_NE(html.find("aria-label=\"Best &amp; worst\""), std::string::npos);
  EXPECT_NE(html.find("<tr class=\"best\"><td>x</td><td class=\"n\">1</td></tr>"), std::string::npos);
}

} // namespace
