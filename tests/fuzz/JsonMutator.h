// JsonMutator: changes to JSON texts that leave most of them JSON, so that what reads them is reached behind its
// parser.
#pragma once

#include "tests/fuzz/Random.h"

#include <span>

namespace tessera::fuzz {

/// One to three changes of values, elements and keys; new texts come from the document itself and from `words`. The
/// result is written without blanks and with sorted keys, now and then with blanks or with its bytes changed instead.
/// A text that is no JSON, or nests too deeply, has its bytes changed.
std::string mutateJson(std::string_view text, Random &random, std::span<const std::string_view> words = {});

} // namespace tessera::fuzz
