// Lookup in the sorted entries.
#include "runtime/bundle/BundleIndex.h"

#include <algorithm>

namespace tessera {

std::span<const BundleEntry> BundleIndex::find(std::string_view specText) const {
  auto found = std::ranges::equal_range(entries, specText, {}, &BundleEntry::spec);
  return {found.begin(), found.end()};
}

} // namespace tessera
