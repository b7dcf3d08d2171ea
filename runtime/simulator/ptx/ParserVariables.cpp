// Variable declarations with their initial values.
#include "runtime/simulator/ptx/ParserImpl.h"

#include <bit>
#include <cstring>

namespace tessera::sim::ptx {

namespace {
constexpr uint64_t largestVariable = uint64_t(1) << 40;
constexpr uint64_t largestInitialised = uint64_t(1) << 28;
} // namespace

/// After the space: `.align 4 .v4 .f32 name[2][3] = {…}, other;`
bool Parser::variableDeclaration(Space space, bool external, std::vector<Variable> &out, bool module) {
  uint64_t alignment = 0;
  unsigned vector = 1;
  Type type = Type::None;
  while (peek().kind == TokenKind::Dotted) {
    const Token &token = take();
    if (token.text == ".align") {
      if (!unsignedNumber(alignment, "alignment", 1 << 16))
        return false;
      if (!std::has_single_bit(alignment))
        return fail(token.line, fmt::format("alignment {} is not a power of two", alignment));
    } else if (token.text == ".attribute") {
      if (!expect("("))
        return false;
      for (unsigned open = 1; open; take()) {
        if (peek().kind == TokenKind::End)
          return failExpected("')'");
        open += peek().is("(");
        open -= peek().is(")");
      }
    } else if (token.text == ".v2" || token.text == ".v4" || token.text == ".v8") {
      vector = static_cast<unsigned>(token.text[2] - '0');
    } else if (auto parsed = parseType(token.text); parsed && *parsed != Type::Pred) {
      type = *parsed;
    } else if (token.text == ".texref" || token.text == ".samplerref" || token.text == ".surfref") {
      return fail(token.line, fmt::format("'{}' is not supported: textures and surfaces are not modelled", token.text));
    } else {
      return fail(token.line, fmt::format("'{}' is not a type or attribute of a variable", token.text));
    }
  }
  if (type == Type::None)
    return failExpected("the type of the variable");
  unsigned elementSize = sizeOf(type) * vector;
  do {
    Variable variable;
    std::string_view name;
    variable.line = peek().line;
    if (!expectName(name, "the name of a variable"))
      return false;
    variable.name = std::string(name);
    variable.space = space;
    variable.external = external;
    variable.alignment = alignment ? static_cast<uint32_t>(alignment) : elementSize;
    std::vector<uint64_t> extents;
    while (accept("[")) {
      uint64_t extent = 0;
      if (accept("]")) {
        if (!extents.empty())
          return failHere("only the first extent of an array may be left out");
        variable.unsizedArray = true;
      } else if (!unsignedNumber(extent, "array extent", largestVariable) || !expect("]")) {
        return false;
      }
      extents.push_back(extent);
    }
    unsigned __int128 size = elementSize;
    for (uint64_t extent : extents) {
      size *= extent;
      if (size > largestVariable)
        return fail(variable.line, fmt::format("variable '{}' is larger than {} bytes", name, largestVariable));
    }
    variable.size = static_cast<uint64_t>(size);
    if (accept("=")) {
      if (space != Space::Global && space != Space::Const)
        return failHere(fmt::format("a .{} variable cannot have an initial value", toString(space)));
      if (vector > 1)
        extents.push_back(vector);
      if (!initializer(variable, type, elementSize, extents))
        return false;
    } else if (variable.unsizedArray && !external) {
      return fail(variable.line, fmt::format("array '{}' has no extent", name));
    }
    if (module) {
      auto known = moduleVariables_.find(name);
      if (known != moduleVariables_.end()) {
        if (!tree_.variables[known->second].external)
          return fail(variable.line, fmt::format("'{}' is declared twice", name));
        tree_.variables[known->second] = std::move(variable);
        continue;
      }
      moduleVariables_[name] = static_cast<uint32_t>(out.size());
    } else if (!declare(name, {false, static_cast<uint32_t>(out.size()), 1, VariableScope::Function}, variable.line)) {
      return false;
    }
    out.push_back(std::move(variable));
  } while (accept(","));
  return expect(";");
}

bool Parser::initializer(Variable &variable, Type type, unsigned elementSize, const std::vector<uint64_t> &extents) {
  if (variable.size > largestInitialised)
    return failHere(
        fmt::format("initialised variable '{}' is larger than {} bytes", variable.name, largestInitialised));
  variable.initial.assign(variable.size, 0);
  if (extents.empty())
    return initializerElement(variable, type, 0);
  if (!peek().is("{"))
    return failExpected("'{' of the initial values");
  if (!initializerLevel(variable, type, extents, 0, 0))
    return false;
  variable.size = variable.initial.size();
  return true;
}

bool Parser::initializerLevel(Variable &variable, Type type, const std::vector<uint64_t> &extents, size_t level,
                              uint64_t base) {
  Depth depth(depth_);
  if (depth.tooDeep() || level >= extents.size())
    return failHere("the initial values are nested more deeply than the array");
  if (!expect("{"))
    return false;
  uint64_t stride = sizeOf(type);
  for (size_t i = level + 1; i < extents.size(); ++i)
    stride *= extents[i];
  bool grows = level == 0 && variable.unsizedArray;
  uint64_t count = 0;
  while (!accept("}")) {
    if (count && !expect(","))
      return false;
    if (accept("}"))
      break;
    uint64_t offset = base + count * stride;
    if (!grows && count >= extents[level])
      return failHere(fmt::format("'{}' has more initial values than its extent {}", variable.name, extents[level]));
    if (grows) {
      if (offset + stride > largestInitialised)
        return failHere(fmt::format("'{}' is too large", variable.name));
      variable.initial.resize(offset + stride);
    }
    if (peek().is("{")) {
      if (!initializerLevel(variable, type, extents, level + 1, offset))
        return false;
    } else if (level + 1 == extents.size()) {
      if (!initializerElement(variable, type, offset))
        return false;
    } else {
      return failExpected("'{' of an inner array");
    }
    ++count;
  }
  return true;
}

bool Parser::initializerElement(Variable &variable, Type type, uint64_t offset) {
  unsigned size = sizeOf(type);
  auto put = [&](const void *bytes) { std::memcpy(variable.initial.data() + offset, bytes, size); };
  bool negative = false;
  if ((peek().is("-") || peek().is("+")) && (peek(1).kind == TokenKind::Float64 || peek(1).kind == TokenKind::Float32))
    negative = take().is("-");
  if (peek().kind == TokenKind::Float32 || peek().kind == TokenKind::Float64) {
    const Token &token = take();
    bool single = token.kind == TokenKind::Float32;
    double value =
        single ? std::bit_cast<float>(static_cast<uint32_t>(token.value)) : std::bit_cast<double>(token.value);
    uint64_t bits64 = token.value ^ (negative ? uint64_t(1) << 63 : 0);
    auto bits32 = static_cast<uint32_t>(token.value) ^ (negative ? 1u << 31 : 0);
    if (type == Type::F64) {
      if (single)
        bits64 = std::bit_cast<uint64_t>(negative ? -value : value);
      put(&bits64);
    } else if (type == Type::F32) {
      if (!single)
        bits32 = std::bit_cast<uint32_t>(static_cast<float>(negative ? -value : value));
      put(&bits32);
    } else {
      return fail(token.line, fmt::format("a floating-point value cannot initialise {}", toString(type)));
    }
    return true;
  }
  bool masked = peek().kind == TokenKind::Integer && peek(1).is("(");
  if (!masked && (startsExpression() || peek().is("!"))) {
    Constant value;
    uint32_t line = peek().line;
    if (!expression(value))
      return false;
    if (type == Type::F32 || type == Type::F64)
      return fail(line, "a floating-point variable needs a floating-point initial value");
    bool extends = !value.isUnsigned && static_cast<int64_t>(value.value) < 0;
    const uint64_t bits[2] = {value.value, extends ? ~uint64_t(0) : 0}; // as many as .b128 takes
    put(bits);
    return true;
  }
  Relocation relocation;
  relocation.offset = static_cast<uint32_t>(offset);
  relocation.size = size;
  relocation.line = peek().line;
  unsigned parentheses = 0;
  if (masked) { // 0xff00(symbol): those bits, shifted down
    relocation.mask = take().value;
    take();
    ++parentheses;
  }
  if (peek().kind == TokenKind::Identifier && peek(1).is("(")) {
    if (take().text != "generic")
      return failHere("only generic() may stand around a symbol");
    relocation.generic = true;
    take();
    ++parentheses;
  }
  std::string_view symbol;
  if (!expectName(symbol, "an initial value"))
    return false;
  relocation.symbol = std::string(symbol);
  auto addend = [&] {
    if (!peek().is("+") && !peek().is("-"))
      return true;
    bool minus = take().is("-");
    Constant value;
    if (!expression(value))
      return false;
    uint64_t more = minus ? 0 - value.value : value.value;
    relocation.addend = static_cast<int64_t>(static_cast<uint64_t>(relocation.addend) + more); // wraps
    return true;
  };
  if (!addend())
    return false;
  while (parentheses--)
    if (!expect(")"))
      return false;
  if (!addend())
    return false;
  if (size < 8 && relocation.mask == ~0ull && type != Type::U32 && type != Type::B32)
    return fail(relocation.line, fmt::format("an address does not fit {}", toString(type)));
  variable.relocations.push_back(std::move(relocation));
  return true;
}

} // namespace tessera::sim::ptx
