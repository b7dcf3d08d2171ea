// Module-level grammar: directives, variables with initialisers, function and kernel headers.
#include "runtime/simulator/ptx/ParserImpl.h"

#include <bit>
#include <cstring>

namespace tessera::sim::ptx {

namespace {
constexpr uint64_t largestVariable = uint64_t(1) << 40;
constexpr uint64_t largestInitialised = uint64_t(1) << 28;
} // namespace

std::string_view toString(Space space) {
  constexpr std::string_view names[] = {"generic", "global", "shared", "local", "param", "const"};
  return names[static_cast<unsigned>(space)];
}

std::string_view lineText(std::string_view source, uint32_t line) {
  size_t start = 0;
  for (uint32_t i = 1; i < line; ++i) {
    size_t end = source.find('\n', start);
    if (end == std::string_view::npos)
      return {};
    start = end + 1;
  }
  std::string_view text = source.substr(start, source.find('\n', start) - start);
  size_t first = text.find_first_not_of(" \t"), last = text.find_last_not_of(" \t\r");
  if (first == std::string_view::npos)
    return {};
  return text.substr(first, std::min<size_t>(last - first + 1, 200));
}

Result<SyntaxTree> parse(std::string_view source) { return Parser(source).run(); }

Result<SyntaxTree> Parser::run() {
  auto tokens = tokenize(source_);
  if (!tokens)
    return tokens.status();
  tokens_ = std::move(*tokens);
  if (!header())
    return error_;
  while (peek().kind != TokenKind::End)
    if (!moduleItem())
      return error_;
  return std::move(tree_);
}

bool Parser::accept(std::string_view punctuation) {
  if (!peek().is(punctuation))
    return false;
  take();
  return true;
}

bool Parser::acceptDotted(std::string_view name) {
  if (!peek().isDotted(name))
    return false;
  take();
  return true;
}

bool Parser::expect(std::string_view punctuation) {
  return accept(punctuation) || failExpected(fmt::format("'{}'", punctuation));
}

bool Parser::expectName(std::string_view &name, const char *what) {
  if (peek().kind != TokenKind::Identifier)
    return failExpected(what);
  name = take().text;
  return true;
}

bool Parser::failExpected(std::string_view what) {
  const Token &token = peek();
  if (token.kind == TokenKind::End)
    return failHere(fmt::format("the text ends where {} should follow", what));
  return failHere(fmt::format("expected {}, got '{}'", what, token.text));
}

bool Parser::fail(uint32_t line, std::string what) {
  if (error_.ok())
    error_ = Status(Code::CompileError, fmt::format("PTX line {}: {}\n  {}", line, what, lineText(source_, line)));
  return false;
}

bool Parser::header() {
  if (!acceptDotted(".version"))
    return failExpected("'.version' at the start of the module");
  const Token &version = take();
  if ((version.kind != TokenKind::Float64 && version.kind != TokenKind::Integer) ||
      version.text.find_first_not_of("0123456789.") != std::string_view::npos || version.text.size() > 8)
    return fail(version.line, fmt::format("'{}' is not a version", version.text));
  for (size_t i = 0, dots = 0; i < version.text.size(); ++i) {
    if (version.text[i] == '.')
      ++dots;
    else if (unsigned &part = dots ? tree_.minor : tree_.major; true)
      part = part * 10 + static_cast<unsigned>(version.text[i] - '0');
  }
  if (!acceptDotted(".target"))
    return failExpected("'.target' after '.version'");
  std::string_view name;
  if (!expectName(name, "the name of a target"))
    return false;
  tree_.target = std::string(name);
  while (accept(","))
    if (!expectName(name, "a target option"))
      return false;
  if (acceptDotted(".address_size")) {
    const Token &size = take();
    if (size.kind != TokenKind::Integer || size.value != 64)
      return fail(size.line, fmt::format("address size '{}' is not supported; 64 is", size.text));
  }
  return true;
}

void Parser::skipLine() {
  uint32_t line = peek().line;
  while (peek().kind != TokenKind::End && peek().line == line)
    take();
}

/// `.section .debug_info { … }`: debug data is of no use here.
bool Parser::skipSection() {
  uint32_t line = take().line;
  while (peek().kind != TokenKind::End && !peek().is("{"))
    take();
  unsigned open = 0;
  do {
    if (peek().kind == TokenKind::End)
      return fail(line, "the section is not closed");
    open += peek().is("{");
    open -= peek().is("}");
    take();
  } while (open);
  return true;
}

bool Parser::moduleItem() {
  const Token &token = peek();
  if (token.kind != TokenKind::Dotted)
    return failExpected("a directive");
  if (token.text == ".file" || token.text == ".loc") {
    skipLine();
    return true;
  }
  if (token.text == ".section")
    return skipSection();
  if (token.text == ".pragma") {
    while (peek().kind != TokenKind::End && !peek().is(";"))
      take();
    return expect(";");
  }
  bool external = false;
  while (peek().isDotted(".extern") || peek().isDotted(".visible") || peek().isDotted(".weak") || peek().isDotted(".common"))
    external |= take().text == ".extern";
  if (acceptDotted(".entry"))
    return function(true);
  if (acceptDotted(".func"))
    return function(false);
  size_t before = tree_.variables.size();
  bool ok = false;
  if (acceptDotted(".global"))
    ok = variableDeclaration(Space::Global, external, tree_.variables, true);
  else if (acceptDotted(".const"))
    ok = variableDeclaration(Space::Const, external, tree_.variables, true);
  else if (acceptDotted(".shared"))
    ok = variableDeclaration(Space::Shared, external, tree_.variables, true);
  else
    return failHere(fmt::format("directive '{}' is not supported at module level", peek().text));
  if (!ok)
    return false;
  for (size_t i = before; i < tree_.variables.size(); ++i)
    tree_.variables[i].external = external;
  return true;
}

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
    return failHere(fmt::format("initialised variable '{}' is larger than {} bytes", variable.name, largestInitialised));
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

bool Parser::initializerLevel(Variable &variable, Type type, const std::vector<uint64_t> &extents, size_t level, uint64_t base) {
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
    double value = single ? std::bit_cast<float>(static_cast<uint32_t>(token.value)) : std::bit_cast<double>(token.value);
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
  if (!masked && startsExpression()) {
    Constant value;
    uint32_t line = peek().line;
    if (!expression(value))
      return false;
    if (type == Type::F32 || type == Type::F64)
      return fail(line, "a floating-point variable needs a floating-point initial value");
    put(&value.value);
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
    relocation.addend += static_cast<int64_t>(minus ? 0 - value.value : value.value);
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

bool Parser::threeNumbers(std::array<uint32_t, 3> &out) {
  out = {1, 1, 1};
  for (unsigned i = 0; i < 3; ++i) {
    uint64_t value = 0;
    if (i && !accept(","))
      return true;
    if (!unsignedNumber(value, "extent", 0x7fffffff))
      return false;
    out[i] = static_cast<uint32_t>(value);
  }
  return true;
}

bool Parser::performanceDirective(Function &function, bool &found) {
  found = true;
  uint64_t number = 0;
  if (acceptDotted(".maxntid"))
    return threeNumbers(function.maxThreads);
  if (acceptDotted(".reqntid"))
    return threeNumbers(function.requiredThreads);
  if (acceptDotted(".reqnctapercluster"))
    return threeNumbers(function.requiredCluster);
  if (acceptDotted(".maxnreg")) {
    if (!unsignedNumber(number, ".maxnreg", 255))
      return false;
    function.maxRegisters = static_cast<uint32_t>(number);
    return true;
  }
  if (acceptDotted(".minnctapersm")) {
    if (!unsignedNumber(number, ".minnctapersm", 1024))
      return false;
    function.minBlocks = static_cast<uint32_t>(number);
    return true;
  }
  if (acceptDotted(".maxnctapersm") || acceptDotted(".maxclusterrank") || acceptDotted(".abi_preserve") ||
      acceptDotted(".abi_preserve_control"))
    return unsignedNumber(number, "number", 1 << 20);
  if (acceptDotted(".noreturn") || acceptDotted(".explicitcluster") || acceptDotted(".blocksareclusters"))
    return true;
  if (acceptDotted(".pragma")) {
    while (peek().kind == TokenKind::String || peek().is(","))
      take();
    return expect(";");
  }
  found = false;
  return true;
}

/// `.param .align 8 .b8 name[32]`, `.param .u64 .ptr .global .align 1 name`, `.reg .b32 name`, after the parenthesis.
bool Parser::parameterList(std::vector<Variable> &out, std::vector<uint32_t> &registers, Function &owner, VariableScope scope) {
  if (accept(")"))
    return true;
  do {
    bool isRegister = acceptDotted(".reg");
    if (!isRegister && !acceptDotted(".param"))
      return failExpected("'.param'");
    Variable variable;
    variable.space = Space::Param;
    variable.line = peek().line;
    Type type = Type::None;
    uint64_t alignment = 0;
    bool pointer = false;
    while (peek().kind == TokenKind::Dotted) {
      const Token &token = take();
      if (token.text == ".align") {
        uint64_t value = 0;
        if (!unsignedNumber(value, "alignment", 1 << 16))
          return false;
        if (!std::has_single_bit(value))
          return fail(token.line, fmt::format("alignment {} is not a power of two", value));
        if (!pointer) // after .ptr it is the alignment of what is pointed to
          alignment = value;
      } else if (token.text == ".ptr") {
        pointer = true;
      } else if (token.text == ".noalias" || (pointer && (token.text == ".global" || token.text == ".shared" ||
                                                          token.text == ".const" || token.text == ".local"))) {
        continue;
      } else if (auto parsed = parseType(token.text)) {
        type = *parsed;
      } else {
        return fail(token.line, fmt::format("'{}' is not a type or attribute of a parameter", token.text));
      }
    }
    if (type == Type::None)
      return failExpected("the type of the parameter");
    if (type == Type::Pred && !isRegister)
      return failHere("a .param cannot be a predicate");
    std::string_view name;
    if (!expectName(name, "the name of a parameter"))
      return false;
    variable.name = std::string(name);
    variable.size = sizeOf(type);
    variable.alignment = alignment ? static_cast<uint32_t>(alignment) : std::max(1u, sizeOf(type));
    while (accept("[")) {
      uint64_t extent = 0;
      if (!accept("]") && (!unsignedNumber(extent, "array extent", 1 << 20) || !expect("]")))
        return false;
      variable.size *= extent;
      if (variable.size > (1 << 20))
        return failHere(fmt::format("parameter '{}' is too large", name));
    }
    LocalSymbol symbol{isRegister, static_cast<uint32_t>(out.size()), 1, scope};
    if (isRegister) {
      symbol.index = static_cast<uint32_t>(owner.registers.size());
      owner.registers.push_back({type, variable.name});
    }
    registers.push_back(isRegister ? symbol.index : none);
    if (name != "_" && !declare(name, symbol, variable.line))
      return false;
    out.push_back(std::move(variable));
  } while (accept(","));
  return expect(")");
}

bool Parser::function(bool kernel) {
  Function function;
  function.kernel = kernel;
  function.line = peek().line;
  scopes_.assign(1, Scope{});
  scope_ = 0;
  pendingTables_.clear();
  bool found = true;
  while (found)
    if (!performanceDirective(function, found))
      return false;
  if (!kernel && accept("(") && !parameterList(function.results, function.resultRegisters, function, VariableScope::Result))
    return false;
  std::string_view name;
  if (!expectName(name, "the name of a function"))
    return false;
  function.name = std::string(name);
  if (accept("(") && !parameterList(function.parameters, function.parameterRegisters, function, VariableScope::Parameter))
    return false;
  for (found = true; found;)
    if (!performanceDirective(function, found))
      return false;
  auto [known, isNew] = functions_.try_emplace(name, static_cast<uint32_t>(tree_.functions.size()));
  if (isNew)
    tree_.functions.push_back(function);
  else if (tree_.functions[known->second].kernel != kernel)
    return fail(function.line, fmt::format("'{}' is declared both as kernel and as function", name));
  if (accept(";"))
    return true;
  if (tree_.functions[known->second].defined)
    return fail(function.line, fmt::format("'{}' is defined twice", name));
  function.defined = true;
  if (!body(function))
    return false;
  tree_.functions[known->second] = std::move(function);
  return true;
}

} // namespace tessera::sim::ptx
