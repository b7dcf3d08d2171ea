// wmma.load, wmma.store and wmma.mma.
#include "runtime/simulator/program/DecodeMatrix.h"

namespace tessera::sim::program {

namespace {

struct WmmaForm {
  std::string_view name;
  MmaShape shape;
  MatrixClass of;
  unsigned sm;
};

constexpr WmmaForm wmmaForms[] = {
    {".m16n16k16", MmaShape::M16N16K16, MatrixClass::Half, 70},
    {".m32n8k16", MmaShape::M32N8K16, MatrixClass::Half, 70},
    {".m8n32k16", MmaShape::M8N32K16, MatrixClass::Half, 70},
    {".m16n16k16", MmaShape::M16N16K16, MatrixClass::Bfloat, 80},
    {".m32n8k16", MmaShape::M32N8K16, MatrixClass::Bfloat, 80},
    {".m8n32k16", MmaShape::M8N32K16, MatrixClass::Bfloat, 80},
    {".m16n16k8", MmaShape::M16N16K8, MatrixClass::Tf32, 80},
    {".m8n8k4", MmaShape::M8N8K4, MatrixClass::Double, 80},
    {".m16n16k16", MmaShape::M16N16K16, MatrixClass::Integer8, 72},
    {".m32n8k16", MmaShape::M32N8K16, MatrixClass::Integer8, 72},
    {".m8n32k16", MmaShape::M8N32K16, MatrixClass::Integer8, 72},
    {".m8n8k32", MmaShape::M8N8K32, MatrixClass::Integer4, 75},
    {".m8n8k128", MmaShape::M8N8K128, MatrixClass::Bit, 75},
};

const WmmaForm *findForm(Decoder &d, MatrixClass of, std::string_view type) {
  std::string shapes;
  for (const WmmaForm &form : wmmaForms) {
    if (form.of != of)
      continue;
    if (d.has(form.name))
      return d.require(form.sm, fmt::format("'wmma{}' of {}", form.name, type).c_str()) ? &form : nullptr;
    shapes += fmt::format("{}{}", shapes.empty() ? "" : ", ", form.name);
  }
  d.error(fmt::format("this shape of 'wmma' with {} does not exist; {} do", type, shapes));
  return nullptr;
}

/// Registers of A or B. f16 has 8 whatever the shape.
size_t inputRegisters(MmaElement element, unsigned lines, unsigned k) {
  if (element == MmaElement::F16)
    return 8;
  return lines * k * bitsOf(element) / (32 * (element == MmaElement::F64 ? 64 : 32));
}
size_t sumRegisters(Type type, MmaExtent extent) { return extent.m * extent.n / 32 / (type == Type::F16 ? 2 : 1); }
Type sumType(Type type) { return type == Type::F16 ? Type::F16x2 : type; }
Type inputType(MmaElement element) { return element == MmaElement::F64 ? Type::F64 : Type::B32; }

/// Any shape that has accumulators of this type.
const WmmaForm *findAccumulator(Decoder &d, std::string_view type) {
  for (const WmmaForm &form : wmmaForms) {
    bool integer = form.of >= MatrixClass::Integer8;
    bool fits = type == ".s32"   ? integer
                : type == ".f64" ? form.of == MatrixClass::Double
                : type == ".f16" ? form.of == MatrixClass::Half
                                 : type == ".f32" && !integer && form.of != MatrixClass::Double;
    if (fits && d.has(form.name))
      return d.require(form.sm, fmt::format("'wmma{}' of {}", form.name, type).c_str()) ? &form : nullptr;
  }
  d.error(fmt::format("this shape of 'wmma' has no C and D of {}", type));
  return nullptr;
}

bool wmmaMove(Decoder &d, bool store) {
  Op op = d.make(store ? Opcode::WmmaStore : Opcode::WmmaLoad, Flow::Handler);
  WmmaOperand operand = WmmaOperand::Accumulator;
  if (!store && d.has(".a"))
    operand = WmmaOperand::A;
  else if (!store && d.has(".b"))
    operand = WmmaOperand::B;
  else if (!d.has(store ? ".d" : ".c"))
    return d.error(store ? "'wmma.store' needs .d" : "'wmma.load' needs .a, .b or .c");
  if (!needSyncAligned(d, op))
    return false;
  std::vector<std::string_view> types;
  if (!matrixTypes(d, 1, types))
    return false;
  bool sums = operand == WmmaOperand::Accumulator;
  MmaElement element = MmaElement::F16;
  if (!sums && !matrixElement(d, types[0], element))
    return false;
  const WmmaForm *form = sums ? findAccumulator(d, types[0]) : findForm(d, classOf(element), types[0]);
  if (!form)
    return false;
  bool row = d.has(".row");
  if (!row && !d.has(".col"))
    return d.error("the layout, .row or .col, is needed");
  if (!sums && bitsOf(element) < 8 && row != (operand == WmmaOperand::A))
    return d.error(fmt::format("A of {} is .row, B is .col", types[0]));
  op.flags |= row ? 0 : Trans;
  op.space = d.has(".global")                            ? Space::Global
             : d.has(".shared") || d.has(".shared::cta") ? Space::Shared
                                                         : Space::Generic;
  MmaExtent extent = extentOf(form->shape);
  op.variant = static_cast<uint8_t>(form->shape);
  op.registerBytes = static_cast<uint8_t>(element);
  op.sourceBytes = static_cast<uint8_t>(operand);
  op.type = sums ? *ptx::parseType(types[0]) : registerType(element);
  unsigned rows = operand == WmmaOperand::B ? extent.k : extent.m,
           columns = operand == WmmaOperand::A ? extent.k : extent.n;
  size_t count = sums ? sumRegisters(op.type, extent)
                      : inputRegisters(element, operand == WmmaOperand::A ? extent.m : extent.n, extent.k);
  std::vector<uint32_t> regs;
  if (!d.expectCount(2, 3) || !d.address(d.operand(store ? 0 : 1), op) ||
      !matrixRegisters(d, d.operand(store ? 1 : 0), count, sums ? sumType(op.type) : inputType(element), regs, !store))
    return false;
  if (d.count() == 3) {
    if (!d.source(2, Type::U32, op.c))
      return false;
  } else {
    op.c = d.constant(4, row ? columns : rows);
  }
  if (store)
    d.list(op, {}, std::move(regs));
  else
    d.list(op, std::move(regs), {});
  return d.append(op);
}

bool wmmaMma(Decoder &d) {
  Op op = d.make(Opcode::Mma, Flow::Handler);
  if (!needSyncAligned(d, op))
    return false;
  // f16 names D and C only, the others D, A, B and C.
  size_t named = 0;
  for (std::string_view name : d.instruction().modifiers)
    named += ptx::parseType(name) || name == ".s4" || name == ".u4" || name == ".b1";
  std::vector<std::string_view> types;
  if (!matrixTypes(d, named == 2 ? 2 : 4, types))
    return false;
  MmaElement a = MmaElement::F16, b = MmaElement::F16;
  if (named == 2)
    types.insert(types.begin() + 1, 2, ".f16");
  else if (!matrixElement(d, types[1], a) || !matrixElement(d, types[2], b))
    return false;
  if (a != b)
    return d.error("A and B must be of one type");
  MatrixClass of = classOf(a);
  if (named != 2 && (of == MatrixClass::Half || of == MatrixClass::Byte))
    return d.error(fmt::format("'wmma.mma' does not name A and B of {}", types[1]));
  const WmmaForm *form = findForm(d, of, types[1]);
  if (!form)
    return false;
  // The fragments are the same for both layouts of memory.
  for (int i = 0; i < 2; ++i)
    if (!d.has(".row") && !d.has(".col"))
      return d.error("the layouts of A and B are needed");
  if (!accumulator(d, types[0], of, op.type2) || !accumulator(d, types[3], of, op.type3) || !bitOperation(d, of, op) ||
      !roundingOf(d, of, op) || !saturation(d, of, op))
    return false;
  describeProduct(op, form->shape, a, b);
  MmaExtent extent = extentOf(form->shape);
  std::vector<uint32_t> results, sources;
  if (!d.expectCount(4) ||
      !matrixRegisters(d, d.operand(0), sumRegisters(op.type2, extent), sumType(op.type2), results, true) ||
      !matrixRegisters(d, d.operand(1), inputRegisters(a, extent.m, extent.k), inputType(a), sources, false) ||
      !matrixRegisters(d, d.operand(2), inputRegisters(b, extent.n, extent.k), inputType(b), sources, false) ||
      !matrixRegisters(d, d.operand(3), sumRegisters(op.type3, extent), sumType(op.type3), sources, false))
    return false;
  d.list(op, std::move(results), std::move(sources));
  return d.append(op);
}

bool wmma(Decoder &d) {
  if (d.has(".load"))
    return wmmaMove(d, false);
  if (d.has(".store"))
    return wmmaMove(d, true);
  return d.has(".mma") ? wmmaMma(d) : d.error("'wmma' is .load, .store or .mma");
}

} // namespace

void addWmmaDecoders(DecodeTable &table) { table["wmma"] = wmma; }

} // namespace tessera::sim::program
