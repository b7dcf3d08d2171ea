// Forms of mma.sync with their fragments as the manual draws them, and a kernel that runs one product of one warp.
#pragma once

#include "tests/unit/simulator/Harness.h"

#include <fmt/format.h>

namespace tessera::sim::test {

/// m16n8 and m8n8 shapes with A in rows and B in columns; elements as raw bits.
struct MmaForm {
  std::string shape;     ///< m16n8k16
  unsigned m, k, bits;   ///< bits of an element of A and B
  std::string types;     ///< .f32.f16.f16.f32, with what stands behind it
  unsigned sumBits = 32; ///< of C and D
  std::string_view target = "sm_80";
  std::string_view version = "8.8";

  unsigned perRegister() const { return bits == 64 ? 1 : 32 / bits; }
  unsigned aElements() const { return m * k / 32; }
  unsigned bElements() const { return 8 * k / 32; }
  unsigned sums() const { return m / 4; } ///< elements of C in a lane

  // Element i of a lane: groupID = lane / 4, threadID_in_group = lane % 4.
  unsigned aRow(unsigned lane, unsigned i) const { return lane / 4 + (m == 16 ? 8 * (i / perRegister() % 2) : 0); }
  unsigned aColumn(unsigned lane, unsigned i) const {
    unsigned p = perRegister(), reg = i / p;
    return lane % 4 * p + i % p + (m == 16 ? reg / 2 : reg) * 4 * p;
  }
  unsigned bRow(unsigned lane, unsigned i) const {
    unsigned p = perRegister();
    return lane % 4 * p + i % p + i / p * 4 * p;
  }
  static unsigned bColumn(unsigned lane) { return lane / 4; }
  static unsigned cRow(unsigned lane, unsigned i) { return lane / 4 + 8 * (i / 2); }
  static unsigned cColumn(unsigned lane, unsigned i) { return lane % 4 * 2 + (i & 1); }
};

/// The device that runs modules of a target.
std::string profileOf(std::string_view target);

/// D of A (m × k), B (k × 8) and C (m × 8).
std::vector<uint64_t> multiply(const MmaForm &form, const std::vector<uint64_t> &a, const std::vector<uint64_t> &b,
                               const std::vector<uint64_t> &c, Options options = {});

/// The PTX of multiply(): per lane 256 bytes in, 64 out. `undefined` names a register that stays unwritten in lane 13.
std::string productText(const MmaForm &form, std::string_view undefined = {});

} // namespace tessera::sim::test
