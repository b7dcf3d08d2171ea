// The mutations of call sequences, and the functions by which libFuzzer asks for them.
#include "tests/fuzz/DriverMutator.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <random>
#include <string>

namespace tessera::fuzz {

namespace {

class Mutator {
public:
  explicit Mutator(unsigned seed) : random_(seed) {}

  size_t draw(size_t bound) { return bound ? random_() % bound : 0; }

  /// Mostly the newest and the one before, sometimes anything.
  std::string number() { return std::to_string(draw(3) ? draw(4) : draw(256)); }

  std::string name() {
    static const std::vector<std::string_view> names = entryPointNames();
    return std::string(names[draw(names.size())]);
  }
  std::string call() {
    std::string line = name();
    for (size_t count = draw(12); count; --count)
      (line += ' ') += number();
    return line;
  }

  void changeNumber(std::string &line) {
    std::vector<size_t> blanks;
    for (size_t at = 0; (at = line.find(' ', at)) != line.npos; ++at)
      blanks.push_back(at);
    if (blanks.empty() || draw(4) == 0) {
      (line += ' ') += number();
      return;
    }
    size_t begin = blanks[draw(blanks.size())] + 1, end = std::min(line.find(' ', begin), line.size());
    line.replace(begin, end - begin, number());
  }

  void change(std::vector<std::string> &lines) {
    if (lines.empty()) {
      lines.push_back(call());
      return;
    }
    size_t at = draw(lines.size()), other = draw(lines.size());
    auto position = lines.begin() + static_cast<long>(at);
    switch (draw(8)) {
    case 0:
      lines.erase(position);
      break;
    case 1:
      lines.insert(position, std::string(lines[other]));
      break;
    case 2:
      std::swap(lines[at], lines[other]);
      break;
    case 3:
      lines.insert(position, call());
      break;
    case 4:
      lines[at].replace(0, std::min(lines[at].find(' '), lines[at].size()), name());
      break;
    default:
      changeNumber(lines[at]);
    }
  }

private:
  std::minstd_rand random_;
};

std::vector<std::string> linesOf(const uint8_t *data, size_t size) {
  std::string_view text(reinterpret_cast<const char *>(data), size);
  std::vector<std::string> lines;
  while (!text.empty()) {
    std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    if (line = line.substr(0, line.find('#')); !line.empty())
      lines.emplace_back(line);
  }
  return lines;
}

size_t give(const std::vector<std::string> &lines, uint8_t *data, size_t most) {
  size_t size = 0;
  for (const std::string &line : lines) {
    if (size + line.size() + 1 > most)
      break;
    std::memcpy(data + size, line.data(), line.size());
    size += line.size();
    data[size++] = '\n';
  }
  return size;
}

} // namespace

} // namespace tessera::fuzz

using namespace tessera::fuzz;

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t maxSize, unsigned seed) {
  Mutator mutator(seed);
  std::vector<std::string> lines = linesOf(data, size);
  for (size_t changes = 1 + mutator.draw(4); changes; --changes)
    mutator.change(lines);
  return give(lines, data, maxSize);
}

extern "C" size_t LLVMFuzzerCustomCrossOver(const uint8_t *first, size_t firstSize, const uint8_t *second,
                                            size_t secondSize, uint8_t *out, size_t maxSize, unsigned seed) {
  Mutator mutator(seed);
  std::vector<std::string> lines = linesOf(first, firstSize), theirs = linesOf(second, secondSize);
  if (!theirs.empty()) {
    size_t begin = mutator.draw(theirs.size()), count = 1 + mutator.draw(std::min<size_t>(theirs.size() - begin, 12));
    lines.insert(lines.begin() + static_cast<long>(mutator.draw(lines.size() + 1)),
                 theirs.begin() + static_cast<long>(begin), theirs.begin() + static_cast<long>(begin + count));
  }
  return give(lines, out, maxSize);
}
