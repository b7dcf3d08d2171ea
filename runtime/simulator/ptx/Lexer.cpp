// Splits PTX text into tokens; every malformed character or number is an error with its line.
#include "runtime/simulator/ptx/Lexer.h"

#include <bit>
#include <charconv>
#include <fmt/format.h>

namespace tessera::sim::ptx {

namespace {

bool isLetter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '$'; }
bool isDigit(char c) { return c >= '0' && c <= '9'; }
bool isWord(char c) { return isLetter(c) || isDigit(c); }

int digitValue(char c) {
  if (isDigit(c))
    return c - '0';
  if (c >= 'a' && c <= 'f')
    return c - 'a' + 10;
  if (c >= 'A' && c <= 'F')
    return c - 'A' + 10;
  return 99;
}

class Lexer {
public:
  explicit Lexer(std::string_view source) : source_(source) {}

  Result<std::vector<Token>> run() {
    while (true) {
      if (Status status = skipBlank(); !status)
        return status;
      Token token;
      token.line = line_;
      if (at_ >= source_.size()) {
        tokens_.push_back(token);
        return std::move(tokens_);
      }
      if (Status status = next(token); !status)
        return status;
      tokens_.push_back(token);
    }
  }

private:
  char peek(size_t ahead = 0) const { return at_ + ahead < source_.size() ? source_[at_ + ahead] : '\0'; }
  Status error(std::string what) const {
    return Status(Code::CompileError, fmt::format("PTX line {}: {}", line_, what));
  }

  Status skipBlank() {
    while (at_ < source_.size()) {
      char c = peek();
      if (c == '\n') {
        ++line_;
        ++at_;
      } else if (c == ' ' || c == '\t' || c == '\r' || c == '\f' || c == '\v') {
        ++at_;
      } else if (c == '/' && peek(1) == '/') {
        while (at_ < source_.size() && peek() != '\n')
          ++at_;
      } else if (c == '/' && peek(1) == '*') {
        size_t end = source_.find("*/", at_ + 2);
        if (end == std::string_view::npos)
          return error("comment is not closed");
        for (size_t i = at_; i < end; ++i)
          line_ += source_[i] == '\n';
        at_ = end + 2;
      } else if (c == '\0' && at_ + 1 == source_.size()) {
        ++at_; // callers often count the terminator of a C string
      } else {
        break;
      }
    }
    return {};
  }

  Status next(Token &token) {
    size_t start = at_;
    char c = peek();
    if (isLetter(c) || (c == '%' && isWord(peek(1)))) {
      ++at_;
      while (isWord(peek()))
        ++at_;
      token.kind = TokenKind::Identifier;
      if (source_.substr(start, at_ - start) == "WARP_SZ") { // the one constant that PTX predefines
        token.kind = TokenKind::Integer;
        token.value = 32;
      }
    } else if (c == '.' && isWord(peek(1))) {
      ++at_;
      while (isWord(peek()) || (peek() == ':' && peek(1) == ':' && isWord(peek(2))))
        at_ += peek() == ':' ? 2 : 1;
      token.kind = TokenKind::Dotted;
    } else if (isDigit(c)) {
      if (Status status = number(token); !status)
        return status;
    } else if (c == '"') {
      ++at_;
      while (at_ < source_.size() && peek() != '"' && peek() != '\n')
        at_ += peek() == '\\' && at_ + 1 < source_.size() ? 2 : 1;
      if (peek() != '"')
        return error("string is not closed");
      ++at_;
      token.kind = TokenKind::String;
    } else {
      static constexpr std::string_view pairs[] = {"==", "!=", "<=", ">=", "<<", ">>", "&&", "||"};
      static constexpr std::string_view singles = "{}[]()<>,;:=@!|&^~+-*/%?.";
      token.kind = TokenKind::Punctuation;
      std::string_view pair = source_.substr(at_, 2);
      bool isPair = false;
      for (std::string_view candidate : pairs)
        isPair |= candidate == pair;
      if (!isPair && singles.find(c) == std::string_view::npos)
        return error(fmt::format("character with code {} does not belong to PTX",
                                 static_cast<unsigned>(static_cast<unsigned char>(c))));
      at_ += isPair ? 2 : 1;
    }
    token.text = source_.substr(start, at_ - start);
    return {};
  }

  Status number(Token &token) {
    size_t start = at_;
    if (peek() == '0' && (peek(1) == 'f' || peek(1) == 'F' || peek(1) == 'd' || peek(1) == 'D')) {
      bool single = peek(1) == 'f' || peek(1) == 'F';
      unsigned digits = single ? 8 : 16;
      at_ += 2;
      for (unsigned i = 0; i < digits; ++i, ++at_) {
        int digit = digitValue(peek());
        if (digit > 15)
          return error(fmt::format("0{} must be followed by {} hexadecimal digits", single ? 'f' : 'd', digits));
        token.value = token.value * 16 + static_cast<unsigned>(digit);
      }
      token.kind = single ? TokenKind::Float32 : TokenKind::Float64;
    } else {
      size_t end = at_;
      while (isDigit(source_[end]) && end + 1 < source_.size())
        ++end;
      bool hexadecimal = peek() == '0' && (peek(1) == 'x' || peek(1) == 'X' || peek(1) == 'b' || peek(1) == 'B');
      char stop = source_[end];
      if (!hexadecimal &&
          ((stop == '.' && !isLetter(end + 1 < source_.size() ? source_[end + 1] : ' ')) || stop == 'e' || stop == 'E'))
        return decimalFloat(token);
      int base = 10;
      if (hexadecimal) {
        base = peek(1) == 'x' || peek(1) == 'X' ? 16 : 2;
        at_ += 2;
      } else if (peek() == '0' && isDigit(peek(1))) {
        base = 8;
      }
      size_t first = at_;
      for (int digit; (digit = digitValue(peek())) < base; ++at_) {
        unsigned __int128 wide =
            static_cast<unsigned __int128>(token.value) * static_cast<unsigned>(base) + static_cast<unsigned>(digit);
        if (wide >> 64)
          return error(fmt::format("integer {} does not fit 64 bits", source_.substr(start, at_ - start + 1)));
        token.value = static_cast<uint64_t>(wide);
      }
      if (at_ == first)
        return error("a number has no digits");
      if (peek() == 'U' || peek() == 'u')
        ++at_;
      token.kind = TokenKind::Integer;
    }
    if (isWord(peek()))
      return error(fmt::format("'{}' is not a number", source_.substr(start, at_ - start + 1)));
    return {};
  }

  Status decimalFloat(Token &token) {
    double value = 0;
    auto [end, code] = std::from_chars(source_.data() + at_, source_.data() + source_.size(), value);
    if (code != std::errc())
      return error("malformed floating-point number");
    at_ = static_cast<size_t>(end - source_.data());
    if (isWord(peek()))
      return error("malformed floating-point number");
    token.value = std::bit_cast<uint64_t>(value);
    token.kind = TokenKind::Float64;
    return {};
  }

  std::string_view source_;
  size_t at_ = 0;
  uint32_t line_ = 1;
  std::vector<Token> tokens_;
};

} // namespace

Result<std::vector<Token>> tokenize(std::string_view source) { return Lexer(source).run(); }

} // namespace tessera::sim::ptx
