// The key of a kernel image: everything that its bytes depend on, as one text and its digest. Computed from the spec,
// never from IR.
#pragma once

#include "runtime/spec/Schedule.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tessera {

/// What the bytes of an image follow from. The driver's version is not in it.
struct ImageKey {
  std::string compilerBuild; ///< content hash of the compiler library
  AttentionSpec spec;
  Schedule schedule;
  std::string target;    ///< with its suffix: "sm_80"
  std::string assembler; ///< kind and version: "nvJitLink 13.0", or "none"
  std::string options;   ///< options of code generation that are in neither spec nor schedule; usually empty

  /// Schema version and every field as "name length:value", one a line, so that no value can imitate another field.
  std::string text() const;
};

struct KeyField {
  std::string name, value;
  friend bool operator==(const KeyField &, const KeyField &) = default;
};
/// The fields of a key text in their order, after the schema as a field of that name; nothing for a text that is no
/// key.
std::optional<std::vector<KeyField>> keyFields(std::string_view keyText);

/// The hexadecimal BLAKE2b-256 of a key text: file name in caches, index entry in bundles.
std::string keyHash(std::string_view keyText);

} // namespace tessera
