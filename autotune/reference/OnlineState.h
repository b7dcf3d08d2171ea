// OnlineState: the running state (m, l, u) of a softmax row in f64, and its merge: the recurrence that kernels are held
// to.
#pragma once

#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

namespace tessera::reference {

/// m is the reference of the exponents, l = sum exp(s - m), u = sum exp(s - m) v. m = -inf with l = 0 is the empty
/// state. The triple stands for the same answer under any finite m. A value type.
struct OnlineState {
  double m = -HUGE_VAL;
  double l = 0;
  std::vector<double> u; ///< one per value component

  explicit OnlineState(size_t components) : u(components, 0.0) {}

  bool empty() const { return l == 0; }

  /// Takes in a block of keys: scores[j] with its value values[j * u.size() ...]. -inf scores count as masked.
  void absorb(std::span<const double> scores, std::span<const double> values);

  /// Takes in another partial state (N11): commutative and associative up to rounding, an empty one changes nothing.
  void merge(const OnlineState &other);

  /// The same state under the finite reference m + c.
  void shift(double c);

  double out(size_t component) const { return empty() ? 0.0 : u[component] / l; }
  double lse() const { return empty() ? -HUGE_VAL : m + std::log(l); }
};

} // namespace tessera::reference
