// The distance between two names, and the least of them.
#include "autotune/cli/Suggest.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <utility>

namespace tessera::cli {
namespace {

size_t editDistance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), 0);
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = std::exchange(row[0], i);
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t change = diagonal + (a[i - 1] != b[j - 1]);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, change});
    }
  }
  return row.back();
}

} // namespace

std::string nearestName(std::string_view text, const std::vector<std::string> &known) {
  std::string best;
  size_t least = 4;
  for (const std::string &name : known)
    if (text.size() < name.size() + least) // else it is out of reach, however long it is
      if (const size_t distance = editDistance(text, name); distance < std::min(least, name.size())) {
        least = distance;
        best = name;
      }
  return best;
}

std::string didYouMean(std::string_view text, const std::vector<std::string> &known) {
  const std::string meant = nearestName(text, known);
  return meant.empty() ? meant : fmt::format("did you mean {}? ", meant);
}

} // namespace tessera::cli
