// The online softmax recurrence and its merge in f64.
#include "autotune/reference/OnlineState.h"

#include <algorithm>

namespace tessera::reference {

void OnlineState::absorb(std::span<const double> scores, std::span<const double> values) {
  double next = m;
  for (double score : scores)
    next = std::max(next, score);
  if (next == -HUGE_VAL) // nothing seen so far; exp(-inf - -inf) would be NaN
    return;
  const double alpha = std::exp(m - next);
  l *= alpha;
  for (double &sum : u)
    sum *= alpha;
  m = next;
  for (size_t j = 0; j < scores.size(); ++j) {
    const double weight = std::exp(scores[j] - m);
    l += weight;
    for (size_t c = 0; c < u.size(); ++c)
      u[c] += weight * values[j * u.size() + c];
  }
}

void OnlineState::merge(const OnlineState &other) {
  if (other.empty())
    return;
  if (empty()) {
    *this = other;
    return;
  }
  const double next = std::max(m, other.m);
  const double mine = std::exp(m - next), theirs = std::exp(other.m - next);
  l = l * mine + other.l * theirs;
  for (size_t c = 0; c < u.size(); ++c)
    u[c] = u[c] * mine + other.u[c] * theirs;
  m = next;
}

void OnlineState::shift(double c) {
  if (empty())
    return;
  m += c;
  l *= std::exp(-c);
  for (double &sum : u)
    sum *= std::exp(-c);
}

} // namespace tessera::reference
