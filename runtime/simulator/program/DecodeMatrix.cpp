// Matrix instructions: ldmatrix, stmatrix, movmatrix, mma.
#include "runtime/simulator/program/Decoder.h"
#include "runtime/simulator/program/Variants.h"

namespace tessera::sim::program {

namespace {

bool registers(Decoder &d, const ptx::Operand &operand, size_t expected, Type type, std::vector<uint32_t> &out,
               bool results) {
  auto elements = d.elements(operand);
  if (elements.size() != expected)
    return d.error(fmt::format("{} registers are needed, got {}", expected, elements.size()));
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

bool ldmatrix(Decoder &d) {
  bool store = d.instruction().opcode == "stmatrix";
  Op op = d.make(store ? Opcode::Stmatrix : Opcode::Ldmatrix, Pipe::Lsu, Flow::Handler);
  if (!needSyncAligned(d, op))
    return false;
  if (store && !d.require(90, "'stmatrix'"))
    return false;
  if (!d.has(".m8n8"))
    return d.error("the shape must be .m8n8");
  op.vector = d.has(".x1") ? 1 : d.has(".x2") ? 2 : d.has(".x4") ? 4 : 0;
  if (!op.vector)
    return d.error("needs .x1, .x2 or .x4");
  op.flags |= d.has(".trans") ? Trans : 0;
  op.space = d.has(".shared") || d.has(".shared::cta") ? Space::Shared : Space::Generic;
  std::vector<uint32_t> regs;
  if (!d.typeOf(op.type, {Type::B16}) || !d.expectCount(2) || !d.address(d.operand(store ? 0 : 1), op) ||
      !registers(d, d.operand(store ? 1 : 0), op.vector, Type::B32, regs, !store))
    return false;
  if (store)
    d.list(op, {}, std::move(regs));
  else
    d.list(op, std::move(regs), {});
  return d.append(op);
}

bool movmatrix(Decoder &d) {
  Op op = d.make(Opcode::Movmatrix, Pipe::Lsu, Flow::Handler);
  if (!needSyncAligned(d, op))
    return false;
  if (!d.has(".m8n8") || !d.has(".trans"))
    return d.error("'movmatrix' needs .m8n8.trans");
  return d.typeOf(op.type, {Type::B16}) && d.expectCount(2) && d.destination(0, Type::B32, op.dst) &&
         d.source(1, Type::B32, op.a) && d.append(op);
}

struct MmaForm {
  std::string_view shape;
  MmaShape k;
  Type a;
  uint8_t aRegs, bRegs;
  unsigned sm;
};

constexpr MmaForm mmaForms[] = {
    {".m16n8k8", MmaShape::K8, Type::F16, 2, 1, 75},    {".m16n8k16", MmaShape::K16, Type::F16, 4, 2, 80},
    {".m16n8k8", MmaShape::K8, Type::BF16, 2, 1, 80},   {".m16n8k16", MmaShape::K16, Type::BF16, 4, 2, 80},
    {".m16n8k4", MmaShape::K4, Type::TF32, 2, 1, 80},   {".m16n8k8", MmaShape::K8, Type::TF32, 4, 2, 80},
    {".m16n8k16", MmaShape::K16, Type::S8, 2, 1, 80},   {".m16n8k32", MmaShape::K32, Type::S8, 4, 2, 80},
    {".m16n8k16", MmaShape::K16, Type::U8, 2, 1, 80},   {".m16n8k32", MmaShape::K32, Type::U8, 4, 2, 80},
    {".m16n8k16", MmaShape::K16, Type::E4M3, 2, 1, 89}, {".m16n8k32", MmaShape::K32, Type::E4M3, 4, 2, 89},
    {".m16n8k16", MmaShape::K16, Type::E5M2, 2, 1, 89}, {".m16n8k32", MmaShape::K32, Type::E5M2, 4, 2, 89},
};

bool mma(Decoder &d) {
  Op op = d.make(Opcode::Mma, Pipe::Tensor, Flow::Handler);
  if (!needSyncAligned(d, op))
    return false;
  std::string_view shape;
  for (std::string_view name : {".m16n8k4", ".m16n8k8", ".m16n8k16", ".m16n8k32"})
    if (shape.empty() && d.has(name))
      shape = name;
  if (shape.empty())
    return d.error("this shape of 'mma' is not supported; .m16n8k4, .m16n8k8, .m16n8k16 and .m16n8k32 are");
  if (!d.has(".row") || !d.has(".col"))
    return d.error("'mma' of these shapes needs .row.col");
  op.flags |= d.has(".satfinite") ? Satfinite : 0;
  Type dType, bType, cType;
  if (!d.nextType(dType) || !d.nextType(op.type) || !d.nextType(bType) || !d.nextType(cType))
    return false;
  const MmaForm *form = nullptr;
  for (const MmaForm &candidate : mmaForms)
    if (candidate.shape == shape && candidate.a == op.type)
      form = &candidate;
  if (!form)
    return d.error(fmt::format("'mma{}' with {} inputs is not supported", shape, ptx::toString(op.type)));
  if (!d.require(form->sm, "this 'mma'"))
    return false;
  bool integer = op.type == Type::S8 || op.type == Type::U8, narrow = op.type == Type::E4M3 || op.type == Type::E5M2;
  bool mayDiffer =
      integer ? bType == Type::S8 || bType == Type::U8 : narrow && (bType == Type::E4M3 || bType == Type::E5M2);
  if (bType != op.type && !mayDiffer)
    return d.error("the types of A and B do not go together");
  bool half = op.type == Type::F16 || narrow;
  bool fits = integer ? dType == Type::S32 && cType == Type::S32
                      : dType == cType && (dType == Type::F32 || (half && dType == Type::F16));
  if (op.type == Type::F16 && form->k == MmaShape::K8 && dType != cType) // documented for m16n8k8 and k16: equal
    fits = false;
  if (!fits)
    return d.error("the types of C and D do not go with A and B");
  if ((op.flags & Satfinite) && !integer)
    return d.error(".satfinite goes with integers");
  op.type2 = dType;
  op.variant = static_cast<uint8_t>(form->k);
  op.sourceBytes = bType == Type::U8 || bType == Type::E5M2; // second variant of the type of B
  Type c = dType == Type::F16 ? Type::F16x2 : dType;
  size_t cRegs = dType == Type::F16 ? 2 : 4;
  std::vector<uint32_t> results, sources;
  if (!d.expectCount(4) || !registers(d, d.operand(0), cRegs, c, results, true) ||
      !registers(d, d.operand(1), form->aRegs, Type::B32, sources, false) ||
      !registers(d, d.operand(2), form->bRegs, Type::B32, sources, false) ||
      !registers(d, d.operand(3), cRegs, c, sources, false))
    return false;
  static constexpr int64_t depth[] = {4, 8, 16, 32};
  op.imm = 2 * 16 * 8 * depth[op.variant]; // flops
  d.list(op, std::move(results), std::move(sources));
  return d.append(op);
}

} // namespace

void addMatrixDecoders(DecodeTable &table) {
  table["ldmatrix"] = table["stmatrix"] = ldmatrix;
  table["movmatrix"] = movmatrix;
  table["mma"] = mma;
}

} // namespace tessera::sim::program
