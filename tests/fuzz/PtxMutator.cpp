// The mutations of PTX, and the functions by which libFuzzer asks for them.
#include "tests/fuzz/PtxMutator.h"

#include "runtime/simulator/program/Decoder.h"

#include <algorithm>
#include <cstring>
#include <fstream>
#include <iterator>

namespace tessera::fuzz {

namespace {

bool isWordLetter(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '$' || c == '%'; }

std::vector<std::string> linesOf(std::string_view text) {
  std::vector<std::string> lines;
  while (!text.empty()) {
    size_t end = text.find('\n');
    lines.emplace_back(text.substr(0, end));
    text.remove_prefix(end == text.npos ? text.size() : end + 1);
  }
  return lines;
}

std::string join(const std::vector<std::string> &lines) {
  std::string text;
  for (const std::string &line : lines)
    (text += line) += '\n';
  return text;
}

constexpr const char *numbers[] = {"0",
                                   "1",
                                   "-1",
                                   "2",
                                   "3",
                                   "4",
                                   "7",
                                   "8",
                                   "15",
                                   "16",
                                   "31",
                                   "32",
                                   "33",
                                   "63",
                                   "64",
                                   "127",
                                   "128",
                                   "255",
                                   "256",
                                   "1023",
                                   "1024",
                                   "4096",
                                   "65535",
                                   "65536",
                                   "0x7fffffff",
                                   "0x80000000",
                                   "0xffffffff",
                                   "-2147483648",
                                   "0x100000000",
                                   "0x7fffffffffffffff",
                                   "0x8000000000000000",
                                   "0xffffffffffffffff",
                                   "-9223372036854775808",
                                   "0f00000000",
                                   "0f80000000",
                                   "0f7fffffff",
                                   "0f7f800000",
                                   "0fff800000",
                                   "0f00000001",
                                   "0d0000000000000000",
                                   "0d7ff0000000000000",
                                   "0dfff8000000000001",
                                   "0d0000000000000001",
                                   "1.5",
                                   "(1<<31)",
                                   "1U"};

} // namespace

PtxMutator::PtxMutator(std::string_view dictionary) {
  for (std::string_view opcode : sim::program::knownOpcodes())
    opcodes_.emplace_back(opcode);
  for (const std::string &line : linesOf(dictionary)) {
    size_t begin = line.find('"'), end = line.rfind('"');
    if (line.starts_with('#') || begin == end)
      continue;
    std::string word = line.substr(begin + 1, end - begin - 1);
    (word.starts_with('.') ? qualifiers_ : others_).push_back(std::move(word));
  }
}

/// Extremes, and neighbours of what was there.
std::string PtxMutator::number(std::string_view old) {
  if (chance(2))
    return numbers[draw(std::size(numbers))];
  uint64_t value = std::strtoull(std::string(old).c_str(), nullptr, 0);
  switch (draw(4)) {
  case 0:
    return std::to_string(value + 1);
  case 1:
    return std::to_string(static_cast<int64_t>(value - 1));
  case 2:
    return std::to_string(value * 2);
  default:
    return std::to_string(value ^ uint64_t(1) << draw(64));
  }
}

/// One that the text mentions, or a special register.
std::string PtxMutator::registerOf(const std::string &text) {
  if (size_t at = text.find('%', draw(text.size())); at != text.npos && !chance(8)) {
    size_t end = at + 1;
    while (end < text.size() && (isWordLetter(text[end]) || (text[end] == '.' && chance(2))))
      ++end;
    return text.substr(at, end - at);
  }
  return others_.empty() ? "%tid.x" : pick(others_);
}

std::string PtxMutator::replacement(std::string_view word, const std::string &text) {
  if (word[0] == '.') {
    switch (draw(6)) {
    case 0:
      return "";
    case 1:
      return std::string(word) + pick(qualifiers_);
    default:
      return pick(qualifiers_);
    }
  }
  if (std::isdigit(static_cast<unsigned char>(word[0])))
    return chance(8) ? registerOf(text) : number(word);
  bool isOpcode = std::find(opcodes_.begin(), opcodes_.end(), word) != opcodes_.end();
  if (isOpcode && !chance(8))
    return pick(opcodes_);
  switch (draw(12)) {
  case 0:
    return number("0");
  case 1:
    return "_";
  case 2:
    return "[" + std::string(word) + "]";
  case 3:
    return "[" + std::string(word) + "+" + number("0") + "]";
  case 4:
    return "{" + std::string(word) + "," + registerOf(text) + "}";
  case 5:
    return std::string(word) + "|" + registerOf(text);
  case 6:
    return "!" + std::string(word);
  case 7:
    return std::string(word) + "," + registerOf(text);
  case 8:
    return others_.empty() ? "" : pick(others_);
  default:
    return registerOf(text);
  }
}

void PtxMutator::changeWord(std::string &line, const std::string &text) {
  std::vector<Word> words;
  for (size_t at = 0; at < line.size();) {
    size_t end = at;
    if (line[end] == '.')
      ++end;
    while (end < line.size() && (isWordLetter(line[end]) || line.compare(end, 2, "::") == 0))
      end += line[end] == ':' ? 2 : 1;
    if (end == at)
      ++at;
    else
      words.push_back({at, end - at}), at = end;
  }
  if (words.empty())
    return;
  Word word = pick(words);
  line.replace(word.at, word.length, replacement(line.substr(word.at, word.length), text));
}

void PtxMutator::changeLines(std::vector<std::string> &lines) {
  size_t at = draw(lines.size()), other = draw(lines.size());
  switch (draw(5)) {
  case 0:
    lines.erase(lines.begin() + static_cast<long>(at));
    break;
  case 1:
    lines.insert(lines.begin() + static_cast<long>(at), std::string(lines[other]));
    break;
  case 2:
    std::swap(lines[at], lines[other]);
    break;
  case 3:
    lines.insert(lines.begin() + static_cast<long>(at), pick(opcodes_) + pick(qualifiers_) + " " +
                                                            registerOf(join(lines)) + ", " + registerOf(join(lines)) +
                                                            ";");
    break;
  default: { // a guard, or none
    std::string &line = lines[at];
    if (line.find('@') == line.npos)
      line = (chance(2) ? "@%p1 " : "@!%p1 ") + line;
    else
      line.erase(0, std::min(line.find(' '), line.size()));
  }
  }
}

void PtxMutator::changeOptions(std::string &text) {
  static constexpr char digits[] = "0123456789abcdef";
  size_t at = text.find(optionsMark);
  if (at == text.npos)
    text += "// options=00000000\n", at = text.find(optionsMark);
  at += optionsMark.size() + draw(8);
  if (at < text.size() && std::isxdigit(static_cast<unsigned char>(text[at])))
    text[at] = digits[draw(16)];
}

std::string PtxMutator::mutate(std::string text, unsigned seed) {
  random_.seed(seed);
  for (size_t changes = 1 + draw(4); changes; --changes) {
    if (chance(10)) {
      changeOptions(text);
      continue;
    }
    std::vector<std::string> lines = linesOf(text);
    if (lines.empty())
      return text;
    if (chance(3)) {
      changeLines(lines);
    } else {
      // The text has more declarations than it needs changes of them.
      size_t at = draw(lines.size());
      for (int tries = 0; tries < 4 && (lines[at].empty() || lines[at].starts_with("//") ||
                                        lines[at].find(".reg") != std::string::npos);
           ++tries)
        at = draw(lines.size());
      changeWord(lines[at], text);
    }
    text = join(lines);
  }
  return text;
}

std::string PtxMutator::cross(std::string text, const std::string &other, unsigned seed) {
  random_.seed(seed);
  std::vector<std::string> lines = linesOf(text), theirs = linesOf(other);
  if (theirs.empty())
    return text;
  size_t first = draw(theirs.size()), count = 1 + draw(std::min<size_t>(theirs.size() - first, 8));
  size_t at = draw(lines.size() + 1);
  lines.insert(lines.begin() + static_cast<long>(at), theirs.begin() + static_cast<long>(first),
               theirs.begin() + static_cast<long>(first + count));
  return join(lines);
}

} // namespace tessera::fuzz

namespace {

tessera::fuzz::PtxMutator &mutator() {
  static tessera::fuzz::PtxMutator instance = [] {
    std::ifstream file(TESSERA_FUZZ_DICTIONARY);
    return tessera::fuzz::PtxMutator(
        std::string{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()});
  }();
  return instance;
}

/// As much of the text as fits.
size_t give(const std::string &text, uint8_t *data, size_t most) {
  size_t size = std::min(text.size(), most);
  std::memcpy(data, text.data(), size);
  return size;
}

} // namespace

extern "C" size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t maxSize);

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t maxSize, unsigned seed) {
  if (seed % 8 == 0)
    return LLVMFuzzerMutate(data, size, maxSize);
  return give(mutator().mutate(std::string(reinterpret_cast<char *>(data), size), seed), data, maxSize);
}

extern "C" size_t LLVMFuzzerCustomCrossOver(const uint8_t *first, size_t firstSize, const uint8_t *second,
                                            size_t secondSize, uint8_t *out, size_t maxSize, unsigned seed) {
  std::string text(reinterpret_cast<const char *>(first), firstSize),
      other(reinterpret_cast<const char *>(second), secondSize);
  return give(mutator().cross(std::move(text), other, seed), out, maxSize);
}
