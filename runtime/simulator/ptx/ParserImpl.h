// The parser's class, shared by its three sources: declarations, bodies, constant expressions.
#pragma once

#include "runtime/simulator/ptx/Lexer.h"
#include "runtime/simulator/ptx/Parser.h"

#include <fmt/format.h>
#include <map>
#include <unordered_map>

namespace tessera::sim::ptx {

/// A symbol of a body scope: a register (or `width` of them) or a variable.
struct LocalSymbol {
  bool isRegister = false;
  uint32_t index = none;
  unsigned width = 1;
  VariableScope scope = VariableScope::Function;
};

/// `.reg .b32 %r<100>`: registers made when first used, so that a large count costs nothing.
struct RegisterRange {
  std::string_view prefix;
  uint64_t count;
  Type type;
};

struct Scope {
  int parent = -1;
  std::unordered_map<std::string_view, LocalSymbol> symbols;
  std::vector<RegisterRange> ranges;
  std::unordered_map<std::string_view, uint32_t> labels; ///< instruction index
};

/// Every method returns false after setting error_; the caller passes it on.
class Parser {
public:
  explicit Parser(std::string_view source) : source_(source) {}
  Result<SyntaxTree> run();

private:
  // Tokens.
  const Token &peek(size_t ahead = 0) const { return tokens_[std::min(at_ + ahead, tokens_.size() - 1)]; }
  const Token &take() { return tokens_[at_ + 1 < tokens_.size() ? at_++ : at_]; }
  bool accept(std::string_view punctuation);
  bool acceptDotted(std::string_view name);
  bool expect(std::string_view punctuation);
  bool expectName(std::string_view &name, const char *what);
  bool fail(uint32_t line, std::string what);
  bool failHere(std::string what) { return fail(peek().line, std::move(what)); }
  bool failExpected(std::string_view what);
  /// Guards the recursion of nested braces and parentheses.
  struct Depth {
    explicit Depth(unsigned &depth) : depth(depth) { ++depth; }
    ~Depth() { --depth; }
    bool tooDeep() const { return depth > 64; }
    unsigned &depth;
  };

  // Constant expressions (ParserExpression.cpp).
  struct Constant {
    uint64_t value = 0;
    bool isUnsigned = false;
  };
  bool expression(Constant &out) { return conditional(out); }
  bool conditional(Constant &out);
  bool binary(Constant &out, int level);
  bool unary(Constant &out);
  bool startsExpression() const;
  bool unsignedNumber(uint64_t &out, const char *what, uint64_t limit);

  // Declarations (Parser.cpp).
  bool header();
  bool moduleItem();
  bool skipSection();
  void skipLine();
  bool variableDeclaration(Space space, bool external, std::vector<Variable> &out, bool module);
  bool initializer(Variable &variable, Type type, unsigned elements, const std::vector<uint64_t> &extents);
  bool initializerLevel(Variable &variable, Type type, const std::vector<uint64_t> &extents, size_t level,
                        uint64_t base);
  bool initializerElement(Variable &variable, Type type, uint64_t offset);
  bool function(bool kernel);
  bool parameterList(std::vector<Variable> &out, std::vector<uint32_t> &registers, Function &owner,
                     VariableScope scope);
  bool performanceDirective(Function &function, bool &found);
  bool threeNumbers(std::array<uint32_t, 3> &out);

  // Bodies (ParserBody.cpp).
  bool body(Function &function);
  bool statement(Function &function);
  bool registerDeclaration(Function &function);
  bool labelTable(Function &function, std::string_view name, std::string_view directive);
  bool instruction(Function &function);
  bool operand(Function &function, Operand &out, bool inCall);
  bool identifierOperand(Function &function, Operand &out);
  bool addressOperand(Function &function, Operand &out);
  bool findRegister(Function &function, std::string_view name, LocalSymbol &out);
  bool resolveLabels(Function &function);
  bool resolveOperand(Function &function, const Instruction &instruction, Operand &operand);
  bool findLabel(uint32_t scope, std::string_view name, uint32_t &out) const;
  bool declare(std::string_view name, LocalSymbol symbol, uint32_t line);

  std::string_view source_;
  std::vector<Token> tokens_;
  size_t at_ = 0;
  Status error_;
  unsigned depth_ = 0;
  SyntaxTree tree_;
  std::map<std::string_view, uint32_t> moduleVariables_;
  std::map<std::string_view, uint32_t> functions_;
  std::vector<Scope> scopes_; ///< of the function at hand
  uint32_t scope_ = 0;
  struct PendingTable {
    uint32_t table;
    uint32_t scope;
    uint32_t line;
    std::vector<std::string_view> names;
  };
  std::vector<PendingTable> pendingTables_;
};

} // namespace tessera::sim::ptx
