// The swizzle of tiles in shared memory, exhaustively: no byte is used twice, no matrix load or copy conflicts.
#include "codegen/ampere/SharedTile.h"
#include "codegen/fragment/Fragment.h"

#include <gtest/gtest.h>
#include <set>

using tessera::codegen::Fragment;
using tessera::codegen::SharedTile;

namespace {

/// phys(row, chunk) as the header of SharedTile states it.
unsigned address(const SharedTile &tile, unsigned row, unsigned chunk) {
  return row * tile.pitch() + (chunk ^ ((row >> tile.shift()) & tile.mask())) * 16;
}

class EveryWidth : public testing::TestWithParam<unsigned> {
protected:
  SharedTile tile{64, GetParam()};
};

TEST_P(EveryWidth, SwizzleIsAPermutationOfTheRow) {
  std::set<unsigned> seen;
  for (unsigned row = 0; row < tile.rows; ++row)
    for (unsigned chunk = 0; chunk < tile.chunks; ++chunk) {
      unsigned at = address(tile, row, chunk);
      EXPECT_GE(at, row * tile.pitch());
      EXPECT_LT(at, (row + 1) * tile.pitch());
      EXPECT_TRUE(seen.insert(at).second) << "row " << row << " chunk " << chunk;
    }
  EXPECT_EQ(seen.size() * 16, tile.bytes());
}

TEST_P(EveryWidth, EightRowsOfOneColumnLieInEightBankGroups) {
  for (unsigned row = 0; row < tile.rows; row += 8)
    for (unsigned chunk = 0; chunk < tile.chunks; ++chunk) {
      std::set<unsigned> groups;
      for (unsigned r = 0; r < 8; ++r)
        groups.insert(address(tile, row + r, chunk) / 16 % 8);
      EXPECT_EQ(groups.size(), 8u) << "rows from " << row << ", chunk " << chunk;
    }
}

TEST_P(EveryWidth, EightNeighbouringChunksOfACopyLieInEightBankGroups) {
  for (unsigned first = 0; first < tile.rows * tile.chunks; first += 8) {
    std::set<unsigned> groups;
    for (unsigned i = first; i < first + 8; ++i)
      groups.insert(address(tile, i / tile.chunks, i % tile.chunks) / 16 % 8);
    EXPECT_EQ(groups.size(), 8u) << "chunks from " << first;
  }
}

// The emitter adds a constant to the address of a chunk's class: (chunk class ^ f) + chunk base must be chunk ^ f.
TEST_P(EveryWidth, ChunksOfOneClassDifferByAConstant) {
  for (unsigned row = 0; row < 8; ++row)
    for (unsigned chunk = 0; chunk < tile.chunks; ++chunk)
      EXPECT_EQ(address(tile, row, chunk), address(tile, row, tile.chunkClass(chunk)) + tile.chunkBase(chunk) * 16);
}

// Every even width: head dims 16 to 256 of 16 bits, 8 to 256 of 32 bits.
INSTANTIATE_TEST_SUITE_P(Widths, EveryWidth, testing::Range(2u, 66u, 2u));

TEST(Fragment, NumbersEveryRegisterOnce) {
  Fragment fragment = Fragment::of(128, 72, 4);
  EXPECT_EQ(fragment.rowBlocks, 2u);
  EXPECT_EQ(fragment.columnBlocks, 9u);
  std::set<unsigned> wide, packed;
  for (unsigned rb = 0; rb < fragment.rowBlocks; ++rb)
    for (unsigned cb = 0; cb < fragment.columnBlocks; ++cb) {
      for (unsigned e = 0; e < 4; ++e)
        wide.insert(fragment.accumulator(rb, cb, e));
      for (unsigned half = 0; half < 2; ++half)
        packed.insert(fragment.pair(rb, cb, half));
    }
  EXPECT_EQ(wide.size(), 72u);
  EXPECT_EQ(*wide.rbegin(), 71u);
  EXPECT_EQ(packed.size(), 36u);
  EXPECT_EQ(*packed.rbegin(), 35u);
}

} // namespace
