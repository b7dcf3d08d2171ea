// The table of architectures and their matrix units.
#include "runtime/simulator/numerics/MatrixModel.h"

#include <algorithm>

namespace tessera::sim::numerics {

MatrixModel matrixModel(unsigned architecture, MmaElement element, unsigned k, bool wmma) {
  bool narrow = element == MmaElement::E4M3 || element == MmaElement::E5M2, tf32 = element == MmaElement::TF32;
  if (element == MmaElement::F16 && k == 4) // the assembler replaces m8n8k4 on everything after Turing
    return {.fraction = 23, .block = k, .outputBits = 23, .chain = true};
  // wmma.mma of tf32 is assembled into instructions of depth 4 everywhere.
  unsigned depth = tf32 && wmma ? 4 : k;
  if (architecture < 90) {
    if (narrow)
      return {.fraction = 13, .block = std::min(depth, 16u), .outputBits = 13};
    return {.fraction = 24, .block = std::min(depth, tf32 ? 4u : 8u), .outputBits = 23};
  }
  // Data-centre parts of these generations have no fp8 form of mma.sync: it becomes two f16 instructions, one for the
  // lower pair of each lane's four elements and one for the upper, and an addition.
  if (narrow && architecture < 120)
    return {.fraction = 25, .block = k / 2, .outputBits = 23, .pairs = true};
  return {.fraction = 25, .block = depth, .outputBits = 23};
}

} // namespace tessera::sim::numerics
