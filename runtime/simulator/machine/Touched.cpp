// Bitmaps that cost nothing where no access goes: their zero pages come from the system when they are first written.
#include "runtime/simulator/machine/Touched.h"

#include <algorithm>
#include <bit>
#include <mutex>

namespace tessera::sim::machine {

namespace {

constexpr uint64_t wordBits = 64;

uint64_t wordsFor(uint64_t bytes) { return (bytes + wordBits - 1) / wordBits; }

/// Most accesses touch what others have touched: those write nothing, so that threads do not contend.
void setBits(std::atomic<uint64_t> *words, uint64_t begin, uint64_t end) {
  while (begin < end) {
    uint64_t inWord = begin % wordBits, count = std::min(wordBits - inWord, end - begin);
    uint64_t bits = (count == wordBits ? ~uint64_t(0) : (uint64_t(1) << count) - 1) << inWord;
    std::atomic<uint64_t> &word = words[begin / wordBits];
    if ((word.load(std::memory_order_relaxed) & bits) != bits)
      word.fetch_or(bits, std::memory_order_relaxed);
    begin += count;
  }
}

uint64_t nextSerial() {
  static std::atomic<uint64_t> serials{0};
  return ++serials;
}

} // namespace

Touched::Touched(GlobalMemory &memory) : memory_(memory), serial_(nextSerial()) {}

Touched::Map *Touched::mapOf(uint64_t address) {
  // What this thread found last. The serial tells launches apart; an address in use belongs to one launch's map only.
  struct Remembered {
    uint64_t serial = 0;
    Map *map = nullptr;
  };
  thread_local std::array<Remembered, 8> remembered;
  thread_local unsigned oldest = 0;
  for (const Remembered &r : remembered)
    if (r.serial == serial_ && address - r.map->base < r.map->size)
      return r.map;
  const Allocation *allocation = memory_.lookup(address);
  if (!allocation)
    return nullptr;
  std::lock_guard lock(mutex_);
  auto [entry, isNew] = maps_.try_emplace(allocation->base);
  Map &map = entry->second;
  if (isNew) {
    auto bits = [&] { return Bits(static_cast<Word *>(std::calloc(wordsFor(allocation->size), sizeof(Word)))); };
    map = {allocation->base, allocation->size, bits(), bits()};
    if (!map.read || !map.written) { // no room to count in: the allocation stays out of the footprint
      maps_.erase(entry);
      return nullptr;
    }
  }
  remembered[oldest++ % remembered.size()] = {serial_, &map};
  return &map;
}

void Touched::mark(uint64_t address, uint64_t bytes, bool reads, bool writes) {
  Map *map = mapOf(address);
  if (!map)
    return;
  uint64_t begin = address - map->base, end = std::min(begin + bytes, map->size);
  if (reads)
    setBits(map->read.get(), begin, end);
  if (writes)
    setBits(map->written.get(), begin, end);
}

Footprint Touched::sum() const {
  Footprint total;
  auto add = [](const Word *words, uint64_t count, uint64_t &bytes, uint64_t &sectors) {
    for (uint64_t i = 0; i < count; ++i) {
      uint64_t word = words[i].load(std::memory_order_relaxed);
      bytes += static_cast<unsigned>(std::popcount(word));
      sectors += (word & 0xffffffff ? 1 : 0) + (word >> 32 ? 1 : 0);
    }
  };
  for (const auto &[base, map] : maps_) { // allocations begin at a multiple of 256, so words hold whole sectors
    add(map.read.get(), wordsFor(map.size), total.readBytes, total.readSectors);
    add(map.written.get(), wordsFor(map.size), total.writtenBytes, total.writtenSectors);
  }
  return total;
}

} // namespace tessera::sim::machine
