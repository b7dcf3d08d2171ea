// Operands of instructions: registers, constants, symbols and addresses, checked against the type that is needed.
#include "runtime/simulator/program/Decoder.h"

#include <algorithm>
#include <bit>

namespace tessera::sim::program {

using ptx::OperandKind;
using ptx::VariableScope;

namespace {

/// Registers of bit types fit every type of the size; a float register fits no integer type and the reverse.
bool compatible(Type reg, Type type) {
  if (ptx::isBits(reg) || ptx::isBits(type) || reg == type)
    return true;
  if (ptx::sizeOf(type) == 2 || type == Type::F16x2 || type == Type::BF16x2 || type == Type::TF32 ||
      type > Type::F64) // packed and narrow types live in registers of any type of their size
    return true;
  return ptx::isFloat(reg) == ptx::isFloat(type);
}

} // namespace

bool Decoder::checkedRegister(const ptx::Operand &operand, Type type, bool exact, uint32_t &out) {
  const VirtualRegister &reg = registers_[operand.index];
  unsigned want = ptx::sizeOf(type);
  if (!operand.text.empty())
    return error(fmt::format("the part '{}' of register '{}' is not possible here", operand.text, reg.name));
  if (type == Type::Pred) {
    if (reg.type != Type::Pred)
      return error(fmt::format("'{}' is not a predicate", reg.name));
  } else if (reg.type == Type::Pred) {
    return error(fmt::format("predicate '{}' cannot be used as {}", reg.name, ptx::toString(type)));
  } else if (exact ? reg.bytes != want : reg.bytes < want) {
    return error(fmt::format("register '{}' of type {} does not fit {}", reg.name, ptx::toString(reg.type),
                             ptx::toString(type)));
  } else if (exact && !compatible(reg.type, type)) {
    return error(fmt::format("register '{}' of type {} cannot be used as {}", reg.name, ptx::toString(reg.type),
                             ptx::toString(type)));
  }
  out = operand.index;
  return true;
}

uint32_t Decoder::frameOffset(const ptx::Operand &variable) const {
  if (variable.scope == VariableScope::Parameter)
    return parameterOffset_[variable.index];
  if (variable.scope == VariableScope::Result)
    return resultOffset_[variable.index];
  return variableOffset_[variable.index];
}

/// The address of a variable or function as a value of 4 or 8 bytes.
bool Decoder::symbolAddress(const ptx::Operand &operand, uint32_t &out, uint8_t bytes) {
  uint64_t address = 0;
  if (operand.kind == OperandKind::Function) {
    address = functionAddressBase + operand.index;
  } else if (operand.scope == VariableScope::Module) {
    address = layout_.variableAddress[operand.index] + operand.value;
  } else if (operand.scope == VariableScope::Function && function_.variables[operand.index].space == Space::Shared) {
    address = sharedOffsets_[operand.index] + operand.value;
  } else if (function_.kernel && operand.scope == VariableScope::Parameter) {
    address = kernelParameterOffset_[operand.index] + operand.value; // in param space; cvta.param makes it generic
  } else {
    Op op = makeUnguarded(Opcode::MovFrame, Flow::Compute);
    op.registerBytes = bytes;
    op.imm = static_cast<int64_t>(frameOffset(operand) + operand.value);
    out = op.dst = temporary(bytes == 8 ? Type::B64 : Type::B32, "address");
    return append(op);
  }
  out = constant(bytes, address);
  return true;
}

bool Decoder::source(const ptx::Operand &operand, Type type, uint32_t &out) {
  if (operand.negated && operand.kind != OperandKind::Register)
    return error("'!' needs a predicate");
  unsigned size = ptx::sizeOf(type);
  switch (operand.kind) {
  case OperandKind::Register:
    if (operand.negated)
      return error("'!' is not possible here");
    return checkedRegister(operand, type, true, out);
  case OperandKind::Integer:
    if (type == Type::F32 || type == Type::F64)
      return error("an integer cannot be the value of a floating-point operand; write 0f… or 0d…");
    out = constant(static_cast<uint8_t>(size), operand.value,
                   ptx::sizeOf(type) == 16 && static_cast<int64_t>(operand.value) < 0 ? ~0ull : 0);
    return true;
  case OperandKind::Float32:
    if (type == Type::F64)
      out = constant(
          8, std::bit_cast<uint64_t>(static_cast<double>(std::bit_cast<float>(static_cast<uint32_t>(operand.value)))));
    else if (size == 4 && !ptx::isInteger(type))
      out = constant(4, operand.value);
    else
      return error(fmt::format("a floating-point number cannot be {}", ptx::toString(type)));
    return true;
  case OperandKind::Float64:
    if (type == Type::F64 || type == Type::B64)
      out = constant(8, operand.value);
    else if (type == Type::F32 || type == Type::B32)
      out = constant(4, std::bit_cast<uint32_t>(static_cast<float>(std::bit_cast<double>(operand.value))));
    else
      return error(fmt::format("a floating-point number cannot be {}", ptx::toString(type)));
    return true;
  case OperandKind::Special: {
    Op op = makeUnguarded(Opcode::MovSpecial, Flow::Compute);
    if (!special(operand.text, size, op.variant))
      return false;
    op.registerBytes = static_cast<uint8_t>(size);
    out = op.dst = temporary(type, std::string(operand.text));
    return append(op);
  }
  case OperandKind::Variable:
  case OperandKind::Function:
    if (size != 4 && size != 8)
      return error(fmt::format("an address does not fit {}", ptx::toString(type)));
    return symbolAddress(operand, out, static_cast<uint8_t>(size));
  case OperandKind::Label:
    return error("a label is not possible here");
  case OperandKind::Sink:
    return error("'_' is not possible here");
  default:
    return error("this form of operand is not possible here");
  }
}

bool Decoder::wideSource(const ptx::Operand &operand, Type type, uint32_t &out, uint8_t &bytes) {
  if (operand.kind == OperandKind::Register && !operand.negated) {
    if (!checkedRegister(operand, type, false, out))
      return false;
    bytes = registers_[operand.index].bytes;
    return true;
  }
  bytes = static_cast<uint8_t>(std::max(ptx::sizeOf(type), 2u));
  Type as = ptx::sizeOf(type) == 1 ? Type::B16 : type;
  return source(operand, as, out);
}

bool Decoder::destination(const ptx::Operand &operand, Type type, uint32_t &out) {
  if (operand.kind == OperandKind::Sink) {
    out = unusedRegister;
    return true;
  }
  if (operand.kind != OperandKind::Register || operand.negated)
    return error("the destination must be a register");
  return checkedRegister(operand, type, true, out);
}

bool Decoder::wideDestination(const ptx::Operand &operand, Type type, uint32_t &out, uint8_t &bytes) {
  if (operand.kind == OperandKind::Sink) {
    out = unusedRegister;
    bytes = static_cast<uint8_t>(std::max(ptx::sizeOf(type), 2u));
    return true;
  }
  if (operand.kind != OperandKind::Register || operand.negated)
    return error("the destination must be a register");
  bytes = registers_[operand.index].bytes;
  return checkedRegister(operand, type, false, out);
}

bool Decoder::predicateSource(const ptx::Operand &operand, uint32_t &out, bool &negated) {
  negated = operand.negated;
  if (operand.kind == OperandKind::Integer) { // zero is false, anything else (compilers write 1 and -1) true
    out = constant(0, operand.value ? ~0u : 0);
    return true;
  }
  if (operand.kind != OperandKind::Register)
    return error("a predicate is needed here");
  return checkedRegister(operand, Type::Pred, true, out);
}

bool Decoder::predicateDestination(const ptx::Operand &operand, uint32_t &out) {
  return destination(operand, Type::Pred, out);
}

std::span<const ptx::Operand> Decoder::elements(const ptx::Operand &operand) const {
  if (operand.kind == OperandKind::Vector)
    return operand.elements;
  return {&operand, 1};
}

bool Decoder::immediate(const ptx::Operand &operand, int64_t &out, const char *what) {
  if (operand.kind != OperandKind::Integer)
    return error(fmt::format("{} must be a constant", what));
  out = static_cast<int64_t>(operand.value);
  return true;
}

bool Decoder::address(const ptx::Operand &operand, Op &op, uint32_t &reg) {
  if (operand.kind != OperandKind::Address)
    return error("an address in brackets is needed here");
  const ptx::Operand &base = operand.elements[0];
  // Offsets wrap: they come from the text, and a sum of two may exceed 64 bits.
  auto add = [&](uint64_t offset) { op.imm = static_cast<int64_t>(static_cast<uint64_t>(op.imm) + offset); };
  op.imm = static_cast<int64_t>(operand.value);
  reg = constant(8, 0);
  if (base.kind == OperandKind::Register) {
    const VirtualRegister &info = registers_[base.index];
    if (info.bytes != 4 && info.bytes != 8)
      return error(fmt::format("register '{}' of type {} cannot hold an address", info.name, ptx::toString(info.type)));
    if (info.bytes == 4 && op.space != Space::Shared && op.space != Space::Local && op.space != Space::Param &&
        op.space != Space::Const)
      return error(fmt::format("register '{}' has 32 bits; a {} address has 64", info.name, ptx::toString(op.space)));
    reg = base.index;
    if (info.bytes == 4)
      op.flags |= AddressIs32;
    return true;
  }
  if (base.kind == OperandKind::Integer) {
    add(base.value);
    return true;
  }
  if (base.kind != OperandKind::Variable)
    return error("this cannot be an address");
  Space space = Space::Param;
  if (base.scope == VariableScope::Module)
    space = layout_.tree->variables[base.index].space;
  else if (base.scope == VariableScope::Function)
    space = function_.variables[base.index].space;
  bool kernelParameter = function_.kernel && base.scope == VariableScope::Parameter;
  if (op.space == Space::Generic && (space == Space::Global || space == Space::Const))
    op.space = Space::Global;
  if (op.space == Space::Const && space == Space::Global)
    return error("a .global variable is not in .const");
  bool matches = op.space == space || (op.space == Space::Global && space == Space::Const);
  if (!matches)
    return error(
        fmt::format("the variable is in .{}, the access is to .{}", ptx::toString(space), ptx::toString(op.space)));
  add(base.value);
  if (base.scope == VariableScope::Module) {
    add(layout_.variableAddress[base.index]);
  } else if (space == Space::Shared) {
    add(sharedOffsets_[base.index]);
  } else if (kernelParameter) {
    add(kernelParameterOffset_[base.index]);
  } else {
    add(frameOffset(base));
    op.space = Space::Local; // .param variables of a body live in the local frame
    op.flags |= FrameBase;
  }
  return true;
}

} // namespace tessera::sim::program
