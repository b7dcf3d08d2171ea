// KernelStore: the kernels of a run, so that what was compiled and found right for one shape serves the others.
#pragma once

#include "autotune/search/Workshop.h"

#include <map>
#include <memory>

namespace tessera::tune {

/// BLAKE2b-256 of the cubin, of the PTX without one, in hexadecimal.
std::string codeDigest(const KernelImage &image);

struct StoredKernel {
  Answered<Compiled> compiled; ///< failures too
  std::string digest;          ///< codeDigest()
  /// On simulated devices, by query heads per KV head; there the answer does not depend on the shape otherwise (see
  /// smallCases()).
  std::map<int64_t, Answered<Verification>> verified;
};

class KernelStore {
public:
  /// Null: not compiled yet.
  std::shared_ptr<StoredKernel> find(const AttentionSpec &spec, const Schedule &schedule) const;
  /// Kept for later tasks where the compiler would say the same again: not where it was killed from outside.
  std::shared_ptr<StoredKernel> put(const AttentionSpec &spec, const Schedule &schedule, Answered<Compiled> compiled);
  /// When no task of this spec is left.
  void forget(const AttentionSpec &spec) { kernels_.erase(spec.text()); }

private:
  std::map<std::string, std::map<std::string, std::shared_ptr<StoredKernel>>> kernels_; ///< by texts
};

} // namespace tessera::tune
