// Arithmetic of counts, and the names of their origins.
#include "autotune/model/Work.h"

#include <algorithm>

namespace tessera::tune {
namespace {

/// Calls f(a.field, b.field) for every count.
template <typename Other, typename F> void forEachPair(Work &a, Other &b, F f) {
  for (double Work::*field :
       {&Work::mmaFlops, &Work::instructions, &Work::fma, &Work::alu, &Work::mufu, &Work::shuffle,
        &Work::sharedWavefronts, &Work::fillBytes, &Work::storeBytes, &Work::localBytes, &Work::barriers})
    f(a.*field, b.*field);
}

} // namespace

std::string_view name(Basis basis) {
  switch (basis) {
  case Basis::Estimated:
    return "estimated";
  case Basis::Image:
    return "image";
  case Basis::Simulated:
    return "simulated";
  case Basis::Measured:
    return "measured";
  }
  return "unknown";
}

Work &Work::operator+=(const Work &other) {
  forEachPair(*this, other, [](double &a, double b) { a += b; });
  return *this;
}

Work operator*(double factor, const Work &work) {
  Work product = work;
  forEachPair(product, work, [&](double &a, double) { a *= factor; });
  return product;
}

BlockWork BlockWork::withoutNegatives(double tiles) const {
  BlockWork result = *this;
  forEachPair(result.fixed, result.perTile, [&](double &once, double &each) {
    if (once < 0) {
      each = tiles > 0 ? each + once / tiles : each;
      once = 0;
    }
    if (each < 0) {
      once = std::max(once + each * tiles, 0.0);
      each = 0;
    }
  });
  return result;
}

int64_t visitedTiles(const Task &task, const Schedule &schedule, int64_t tile) {
  return tileRange(task, schedule, tile).count;
}

} // namespace tessera::tune
