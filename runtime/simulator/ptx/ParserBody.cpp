// Function bodies: scopes, registers, labels, instructions and their operands.
#include "runtime/simulator/ptx/ParserImpl.h"

#include <charconv>

namespace tessera::sim::ptx {

namespace {
constexpr uint64_t largestRegisterCount = 1 << 20;
constexpr size_t mostRegisters = 1 << 20;
constexpr unsigned deepestScope = 256;
} // namespace

bool Parser::declare(std::string_view name, LocalSymbol symbol, uint32_t line) {
  if (!scopes_[scope_].symbols.emplace(name, symbol).second)
    return fail(line, fmt::format("'{}' is declared twice in one scope", name));
  return true;
}

bool Parser::body(Function &function) {
  uint32_t opened = peek().line;
  if (!expect("{"))
    return false;
  unsigned open = 1;
  while (open) {
    if (peek().kind == TokenKind::End)
      return fail(opened, fmt::format("the body of '{}' is not closed", function.name));
    if (accept("{")) {
      Scope inner;
      inner.parent = static_cast<int>(scope_);
      scope_ = static_cast<uint32_t>(scopes_.size());
      scopes_.push_back(std::move(inner));
      if (++open > deepestScope)
        return failHere("the braces are nested too deeply");
    } else if (accept("}")) {
      if (--open)
        scope_ = static_cast<uint32_t>(scopes_[scope_].parent);
    } else if (!statement(function)) {
      return false;
    }
  }
  return resolveLabels(function);
}

bool Parser::statement(Function &function) {
  const Token &token = peek();
  if (token.kind == TokenKind::Dotted) {
    if (token.text == ".loc" || token.text == ".file") {
      skipLine();
      return true;
    }
    if (token.text == ".section")
      return skipSection();
    if (acceptDotted(".reg"))
      return registerDeclaration(function);
    if (acceptDotted(".local"))
      return variableDeclaration(Space::Local, false, function.variables, false);
    if (acceptDotted(".shared"))
      return variableDeclaration(Space::Shared, false, function.variables, false);
    if (acceptDotted(".param"))
      return variableDeclaration(Space::Param, false, function.variables, false);
    bool found = false;
    if (token.text == ".pragma")
      return performanceDirective(function, found);
    return failHere(fmt::format("directive '{}' is not supported in a function", token.text));
  }
  if (token.kind == TokenKind::Identifier && peek(1).is(":")) {
    std::string_view name = take().text;
    take();
    if (peek().kind == TokenKind::Dotted &&
        (peek().text == ".branchtargets" || peek().text == ".calltargets" || peek().text == ".callprototype"))
      return labelTable(function, name, take().text);
    if (!scopes_[scope_].labels.emplace(name, static_cast<uint32_t>(function.body.size())).second)
      return fail(token.line, fmt::format("label '{}' is defined twice", name));
    return true;
  }
  if (accept(";"))
    return true;
  return instruction(function);
}

bool Parser::registerDeclaration(Function &function) {
  Type type = Type::None;
  unsigned vector = 1;
  while (peek().kind == TokenKind::Dotted) {
    const Token &token = take();
    if (token.text == ".v2" || token.text == ".v4")
      vector = static_cast<unsigned>(token.text[2] - '0');
    else if (auto parsed = parseType(token.text))
      type = *parsed;
    else
      return fail(token.line, fmt::format("'{}' is not a type of a register", token.text));
  }
  if (type == Type::None)
    return failExpected("the type of the registers");
  do {
    uint32_t line = peek().line;
    std::string_view name;
    if (!expectName(name, "the name of a register"))
      return false;
    if (accept("<")) {
      // A plain number: in an expression, '>' would compare.
      uint64_t count = peek().value;
      if (peek().kind != TokenKind::Integer || count > largestRegisterCount)
        return failExpected(fmt::format("a number of registers up to {}", largestRegisterCount));
      take();
      if (!expect(">"))
        return false;
      if (vector > 1)
        return fail(line, "a numbered set of vector registers is not supported");
      scopes_[scope_].ranges.push_back({name, count, type});
      continue;
    }
    LocalSymbol symbol{true, static_cast<uint32_t>(function.registers.size()), vector};
    for (unsigned i = 0; i < vector; ++i)
      function.registers.push_back({type, std::string(name)});
    if (!declare(name, symbol, line))
      return false;
  } while (accept(","));
  if (function.registers.size() > mostRegisters)
    return failHere("the function has too many registers");
  return expect(";");
}

bool Parser::labelTable(Function &function, std::string_view name, std::string_view directive) {
  uint32_t line = peek().line;
  LabelTable table;
  table.name = std::string(name);
  PendingTable pending{static_cast<uint32_t>(function.tables.size()), scope_, line, {}};
  if (directive == ".callprototype") {
    table.kind = LabelTable::Prototype;
    while (peek().kind != TokenKind::End && !peek().is(";"))
      take();
  } else {
    table.kind = directive == ".branchtargets" ? LabelTable::Branch : LabelTable::CallTargets;
    do {
      std::string_view target;
      if (!expectName(target, "a label"))
        return false;
      pending.names.push_back(target);
    } while (accept(","));
  }
  function.tables.push_back(std::move(table));
  pendingTables_.push_back(std::move(pending));
  return expect(";");
}

/// A register of an enclosing scope; makes those of numbered sets on first use.
bool Parser::findRegister(Function &function, std::string_view name, LocalSymbol &out) {
  for (int scope = static_cast<int>(scope_); scope >= 0; scope = scopes_[static_cast<size_t>(scope)].parent) {
    Scope &here = scopes_[static_cast<size_t>(scope)];
    if (auto it = here.symbols.find(name); it != here.symbols.end()) {
      out = it->second;
      return true;
    }
    for (const RegisterRange &range : here.ranges) {
      if (!name.starts_with(range.prefix) || name.size() == range.prefix.size())
        continue;
      std::string_view digits = name.substr(range.prefix.size());
      uint64_t number = 0;
      auto [end, code] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
      bool plain = code == std::errc() && end == digits.data() + digits.size() && (digits == "0" || digits[0] != '0');
      if (!plain || number >= range.count)
        continue;
      out = {true, static_cast<uint32_t>(function.registers.size()), 1};
      function.registers.push_back({range.type, std::string(name)});
      here.symbols.emplace(name, out);
      return true;
    }
  }
  return false;
}

bool Parser::instruction(Function &function) {
  Instruction result;
  const char *begin = peek().text.data();
  result.line = peek().line;
  if (accept("@")) {
    result.guardNegated = accept("!");
    std::string_view name;
    LocalSymbol symbol;
    if (!expectName(name, "a predicate"))
      return false;
    if (!findRegister(function, name, symbol) || !symbol.isRegister ||
        function.registers[symbol.index].type != Type::Pred)
      return fail(result.line, fmt::format("'{}' is not a predicate register", name));
    result.guard = symbol.index;
  }
  if (peek().kind != TokenKind::Identifier || peek().text.front() == '%')
    return failExpected("an instruction");
  result.opcode = take().text;
  while (peek().kind == TokenKind::Dotted)
    result.modifiers.push_back(take().text);
  if (!peek().is(";")) {
    do {
      Operand operand;
      if (!this->operand(function, operand, result.opcode == "call"))
        return false;
      result.operands.push_back(std::move(operand));
    } while (accept(","));
  }
  const char *end = tokens_[at_ - 1].text.data() + tokens_[at_ - 1].text.size();
  result.text = std::string_view(begin, static_cast<size_t>(end - begin));
  if (!expect(";"))
    return false;
  function.body.push_back(std::move(result));
  if (function.registers.size() > mostRegisters)
    return failHere("the function has too many registers");
  return true;
}

bool Parser::operand(Function &function, Operand &out, bool inCall) {
  Depth depth(depth_);
  if (depth.tooDeep())
    return failHere("the operand is nested too deeply");
  const Token &token = peek();
  if (accept("!")) {
    if (!operand(function, out, false))
      return false;
    if (out.kind == OperandKind::Integer)
      out.value = out.value == 0; // of a constant: the operator of expressions
    else
      out.negated = !out.negated;
    return true;
  }
  if (token.is("{") || (inCall && token.is("("))) {
    std::string_view close = token.is("{") ? "}" : ")";
    out.kind = token.is("{") ? OperandKind::Vector : OperandKind::List;
    take();
    if (accept(close))
      return true;
    do {
      Operand element;
      if (!operand(function, element, false))
        return false;
      out.elements.push_back(std::move(element));
    } while (accept(","));
    return expect(close);
  }
  if (token.is("["))
    return addressOperand(function, out);
  bool minus = token.is("-") && (peek(1).kind == TokenKind::Float64 || peek(1).kind == TokenKind::Float32);
  if (minus)
    take();
  if (peek().kind == TokenKind::Float32 || peek().kind == TokenKind::Float64) {
    const Token &number = take();
    bool single = number.kind == TokenKind::Float32;
    out.kind = single ? OperandKind::Float32 : OperandKind::Float64;
    out.value = number.value ^ (minus ? uint64_t(1) << (single ? 31 : 63) : 0);
    return true;
  }
  if (startsExpression()) {
    Constant value;
    if (!expression(value))
      return false;
    out.kind = OperandKind::Integer;
    out.value = value.value;
    return true;
  }
  if (token.kind != TokenKind::Identifier)
    return failExpected("an operand");
  if (!identifierOperand(function, out))
    return false;
  if (accept("|")) {
    Operand second;
    if (!operand(function, second, false))
      return false;
    Operand pair;
    pair.kind = OperandKind::Pair;
    pair.elements.push_back(std::move(out));
    pair.elements.push_back(std::move(second));
    out = std::move(pair);
  }
  return true;
}

bool Parser::identifierOperand(Function &function, Operand &out) {
  const Token &token = take();
  LocalSymbol symbol;
  if (token.text == "_") {
    out.kind = OperandKind::Sink;
    return true;
  }
  if (findRegister(function, token.text, symbol)) {
    out.scope = symbol.scope;
    out.index = symbol.index;
    out.kind = symbol.isRegister ? OperandKind::Register : OperandKind::Variable;
    if (symbol.isRegister && symbol.width > 1) {
      static constexpr std::string_view components = "xyzwrgba";
      size_t component =
          peek().kind == TokenKind::Dotted && peek().text.size() == 2 ? components.find(peek().text[1]) : 99;
      if (component > 7) { // the whole vector
        out.kind = OperandKind::Vector;
        for (unsigned i = 0; i < symbol.width; ++i) {
          Operand element;
          element.kind = OperandKind::Register;
          element.index = symbol.index + i;
          out.elements.push_back(element);
        }
        return true;
      }
      component %= 4;
      if (component >= symbol.width)
        return failHere(fmt::format("'{}' has no component '{}'", token.text, peek().text));
      take();
      out.index = symbol.index + static_cast<uint32_t>(component);
    } else if (symbol.isRegister && peek().kind == TokenKind::Dotted) {
      out.text = take().text; // a byte or half of it; the decoder knows where that is possible
    }
  } else if (token.text.front() == '%') {
    out.kind = OperandKind::Special;
    out.text = token.text;
    if (peek().kind == TokenKind::Dotted)
      out.text = std::string_view(token.text.data(), token.text.size() + take().text.size());
    return true;
  } else {
    out.kind = OperandKind::Label; // settled at the end of the function: label, function or module variable
    out.text = token.text;
    out.index = scope_;
  }
  if ((peek().is("+") || peek().is("-")) && out.kind != OperandKind::Register) {
    bool minus = take().is("-");
    Constant value;
    if (!expression(value))
      return false;
    out.value = minus ? 0 - value.value : value.value;
  }
  return true;
}

bool Parser::addressOperand(Function &function, Operand &out) {
  take();
  out.kind = OperandKind::Address;
  do {
    Operand part;
    if (!operand(function, part, false))
      return false;
    if (out.elements.empty()) {
      if (part.kind != OperandKind::Register && part.kind != OperandKind::Variable && part.kind != OperandKind::Label &&
          part.kind != OperandKind::Integer && part.kind != OperandKind::Special)
        return failHere("an address is a register, a variable or a number, with a constant offset");
      if (part.kind == OperandKind::Register && (peek().is("+") || peek().is("-"))) {
        bool minus = take().is("-");
        Constant value;
        if (!expression(value))
          return false;
        out.value = minus ? 0 - value.value : value.value;
      }
    }
    out.elements.push_back(std::move(part));
  } while (accept(","));
  return expect("]");
}

bool Parser::findLabel(uint32_t scope, std::string_view name, uint32_t &out) const {
  for (int at = static_cast<int>(scope); at >= 0; at = scopes_[static_cast<size_t>(at)].parent) {
    const Scope &here = scopes_[static_cast<size_t>(at)];
    if (auto it = here.labels.find(name); it != here.labels.end()) {
      out = it->second;
      return true;
    }
  }
  return false;
}

bool Parser::resolveOperand(Function &function, const Instruction &instruction, Operand &operand) {
  for (Operand &element : operand.elements)
    if (!resolveOperand(function, instruction, element))
      return false;
  if (operand.kind != OperandKind::Label)
    return true;
  uint32_t label = none;
  if (findLabel(operand.index, operand.text, label)) {
    operand.index = label;
    return true;
  }
  for (uint32_t i = 0; i < function.tables.size(); ++i)
    if (function.tables[i].name == operand.text) {
      operand.index = none; // the decoder finds tables by text
      return true;
    }
  if (auto it = functions_.find(operand.text); it != functions_.end()) {
    operand.kind = OperandKind::Function;
    operand.index = it->second;
    return true;
  }
  if (auto it = moduleVariables_.find(operand.text); it != moduleVariables_.end()) {
    operand.kind = OperandKind::Variable;
    operand.scope = VariableScope::Module;
    operand.index = it->second;
    return true;
  }
  return fail(instruction.line, fmt::format("'{}' is not declared", operand.text));
}

bool Parser::resolveLabels(Function &function) {
  for (const PendingTable &pending : pendingTables_) {
    LabelTable &table = function.tables[pending.table];
    for (std::string_view name : pending.names) {
      uint32_t target = none;
      bool found = false;
      if (table.kind == LabelTable::Branch) {
        found = findLabel(pending.scope, name, target);
      } else if (auto it = functions_.find(name); it != functions_.end()) {
        target = it->second;
        found = true;
      }
      if (!found)
        return fail(pending.line, fmt::format("'{}' is not declared", name));
      table.targets.push_back(target);
    }
  }
  for (Instruction &instruction : function.body)
    for (Operand &operand : instruction.operands)
      if (!resolveOperand(function, instruction, operand))
        return false;
  return true;
}

} // namespace tessera::sim::ptx
