// Escaping and tables. What is written is well-formed XML too, so that any parser can check a page.
#include "autotune/report/Html.h"

#include "autotune/report/Visible.h"

#include <fmt/format.h>

namespace tessera::tune::report {

std::string escape(std::string_view text) {
  std::string out;
  for (const char c : visibleLine(text)) {
    switch (c) {
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
    default:
      out += c;
    }
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
