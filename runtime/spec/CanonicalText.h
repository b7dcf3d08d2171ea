// Writing and reading the versioned canonical texts: "v1:" and then comma-separated fields in a fixed order.
#pragma once

#include "runtime/spec/Result.h"

#include <charconv>
#include <string>
#include <string_view>
#include <type_traits>

namespace tessera::detail {

/// The shortest decimal text that reads back to the same bits, whatever the locale.
std::string floatText(float value);

/// Parses the whole of `text`; false for anything else, for a value out of range, and for a non-finite float.
template <typename T> bool readNumber(std::string_view text, T &value) {
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || text.empty())
    return false;
  if constexpr (std::is_floating_point_v<T>)
    return value - value == T(0);
  return true;
}

/// Reads fields from the front of one canonical text. The first fault is kept; later calls then do nothing and return
/// defaults.
class FieldReader {
public:
  /// `what` names the text in messages ("schedule"), `example` is a correct one that messages show.
  FieldReader(std::string_view text, std::string_view what, std::string_view example);

  /// The next field, which must start with `prefix`; the rest of it is returned.
  std::string_view field(std::string_view prefix);

  /// The next field as a number without sign, spaces or leftovers.
  template <typename T> T number(std::string_view prefix) {
    std::string_view rest = field(prefix);
    T value{};
    if (fault_.ok() && !readNumber(rest, value))
      fail(prefix, rest, "a number");
    return value;
  }

  /// Whether a field starting with `prefix` comes next: for fields that stand only where they differ from a default.
  bool startsWith(std::string_view prefix) const;

  /// Reads the next field if it is this word.
  bool word(std::string_view word);

  /// Records that the field's value is none of what is `expected`.
  void fail(std::string_view prefix, std::string_view value, std::string_view expected);

  /// Ok, or the first fault; text after the last field is one.
  Status finish();

private:
  std::string text_;
  std::string_view rest_;
  std::string what_, example_;
  Status fault_;
};

} // namespace tessera::detail
