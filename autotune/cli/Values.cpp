// Parsing of flag values, whole text or nothing.
#include "autotune/cli/Values.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <limits>

namespace tessera::cli {
namespace {

template <typename T> std::optional<T> whole(std::string_view text) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size())
    return std::nullopt;
  return value;
}

Status refuse(const std::string &text, std::string_view expected) {
  return Status(Code::InvalidArgument, fmt::format("'{}' is not {}", text, expected));
}

Result<int64_t> sizeFrom(const std::string &text, int64_t least) {
  constexpr int64_t most = std::numeric_limits<int32_t>::max();
  const std::optional<int64_t> value = whole<int64_t>(text);
  if (!value || *value < least || *value > most)
    return refuse(text, fmt::format("a whole number from {} to {}", least, most));
  return *value;
}

} // namespace

Result<int64_t> parseSize(const std::string &text) { return sizeFrom(text, 0); }
Result<int64_t> parsePositive(const std::string &text) { return sizeFrom(text, 1); }

Result<uint64_t> parseSeed(const std::string &text) {
  if (const auto value = whole<uint64_t>(text))
    return *value;
  return refuse(text, "a whole number from 0 to 2^64 - 1");
}

Result<float> parseNumber(const std::string &text) {
  if (const auto value = whole<float>(text); value && std::isfinite(*value))
    return *value;
  return refuse(text, "a finite number, e.g. 0.125");
}

Result<DType> parseType(const std::string &text) {
  if (const std::optional<DType> type = tessera::parseDType(text))
    return *type;
  return refuse(text, "an element type; give f16, bf16 or f32");
}

Result<Align> parseAlign(const std::string &text) {
  if (text == "bottom-right")
    return Align::BottomRight;
  if (text == "top-left")
    return Align::TopLeft;
  return refuse(
      text, "an alignment of the diagonal; give bottom-right (the last query sees the last key) or top-left (the first "
            "query sees the first key)");
}

Result<Layout> parseLayout(const std::string &text) {
  if (text == "bshd")
    return Layout::Bshd;
  if (text == "bhsd")
    return Layout::Bhsd;
  return refuse(text, "a memory layout; give bshd (batch, sequence, head, dim) or bhsd");
}

Result<Window> parseWindow(const std::string &text) {
  constexpr std::string_view expected =
      "a window L,R: how many keys to the left and right of the diagonal are seen, each a "
      "whole number from 0 or inf; \"W tokens including myself\" is W-1,0";
  const size_t comma = text.find(',');
  if (comma == std::string::npos)
    return refuse(text, expected);
  Window window;
  for (const auto &[side, bound] : {std::pair(std::string_view(text).substr(0, comma), &window.left),
                                    {std::string_view(text).substr(comma + 1), &window.right}}) {
    if (side == "inf")
      continue;
    *bound = whole<int64_t>(side);
    if (!*bound || **bound < 0) // N4: a negative bound is refused, never reinterpreted
      return refuse(text, expected);
  }
  return window;
}

Result<bool> parseOnOff(const std::string &text) {
  if (text == "on" || text == "off")
    return text == "on";
  return refuse(text, "on or off");
}

const char *name(Align align) { return align == Align::BottomRight ? "bottom-right" : "top-left"; }
const char *name(Layout layout) { return layout == Layout::Bshd ? "bshd" : "bhsd"; }

} // namespace tessera::cli
