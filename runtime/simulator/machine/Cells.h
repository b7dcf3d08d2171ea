// Cells: for every 16 bytes of a memory, who wrote them last and who has read them since.
//
// Granules that are accessed in parts have a cell for each four-byte word instead, and such words one for each byte.
// Pages of cells are made when they are touched.
#pragma once

#include <algorithm>
#include <bitset>
#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

namespace tessera::sim::machine {

/// One access. `clock` counts the intervals of its party; 0 means that there is no access.
struct Mark {
  enum Flag : uint8_t {
    Strong = 1,     ///< atomic, volatile, relaxed, acquire or release
    Wide = 2,       ///< strong at device or system scope: it counts between blocks too
    Many = 4,       ///< of a read: `clock` is the index of a reader set
    WeakBefore = 8, ///< of a write: the block has also accessed it with a weak access
    Update = 16,    ///< of a write: an atomic
  };
  uint32_t clock = 0;
  uint32_t party = 0; ///< linear block << partyBits | party of the block
  uint32_t instruction = 0;
  uint8_t lane = 0;
  uint8_t flags = 0;
  uint8_t shift = 4; ///< consecutive lanes have consecutive parts of 1 << shift bytes; `lane` has the granule's first

  unsigned laneOf(uint64_t address) const { return lane + (static_cast<unsigned>(address % 16) >> shift); }
};

struct Cell {
  Mark write;
  Mark read; ///< since the write
};

constexpr unsigned pageBytes = 4096;
constexpr unsigned granuleBytes = 16;
constexpr unsigned granulesPerPage = pageBytes / granuleBytes;
constexpr unsigned wordsPerPage = pageBytes / 4;

struct CellPage {
  Cell granules[granulesPerPage];
  std::unique_ptr<Cell[]> words; ///< wordsPerPage of them, once a granule is accessed in parts
  std::unique_ptr<Cell[]> bytes; ///< pageBytes of them, once a word is
  std::bitset<granulesPerPage> splitGranules;
  std::bitset<wordsPerPage> splitWords;
};

/// Cells by address. Not thread-safe.
class CellTable {
public:
  /// Calls `visit(cell, address, bytes)` for each cell of the range, in the order of addresses.
  template <class Visit> void forRange(uint64_t begin, uint64_t bytes, Visit visit) {
    for (uint64_t at = begin, end = begin + bytes; at < end;) {
      CellPage &page = pageOf(at);
      auto offset = static_cast<unsigned>(at % pageBytes), granule = offset / granuleBytes;
      if (!page.splitGranules[granule]) {
        if (offset % granuleBytes == 0 && end - at >= granuleBytes) {
          visit(page.granules[granule], at, granuleBytes);
          at += granuleBytes;
          continue;
        }
        splitGranule(page, granule);
      }
      for (uint64_t stop = std::min(end, (at / granuleBytes + 1) * granuleBytes); at < stop;) {
        auto word = static_cast<unsigned>(at % pageBytes / 4);
        if (!page.splitWords[word]) {
          if (at % 4 == 0 && stop - at >= 4) {
            visit(page.words[word], at, 4u);
            at += 4;
            continue;
          }
          splitWord(page, word);
        }
        for (uint64_t last = std::min(stop, (at / 4 + 1) * 4); at < last; ++at)
          visit(page.bytes[at % pageBytes], at, 1u);
      }
    }
  }
  /// Calls `visit(cell, address, bytes)` for each cell of every touched page, in the order of addresses.
  template <class Visit> void forAll(Visit visit) {
    for (uint64_t number : touched())
      forRange(number * pageBytes, pageBytes, visit);
  }

  // Readers of a cell of which no two are ordered.
  std::vector<Mark> &readers(const Cell &cell) { return readerSets_[cell.read.clock]; }
  void addReader(Cell &cell, const Mark &mark);
  void clearReads(Cell &cell);

  /// Forgets everything; pages are kept for reuse.
  void clear();

private:
  CellPage &pageOf(uint64_t address) {
    uint64_t number = address / pageBytes;
    return number == lastNumber_ ? *last_ : findPage(number);
  }
  CellPage &findPage(uint64_t number);
  void splitGranule(CellPage &page, unsigned granule);
  void splitWord(CellPage &page, unsigned word);
  void splitCell(Cell &whole, Cell *parts, unsigned count);
  std::vector<uint64_t> touched() const;

  std::unordered_map<uint64_t, std::unique_ptr<CellPage>> pages_;
  std::vector<std::unique_ptr<CellPage>> spare_;
  std::vector<std::vector<Mark>> readerSets_;
  std::vector<uint32_t> freeSets_;
  uint64_t lastNumber_ = ~uint64_t(0);
  CellPage *last_ = nullptr;
};

} // namespace tessera::sim::machine
