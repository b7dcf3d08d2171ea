// Branches, calls, exits, barriers and fences.
#include "runtime/simulator/program/Decoder.h"
#include "runtime/simulator/program/Variants.h"

namespace tessera::sim::program {

namespace {

using ptx::OperandKind;

constexpr size_t mostTableEntries = 1 << 20;

bool bra(Decoder &d) {
  Op op = d.make(Opcode::Bra, Flow::None);
  op.flags = d.has(".uni") ? Uniform : 0;
  uint32_t target = 0;
  if (!d.expectCount(1) || !d.label(d.operand(0), target))
    return false;
  op.imm = target;
  return d.append(op);
}

bool brx(Decoder &d) {
  Op op = d.make(Opcode::BrxIdx, Flow::None);
  if (!d.has(".idx"))
    return d.error("'brx' needs .idx");
  op.flags = d.has(".uni") ? Uniform : 0;
  if (!d.expectCount(2) || !d.source(0, Type::U32, op.a))
    return false;
  for (const ptx::LabelTable &table : d.function().tables)
    if (table.kind == ptx::LabelTable::Branch && table.name == d.operand(1).text &&
        d.operand(1).kind == OperandKind::Label) {
      size_t &entries = d.decoded().branchTableEntries;
      if (entries += table.targets.size(); entries > mostTableEntries)
        return d.error(fmt::format("the branch tables of the function have more than {} entries", mostTableEntries));
      op.imm = static_cast<int64_t>(d.decoded().branchTables.size());
      d.decoded().branchTables.push_back(table.targets);
      return d.append(op);
    }
  return d.error("the second operand must be a .branchtargets table");
}

bool exitOp(Decoder &d) {
  std::string_view name = d.instruction().opcode;
  d.has(".uni");
  if (!d.expectCount(0))
    return false;
  if (name == "ret" && !d.function().kernel) {
    Op op = d.make(Opcode::Bra, Flow::None);
    op.imm = -1; // to the end of the function, where it returns
    return d.append(op);
  }
  Opcode code = name == "trap" ? Opcode::Trap : name == "brkpt" ? Opcode::Nop : Opcode::Exit;
  return d.append(d.make(code, Flow::None));
}

bool nanosleep(Decoder &d) {
  Op op = d.make(Opcode::Nanosleep, Flow::None);
  return d.typeOf(op.type, {Type::U32}) && d.expectCount(1) && d.source(0, Type::U32, op.a) && d.append(op);
}

/// Performance monitor events: checked, and without effect.
bool pmevent(Decoder &d) {
  int64_t value = 0, most = d.has(".mask") ? 0xffff : 15;
  if (!d.expectCount(1) || !d.immediate(d.operand(0), value, "the event"))
    return false;
  if (value < 0 || value > most)
    return d.error(fmt::format("the event {} is not 0 to {}", value, most));
  return d.append(d.make(Opcode::Nop, Flow::None));
}

/// One grid at a time runs, so that prerequisite grids are complete and nothing is left to wait for.
bool griddepcontrol(Decoder &d) {
  if (!d.require(90, "'griddepcontrol'"))
    return false;
  if (!d.has(".wait") && !d.has(".launch_dependents"))
    return d.error("'griddepcontrol' needs .wait or .launch_dependents");
  return d.expectCount(0) && d.append(d.make(Opcode::Nop, Flow::None));
}

/// One argument or result of a call: a .param variable of this body, a register, or an immediate argument.
bool callOperand(Decoder &d, const ptx::Operand &operand, const ptx::Variable *formal, bool result,
                 std::vector<uint32_t> &regs, FormalParameter &out) {
  if (operand.kind == OperandKind::Variable && operand.scope == ptx::VariableScope::Function &&
      d.function().variables[operand.index].space == Space::Param) {
    out.size = static_cast<uint32_t>(d.function().variables[operand.index].size);
    out.frameOffset = d.frameOffset(operand);
    return true;
  }
  if (operand.kind == OperandKind::Variable && operand.scope != ptx::VariableScope::Module && !d.function().kernel) {
    const auto &list = operand.scope == ptx::VariableScope::Parameter ? d.function().parameters : d.function().results;
    if (operand.scope != ptx::VariableScope::Function) { // a formal of the caller passed on
      out.size = static_cast<uint32_t>(list[operand.index].size);
      out.frameOffset = d.frameOffset(operand);
      return true;
    }
  }
  static constexpr Type byWidth[] = {Type::None, Type::B8,   Type::B16,  Type::None, Type::B32,
                                     Type::None, Type::None, Type::None, Type::B64};
  uint32_t reg = 0;
  uint8_t bytes = 0;
  Type type = formal && formal->size <= 8 ? byWidth[formal->size] : Type::B32;
  if (type == Type::None)
    return d.error("this argument must be a .param variable");
  if (!(result ? d.wideDestination(operand, type, reg, bytes) : d.wideSource(operand, type, reg, bytes)))
    return false;
  out.size = formal ? static_cast<uint32_t>(formal->size) : bytes;
  out.reg = static_cast<uint32_t>(regs.size()); // index into Op::ext
  out.registerBytes = bytes;
  regs.push_back(reg);
  return true;
}

bool call(Decoder &d) {
  Op op = d.make(Opcode::Call, Flow::Handler);
  op.flags = d.has(".uni") ? Uniform : 0;
  if (!d.expectCount(1, 4))
    return false;
  size_t at = 0;
  const ptx::Operand *results = d.operand(at).kind == OperandKind::List ? &d.operand(at++) : nullptr;
  if (at >= d.count())
    return d.error("the function to call is missing");
  const ptx::Operand &target = d.operand(at++);
  const ptx::Operand *arguments =
      at < d.count() && d.operand(at).kind == OperandKind::List ? &d.operand(at++) : nullptr;
  const ptx::Operand *table = at < d.count() ? &d.operand(at++) : nullptr;
  if (at != d.count())
    return d.error("the operands of 'call' are malformed");
  CallSite site;
  const ptx::Function *callee = nullptr;
  if (target.kind == OperandKind::Function) {
    callee = &d.layout().tree->functions[target.index];
    if (callee->kernel)
      return d.error("a kernel cannot be called");
    if (!callee->defined) {
      if (callee->name == "vprintf")
        op.code = Opcode::Printf;
      else if (callee->name == "__assertfail")
        op.code = Opcode::AssertFail;
      else
        return d.error(fmt::format("function '{}' is not defined in this module", callee->name));
    }
    site.targets.push_back(target.index);
    if (callee->defined)
      d.decoded().callees.push_back(target.index);
  } else {
    if (!table || table->kind != OperandKind::Label)
      return d.error("an indirect call needs a .callprototype or .calltargets");
    op.code = Opcode::CallIndirect;
    if (!d.source(target, Type::B64, op.a))
      return false;
    for (const ptx::LabelTable &candidate : d.function().tables)
      if (candidate.name == table->text)
        site.targets = candidate.targets;
    // The address decides; all functions whose shape fits are possible callees.
    for (uint32_t i = 0; i < d.layout().tree->functions.size() && !d.decoded().callsIndirectly; ++i)
      if (!d.layout().tree->functions[i].kernel && d.layout().tree->functions[i].defined)
        d.decoded().callees.push_back(i);
    d.decoded().callsIndirectly = true;
  }
  size_t resultCount = results ? results->elements.size() : 0,
         argumentCount = arguments ? arguments->elements.size() : 0;
  if (callee && (callee->results.size() != resultCount || callee->parameters.size() != argumentCount))
    return d.error(fmt::format("'{}' takes {} arguments and gives {} results, the call has {} and {}", callee->name,
                               callee->parameters.size(), callee->results.size(), argumentCount, resultCount));
  std::vector<uint32_t> resultRegs, argumentRegs;
  for (size_t i = 0; i < resultCount; ++i) {
    FormalParameter formal;
    if (!callOperand(d, results->elements[i], callee ? &callee->results[i] : nullptr, true, resultRegs, formal))
      return false;
    site.results.push_back(formal);
  }
  for (size_t i = 0; i < argumentCount; ++i) {
    FormalParameter formal;
    if (!callOperand(d, arguments->elements[i], callee ? &callee->parameters[i] : nullptr, false, argumentRegs, formal))
      return false;
    site.arguments.push_back(formal);
  }
  if (callee)
    for (size_t i = 0; i < argumentCount; ++i)
      if (site.arguments[i].size < callee->parameters[i].size)
        return d.error(fmt::format("argument {} has {} bytes, '{}' takes {}", i, site.arguments[i].size, callee->name,
                                   callee->parameters[i].size));
  for (FormalParameter &argument : site.arguments)
    if (argument.reg != ptx::none)
      argument.reg += static_cast<uint32_t>(resultRegs.size());
  op.imm = static_cast<int64_t>(d.decoded().calls.size());
  d.decoded().calls.push_back(std::move(site));
  d.list(op, std::move(resultRegs), std::move(argumentRegs));
  return d.append(op);
}

bool barrierId(Decoder &d, const ptx::Operand &operand, Op &op) {
  if (operand.kind == OperandKind::Integer && operand.value > 15)
    return d.error(fmt::format("barrier {} does not exist; there are 0 to 15", static_cast<int64_t>(operand.value)));
  return d.source(operand, Type::U32, op.a);
}

bool barrierCount(Decoder &d, const ptx::Operand &operand, Op &op) {
  if (operand.kind == OperandKind::Integer && (operand.value == 0 || operand.value % 32 || operand.value > 1024))
    return d.error(
        fmt::format("the thread count {} is not a multiple of 32 up to 1024", static_cast<int64_t>(operand.value)));
  return d.source(operand, Type::U32, op.b);
}

bool barrier(Decoder &d) {
  bool shortForm = d.instruction().opcode == "bar";
  if (shortForm && d.has(".warp")) {
    Op op = d.make(Opcode::WarpSync, Flow::None);
    return (d.has(".sync") || d.error("'bar.warp' needs .sync")) && d.expectCount(1) && d.source(0, Type::B32, op.d) &&
           d.append(op);
  }
  if (d.has(".cluster")) {
    if (!d.require(90, "a cluster barrier"))
      return false;
    return d.error("cluster barriers are not supported yet by this simulator");
  }
  d.has(".cta");
  bool aligned = shortForm || d.has(".aligned"); // "bar" is the aligned "barrier" and does not take the qualifier
  Op op = d.make(Opcode::BarSync, Flow::None);
  op.flags = aligned ? Aligned : 0;
  if (d.has(".sync")) {
    if (!d.expectCount(1, 2) || !barrierId(d, d.operand(0), op))
      return false;
    if (d.count() == 2) {
      op.flags |= HasCount;
      if (!barrierCount(d, d.operand(1), op))
        return false;
    }
    return d.append(op);
  }
  if (d.has(".arrive")) {
    op.code = Opcode::BarArrive;
    op.flags |= HasCount;
    return d.expectCount(2) && barrierId(d, d.operand(0), op) && barrierCount(d, d.operand(1), op) && d.append(op);
  }
  if (!d.has(".red"))
    return d.error("needs .sync, .arrive or .red");
  op.code = Opcode::BarRed;
  op.variant = static_cast<uint8_t>(d.has(".popc")  ? BarrierReduction::Popc
                                    : d.has(".and") ? BarrierReduction::And
                                    : d.has(".or")  ? BarrierReduction::Or
                                                    : BarrierReduction(9));
  if (op.variant == 9)
    return d.error("'red' needs .popc, .and or .or");
  Type type = op.variant == 0 ? Type::U32 : Type::Pred;
  if (!d.typeOf(op.type, {type}) || !d.expectCount(3, 4) || !d.destination(0, type, op.dst) ||
      !barrierId(d, d.operand(1), op))
    return false;
  if (d.count() == 4) {
    op.flags |= HasCount;
    if (!barrierCount(d, d.operand(2), op))
      return false;
  }
  bool negated = false;
  if (!d.predicateSource(d.operand(d.count() - 1), op.c, negated))
    return false;
  op.flags |= negated ? NegatePredicate : 0;
  op.flow = Flow::Handler;
  return d.append(op);
}

bool fence(Decoder &d) {
  Op op = d.make(Opcode::Fence, Flow::None);
  op.order = Order::AcqRel;
  if (d.instruction().opcode == "membar") {
    if (d.has(".proxy")) {
      op.variant = static_cast<uint8_t>(FenceKind::Proxy);
      return (d.has(".alias") || d.error("this proxy is not known")) && d.expectCount(0) && d.append(op);
    }
    op.order = Order::Sc;
    op.scope = d.has(".cta") ? Scope::Block : d.has(".sys") ? Scope::System : Scope::Device;
    if (op.scope == Scope::Device && !d.has(".gl"))
      return d.error("'membar' needs .cta, .gl or .sys");
    return d.expectCount(0) && d.append(op);
  }
  if (d.has(".proxy")) {
    op.variant = static_cast<uint8_t>(FenceKind::Proxy);
    if (d.has(".alias"))
      return d.expectCount(0) && d.append(op);
    if (d.has(".tensormap::generic"))
      return d.error("'fence.proxy.tensormap' belongs to Hopper's tensor maps, which this simulator does not have yet");
    if (!d.has(".async") && !d.has(".async::generic"))
      return d.error("this proxy is not known");
    if (!d.require(90, "'fence.proxy.async'"))
      return false;
    for (std::string_view name : {".global", ".shared::cta", ".shared::cluster", ".acquire", ".release", ".cluster",
                                  ".sync_restrict::shared::cta", ".sync_restrict::shared::cluster"})
      d.has(name);
    return d.expectCount(0) && d.append(op);
  }
  decodeOrder(d, op);
  for (std::string_view name : {".mbarrier_init", ".sync_restrict::shared::cta", ".sync_restrict::shared::cluster"})
    if (d.has(name) && !d.require(90, "'fence' for certain accesses only"))
      return false;
  if (op.order == Order::Relaxed)
    return d.error("a fence cannot be .relaxed");
  if (!decodeScope(d, op))
    return d.error("'fence' needs a scope: .cta, .cluster, .gpu or .sys");
  if (op.scope == Scope::Cluster && !d.require(90, "the scope .cluster"))
    return false;
  return d.expectCount(0) && d.append(op);
}

} // namespace

void addControlDecoders(DecodeTable &table) {
  table["bra"] = bra;
  table["brx"] = brx;
  for (std::string_view name : {"ret", "exit", "trap", "brkpt"})
    table[name] = exitOp;
  table["nanosleep"] = nanosleep;
  table["pmevent"] = pmevent;
  table["griddepcontrol"] = griddepcontrol;
  table["call"] = call;
}

void addBarrierDecoders(DecodeTable &table) {
  table["bar"] = table["barrier"] = barrier;
  table["fence"] = table["membar"] = fence;
}

} // namespace tessera::sim::program
