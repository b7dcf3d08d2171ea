// Which comparison is the worst.
#include "autotune/measure/Verdict.h"

#include <cmath>
#include <fmt/format.h>
#include <utility>

namespace tessera::tune {
namespace {

/// How near to its bound; what is beyond every bound first.
double severity(double error, double bound) {
  return bound > 0 ? error / bound : error > 0 || std::isnan(error) ? HUGE_VAL : 0;
}

/// How far off, and how far it may be: of O, or of the LSE where O is right. The errors of a comparison are those of
/// finite values alone; a NaN or an infinity in the place of a number is off by more than any of them.
std::pair<double, double> worstOf(const reference::Comparison &comparison) {
  if (comparison.mismatched)
    return {HUGE_VAL, comparison.bound};
  if (comparison.lseBeyond && !comparison.beyond && !comparison.noisyGroups)
    return {comparison.lseError > comparison.lseBound ? comparison.lseError : HUGE_VAL, comparison.lseBound};
  return {comparison.error, comparison.bound};
}

} // namespace

void enter(Verification &verdict, const reference::Comparison &comparison, const std::string &where) {
  const auto [error, bound] = worstOf(comparison);
  if (!comparison.ok || severity(error, bound) >= severity(verdict.error, verdict.bound)) {
    verdict.error = error;
    verdict.bound = bound;
  }
  if (!comparison.ok && verdict.right) {
    verdict.right = false;
    verdict.complaint = fmt::format("{}: {}", where, comparison.complaint);
  }
}

Verification both(const Verification &a, const Verification &b) {
  Verification all = severity(a.error, a.bound) >= severity(b.error, b.bound) ? a : b;
  all.right = a.right && b.right;
  all.against = a.against + "; " + b.against;
  all.complaint = a.right ? b.complaint : a.complaint;
  return all;
}

} // namespace tessera::tune
