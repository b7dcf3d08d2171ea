// Widths and alignment.
#include "autotune/cli/Columns.h"

#include "autotune/cli/Print.h"
#include "autotune/report/Visible.h"

#include <fmt/format.h>

#include <algorithm>

namespace tessera::cli {

void Columns::row(std::vector<std::string> cells) {
  for (std::string &cell : cells)
    cell = tune::report::visibleLine(cell);
  rows.push_back(std::move(cells));
}

void Columns::print() const {
  if (rows.empty())
    return;
  std::vector<size_t> widths;
  for (size_t c = 0; c < columns.size(); ++c) {
    widths.push_back(columns[c].title.size());
    for (const auto &cells : rows)
      widths[c] = std::max(widths[c], cells[c].size());
  }
  const auto line = [&](const auto &cellOf) {
    std::string text;
    for (size_t c = 0; c < columns.size(); ++c)
      text += columns[c].side == Right ? fmt::format("{:>{}}  ", cellOf(c), widths[c])
                                       : fmt::format("{:<{}}  ", cellOf(c), widths[c]);
    text.erase(text.find_last_not_of(' ') + 1);
    show("{}\n", text);
  };
  line([&](size_t c) { return columns[c].title; });
  for (const auto &cells : rows)
    line([&](size_t c) { return cells[c]; });
}

} // namespace tessera::cli
