// Median: of a few numbers.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

namespace tessera::tune {

/// The upper of the two middle ones where their number is even; 0 where there are none.
inline double medianOf(std::vector<double> values) {
  if (values.empty())
    return 0;
  const auto middle = values.begin() + ptrdiff_t(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

} // namespace tessera::tune
