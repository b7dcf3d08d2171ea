// Pages of cells and sets of readers.
#include "runtime/simulator/machine/Cells.h"

#include <algorithm>
#include <cstring>

namespace tessera::sim::machine {

namespace {
/// More unordered readers than this are not remembered; a write that is ordered after these but not after those
/// left out would go unnoticed.
constexpr size_t mostReaders = 64;
} // namespace

CellPage &CellTable::findPage(uint64_t number) {
  std::unique_ptr<CellPage> &page = pages_[number];
  if (!page) {
    if (spare_.empty()) {
      page = std::make_unique<CellPage>();
    } else {
      page = std::move(spare_.back());
      spare_.pop_back();
      std::fill(std::begin(page->granules), std::end(page->granules), Cell{});
      page->splitGranules.reset(); // words and bytes are set when they are split off
      page->splitWords.reset();
    }
  }
  lastNumber_ = number;
  last_ = page.get();
  return *page;
}

void CellTable::splitCell(Cell &whole, Cell *parts, unsigned count) {
  for (unsigned i = 0; i < count; ++i) {
    parts[i] = whole;
    if (i && (whole.read.flags & Mark::Many)) { // each cell owns its set
      std::vector<Mark> copy = readers(whole);
      parts[i].read = {};
      for (const Mark &mark : copy)
        addReader(parts[i], mark);
    }
  }
  whole = {};
}

void CellTable::splitGranule(CellPage &page, unsigned granule) {
  if (!page.words)
    page.words = std::make_unique<Cell[]>(wordsPerPage);
  splitCell(page.granules[granule], &page.words[size_t(granule) * 4], 4);
  page.splitGranules.set(granule);
}

void CellTable::splitWord(CellPage &page, unsigned word) {
  if (!page.bytes)
    page.bytes = std::make_unique<Cell[]>(pageBytes);
  splitCell(page.words[word], &page.bytes[size_t(word) * 4], 4);
  page.splitWords.set(word);
}

void CellTable::addReader(Cell &cell, const Mark &mark) {
  if (!cell.read.clock && !(cell.read.flags & Mark::Many)) {
    cell.read = mark;
    return;
  }
  if (!(cell.read.flags & Mark::Many)) {
    uint32_t set;
    if (freeSets_.empty()) {
      set = static_cast<uint32_t>(readerSets_.size());
      readerSets_.emplace_back();
    } else {
      set = freeSets_.back();
      freeSets_.pop_back();
    }
    readerSets_[set].assign(1, cell.read);
    cell.read = {};
    cell.read.flags = Mark::Many;
    cell.read.clock = set;
  }
  std::vector<Mark> &set = readers(cell);
  if (set.size() < mostReaders)
    set.push_back(mark);
}

void CellTable::clearReads(Cell &cell) {
  if (cell.read.flags & Mark::Many)
    freeSets_.push_back(cell.read.clock);
  cell.read = {};
}

std::vector<uint64_t> CellTable::touched() const {
  std::vector<uint64_t> numbers;
  numbers.reserve(pages_.size());
  for (const auto &[number, page] : pages_)
    numbers.push_back(number);
  std::sort(numbers.begin(), numbers.end());
  return numbers;
}

void CellTable::clear() {
  for (auto &[number, page] : pages_)
    spare_.push_back(std::move(page));
  pages_.clear();
  freeSets_.clear();
  for (uint32_t i = 0; i < readerSets_.size(); ++i)
    freeSets_.push_back(i);
  lastNumber_ = ~uint64_t(0);
  last_ = nullptr;
}

} // namespace tessera::sim::machine
