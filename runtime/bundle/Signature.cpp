// Ed25519 by libsodium. Nothing here quotes the text of a private key.
#include "runtime/bundle/Signature.h"

#include <cerrno>
#include <fmt/format.h>
#include <sodium.h>
#include <system_error>
#include <unistd.h>

namespace tessera {
namespace {

static_assert(crypto_sign_PUBLICKEYBYTES == 32 && crypto_sign_SEEDBYTES == 32 && crypto_sign_BYTES == 64);

constexpr std::string_view publicPrefix = "tessera-ed25519-public ";
constexpr std::string_view privatePrefix = "tessera-ed25519-private ";

using Bytes32 = std::array<uint8_t, 32>;

/// Every way to a key leads through here, so that what works with keys need not ask again.
Status startSodium() {
  return sodium_init() < 0 ? Status(Code::Internal, "libsodium cannot be initialised") : Status();
}

std::string keyText(std::string_view prefix, const Bytes32 &bytes) {
  std::string text(prefix);
  text.resize(prefix.size() + 2 * bytes.size() + 1);
  sodium_bin2hex(text.data() + prefix.size(), 2 * bytes.size() + 1, bytes.data(), bytes.size());
  text.pop_back();
  return text;
}

/// Reads one line, with or without its end.
Status parseKey(std::string_view text, std::string_view prefix, std::string_view kind, Bytes32 &bytes) {
  if (Status status = startSodium(); !status.ok())
    return status;
  if (text.ends_with('\n'))
    text.remove_suffix(1);
  if (text.ends_with('\r'))
    text.remove_suffix(1);
  auto refuse = [&](std::string_view what) {
    return Status(Code::InvalidArgument, fmt::format("not a {} key: {}", kind, what),
                  fmt::format("one line, '{}' and 64 hexadecimal digits; tessera bundle keygen writes it", prefix));
  };
  if (!text.starts_with(prefix))
    return refuse(text.starts_with(privatePrefix)  ? "it is a private key"
                  : text.starts_with(publicPrefix) ? "it is a public key"
                                                   : "the line starts with something else");
  text.remove_prefix(prefix.size());
  size_t length = 0;
  const char *end = nullptr;
  if (sodium_hex2bin(bytes.data(), bytes.size(), text.data(), text.size(), nullptr, &length, &end) != 0 ||
      length != bytes.size() || end != text.data() + text.size())
    return refuse("the digits are not 64 hexadecimal ones");
  return {};
}

/// The pair that a seed stands for; the private half is wiped.
struct KeyPair {
  explicit KeyPair(const Bytes32 &seed) { crypto_sign_seed_keypair(publicHalf.bytes.data(), privateHalf, seed.data()); }
  KeyPair(const KeyPair &) = delete;
  KeyPair &operator=(const KeyPair &) = delete;
  ~KeyPair() { sodium_memzero(privateHalf, sizeof privateHalf); }
  PublicKey publicHalf;
  uint8_t privateHalf[crypto_sign_SECRETKEYBYTES];
};

} // namespace

std::string PublicKey::text() const { return keyText(publicPrefix, bytes); }

Result<PublicKey> PublicKey::parse(std::string_view text) {
  PublicKey key;
  if (Status status = parseKey(text, publicPrefix, "public", key.bytes); !status.ok())
    return status;
  return key;
}

Result<PrivateKey> PrivateKey::generate() {
  if (Status status = startSodium(); !status.ok())
    return status;
  PrivateKey key;
  // Unlike libsodium's own generator it reports a failure instead of ending the process.
  if (getentropy(key.seed_.data(), key.seed_.size()))
    return Status(Code::Internal,
                  fmt::format("no random bytes from the system: {}", std::system_category().message(errno)));
  return key;
}

std::string PrivateKey::text() const { return keyText(privatePrefix, seed_); }

Result<PrivateKey> PrivateKey::parse(std::string_view text) {
  PrivateKey key;
  if (Status status = parseKey(text, privatePrefix, "private", key.seed_); !status.ok())
    return status;
  return key;
}

PublicKey PrivateKey::publicKey() const { return KeyPair(seed_).publicHalf; }

PrivateKey::~PrivateKey() { sodium_memzero(seed_.data(), seed_.size()); }

Signature Signature::sign(const PrivateKey &key, std::string_view message) {
  const KeyPair pair(key.seed_);
  Signature signature;
  signature.key = pair.publicHalf;
  crypto_sign_detached(signature.bytes.data(), nullptr, reinterpret_cast<const uint8_t *>(message.data()),
                       message.size(), pair.privateHalf);
  return signature;
}

bool Signature::matches(std::string_view message) const {
  return startSodium().ok() &&
         crypto_sign_verify_detached(bytes.data(), reinterpret_cast<const uint8_t *>(message.data()), message.size(),
                                     key.bytes.data()) == 0;
}

} // namespace tessera
