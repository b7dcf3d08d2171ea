// mov with packing and unpacking, and the special registers.
#include "runtime/simulator/program/Decoder.h"
#include "runtime/simulator/program/SpecialRegister.h"

#include <charconv>

namespace tessera::sim::program {

using ptx::OperandKind;

namespace {

/// %envreg0 to %envreg31 and %pm0_64 to %pm7_64 are one row each: the driver sets none of them but %envreg1 and
/// %envreg2, all others read as zero.
bool numbered(std::string_view name, std::string_view prefix, std::string_view suffix, unsigned count) {
  if (!name.starts_with(prefix) || !name.ends_with(suffix) || name.size() <= prefix.size() + suffix.size())
    return false;
  std::string_view digits = name.substr(prefix.size(), name.size() - prefix.size() - suffix.size());
  unsigned number = 0;
  auto [end, code] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  return code == std::errc() && end == digits.data() + digits.size() && (digits[0] != '0' || digits.size() == 1) &&
         number < count;
}

} // namespace

bool specialRegister(std::string_view name, uint8_t &number) {
  if (name != "%envreg1" && name != "%envreg2" && numbered(name, "%envreg", "", 32))
    name = "%envreg";
  else if (numbered(name, "%pm", "_64", 8))
    name = "%pm64";
  else if (name == "%envreg" || name == "%pm64")
    return false;
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

bool Decoder::special(std::string_view name, unsigned bytes, uint8_t &number) {
  if (!specialRegister(name, number))
    return error(fmt::format("special register '{}' is not known", name));
  auto id = static_cast<Special>(number);
  bool wide = id == Special::Clock64 || id == Special::GlobalTimer || id == Special::GraphExec || id == Special::Pm64;
  bool narrow = id <= Special::NctaidW; // once 16 bits wide
  bool fits = bytes == 8 ? wide || id == Special::GridId : bytes == 4 ? !wide : bytes == 2 && narrow;
  if (!fits)
    return error(fmt::format("special register '{}' has {} bits, {} are asked for", name, wide ? 64 : 32, 8 * bytes));
  bool cluster = name.starts_with("%cluster") || name.starts_with("%ncluster") || id == Special::AggregateSharedSize;
  return !cluster || require(90, "this special register");
}

namespace {

/// mov.v4.u32 {…}, %tid: all four components.
bool specialVector(Decoder &d, const Op &op) {
  const ptx::Operand &vector = d.operand(0), &source = d.operand(1);
  bool fits = vector.kind == OperandKind::Vector && vector.elements.size() == 4 &&
              source.kind == OperandKind::Special && (op.type == Type::U32 || op.type == Type::B32);
  if (!fits)
    return d.error("'mov.v4' reads a special register of four components");
  static constexpr std::string_view components[] = {".x", ".y", ".z", ".w"};
  for (size_t i = 0; i < 4; ++i) {
    Op part = op;
    part.code = Opcode::MovSpecial;
    part.flow = Flow::Compute;
    part.registerBytes = 4;
    if (!d.special(std::string(source.text) + std::string(components[i]), 4, part.variant) ||
        !d.destination(vector.elements[i], op.type, part.dst) || !d.append(part))
      return false;
  }
  return true;
}

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
  Op op = d.make(Opcode::Mov, Flow::Copy);
  bool vector4 = d.has(".v4");
  if (!d.nextType(op.type) || !d.expectCount(2))
    return false;
  if (vector4)
    return specialVector(d, op);
  if (op.type == Type::Pred) {
    bool negated = false;
    if (d.operand(1).kind == OperandKind::Special && d.operand(1).text == "%is_explicit_cluster") {
      op.a = d.constant(0, 0); // no launch here has clusters
      return d.require(90, "'%is_explicit_cluster'") && d.predicateDestination(d.operand(0), op.dst) && d.append(op);
    }
    if (!d.predicateDestination(d.operand(0), op.dst) || !d.predicateSource(d.operand(1), op.a, negated))
      return false;
    if (negated)
      return d.error("'!' is not possible here");
    op.registerBytes = 0;
    return d.append(op);
  }
  unsigned size = ptx::sizeOf(op.type);
  bool plain = ptx::isInteger(op.type) || ptx::isBits(op.type) || op.type == Type::F32 || op.type == Type::F64;
  if (size < 2 || !plain)
    return d.error(fmt::format("type {} is not possible for 'mov'", ptx::toString(op.type)));
  if (bool vector = d.operand(0).kind == OperandKind::Vector || d.operand(1).kind == OperandKind::Vector;
      vector && !ptx::isBits(op.type))
    return d.error("'mov' packs and unpacks .b16, .b32, .b64 and .b128");
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
    return d.special(source.text, size, op.variant) && d.append(op);
  }
  return d.source(1, op.type, op.a) && d.append(op);
}

} // namespace

void addMoveDecoders(DecodeTable &table) { table["mov"] = mov; }

} // namespace tessera::sim::program
