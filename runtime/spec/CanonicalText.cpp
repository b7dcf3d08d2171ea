// Writing and reading the versioned canonical texts.
#include "runtime/spec/CanonicalText.h"

#include <fmt/format.h>

namespace tessera::detail {

std::string floatText(float value) {
  char buffer[64];
  auto [end, error] = std::to_chars(buffer, buffer + sizeof buffer, value);
  return std::string(buffer, error == std::errc() ? end : buffer);
}

FieldReader::FieldReader(std::string_view text, std::string_view what, std::string_view example)
    : text_(text.substr(0, 1024)), rest_(text_), what_(what), example_(example) {
  if (text.size() > 1024)
    fault_ = {Code::InvalidArgument,
              fmt::format("a {} text has {} characters; at most 1024 are accepted", what, text.size())};
  else if (!rest_.starts_with("v1:"))
    fault_ = {Code::InvalidArgument, fmt::format("{} text '{}' does not start with the version 'v1:'", what, text_),
              fmt::format("a correct one: {}", example)};
  else
    rest_.remove_prefix(3);
}

std::string_view FieldReader::field(std::string_view prefix) {
  if (!fault_.ok())
    return {};
  std::string_view one = rest_.substr(0, rest_.find(','));
  if (!one.starts_with(prefix)) {
    fault_ = {Code::InvalidArgument,
              fmt::format("{} text '{}': expected the field '{}...', found '{}'", what_, text_, prefix, one),
              fmt::format("a correct one: {}", example_)};
    return {};
  }
  rest_.remove_prefix(one.size());
  if (!rest_.empty()) {
    rest_.remove_prefix(1);
    if (rest_.empty()) // a trailing comma would be a second text for the same value
      fail(prefix, one, "no comma after the last field");
  }
  return one.substr(prefix.size());
}

bool FieldReader::startsWith(std::string_view prefix) const { return fault_.ok() && rest_.starts_with(prefix); }

bool FieldReader::word(std::string_view word) {
  const bool next = fault_.ok() && rest_.substr(0, rest_.find(',')) == word;
  if (next)
    field(word);
  return next;
}

void FieldReader::fail(std::string_view prefix, std::string_view value, std::string_view expected) {
  if (fault_.ok())
    fault_ = {Code::InvalidArgument,
              fmt::format("{} text '{}': field '{}' has '{}', expected {}", what_, text_, prefix, value, expected),
              fmt::format("a correct one: {}", example_)};
}

Status FieldReader::finish() {
  if (fault_.ok() && !rest_.empty())
    fault_ = {Code::InvalidArgument, fmt::format("{} text '{}': unexpected '{}' at the end", what_, text_, rest_),
              fmt::format("a correct one: {}", example_)};
  return fault_;
}

} // namespace tessera::detail
