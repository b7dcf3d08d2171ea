// Decoder: from parsed instructions to ops. Each family of opcodes has its source file and registers its entries here.
#pragma once

#include "runtime/simulator/program/Program.h"

#include <array>
#include <fmt/format.h>
#include <map>
#include <span>

namespace tessera::sim::program {

/// Where module-level names are, settled before any function is decoded.
struct ModuleLayout {
  const ptx::SyntaxTree *tree = nullptr;
  std::vector<uint64_t> variableAddress; ///< by index into tree->variables; shared ones: offset in shared memory
  unsigned smVersion = 80;
};

/// Constants of one function: broadcast to all lanes at the start of each frame.
struct ConstantPool {
  std::map<std::pair<uint8_t, std::array<uint64_t, 2>>, uint32_t> numbers;
  std::vector<std::pair<uint8_t, std::array<uint64_t, 2>>> values; ///< bytes per lane (0: predicate), bits
  uint32_t get(uint8_t bytes, uint64_t low, uint64_t high = 0);
};

/// Decodes the instructions of one function, one at a time. Methods that can fail return false after error().
class Decoder {
public:
  Decoder(const ModuleLayout &layout, Program &program, uint32_t functionIndex,
          const std::vector<uint64_t> &sharedOffsets);

  /// Decodes the whole function into program.functions[functionIndex].
  Status run();

  // -- For the family sources ------------------------------------------------------------------------------------
  const ModuleLayout &layout() const { return layout_; }
  const ptx::Function &function() const { return function_; }
  const ptx::Instruction &instruction() const { return *instruction_; }
  DecodedFunction &decoded() { return decoded_; }
  bool error(std::string what);

  // Qualifiers. Each is used at most once; what no call asked for is an error in the end.
  bool has(std::string_view modifier);
  /// The next unused type qualifier.
  bool nextType(Type &out);
  /// nextType, and it must be one of these.
  bool typeOf(Type &out, std::initializer_list<Type> allowed);
  bool optionalType(Type &out);
  /// .rn .rz .rm .rp and, where allowed, the integer ones.
  Rounding rounding(std::initializer_list<std::pair<std::string_view, Rounding>> allowed);
  bool require(unsigned smVersion, const char *feature);
  bool requireVersion(unsigned major, unsigned minor, const char *feature);
  /// Cache hints that change nothing that is modelled: .L2::128B, .L1::evict_last, .cache_hint …
  void skipCacheHints();

  // Operands.
  size_t count() const { return instruction_->operands.size(); }
  bool expectCount(size_t least, size_t most);
  bool expectCount(size_t exactly) { return expectCount(exactly, exactly); }
  const ptx::Operand &operand(size_t i) const { return instruction_->operands[i]; }
  /// Source of `type`, from register, immediate, special register or address.
  bool source(size_t i, Type type, uint32_t &out) { return source(operand(i), type, out); }
  bool source(const ptx::Operand &operand, Type type, uint32_t &out);
  /// Source in a register of any width at least that of `type` (ld, st, cvt); tells the width.
  bool wideSource(const ptx::Operand &operand, Type type, uint32_t &out, uint8_t &bytes);
  bool destination(size_t i, Type type, uint32_t &out) { return destination(operand(i), type, out); }
  bool destination(const ptx::Operand &operand, Type type, uint32_t &out);
  bool wideDestination(const ptx::Operand &operand, Type type, uint32_t &out, uint8_t &bytes);
  bool predicateSource(const ptx::Operand &operand, uint32_t &out, bool &negated);
  bool predicateDestination(const ptx::Operand &operand, uint32_t &out);
  /// Elements of {a, b, …}; a single operand counts as one.
  std::span<const ptx::Operand> elements(const ptx::Operand &operand) const;
  /// Number of the special register `name` where `bytes` of it are asked for.
  bool special(std::string_view name, unsigned bytes, uint8_t &number);
  bool immediate(const ptx::Operand &operand, int64_t &out, const char *what);
  /// [register + offset], [variable + offset] or [number] into op.a, op.imm and the address flags; settles op.space
  /// for .param.
  bool address(const ptx::Operand &operand, Op &op) { return address(operand, op, op.a); }
  bool address(const ptx::Operand &operand, Op &op, uint32_t &reg);
  uint32_t constant(uint8_t bytes, uint64_t low, uint64_t high = 0) {
    return constantBit | pool_.get(bytes, low, high);
  }
  uint32_t temporary(Type type, std::string name);
  /// Further registers; more than 255 of one kind are an error, which append() reports.
  void list(Op &op, std::vector<uint32_t> results, std::vector<uint32_t> sources);

