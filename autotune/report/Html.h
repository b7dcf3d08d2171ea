// Html: text made safe for a page, and tables that scroll inside their own container.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tessera::tune::report {

/// For element content and quoted attributes alike: visibleLine(), with & < > " ' as references.
std::string escape(std::string_view text);

/// `text` escaped, as code that may be broken after a comma.
std::string code(std::string_view text);

/// `html` in an element with a class.
std::string tagged(std::string_view element, std::string_view htmlClass, std::string_view html);

/// What is long and not read first: closed until it is asked for.
std::string folded(std::string_view title, std::string_view html);

class Table {
public:
  enum Side { Text, Number };
  struct Column {
    std::string title;
    Side side = Text;
  };

  /// `name` says what the rows are; for screen readers.
  Table(std::string name, std::vector<Column> columns) : name(std::move(name)), columns(std::move(columns)) {}

  /// Cells are HTML, one a column.
  void row(const std::vector<std::string> &cells, std::string_view htmlClass = {});
  bool empty() const { return rows.empty(); }
  std::string html() const;

private:
  std::string name;
  std::vector<Column> columns;
  std::string rows;
};

} // namespace tessera::tune::report
