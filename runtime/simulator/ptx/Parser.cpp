// Module-level grammar: directives, function and kernel headers.
#include "runtime/simulator/ptx/ParserImpl.h"

#include <bit>

namespace tessera::sim::ptx {

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
  tree_.targetLine = peek().line;
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
  while (peek().isDotted(".extern") || peek().isDotted(".visible") || peek().isDotted(".weak") ||
         peek().isDotted(".common"))
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
bool Parser::parameterList(std::vector<Variable> &out, std::vector<uint32_t> &registers, Function &owner,
                           VariableScope scope) {
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
  if (!kernel && accept("(") &&
      !parameterList(function.results, function.resultRegisters, function, VariableScope::Result))
    return false;
  std::string_view name;
  if (!expectName(name, "the name of a function"))
    return false;
  function.name = std::string(name);
  if (accept("(") &&
      !parameterList(function.parameters, function.parameterRegisters, function, VariableScope::Parameter))
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
