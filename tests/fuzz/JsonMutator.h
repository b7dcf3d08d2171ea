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

/// The whole of a custom mutator for texts whose lines may be JSON: one of them is changed.
size_t mutateLine(uint8_t *data, size_t size, size_t maxSize, unsigned seed, std::span<const std::string_view> words);

} // namespace tessera::fuzz
