// Syntax: a parsed PTX module with every name resolved. Indices instead of pointers, so that it can be copied.
#pragma once

#include "runtime/simulator/ptx/Type.h"

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tessera::sim::ptx {

constexpr uint32_t none = ~0u;

enum class Space : uint8_t { Generic, Global, Shared, Local, Param, Const };
std::string_view toString(Space space);

/// Registers are numbered per function; a vector register is `width` consecutive ones.
struct Register {
  Type type = Type::None;
  std::string name;
};

/// Part of an initialiser that is an address: written at load, when addresses are known.
struct Relocation {
  uint32_t offset = 0; ///< into the variable
  uint32_t size = 8;
  std::string symbol;
  int64_t addend = 0;
  bool generic = false;  ///< generic(symbol)
  uint64_t mask = ~0ull; ///< mask() operator
  uint32_t line = 0;
};

/// A variable in a state space: module-level, in a function, or a parameter.
struct Variable {
  std::string name;
  Space space = Space::Global;
  uint32_t alignment = 1;
  uint64_t size = 0; ///< bytes; 0 for an .extern array without extent
  bool external = false;
  bool unsizedArray = false;
  std::vector<uint8_t> initial; ///< empty, or `size` bytes
  std::vector<Relocation> relocations;
  uint32_t line = 0;
};

enum class OperandKind : uint8_t {
  Register, ///< `index`
  Integer,  ///< `value`
  Float32,  ///< bits in `value`
  Float64,  ///< bits in `value`
  Special,  ///< special register `text`, e.g. "%tid.x"
  Variable, ///< address of variable `index` in `scope` plus `value`
  Function, ///< address of function `index`
  Label,    ///< instruction index in `index`, or, for tables of labels and prototypes, `text`
  Vector,   ///< {elements}
  Address,  ///< [elements[0] + value]; further elements are coordinates
  Pair,     ///< elements[0] | elements[1]
  List,     ///< (elements) of a call
  Sink,     ///< _
};

enum class VariableScope : uint8_t { Module, Function, Parameter, Result };

struct Operand {
  OperandKind kind = OperandKind::Sink;
  bool negated = false; ///< !p
  VariableScope scope = VariableScope::Module;
  uint32_t index = none;
  uint64_t value = 0;
  std::string_view text; ///< into the source; of a register: the part of it that is meant (".b0"), if any
  std::vector<Operand> elements;
};

struct Instruction {
  uint32_t line = 0;
  std::string_view text; ///< into the source, from guard to before ';'
  uint32_t guard = none; ///< predicate register
  bool guardNegated = false;
  std::string_view opcode;
  std::vector<std::string_view> modifiers; ///< with dots
  std::vector<Operand> operands;
};

/// .branchtargets or .calltargets or .callprototype of a function body.
struct LabelTable {
  std::string name;
  enum Kind : uint8_t { Branch, CallTargets, Prototype } kind = Branch;
  std::vector<uint32_t> targets; ///< instruction indices, or function indices
};

struct Function {
  std::string name;
  bool kernel = false;
  bool defined = false;
  uint32_t line = 0;
  std::vector<Variable> parameters, results;                 ///< .param or .reg (then `registers` too)
  std::vector<uint32_t> parameterRegisters, resultRegisters; ///< for .reg parameters, else none
  std::vector<Variable> variables;                           ///< .local, .shared, .param in the body
  std::vector<Register> registers;
  std::vector<Instruction> body;
  std::vector<LabelTable> tables;
  std::array<uint32_t, 3> requiredThreads{}, maxThreads{}, requiredCluster{};
  uint32_t minBlocks = 0, maxRegisters = 0;
};

struct SyntaxTree {
  unsigned major = 0, minor = 0;
  std::string target;
  uint32_t targetLine = 0;
  std::vector<Variable> variables; ///< module level
  std::vector<Function> functions; ///< a declaration and its definition are one entry
};

} // namespace tessera::sim::ptx
