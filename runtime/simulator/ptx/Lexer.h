// Lexer: PTX text to tokens with lines. Comments and white space vanish here.
#pragma once

#include "runtime/spec/Result.h"

#include <cstdint>
#include <string_view>
#include <vector>

namespace tessera::sim::ptx {

enum class TokenKind : uint8_t {
  Identifier, ///< name, register or opcode: [a-zA-Z_$%][a-zA-Z0-9_$]*
  Dotted,     ///< directive or qualifier with its dot and "::" parts: .f32, .shared::cta, .L2::128B, .16
  Integer,
  Float32, ///< bits of a single (0f…)
  Float64, ///< bits of a double (0d… or decimal)
  String,
  Punctuation, ///< one character, or one of == != <= >= << >> && ||
  End,
};

struct Token {
  TokenKind kind = TokenKind::End;
  std::string_view text; ///< into the source
  uint32_t line = 0;     ///< 1-based
  uint64_t value = 0;    ///< integers and float bits
  bool is(std::string_view punctuation) const { return kind == TokenKind::Punctuation && text == punctuation; }
  bool isDotted(std::string_view name) const { return kind == TokenKind::Dotted && text == name; }
};

/// The tokens of `source`, ended by one End token. The views point into `source`.
Result<std::vector<Token>> tokenize(std::string_view source);

} // namespace tessera::sim::ptx