  /// A draft op with the guard and source of the instruction at hand and without operands.
  Op make(Opcode code, Flow flow) const;
  /// Appends a draft. Operands come first: source() itself may append ops that compute an address or a special
  /// register.
  bool append(const Op &op);
  /// The label that an operand names, as instruction index.
  bool label(const ptx::Operand &operand, uint32_t &instructionIndex);
  uint32_t frameOffset(const ptx::Operand &variable) const;
  uint8_t registerBytes(uint32_t id) const;
  const VirtualRegister &registerInfo(uint32_t id) const { return registers_[id]; }
  uint32_t functionIndex() const { return functionIndex_; }
  Program &program() { return program_; }

private:
  Op makeUnguarded(Opcode code, Flow flow) const;
  bool decodeInstruction();
  bool checkedRegister(const ptx::Operand &operand, Type type, bool exact, uint32_t &out);
  bool symbolAddress(const ptx::Operand &operand, uint32_t &out, uint8_t bytes);
  void layoutFrameVariables();
  Status resolveBranches(const std::vector<uint32_t> &firstOp, uint32_t endOp);

  const ModuleLayout &layout_;
  Program &program_;
  const uint32_t functionIndex_;
  const ptx::Function &function_;
  const std::vector<uint64_t> &sharedOffsets_; ///< of function-level .shared variables, by index into variables
  DecodedFunction decoded_;
  std::vector<VirtualRegister> registers_;
  ConstantPool pool_;
  const ptx::Instruction *instruction_ = nullptr;
  std::vector<bool> modifierUsed_;
  std::vector<uint32_t> variableOffset_, parameterOffset_, resultOffset_; ///< in the local frame
  std::vector<uint32_t> kernelParameterOffset_;
  Status error_;
};

/// .relaxed .acquire .release .acq_rel .sc into op.order; false, without error, when there is none.
bool decodeOrder(Decoder &d, Op &op);
/// .cta .cluster .gpu .sys into op.scope; false, without error, when there is none.
bool decodeScope(Decoder &d, Op &op);

/// One family: opcode name to decoding function.
using DecodeFunction = bool (*)(Decoder &);
using DecodeTable = std::map<std::string_view, DecodeFunction>;
void addIntegerDecoders(DecodeTable &table);
void addFloatDecoders(DecodeTable &table);
void addCompareDecoders(DecodeTable &table);
void addConvertDecoders(DecodeTable &table);
void addMoveDecoders(DecodeTable &table);
void addMemoryDecoders(DecodeTable &table);
void addAtomicDecoders(DecodeTable &table);
void addAsyncDecoders(DecodeTable &table);
void addMbarrierDecoders(DecodeTable &table);
void addWarpDecoders(DecodeTable &table);
void addMatrixDecoders(DecodeTable &table);
void addControlDecoders(DecodeTable &table);
void addBarrierDecoders(DecodeTable &table);
/// Opcodes that are refused by name, with the reason and what to do instead.
void addRefusedDecoders(DecodeTable &table);

/// Every opcode that is known, refused ones included: a test compares them with what the tests mention.
std::vector<std::string_view> knownOpcodes();

/// Number of a special register ("%tid.x"); false when there is none of that name.
bool specialRegister(std::string_view name, uint8_t &number);

/// Control flow: reconvergence points of branches, by post-dominators.
void placeJoins(DecodedFunction &function);

/// Liveness, then byte offsets for all virtual registers; fills constants, frameBytes, pressure and undefined slots.
Status placeRegisters(DecodedFunction &function, const std::vector<VirtualRegister> &registers,
                      const ConstantPool &pool);

} // namespace tessera::sim::program
