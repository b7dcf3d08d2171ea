// Integer constant expressions of PTX: C's operators on 64-bit values.
#include "runtime/simulator/ptx/ParserImpl.h"

namespace tessera::sim::ptx {

namespace {
struct Operator {
  std::string_view text;
  int level;
};
/// Lowest binding first, as in C.
constexpr Operator operators[] = {
    {"||", 0}, {"&&", 1}, {"|", 2},  {"^", 3},  {"&", 4}, {"==", 5}, {"!=", 5}, {"<", 6}, {">", 6},
    {"<=", 6}, {">=", 6}, {"<<", 7}, {">>", 7}, {"+", 8}, {"-", 8},  {"*", 9},  {"/", 9}, {"%", 9},
};
constexpr int levels = 10;
} // namespace

bool Parser::startsExpression() const {
  const Token &token = peek();
  return token.kind == TokenKind::Integer || token.is("(") || token.is("-") || token.is("~") || token.is("+");
}

bool Parser::conditional(Constant &out) {
  Depth depth(depth_);
  if (depth.tooDeep())
    return failHere("the expression is nested too deeply");
  if (!binary(out, 0))
    return false;
  if (!accept("?"))
    return true;
  Constant yes, no;
  if (!conditional(yes) || !expect(":") || !conditional(no))
    return false;
  out = out.value ? yes : no;
  return true;
}

bool Parser::binary(Constant &out, int level) {
  if (level == levels)
    return unary(out);
  if (!binary(out, level + 1))
    return false;
  while (true) {
    std::string_view text;
    for (const Operator &candidate : operators)
      if (candidate.level == level && peek().is(candidate.text))
        text = candidate.text;
    if (text.empty())
      return true;
    uint32_t line = take().line;
    Constant right;
    if (!binary(right, level + 1))
      return false;
    bool isUnsigned = out.isUnsigned || right.isUnsigned;
    uint64_t a = out.value, b = right.value;
    auto sa = static_cast<int64_t>(a), sb = static_cast<int64_t>(b);
    out.isUnsigned = isUnsigned;
    if (text == "||")
      out = {a || b, false};
    else if (text == "&&")
      out = {a && b, false};
    else if (text == "|")
      out.value = a | b;
    else if (text == "^")
      out.value = a ^ b;
    else if (text == "&")
      out.value = a & b;
    else if (text == "==")
      out = {a == b, false};
    else if (text == "!=")
      out = {a != b, false};
    else if (text == "<")
      out = {isUnsigned ? a < b : sa < sb, false};
    else if (text == ">")
      out = {isUnsigned ? a > b : sa > sb, false};
    else if (text == "<=")
      out = {isUnsigned ? a <= b : sa <= sb, false};
    else if (text == ">=")
      out = {isUnsigned ? a >= b : sa >= sb, false};
    else if (text == "<<")
      out.value = b > 63 ? 0 : a << b;
    else if (text == ">>")
      out.value = isUnsigned ? (b > 63 ? 0 : a >> b) : static_cast<uint64_t>(sa >> (b > 63 ? 63 : b));
    else if (text == "+")
      out.value = a + b;
    else if (text == "-")
      out.value = a - b;
    else if (text == "*")
      out.value = a * b;
    else {
      if (b == 0)
        return fail(line, "division by zero in a constant expression");
      bool remainder = text == "%";
      if (isUnsigned)
        out.value = remainder ? a % b : a / b;
      else if (sb == -1)
        out.value = remainder ? 0 : 0 - a; // avoids the overflow of INT64_MIN / -1
      else
        out.value = static_cast<uint64_t>(remainder ? sa % sb : sa / sb);
    }
  }
}

bool Parser::unary(Constant &out) {
  Depth depth(depth_);
  if (depth.tooDeep())
    return failHere("the expression is nested too deeply");
  if (accept("-")) {
    if (!unary(out))
      return false;
    out.value = 0 - out.value;
    return true;
  }
  if (accept("+"))
    return unary(out);
  if (accept("~")) {
    if (!unary(out))
      return false;
    out.value = ~out.value;
    return true;
  }
  if (accept("!")) {
    if (!unary(out))
      return false;
    out = {out.value == 0, false};
    return true;
  }
  if (accept("(")) {
    if (acceptDotted(".s64") || acceptDotted(".u64")) {
      bool isUnsigned = tokens_[at_ - 1].text == ".u64";
      if (!expect(")") || !unary(out))
        return false;
      out.isUnsigned = isUnsigned;
      return true;
    }
    return conditional(out) && expect(")");
  }
  if (peek().kind != TokenKind::Integer)
    return failExpected("an integer");
  const Token &token = take();
  out.value = token.value;
  out.isUnsigned =
      token.text.back() == 'U' || token.text.back() == 'u' || token.value > static_cast<uint64_t>(INT64_MAX);
  return true;
}

bool Parser::unsignedNumber(uint64_t &out, const char *what, uint64_t limit) {
  uint32_t line = peek().line;
  Constant value;
  if (!expression(value))
    return false;
  if (value.value > limit)
    return fail(line, fmt::format("{} {} is beyond {}", what, static_cast<int64_t>(value.value), limit));
  out = value.value;
  return true;
}

} // namespace tessera::sim::ptx
