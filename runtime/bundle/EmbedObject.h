// EmbedObject: a bundle as an object file, so that a program carries it in its own binary.
#pragma once

#include "runtime/spec/Result.h"

#include <string>
#include <string_view>

namespace tessera {

/// An ELF relocatable file for the machine that this library runs on (x86-64 or AArch64; Unsupported elsewhere), with
/// the bytes in read-only, page-aligned data and the global symbols `symbol` (first byte) and `symbol`_size (a
/// uint64_t). The same input gives the same bytes. InvalidArgument where `symbol` is no C identifier.
Result<std::string> embedObject(std::string_view bytes, std::string_view symbol);

} // namespace tessera
