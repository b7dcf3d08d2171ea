// Decoding UTF-8, and which of its characters are harmless to whoever looks at them.
#include "autotune/report/Visible.h"

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
  const bool endsLine = point == 0x2028 || point == 0x2029;
  const bool turnsDirection = point == 0x200E || point == 0x200F || point == 0x061C ||
                              (point >= 0x202A && point <= 0x202E) || (point >= 0x2066 && point <= 0x2069);
  const bool noCharacter = (point & 0xFFFE) == 0xFFFE || (point >= 0xFDD0 && point <= 0xFDEF);
  return !control && !endsLine && !turnsDirection && !noCharacter;
}

/// `text` with each character that is not shown as `hidden(sequence)` has it.
template <typename Hidden> std::string rewritten(std::string_view text, const Hidden &hidden) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const Sequence sequence = decode(text);
    if (sequence.length > 0 && isShown(sequence.point))
      out += text.substr(0, sequence.length);
    else
      out += hidden(sequence);
    text.remove_prefix(sequence.length > 0 ? sequence.length : 1);
  }
  return out;
}

bool isSpace(const Sequence &sequence) {
  return sequence.length == 1 && (sequence.point == '\n' || sequence.point == '\t' || sequence.point == '\r');
}

} // namespace

std::string visible(std::string_view text) {
  return rewritten(text, [](const Sequence &sequence) {
    return !isSpace(sequence)       ? std::string(replacement)
           : sequence.point == '\r' ? std::string(" ")
                                    : std::string(1, char(sequence.point));
  });
}

std::string visibleLine(std::string_view text) {
  return rewritten(text,
                   [](const Sequence &sequence) { return isSpace(sequence) ? std::string_view(" ") : replacement; });
}

std::string visibleJson(std::string_view json) {
  return rewritten(json, [](const Sequence &sequence) {
    if (sequence.length == 0)
      return std::string(replacement);
    if (isSpace(sequence)) // between values: inside of them it is escaped already
      return std::string(1, char(sequence.point));
    if (sequence.point < 0x10000)
      return fmt::format("\\u{:04x}", sequence.point);
    const uint32_t rest = sequence.point - 0x10000;
    return fmt::format("\\u{:04x}\\u{:04x}", 0xD800 + (rest >> 10), 0xDC00 + (rest & 0x3FF));
  });
}

} // namespace tessera::tune::report
