// Matrix instructions: ldmatrix, stmatrix, movmatrix, mma.
#include "runtime/simulator/program/DecodeMatrix.h"

#include <algorithm>

namespace tessera::sim::program {

using ptx::OperandKind;

bool matrixRegisters(Decoder &d, const ptx::Operand &operand, size_t expected, Type type, std::vector<uint32_t> &out,
                     bool results) {
  auto elements = d.elements(operand);
  if (operand.kind != OperandKind::Vector || elements.size() != expected)
    return d.error(fmt::format("a list of {} registers is needed, got {}", expected, elements.size()));
  for (const ptx::Operand &element : elements) {
    uint32_t reg = 0;
    if (!(results ? d.destination(element, type, reg) : d.source(element, type, reg)))
      return false;
    out.push_back(reg);
  }
  return true;
}

bool needSyncAligned(Decoder &d, Op &op) {
  op.flags |= Aligned;
  return (d.has(".sync") && d.has(".aligned")) ||
         d.error(fmt::format("'{}' needs .sync.aligned", d.instruction().opcode));
}

bool matrixTypes(Decoder &d, size_t count, std::vector<std::string_view> &out) {
  std::vector<std::string_view> names;
  for (std::string_view name : d.instruction().modifiers)
    if (ptx::parseType(name) || name == ".s4" || name == ".u4" || name == ".b1")
      names.push_back(name);
  if (names.size() != count)
    return d.error(fmt::format("'{}' needs {} types here, got {}", d.instruction().opcode, count, names.size()));
  for (std::string_view name : names)
    d.has(name);
  out = std::move(names);
  return true;
}

bool matrixElement(Decoder &d, std::string_view name, MmaElement &out) {
  static constexpr std::pair<std::string_view, MmaElement> known[] = {
      {".f16", MmaElement::F16},   {".bf16", MmaElement::BF16}, {".tf32", MmaElement::TF32},
      {".e4m3", MmaElement::E4M3}, {".e5m2", MmaElement::E5M2}, {".f64", MmaElement::F64},
      {".s8", MmaElement::S8},     {".u8", MmaElement::U8},     {".s4", MmaElement::S4},
      {".u4", MmaElement::U4},     {".b1", MmaElement::B1}};
  for (auto &[text, element] : known)
    if (text == name) {
      out = element;
      return true;
    }
  return d.error(fmt::format("A and B of type {} are not supported", name));
}

Type registerType(MmaElement element) {
  static constexpr Type types[] = {Type::F16, Type::BF16, Type::TF32, Type::E4M3, Type::E5M2, Type::F64,
                                   Type::S8,  Type::U8,   Type::S8,   Type::U8,   Type::B8};
  return types[static_cast<unsigned>(element)];
}

MatrixClass classOf(MmaElement element) {
  switch (element) {
  case MmaElement::F16:
    return MatrixClass::Half;
  case MmaElement::BF16:
    return MatrixClass::Bfloat;
  case MmaElement::TF32:
    return MatrixClass::Tf32;
  case MmaElement::E4M3:
  case MmaElement::E5M2:
    return MatrixClass::Byte;
  case MmaElement::F64:
    return MatrixClass::Double;
  case MmaElement::S8:
  case MmaElement::U8:
    return MatrixClass::Integer8;
  case MmaElement::S4:
  case MmaElement::U4:
    return MatrixClass::Integer4;
  default:
    return MatrixClass::Bit;
  }
}

bool accumulator(Decoder &d, std::string_view name, MatrixClass of, Type &out) {
  bool integer = of >= MatrixClass::Integer8;
  bool half = of == MatrixClass::Half || of == MatrixClass::Byte;
  Type type = ptx::parseType(name).value_or(Type::None);
  bool fits = integer                     ? type == Type::S32
              : of == MatrixClass::Double ? type == Type::F64
                                          : type == Type::F32 || (half && type == Type::F16);
  out = type;
  return fits || d.error(fmt::format("C and D of type {} do not go with A and B", name));
}

bool bitOperation(Decoder &d, MatrixClass of, Op &op) {
  if (of != MatrixClass::Bit)
    return true;
  op.boolOp = d.has(".and") ? BoolOp::And : d.has(".xor") ? BoolOp::Xor : BoolOp::None;
  if (op.boolOp == BoolOp::None || !d.has(".popc"))
    return d.error("products of bits need .xor.popc or .and.popc");
  return op.boolOp == BoolOp::Xor || d.require(80, ".and.popc");
}

bool roundingOf(Decoder &d, MatrixClass of, Op &op) {
  if (of != MatrixClass::Double)
    return true;
  op.rounding =
      d.rounding({{".rn", Rounding::RN}, {".rz", Rounding::RZ}, {".rm", Rounding::RM}, {".rp", Rounding::RP}});
  if (op.rounding == Rounding::None)
    op.rounding = Rounding::RN;
  return true;
}

bool saturation(Decoder &d, MatrixClass of, Op &op) {
  if (!d.has(".satfinite"))
    return true;
  op.flags |= Satfinite;
  return of == MatrixClass::Integer8 || of == MatrixClass::Integer4 || d.error(".satfinite goes with integers");
}

void describeProduct(Op &op, MmaShape shape, MmaElement a, MmaElement b) {
  MmaExtent extent = extentOf(shape);
  op.variant = static_cast<uint8_t>(shape);
  op.registerBytes = static_cast<uint8_t>(a);
  op.sourceBytes = static_cast<uint8_t>(b);
  op.type = registerType(a);
  op.imm = int64_t(2) * extent.m * extent.n * extent.k; // operations
}

namespace {

bool ldmatrix(Decoder &d) {
  bool store = d.instruction().opcode == "stmatrix";
  Op op = d.make(store ? Opcode::Stmatrix : Opcode::Ldmatrix, Flow::Handler);
  if (!needSyncAligned(d, op))
    return false;
  if (store && !d.require(90, "'stmatrix'"))
    return false;
  for (std::string_view shape : {".m16n16", ".m8n16", ".m16n8"})
    if (d.has(shape))
      return d.error(fmt::format("'{}{}' of bytes is of sm_100a and sm_120a and not supported; .m8n8 of .b16 is",
                                 d.instruction().opcode, shape));
  if (!d.has(".m8n8"))
    return d.error("the shape must be .m8n8");
  op.vector = d.has(".x1") ? 1 : d.has(".x2") ? 2 : d.has(".x4") ? 4 : 0;
  if (!op.vector)
    return d.error("needs .x1, .x2 or .x4");
  op.flags |= d.has(".trans") ? Trans : 0;
  op.space = d.has(".shared") || d.has(".shared::cta") ? Space::Shared : Space::Generic;
  std::vector<uint32_t> regs;
  if (!d.typeOf(op.type, {Type::B16}) || !d.expectCount(2) || !d.address(d.operand(store ? 0 : 1), op) ||
      !matrixRegisters(d, d.operand(store ? 1 : 0), op.vector, Type::B32, regs, !store))
    return false;
  if (store)
    d.list(op, {}, std::move(regs));
  else
    d.list(op, std::move(regs), {});
  return d.append(op);
}

bool movmatrix(Decoder &d) {
  Op op = d.make(Opcode::Movmatrix, Flow::Handler);
  if (!needSyncAligned(d, op))
    return false;
  if (!d.has(".m8n8") || !d.has(".trans"))
    return d.error("'movmatrix' needs .m8n8.trans");
  return d.typeOf(op.type, {Type::B16}) && d.expectCount(2) && d.destination(0, Type::B32, op.dst) &&
         d.source(1, Type::B32, op.a) && d.append(op);
}

struct MmaForm {
  std::string_view name;
  MmaShape shape;
  MatrixClass of;
  unsigned sm;
};

constexpr MmaForm mmaForms[] = {
    {".m8n8k4", MmaShape::M8N8K4Quads, MatrixClass::Half, 70},
    {".m16n8k8", MmaShape::M16N8K8, MatrixClass::Half, 75},
    {".m16n8k16", MmaShape::M16N8K16, MatrixClass::Half, 80},
    {".m16n8k8", MmaShape::M16N8K8, MatrixClass::Bfloat, 80},
    {".m16n8k16", MmaShape::M16N8K16, MatrixClass::Bfloat, 80},
    {".m16n8k4", MmaShape::M16N8K4, MatrixClass::Tf32, 80},
    {".m16n8k8", MmaShape::M16N8K8, MatrixClass::Tf32, 80},
    {".m16n8k16", MmaShape::M16N8K16, MatrixClass::Byte, 89},
    {".m16n8k32", MmaShape::M16N8K32, MatrixClass::Byte, 89},
    {".m8n8k4", MmaShape::M8N8K4, MatrixClass::Double, 80},
    {".m16n8k4", MmaShape::M16N8K4, MatrixClass::Double, 90},
    {".m16n8k8", MmaShape::M16N8K8, MatrixClass::Double, 90},
    {".m16n8k16", MmaShape::M16N8K16, MatrixClass::Double, 90},
    {".m8n8k16", MmaShape::M8N8K16, MatrixClass::Integer8, 75},
    {".m16n8k16", MmaShape::M16N8K16, MatrixClass::Integer8, 80},
    {".m16n8k32", MmaShape::M16N8K32, MatrixClass::Integer8, 80},
    {".m8n8k32", MmaShape::M8N8K32, MatrixClass::Integer4, 75},
    {".m16n8k32", MmaShape::M16N8K32, MatrixClass::Integer4, 80},
    {".m16n8k64", MmaShape::M16N8K64, MatrixClass::Integer4, 80},
    {".m8n8k128", MmaShape::M8N8K128, MatrixClass::Bit, 75},
    {".m16n8k128", MmaShape::M16N8K128, MatrixClass::Bit, 80},
    {".m16n8k256", MmaShape::M16N8K256, MatrixClass::Bit, 80},
};

bool mma(Decoder &d) {
  Op op = d.make(Opcode::Mma, Flow::Handler);
  for (std::string_view sparse : {".sp", ".sp::ordered_metadata"})
    if (d.has(sparse))
      return d.error(fmt::format("'mma{}', the product with a sparse A, is not supported; the dense 'mma' is", sparse));
  for (std::string_view name : d.instruction().modifiers)
    if (name.starts_with(".kind::") || name == ".block_scale")
      return d.error(fmt::format("'mma' with {} is of sm_120a and not supported", name));
  if (!needSyncAligned(d, op))
    return false;
  std::vector<std::string_view> types; // D, A, B, C
  MmaElement a, b;
  if (!matrixTypes(d, 4, types) || !matrixElement(d, types[1], a) || !matrixElement(d, types[2], b))
    return false;
  MatrixClass of = classOf(a);
  const MmaForm *form = nullptr;
  std::string shapes;
  for (const MmaForm &candidate : mmaForms) {
    if (candidate.of != of)
      continue;
    shapes += fmt::format("{}{}", shapes.empty() ? "" : ", ", candidate.name);
    if (!form && d.has(candidate.name))
      form = &candidate;
  }
  if (!form)
    return d.error(fmt::format("this shape of 'mma' with A of {} does not exist; {} do", types[1], shapes));
  if (!d.require(form->sm, fmt::format("'mma{}' of {}", form->name, types[1]).c_str()))
    return false;
  if (classOf(b) != of || (of == MatrixClass::Half && a != b))
    return d.error(fmt::format("A of {} and B of {} do not go together", types[1], types[2]));
  bool quads = form->shape == MmaShape::M8N8K4Quads;
  if (quads) { // the first layout is A's
    std::vector<std::string_view> layouts;
    for (std::string_view name : d.instruction().modifiers)
      if (name == ".row" || name == ".col")
        layouts.push_back(name);
    if (layouts.size() != 2)
      return d.error("'mma.m8n8k4' needs the layouts of A and B");
    for (std::string_view name : layouts)
      d.has(name);
    op.flags |= layouts[0] == ".col" ? Trans : 0;
    op.flags |= layouts[1] == ".row" ? High : 0;
  } else if (!d.has(".row") || !d.has(".col")) {
    return d.error("'mma' of this shape needs .row.col");
  }
  if (!accumulator(d, types[0], of, op.type2) || !accumulator(d, types[3], of, op.type3) || !bitOperation(d, of, op) ||
      !roundingOf(d, of, op) || !saturation(d, of, op))
    return false;
  if (op.type2 != op.type3 && !(quads && op.type2 == Type::F32))
    return d.error(quads ? "with C of .f32, D must be .f32 too" : "C and D must be of one type");
  if (of == MatrixClass::Byte && !d.requireVersion(8, 4, "'mma' of 8-bit floats"))
    return false;
  if (of == MatrixClass::Byte && (op.type2 == Type::F16 || form->shape == MmaShape::M16N8K16) &&
      !d.requireVersion(8, 7, "'mma' of 8-bit floats with depth 16 or .f16 sums"))
    return false;
  describeProduct(op, form->shape, a, b);
  MmaExtent extent = extentOf(form->shape);
  auto sums = [&](Type type) {
    return std::pair(quads ? (type == Type::F16 ? 4 : 8) : extent.m * extent.n / 32 / (type == Type::F16 ? 2 : 1),
                     type == Type::F16 ? Type::F16x2 : type);
  };
  unsigned perRegister = (of == MatrixClass::Double ? 64 : 32) / bitsOf(a);
  size_t aRegs = quads ? 2 : extent.m * extent.k / 32 / perRegister,
         bRegs = quads ? 2 : extent.n * extent.k / 32 / perRegister;
  Type inputs = of == MatrixClass::Double ? Type::F64 : Type::B32;
  auto [dRegs, dType] = sums(op.type2);
  auto [cRegs, cType] = sums(op.type3);
  std::vector<uint32_t> results, sources;
  if (!d.expectCount(4) || !matrixRegisters(d, d.operand(0), dRegs, dType, results, true) ||
      !matrixRegisters(d, d.operand(1), aRegs, inputs, sources, false) ||
      !matrixRegisters(d, d.operand(2), bRegs, inputs, sources, false) ||
      !matrixRegisters(d, d.operand(3), cRegs, cType, sources, false))
    return false;
  d.list(op, std::move(results), std::move(sources));
  return d.append(op);
}

} // namespace

void addMatrixDecoders(DecodeTable &table) {
  table["ldmatrix"] = table["stmatrix"] = ldmatrix;
  table["movmatrix"] = movmatrix;
  table["mma"] = mma;
  addWmmaDecoders(table);
}

} // namespace tessera::sim::program
