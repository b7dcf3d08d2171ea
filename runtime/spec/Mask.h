// The structured mask: a band around a diagonal whose alignment the caller always states (numerics N2-N4).
#pragma once

#include <cstdint>
#include <optional>

namespace tessera {

/// Which corner of the score matrix the diagonal goes through: off = 0 (top left) or Sk - Sq (bottom right).
enum class Align : uint8_t { TopLeft, BottomRight };

/// Key j is visible to query row i iff i + off - left <= j <= i + off + right. An absent bound is unbounded; a bound is
/// never negative.
struct Mask {
  std::optional<int64_t> left;
  std::optional<int64_t> right;
  Align align = Align::TopLeft; ///< has no meaning, and is TopLeft, where both sides are unbounded

  /// Every key is visible.
  static constexpr Mask full() { return {}; }
  /// Key j is visible iff j <= i + off.
  static constexpr Mask causal(Align align) { return {std::nullopt, 0, align}; }
  /// An inclusive window. "W tokens including myself, causal" is window(W - 1, 0, align).
  static constexpr Mask window(std::optional<int64_t> left, std::optional<int64_t> right, Align align) {
    return left || right ? Mask{left, right, align} : Mask{};
  }

  constexpr bool isFull() const { return !left && !right; }
  friend constexpr bool operator==(const Mask &, const Mask &) = default;
};

} // namespace tessera
