// BLAKE2b-256 by libsodium.
#include "runtime/image/Digest.h"

#include <sodium.h>

namespace tessera {

static_assert(crypto_generichash_BYTES == std::tuple_size_v<Digest>);

Digest digestOf(std::string_view bytes) {
  Digest digest{};
  crypto_generichash(digest.data(), digest.size(), reinterpret_cast<const unsigned char *>(bytes.data()), bytes.size(),
                     nullptr, 0);
  return digest;
}

std::string hexText(const Digest &digest) {
  std::string text(2 * digest.size() + 1, '\0');
  sodium_bin2hex(text.data(), text.size(), digest.data(), digest.size());
  text.pop_back();
  return text;
}

} // namespace tessera
