// Escaping and tables. What is written is well-formed XML too, so that any parser can check a page.
#include "autotune/report/Html.h"

#include <fmt/format.h>

#include <cstdint>

namespace tessera::tune::report {

namespace {

constexpr std::string_view replacement = "\xEF\xBF\xBD";

/// The length of the UTF-8 sequence at the front of `text` and its code point; length 0 where it is none.
struct Sequence {
  size_t length = 0;
  uint32_t point = 0;
};
Sequence decode(std::string_view text) {
  const auto byte = [&](size_t i) { return static_cast<uint8_t>(text[i]); };
  const size_t length = byte(0) < 0x80             ? 1
                        : (byte(0) & 0xE0) == 0xC0 ? 2
                        : (byte(0) & 0xF0) == 0xE0 ? 3
                        : (byte(0) & 0xF8) == 0xF0 ? 4
                                                   : 0;
  if (length == 0 || length > text.size())
    return {};
  uint32_t point = length == 1 ? byte(0) : byte(0) & (0x7F >> length);
  for (size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0) != 0x80)
      return {};
    point = point << 6 | (byte(i) & 0x3F);
  }
  constexpr uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000}; // shorter forms of the same point are forged
  if (point < least[length] || point > 0x10FFFF || (point >= 0xD800 && point <= 0xDFFF))
    return {};
  return {length, point};
}

bool isShown(uint32_t point) {
  const bool control = point < 0x20 || (point >= 0x7F && point < 0xA0);
  const bool turnsDirection = point == 0x200E || point == 0x200F || point == 0x061C ||
                              (point >= 0x202A && point <= 0x202E) || (point >= 0x2066 && point <= 0x2069);
  const bool noCharacter = (point & 0xFFFE) == 0xFFFE || (point >= 0xFDD0 && point <= 0xFDEF);
  return !control && !turnsDirection && !noCharacter;
}

} // namespace

std::string escape(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const auto [length, point] = decode(text);
    switch (point) {
    case '&':
      out += "&amp;";
      break;
    case '<':
      out += "&lt;";
      break;
    case '>':
      out += "&gt;";
      break;
    case '"':
      out += "&quot;";
      break;
    case '\'':
      out += "&#39;";
      break;
    case '\n':
    case '\r':
    case '\t':
      out += ' ';
      break;
    default:
      out += length > 0 && isShown(point) ? text.substr(0, length) : replacement;
    }
    text.remove_prefix(length > 0 ? length : 1);
  }
  return out;
}

std::string code(std::string_view text) {
  std::string out = "<code>";
  for (const char c : escape(text)) {
    out += c;
    if (c == ',')
      out += "<wbr/>";
  }
  return out + "</code>";
}

std::string tagged(std::string_view element, std::string_view htmlClass, std::string_view html) {
  return fmt::format("<{0} class=\"{1}\">{2}</{0}>", element, htmlClass, html);
}

std::string folded(std::string_view title, std::string_view html) {
  return fmt::format("<details class=\"fold\"><summary>{}</summary>\n{}</details>\n", escape(title), html);
}

void Table::row(const std::vector<std::string> &cells, std::string_view htmlClass) {
  rows += htmlClass.empty() ? "<tr>" : fmt::format("<tr class=\"{}\">", htmlClass);
  for (size_t i = 0; i < columns.size(); ++i) {
    rows += columns[i].side == Number ? "<td class=\"n\">" : "<td>";
    rows += i < cells.size() ? cells[i] : std::string();
    rows += "</td>";
  }
  rows += "</tr>\n";
}

std::string Table::html() const {
  std::string head;
  for (const Column &column : columns)
    head +=
        fmt::format("<th scope=\"col\"{}>{}</th>", column.side == Number ? " class=\"n\"" : "", escape(column.title));
  return fmt::format("<div class=\"scroll\" role=\"region\" tabindex=\"0\" aria-label=\"{}\"><table>"
                     "<thead><tr>{}</tr></thead>\n<tbody>{}</tbody></table></div>\n",
                     escape(name), head, rows);
}

} // namespace tessera::tune::report
