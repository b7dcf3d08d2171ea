// Arithmetic of counts, and the names of their origins.
#include "autotune/model/Work.h"

namespace tessera::tune {
namespace {

/// Calls f(a.field, b.field) for every count.
template <typename F> void forEachField(Work &a, const Work &b, F f) {
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
  forEachField(*this, other, [](double &a, double b) { a += b; });
  return *this;
}

Work operator*(double factor, const Work &work) {
  Work product = work;
  forEachField(product, work, [&](double &a, double) { a *= factor; });
  return product;
}

int64_t visitedTiles(const Task &task, const Schedule &schedule, int64_t tile) {
  return tileRange(task, schedule, tile).count;
}

} // namespace tessera::tune
