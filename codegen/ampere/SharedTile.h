// How a tile lies in shared memory: rows of 16-byte chunks, the chunks of a row permuted by the row (XOR) so that the
// eight rows which one phase of ldmatrix reads at one column lie in eight different bank groups.
//
//   phys(row, chunk) = row * pitch + (chunk ^ f(row)) * 16,    f(row) = (row >> shift) & mask
//
//   chunks per row mod 8:    0            4            2, 6
//   f(row)                   row & 7      (row>>1) & 3 (row>>2) & 1
//
// The pitch moves a row by (chunks mod 8) bank groups of eight; f supplies what the pitch leaves to be told apart. mask
// + 1 divides the chunks per row in each case, so that the permutation stays inside the row and no byte is lost to
// padding.
#pragma once

namespace tessera::codegen {

struct SharedTile {
  unsigned rows = 0;
  unsigned chunks = 0; ///< 16-byte chunks per row, even

  static SharedTile of(unsigned rows, unsigned columns, unsigned elementBytes) {
    return {rows, columns * elementBytes / 16};
  }

  unsigned pitch() const { return chunks * 16; }
  unsigned bytes() const { return rows * pitch(); }
  unsigned shift() const { return chunks % 8 == 0 ? 0 : chunks % 8 == 4 ? 1 : 2; }
  unsigned mask() const { return chunks % 8 == 0 ? 7 : chunks % 8 == 4 ? 3 : 1; }

  /// Chunks fall in classes by their XOR pattern: chunk c and c + (mask + 1) differ by a constant number of bytes.
  unsigned chunkClass(unsigned chunk) const { return chunk & mask(); }
  unsigned chunkBase(unsigned chunk) const { return chunk & ~mask(); }
};

} // namespace tessera::codegen
