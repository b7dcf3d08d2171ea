// KeyComparison: why a wanted key has no entry, told by the entry that comes nearest.
#pragma once

#include "runtime/cache/DiskCache.h"

#include <string>
#include <vector>

namespace tessera {

/// One field of a key where two keys differ. The fields of spec and schedule stand for themselves: "spec mask",
/// "schedule tile_kv" rather than two whole texts.
struct KeyDifference {
  std::string field; ///< "compiler", "spec d", "schedule stages", "target", "assembler", "options"
  std::string wanted, found;
};

/// Field by field, in the order of the key text. Empty for equal texts; a text that is no key differs in "key".
std::vector<KeyDifference> compareKeys(const std::string &wanted, const std::string &found);

struct NearestKey {
  CacheEntry entry;
  std::vector<KeyDifference> differences;
};
/// Of these keys the one with the fewest differences (ties: the same spec first, then the most recently used); nothing
/// where there are none.
std::optional<NearestKey> nearestKey(const std::string &wanted, const std::vector<DiskCache::Key> &keys);

} // namespace tessera
