// PtxMutator: what libFuzzer's custom mutator does to PTX, so that most of what it makes still passes the parser.
#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <string_view>
#include <vector>

namespace tessera::fuzz {

/// Stands in a comment before the hexadecimal digits that say how the text is run, see PtxFuzzer.cpp.
inline constexpr std::string_view optionsMark = "options=";

/// Changes lines, and words within lines. It knows the opcodes of the simulator's decode table and the words of
/// ptx.dict; registers, labels and variables it takes from the text itself. Not thread-safe.
class PtxMutator {
public:
  /// `words`: quoted strings of a libFuzzer dictionary, one a line; other lines are ignored.
  explicit PtxMutator(std::string_view dictionary);

  /// One to four changes, as `seed` draws them.
  std::string mutate(std::string text, unsigned seed);
  /// `text` with lines of `other` in it.
  std::string cross(std::string text, const std::string &other, unsigned seed);

private:
  struct Word {
    size_t at, length;
  };

  size_t draw(size_t bound) { return bound ? random_() % bound : 0; }
  bool chance(unsigned oneOf) { return draw(oneOf) == 0; }
  template <typename List> const auto &pick(const List &list) { return list[draw(list.size())]; }

  void changeLines(std::vector<std::string> &lines);
  void changeWord(std::string &line, const std::string &text);
  void changeOptions(std::string &text);
  std::string replacement(std::string_view word, const std::string &text);
  std::string number(std::string_view old);
  std::string registerOf(const std::string &text);

  std::minstd_rand random_;
  std::vector<std::string> opcodes_, qualifiers_, others_;
};

} // namespace tessera::fuzz
