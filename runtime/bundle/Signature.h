// Ed25519 keys and signatures of bundles, and their files.
#pragma once

#include "runtime/spec/Result.h"

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace tessera {

struct PublicKey {
  std::array<uint8_t, 32> bytes{};
  /// One line: "tessera-ed25519-public " and 64 hexadecimal digits.
  std::string text() const;
  static Result<PublicKey> parse(std::string_view text);
  friend bool operator==(const PublicKey &, const PublicKey &) = default;
};

/// The seed of a key pair; wiped when it is destroyed.
class PrivateKey {
public:
  static Result<PrivateKey> generate(); ///< from the system's random source
  /// One line: "tessera-ed25519-private " and 64 hexadecimal digits. Whoever writes it to a file gives it mode 0600.
  std::string text() const;
  static Result<PrivateKey> parse(std::string_view text);
  PublicKey publicKey() const;

  PrivateKey(const PrivateKey &) = default;
  PrivateKey &operator=(const PrivateKey &) = default;
  ~PrivateKey();

private:
  friend struct Signature;
  PrivateKey() = default;
  std::array<uint8_t, 32> seed_{};
};

/// A signature with the public half of the key that made it.
struct Signature {
  PublicKey key;
  std::array<uint8_t, 64> bytes{};

  static Signature sign(const PrivateKey &key, std::string_view message);
  bool matches(std::string_view message) const; ///< for its own key
};

} // namespace tessera
