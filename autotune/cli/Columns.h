// Columns: a table of many rows on stdout, each column as wide as its widest cell.
#pragma once

#include <string>
#include <vector>

namespace tessera::cli {

class Columns {
public:
  enum Side { Left, Right };
  struct Column {
    std::string title;
    Side side = Left;
  };
  explicit Columns(std::vector<Column> columns) : columns(std::move(columns)) {}

  /// One cell a column; a row is one line whatever its cells hold.
  void row(std::vector<std::string> cells);
  /// Titles and rows; nothing where there is no row.
  void print() const;

private:
  std::vector<Column> columns;
  std::vector<std::vector<std::string>> rows;
};

} // namespace tessera::cli
