// The decoder's frame: qualifiers, drafts and branches; operands are in DecoderOperands.cpp, opcodes in Decode*.cpp.
#include "runtime/simulator/program/Decoder.h"

#include "runtime/simulator/ptx/Parser.h"

#include <algorithm>
#include <bit>

namespace tessera::sim::program {

using ptx::OperandKind;

namespace {

const DecodeTable &decodeTable() {
  static const DecodeTable table = [] {
    DecodeTable t;
    addIntegerDecoders(t);
    addFloatDecoders(t);
    addCompareDecoders(t);
    addConvertDecoders(t);
    addMoveDecoders(t);
    addMemoryDecoders(t);
    addAtomicDecoders(t);
    addAsyncDecoders(t);
    addMbarrierDecoders(t);
    addWarpDecoders(t);
    addMatrixDecoders(t);
    addControlDecoders(t);
    addBarrierDecoders(t);
    addRefusedDecoders(t);
    return t;
  }();
  return table;
}

} // namespace

std::vector<std::string_view> knownOpcodes() {
  std::vector<std::string_view> names;
  for (const auto &[name, decode] : decodeTable())
    names.push_back(name);
  return names;
}

uint32_t ConstantPool::get(uint8_t bytes, uint64_t low, uint64_t high) {
  if (bytes && bytes < 8)
    low &= (uint64_t(1) << (8 * bytes)) - 1;
  std::pair<uint8_t, std::array<uint64_t, 2>> key{bytes, {low, high}};
  auto [it, isNew] = numbers.try_emplace(key, static_cast<uint32_t>(values.size()));
  if (isNew)
    values.push_back(key);
  return it->second;
}

Decoder::Decoder(const ModuleLayout &layout, Program &program, uint32_t functionIndex,
                 const std::vector<uint64_t> &sharedOffsets)
    : layout_(layout), program_(program), functionIndex_(functionIndex),
      function_(layout.tree->functions[functionIndex]), sharedOffsets_(sharedOffsets) {
  for (const ptx::Register &reg : function_.registers)
    registers_.push_back({reg.type, reg.name, static_cast<uint8_t>(ptx::sizeOf(reg.type))});
}

bool Decoder::error(std::string what) {
  if (error_.ok())
    error_ = Status(Code::CompileError,
                    fmt::format("PTX line {}: {}\n  {}", instruction_ ? instruction_->line : function_.line, what,
                                instruction_ ? instruction_->text : std::string_view(function_.name)));
  return false;
}

void Decoder::layoutFrameVariables() {
  uint32_t offset = 0;
  auto place = [&](const ptx::Variable &variable) {
    uint32_t alignment = std::max(variable.alignment, 1u);
    offset = (offset + alignment - 1) & ~(alignment - 1);
    uint32_t at = offset;
    offset += static_cast<uint32_t>(variable.size);
    return at;
  };
  if (function_.kernel) {
    uint32_t at = 0;
    for (const ptx::Variable &parameter : function_.parameters) {
      at = (at + parameter.alignment - 1) & ~(parameter.alignment - 1);
      kernelParameterOffset_.push_back(at);
      at += static_cast<uint32_t>(parameter.size);
    }
  } else {
    auto formal = [&](const ptx::Variable &variable, uint32_t reg, uint32_t at) {
      return FormalParameter{static_cast<uint32_t>(variable.size), at, reg, static_cast<uint8_t>(variable.size)};
    };
    for (size_t i = 0; i < function_.parameters.size(); ++i) {
      parameterOffset_.push_back(place(function_.parameters[i]));
      decoded_.parameters.push_back(
          formal(function_.parameters[i], function_.parameterRegisters[i], parameterOffset_.back()));
    }
    for (size_t i = 0; i < function_.results.size(); ++i) {
      resultOffset_.push_back(place(function_.results[i]));
      decoded_.results.push_back(formal(function_.results[i], function_.resultRegisters[i], resultOffset_.back()));
    }
  }
  for (const ptx::Variable &variable : function_.variables)
    variableOffset_.push_back(variable.space == Space::Shared ? 0 : place(variable));
  decoded_.localBytes = (offset + 15) & ~15u;
}

Status Decoder::run() {
  decoded_.name = function_.name;
  decoded_.kernel = function_.kernel;
  decoded_.firstInstruction = static_cast<uint32_t>(program_.instructions.size());
  uint64_t frame = 0;
  for (const auto *variables : {&function_.variables, &function_.parameters, &function_.results})
    for (const ptx::Variable &variable : *variables)
      if (variable.space != Space::Shared && !(function_.kernel && variables == &function_.parameters))
        frame += variable.size + variable.alignment;
  if (frame > (1 << 19))
    return Status(Code::CompileError,
                  fmt::format("PTX line {}: the local variables of '{}' take {} bytes; at most 512 KiB per thread fit",
                              function_.line, function_.name, frame));
  layoutFrameVariables();
  std::vector<bool> isTarget(function_.body.size() + 1, false);
  for (size_t i = 0; i < function_.body.size(); ++i) {
    const ptx::Instruction &instruction = function_.body[i];
    for (const ptx::Operand &operand : instruction.operands)
      if (operand.kind == OperandKind::Label && operand.index != ptx::none)
        isTarget[operand.index] = true;
    // Where lanes fall through, those that branched may come too, as after a loop; that place need not have a label.
    if (instruction.guard != ptx::none && (instruction.opcode == "bra" || instruction.opcode == "brx"))
      isTarget[i + 1] = true;
  }
  for (const ptx::LabelTable &table : function_.tables)
    if (table.kind == ptx::LabelTable::Branch)
      for (uint32_t target : table.targets)
        isTarget[target] = true;
  std::vector<uint32_t> firstOp;
  for (size_t i = 0; i < function_.body.size(); ++i) {
    instruction_ = &function_.body[i];
    program_.instructions.push_back({instruction_->line, std::string(instruction_->text)});
    firstOp.push_back(static_cast<uint32_t>(decoded_.ops.size()));
    if (isTarget[i])
      append(makeUnguarded(Opcode::Join, Flow::None));
    if (!decodeInstruction())
      return error_;
  }
  // Every function ends in one place: kernels exit there, functions return there.
  instruction_ = nullptr;
  auto end = static_cast<uint32_t>(decoded_.ops.size());
  firstOp.push_back(end);
  if (program_.instructions.size() == decoded_.firstInstruction)
    program_.instructions.push_back({function_.line, "}"});
  append(makeUnguarded(Opcode::Join, Flow::None));
  Op last = makeUnguarded(function_.kernel ? Opcode::Exit : Opcode::Return, Flow::None);
  std::vector<uint32_t> results;
  for (uint32_t reg : function_.resultRegisters)
    if (reg != ptx::none)
      results.push_back(reg);
  list(last, {}, std::move(results)); // keeps them alive to the end
  if (!append(last))
    return error_;
  decoded_.instructionCount = static_cast<uint32_t>(program_.instructions.size()) - decoded_.firstInstruction;
  if (Status status = resolveBranches(firstOp, end); !status)
    return status;
  placeJoins(decoded_);
  if (Status status = placeRegisters(decoded_, registers_, pool_); !status)
    return status;
  program_.functions[functionIndex_] = std::move(decoded_);
  return {};
}

bool Decoder::decodeInstruction() {
  auto entry = decodeTable().find(instruction_->opcode);
  if (entry == decodeTable().end())
    return error(fmt::format("unknown opcode '{}'", instruction_->opcode));
  modifierUsed_.assign(instruction_->modifiers.size(), false);
  if (!entry->second(*this)) {
    std::string unused;
    for (size_t i = 0; i < modifierUsed_.size(); ++i)
      if (!modifierUsed_[i])
        unused += fmt::format("{}'{}'", unused.empty() ? "" : ", ", instruction_->modifiers[i]);
    error("the instruction is not supported");
    if (!unused.empty())
      error_ = Status(error_.code(), error_.message(), fmt::format("not recognised so far: {}", unused));
    return false;
  }
  for (size_t i = 0; i < modifierUsed_.size(); ++i)
    if (!modifierUsed_[i])
      return error(
          fmt::format("qualifier '{}' is not known for '{}' here", instruction_->modifiers[i], instruction_->opcode));
  return true;
}

/// Branches were emitted with instruction indices in `imm`; turns these into ops.
Status Decoder::resolveBranches(const std::vector<uint32_t> &firstOp, uint32_t endOp) {
  for (Op &op : decoded_.ops) {
    if (op.code == Opcode::Bra)
      op.imm = op.imm < 0 ? endOp : firstOp[static_cast<size_t>(op.imm)];
    else if (op.code == Opcode::BrxIdx)
      for (uint32_t &target : decoded_.branchTables[static_cast<size_t>(op.imm)])
        if (target != ptx::none && !(target & constantBit))
          target = firstOp[target] | constantBit;
  }
  for (auto &table : decoded_.branchTables)
    for (uint32_t &target : table)
      target &= ~constantBit;
  return {};
}

bool Decoder::has(std::string_view modifier) {
  for (size_t i = 0; i < modifierUsed_.size(); ++i)
    if (!modifierUsed_[i] && instruction_->modifiers[i] == modifier) {
      modifierUsed_[i] = true;
      return true;
    }
  return false;
}

bool Decoder::optionalType(Type &out) {
  for (size_t i = 0; i < modifierUsed_.size(); ++i) {
    if (modifierUsed_[i])
      continue;
    if (auto type = ptx::parseType(instruction_->modifiers[i])) {
      modifierUsed_[i] = true;
      out = *type;
      return true;
    }
  }
  return false;
}

bool Decoder::nextType(Type &out) {
  return optionalType(out) || error(fmt::format("'{}' needs a type", instruction_->opcode));
}

bool Decoder::typeOf(Type &out, std::initializer_list<Type> allowed) {
  if (!nextType(out))
    return false;
  if (std::find(allowed.begin(), allowed.end(), out) == allowed.end())
    return error(fmt::format("type {} is not possible for '{}' here", ptx::toString(out), instruction_->opcode));
  return true;
}

Rounding Decoder::rounding(std::initializer_list<std::pair<std::string_view, Rounding>> allowed) {
  for (auto &[name, value] : allowed)
    if (has(name))
      return value;
  return Rounding::None;
}

bool Decoder::require(unsigned smVersion, const char *feature) {
  if (layout_.smVersion >= smVersion)
    return true;
  return error(
      fmt::format("{} needs .target sm_{} or later, the module says sm_{}", feature, smVersion, layout_.smVersion));
}

bool Decoder::requireVersion(unsigned major, unsigned minor, const char *feature) {
  if (program_.major > major || (program_.major == major && program_.minor >= minor))
    return true;
  return error(fmt::format("{} needs .version {}.{} or later, the module says {}.{}", feature, major, minor,
                           program_.major, program_.minor));
}

void Decoder::skipCacheHints() {
  for (size_t i = 0; i < modifierUsed_.size(); ++i) {
    std::string_view m = instruction_->modifiers[i];
    static constexpr std::string_view known[] = {
        ".L1::evict_normal", ".L1::evict_unchanged", ".L1::evict_first", ".L1::evict_last", ".L1::no_allocate",
        ".L2::evict_normal", ".L2::evict_first",     ".L2::evict_last",  ".L2::64B",        ".L2::128B",
        ".L2::256B",         ".L2::cache_hint"};
    if (std::find(std::begin(known), std::end(known), m) != std::end(known))
      modifierUsed_[i] = true;
  }
}

bool Decoder::expectCount(size_t least, size_t most) {
  if (count() >= least && count() <= most)
    return true;
  return error(least == most ? fmt::format("'{}' takes {} operands here, got {}", instruction_->opcode, least, count())
                             : fmt::format("'{}' takes {} to {} operands here, got {}", instruction_->opcode, least,
                                           most, count()));
}

uint32_t Decoder::temporary(Type type, std::string name) {
  registers_.push_back({type, std::move(name), static_cast<uint8_t>(ptx::sizeOf(type))});
  return static_cast<uint32_t>(registers_.size() - 1);
}

void Decoder::list(Op &op, std::vector<uint32_t> results, std::vector<uint32_t> sources) {
  if (results.size() > 255 || sources.size() > 255) {
    error(fmt::format("{} results and {} sources are too many; 255 of each fit", results.size(), sources.size()));
    return;
  }
  op.extResults = static_cast<uint8_t>(results.size());
  op.extSources = static_cast<uint8_t>(sources.size());
  results.insert(results.end(), sources.begin(), sources.end());
  decoded_.operandLists.push_back(std::move(results));
  op.ext = decoded_.operandLists.back().data();
}

Op Decoder::make(Opcode code, Flow flow) const {
  Op op = makeUnguarded(code, flow);
  op.flags = 0;
  if (instruction_ && instruction_->guard != ptx::none) {
    op.guard = instruction_->guard;
    op.guardKind = instruction_->guardNegated ? 2 : 1;
  }
  return op;
}

Op Decoder::makeUnguarded(Opcode code, Flow flow) const {
  Op op{};
  op.code = code;
  op.flow = flow;
  op.flags = Synthetic;
  op.dst = op.dst2 = op.a = op.b = op.c = op.d = op.guard = unusedRegister;
  op.instruction = static_cast<uint32_t>(program_.instructions.size()) - 1;
  return op;
}

bool Decoder::append(const Op &op) {
  decoded_.ops.push_back(op);
  return error_.ok();
}

bool Decoder::label(const ptx::Operand &operand, uint32_t &instructionIndex) {
  if (operand.kind != OperandKind::Label || operand.index == ptx::none)
    return error("the target must be a label of this function");
  instructionIndex = operand.index;
  return true;
}

uint8_t Decoder::registerBytes(uint32_t id) const {
  if (id == unusedRegister)
    return 0;
  return id & constantBit ? pool_.values[id & ~constantBit].first : registers_[id].bytes;
}

} // namespace tessera::sim::program
