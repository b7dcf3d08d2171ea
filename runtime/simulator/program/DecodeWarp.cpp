// Warp-level instructions: shuffles, votes, matches, reductions, and the matrix instructions.
#include "runtime/simulator/program/Decoder.h"
#include "runtime/simulator/program/Variants.h"

namespace tessera::sim::program {

namespace {

using ptx::OperandKind;

bool needSync(Decoder &d) {
  return d.has(".sync") ||
         d.error(fmt::format("'{}' needs .sync on every supported architecture", d.instruction().opcode));
}

/// d or d|p.
bool resultPair(Decoder &d, Type type, Op &op, bool pairNeeded) {
  const ptx::Operand &result = d.operand(0);
  if (result.kind != OperandKind::Pair)
    return pairNeeded ? d.error("the result must be register|predicate") : d.destination(0, type, op.dst);
  return d.destination(result.elements[0], type, op.dst) && d.predicateDestination(result.elements[1], op.dst2);
}

bool shfl(Decoder &d) {
  Op op = d.make(Opcode::Shfl, Pipe::Lsu, Flow::Handler);
  if (!needSync(d))
    return false;
  bool found = false;
  static constexpr std::string_view modes[] = {".up", ".down", ".bfly", ".idx"};
  for (uint8_t i = 0; i < 4; ++i)
    if (!found && (found = d.has(modes[i])))
      op.variant = i;
  if (!found)
    return d.error("'shfl' needs .up, .down, .bfly or .idx");
  return d.typeOf(op.type, {Type::B32}) && d.expectCount(5) && resultPair(d, Type::B32, op, false) &&
         d.source(1, Type::B32, op.a) && d.source(2, Type::B32, op.b) && d.source(3, Type::B32, op.c) &&
         d.source(4, Type::B32, op.d) && d.append(op);
}

bool vote(Decoder &d) {
  Op op = d.make(Opcode::Vote, Pipe::Alu, Flow::Handler);
  if (!needSync(d))
    return false;
  bool found = false;
  static constexpr std::string_view modes[] = {".all", ".any", ".uni", ".ballot"};
  for (uint8_t i = 0; i < 4; ++i)
    if (!found && (found = d.has(modes[i])))
      op.variant = i;
  if (!found)
    return d.error("'vote' needs .all, .any, .uni or .ballot");
  bool ballot = op.variant == static_cast<uint8_t>(VoteMode::Ballot), negated = false;
  if (!d.typeOf(op.type, {ballot ? Type::B32 : Type::Pred}) || !d.expectCount(3) ||
      !d.destination(0, op.type, op.dst) || !d.predicateSource(d.operand(1), op.a, negated) ||
      !d.source(2, Type::B32, op.d))
    return false;
  op.flags = negated ? NegatePredicate : 0;
  return d.append(op);
}

bool match(Decoder &d) {
  Op op = d.make(Opcode::Match, Pipe::Alu, Flow::Handler);
  op.variant = d.has(".all");
  if (!op.variant && !d.has(".any"))
    return d.error("'match' needs .any or .all");
  if (!needSync(d) || !d.typeOf(op.type, {Type::B32, Type::B64}) || !d.expectCount(3))
    return false;
  if (!op.variant && d.operand(0).kind == OperandKind::Pair)
    return d.error("'match.any' has no predicate");
  return resultPair(d, Type::B32, op, false) && d.source(1, op.type, op.a) && d.source(2, Type::B32, op.d) &&
         d.append(op);
}

bool redux(Decoder &d) {
  Op op = d.make(Opcode::Redux, Pipe::Alu, Flow::Handler);
  if (!needSync(d) || !d.require(80, "'redux'"))
    return false;
  bool found = false;
  static constexpr std::string_view kinds[] = {".add", ".min", ".max", ".and", ".or", ".xor"};
  for (uint8_t i = 0; i < 6; ++i)
    if (!found && (found = d.has(kinds[i])))
      op.variant = i;
  if (!found)
    return d.error("'redux' needs an operation");
  op.flags = (d.has(".abs") ? AbsFlag : 0) | (d.has(".NaN") ? NanFlag : 0);
  bool logical = op.variant >= 3;
  if (!(logical ? d.typeOf(op.type, {Type::B32}) : d.typeOf(op.type, {Type::U32, Type::S32, Type::F32})))
    return false;
  if (op.type == Type::F32 && (op.variant == 0 || !d.require(100, "'redux' on f32")))
    return d.error("'redux' on f32 knows .min and .max, on sm_100a");
  if (op.flags && op.type != Type::F32)
    return d.error(".abs and .NaN go with .f32");
  return d.expectCount(3) && d.destination(0, op.type, op.dst) && d.source(1, op.type, op.a) &&
         d.source(2, Type::B32, op.d) && d.append(op);
}

bool activemask(Decoder &d) {
  Op op = d.make(Opcode::ActiveMask, Pipe::Alu, Flow::Compute);
  return d.typeOf(op.type, {Type::B32}) && d.expectCount(1) && d.destination(0, op.type, op.dst) && d.append(op);
}

bool elect(Decoder &d) {
  Op op = d.make(Opcode::Elect, Pipe::Alu, Flow::Handler);
  return needSync(d) && d.require(90, "'elect'") && d.expectCount(2) && resultPair(d, Type::B32, op, true) &&
         d.source(1, Type::B32, op.d) && d.append(op);
}

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

void addWarpDecoders(DecodeTable &table) {
  table["shfl"] = shfl;
  table["vote"] = vote;
  table["match"] = match;
  table["redux"] = redux;
  table["activemask"] = activemask;
  table["elect"] = elect;
}

void addMatrixDecoders(DecodeTable &table) {
  table["ldmatrix"] = table["stmatrix"] = ldmatrix;
  table["movmatrix"] = movmatrix;
  table["mma"] = mma;
}

} // namespace tessera::sim::program
