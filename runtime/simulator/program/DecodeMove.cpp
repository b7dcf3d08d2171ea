// mov with packing and unpacking, and the special registers.
#include "runtime/simulator/program/Decoder.h"
#include "runtime/simulator/program/SpecialRegister.h"

namespace tessera::sim::program {

using ptx::OperandKind;

bool specialRegister(std::string_view name, uint8_t &number) {
  static constexpr std::pair<std::string_view, Special> names[] = {
#define ENTRY(text, id) {text, Special::id},
      TESSERA_SPECIAL_REGISTERS(ENTRY)
#undef ENTRY
  };
  for (auto &[text, id] : names)
    if (text == name) {
      number = static_cast<uint8_t>(id);
      return true;
    }
  return false;
}

namespace {

/// mov.b32 %r, {%rs1, %rs2}: equal parts, first one lowest.
bool packParts(Decoder &d, Op op) {
  const ptx::Operand &vector = d.operand(1);
  size_t parts = vector.elements.size();
  unsigned size = ptx::sizeOf(op.type);
  if ((parts != 2 && parts != 4) || size % parts || size / parts < 1)
    return d.error(fmt::format("{} cannot be packed from {} parts", ptx::toString(op.type), parts));
  unsigned part = size / static_cast<unsigned>(parts);
  static constexpr Type byWidth[] = {Type::None, Type::B8,   Type::B16,  Type::None, Type::B32,
                                     Type::None, Type::None, Type::None, Type::B64};
  std::vector<uint32_t> sources;
  for (const ptx::Operand &element : vector.elements) {
    uint32_t reg = 0;
    uint8_t bytes = 0;
    if (part == 1 ? !d.wideSource(element, Type::B8, reg, bytes) : !d.source(element, byWidth[part], reg))
      return false;
    if (part == 1 && bytes != 2 && bytes != 1)
      return d.error("parts of 8 bits live in 8- or 16-bit registers");
    op.sourceBytes = part == 1 ? bytes : static_cast<uint8_t>(part);
    sources.push_back(reg);
  }
  op.code = Opcode::Pack;
  op.flow = Flow::Handler;
  op.vector = static_cast<uint8_t>(parts);
  op.registerBytes = static_cast<uint8_t>(size);
  if (!d.destination(0, op.type, op.dst))
    return false;
  d.list(op, {}, std::move(sources));
  return d.append(op);
}

bool unpackParts(Decoder &d, Op op) {
  const ptx::Operand &vector = d.operand(0);
  size_t parts = vector.elements.size();
  unsigned size = ptx::sizeOf(op.type);
  if ((parts != 2 && parts != 4) || size % parts)
    return d.error(fmt::format("{} cannot be unpacked to {} parts", ptx::toString(op.type), parts));
  unsigned part = size / static_cast<unsigned>(parts);
  static constexpr Type byWidth[] = {Type::None, Type::B8,   Type::B16,  Type::None, Type::B32,
                                     Type::None, Type::None, Type::None, Type::B64};
  std::vector<uint32_t> results;
  op.registerBytes = static_cast<uint8_t>(part);
  for (const ptx::Operand &element : vector.elements) {
    uint32_t reg = 0;
    uint8_t bytes = 0;
    if (part == 1 ? !d.wideDestination(element, Type::B8, reg, bytes) : !d.destination(element, byWidth[part], reg))
      return false;
    if (part == 1) {
      if (bytes > 2)
        return d.error("parts of 8 bits live in 8- or 16-bit registers");
      if (reg != unusedRegister)
        op.registerBytes = bytes;
    }
    results.push_back(reg);
  }
  op.code = Opcode::Unpack;
  op.flow = Flow::Handler;
  op.vector = static_cast<uint8_t>(parts);
  op.sourceBytes = static_cast<uint8_t>(size);
  if (!d.source(1, op.type, op.a))
    return false;
  d.list(op, std::move(results), {});
  return d.append(op);
}

bool mov(Decoder &d) {
  Op op = d.make(Opcode::Mov, Pipe::Alu, Flow::Copy);
  if (!d.nextType(op.type) || !d.expectCount(2))
    return false;
  if (op.type == Type::Pred) {
    bool negated = false;
    if (!d.predicateDestination(d.operand(0), op.dst) || !d.predicateSource(d.operand(1), op.a, negated))
      return false;
    if (negated)
      return d.error("'!' is not possible here");
    op.registerBytes = 0;
    return d.append(op);
  }
  unsigned size = ptx::sizeOf(op.type);
  if (size < 2 || (ptx::isFloat(op.type) && size == 2 && op.type != Type::F16 && op.type != Type::BF16))
    return d.error(fmt::format("type {} is not possible for 'mov'", ptx::toString(op.type)));
  if (d.operand(1).kind == OperandKind::Vector)
    return packParts(d, op);
  if (d.operand(0).kind == OperandKind::Vector)
    return unpackParts(d, op);
  op.registerBytes = static_cast<uint8_t>(size);
  if (!d.destination(0, op.type, op.dst))
    return false;
  const ptx::Operand &source = d.operand(1);
  if (source.kind == OperandKind::Special) {
    op.code = Opcode::MovSpecial;
    op.flow = Flow::Compute;
    if (!specialRegister(source.text, op.variant))
      return d.error(fmt::format("special register '{}' is not known", source.text));
    if (size > 8)
      return d.error("a special register has at most 64 bits");
    return d.append(op);
  }
  return d.source(1, op.type, op.a) && d.append(op);
}

} // namespace

void addMoveDecoders(DecodeTable &table) { table["mov"] = mov; }

} // namespace tessera::sim::program
