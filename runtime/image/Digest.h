// BLAKE2b-256, the one digest of Tessera: of images, keys and bundles.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace tessera {

using Digest = std::array<uint8_t, 32>;

/// BLAKE2b with 32 bytes of output and no key. Thread-safe.
Digest digestOf(std::string_view bytes);

/// 64 lower-case hexadecimal digits.
std::string hexText(const Digest &digest);

} // namespace tessera
