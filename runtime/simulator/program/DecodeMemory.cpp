// Loads, stores, prefetches and atomics.
#include "runtime/simulator/program/Decoder.h"
#include "runtime/simulator/program/Variants.h"

namespace tessera::sim::program {

namespace {

bool stateSpace(Decoder &d, Op &op) {
  if (d.has(".global"))
    op.space = Space::Global;
  else if (d.has(".shared") || d.has(".shared::cta") || d.has(".shared::cluster"))
    op.space = Space::Shared;
  else if (d.has(".local"))
    op.space = Space::Local;
  else if (d.has(".const"))
    op.space = Space::Const;
  else if (d.has(".param") || d.has(".param::entry") || d.has(".param::func"))
    op.space = Space::Param;
  return true;
}

/// .weak, .volatile, .relaxed.scope …
void ordering(Decoder &d, Op &op) {
  d.has(".weak");
  if (d.has(".mmio") | d.has(".volatile")) {
    op.order = Order::Relaxed;
    op.scope = Scope::System;
  }
  decodeOrder(d, op);
  decodeScope(d, op);
}

void cacheOperators(Decoder &d) {
  for (std::string_view name : {".ca", ".cg", ".cs", ".lu", ".cv", ".wb", ".wt", ".nc"})
    d.has(name);
  d.skipCacheHints();
}

bool vectorSize(Decoder &d, Op &op) {
  op.vector = d.has(".v2") ? 2 : d.has(".v4") ? 4 : d.has(".v8") ? 8 : 1;
  return true;
}

bool accessType(Decoder &d, Op &op) {
  if (!d.typeOf(op.type, {Type::B8, Type::B16, Type::B32, Type::B64, Type::B128, Type::U8, Type::U16, Type::U32,
                          Type::U64, Type::S8, Type::S16, Type::S32, Type::S64, Type::F32, Type::F64}))
    return false;
  unsigned bytes = ptx::sizeOf(op.type) * op.vector;
  if (bytes > 32 || (bytes == 32 && (!d.require(100, "an access of 32 bytes") || op.space == Space::Shared)))
    return d.error(fmt::format("an access of {} bytes does not exist", bytes));
  return true;
}

bool load(Decoder &d) {
  Op op = d.make(Opcode::Ld, Pipe::Lsu, Flow::Handler);
  ordering(d, op);
  stateSpace(d, op);
  cacheOperators(d);
  d.has(".unified");
  vectorSize(d, op);
  if (!accessType(d, op))
    return false;
  if (!d.expectCount(2, 3) || !d.address(d.operand(1), op))
    return false;
  auto elements = d.elements(d.operand(0));
  if (elements.size() != op.vector)
    return d.error(fmt::format("{} destinations are needed, got {}", op.vector, elements.size()));
  std::vector<uint32_t> results;
  op.registerBytes = 0;
  for (const ptx::Operand &element : elements) {
    uint32_t reg = 0;
    uint8_t bytes = 0;
    if (!d.wideDestination(element, op.type, reg, bytes))
      return false;
    if (reg != unusedRegister) {
      if (op.registerBytes && op.registerBytes != bytes)
        return d.error("all destinations must have one width");
      op.registerBytes = bytes;
    }
    results.push_back(reg);
  }
  if (!op.registerBytes)
    op.registerBytes = static_cast<uint8_t>(std::max(2u, ptx::sizeOf(op.type)));
  d.list(op, std::move(results), {});
  return d.append(op);
}

bool store(Decoder &d) {
  Op op = d.make(Opcode::St, Pipe::Lsu, Flow::Handler);
  ordering(d, op);
  stateSpace(d, op);
  cacheOperators(d);
  vectorSize(d, op);
  if (!accessType(d, op))
    return false;
  if (op.space == Space::Const)
    return d.error("constant memory cannot be written");
  if (!d.expectCount(2, 3) || !d.address(d.operand(0), op))
    return false;
  if (op.space == Space::Param)
    return d.error("the parameters of a kernel cannot be written");
  auto elements = d.elements(d.operand(1));
  if (elements.size() != op.vector)
    return d.error(fmt::format("{} sources are needed, got {}", op.vector, elements.size()));
  std::vector<uint32_t> sources;
  op.sourceBytes = 0;
  for (const ptx::Operand &element : elements) {
    uint32_t reg = 0;
    uint8_t bytes = 0;
    if (!d.wideSource(element, op.type, reg, bytes))
      return false;
    if (op.sourceBytes && op.sourceBytes != bytes && !(reg & constantBit))
      return d.error("all sources must have one width");
    if (!(reg & constantBit))
      op.sourceBytes = bytes;
    sources.push_back(reg);
  }
  if (!op.sourceBytes)
    op.sourceBytes = static_cast<uint8_t>(std::max(2u, ptx::sizeOf(op.type)));
  // Immediates among registers that are wider than the access take the registers' width.
  for (size_t i = 0; i < elements.size(); ++i)
    if ((sources[i] & constantBit) && d.registerBytes(sources[i]) != op.sourceBytes)
      sources[i] = d.constant(op.sourceBytes, elements[i].value);
  d.list(op, {}, std::move(sources));
  return d.append(op);
}

/// Hints that must name a plausible address and change nothing.
bool prefetch(Decoder &d) {
  Op op = d.make(Opcode::Nop, Pipe::Lsu, Flow::None);
  stateSpace(d, op);
  std::string_view name = d.instruction().opcode;
  for (std::string_view level : {".L1", ".L2", ".L2::evict_last", ".L2::evict_normal", ".tensormap"})
    d.has(level);
  d.skipCacheHints();
  bool sized = name == "discard" || name == "applypriority";
  if (!d.expectCount(sized ? 2 : 1) || !d.address(d.operand(0), op))
    return false;
  op.a = unusedRegister; // a prefetch of a bad address is no error
  return d.append(op);
}

bool createPolicy(Decoder &d) {
  Op op = d.make(Opcode::Mov, Pipe::Alu, Flow::Copy);
  for (std::string_view name : {".fractional", ".range", ".cvt", ".global", ".L2", ".L2::evict_unchanged"})
    d.has(name);
  d.skipCacheHints();
  d.skipCacheHints();
  if (!d.typeOf(op.type, {Type::B64}) || !d.expectCount(1, 5) || !d.destination(0, Type::B64, op.dst))
    return false;
  op.registerBytes = 8;
  op.a = d.constant(8, 0);
  return d.append(op);
}

bool atomicOperation(Decoder &d, Op &op) {
  static constexpr std::pair<std::string_view, AtomicKind> kinds[] = {
      {".add", AtomicKind::Add}, {".min", AtomicKind::Min}, {".max", AtomicKind::Max},   {".and", AtomicKind::And},
      {".or", AtomicKind::Or},   {".xor", AtomicKind::Xor}, {".exch", AtomicKind::Exch}, {".cas", AtomicKind::Cas},
      {".inc", AtomicKind::Inc}, {".dec", AtomicKind::Dec}};
  for (auto &[name, kind] : kinds)
    if (d.has(name)) {
      op.variant = static_cast<uint8_t>(kind);
      return true;
    }
  return d.error("needs an operation: .add, .min, .max, .and, .or, .xor, .exch, .cas, .inc or .dec");
}

bool checkAtomicType(Decoder &d, const Op &op, bool reduction) {
  auto kind = static_cast<AtomicKind>(op.variant);
  Type t = op.type;
  bool half = t == Type::F16 || t == Type::F16x2 || t == Type::BF16 || t == Type::BF16x2;
  bool fits = false;
  switch (kind) {
  case AtomicKind::Add:
    fits = t == Type::U32 || t == Type::S32 || t == Type::U64 || t == Type::S64 || t == Type::F32 || t == Type::F64 ||
           half;
    break;
  case AtomicKind::Min:
  case AtomicKind::Max:
    fits = t == Type::U32 || t == Type::S32 || t == Type::U64 || t == Type::S64;
    break;
  case AtomicKind::And:
  case AtomicKind::Or:
  case AtomicKind::Xor:
    fits = t == Type::B32 || t == Type::B64;
    break;
  case AtomicKind::Exch:
    fits = t == Type::B32 || t == Type::B64 || t == Type::B128;
    break;
  case AtomicKind::Cas:
    fits = t == Type::B16 || t == Type::B32 || t == Type::B64 || t == Type::B128;
    break;
  case AtomicKind::Inc:
  case AtomicKind::Dec:
    fits = t == Type::U32;
    break;
  }
  if (reduction && (kind == AtomicKind::Exch || kind == AtomicKind::Cas))
    fits = false;
  if (!fits)
    return d.error(fmt::format("type {} does not go with this operation", ptx::toString(t)));
  if (t == Type::B128 && !d.require(90, "an atomic of 128 bits"))
    return false;
  if ((t == Type::BF16 || t == Type::BF16x2) && !d.require(90, "an atomic on bf16"))
    return false;
  if (half && !(op.flags & Noftz))
    return d.error("atomics on f16 and bf16 need .noftz");
  return true;
}

bool atomic(Decoder &d) {
  bool reduction = d.instruction().opcode == "red";
  Op op = d.make(reduction ? Opcode::Red : Opcode::Atom, Pipe::Lsu, Flow::Handler);
  if (reduction && d.has(".async"))
    return d.error("'red.async' is not supported");
  ordering(d, op);
  if (op.order == Order::Weak)
    op.order = Order::Relaxed; // atomics are strong
  stateSpace(d, op);
  if (!atomicOperation(d, op))
    return false;
  op.flags |= d.has(".noftz") ? Noftz : 0;
  d.skipCacheHints();
  if (!d.nextType(op.type) || !checkAtomicType(d, op, reduction))
    return false;
  if (op.space != Space::Generic && op.space != Space::Global && op.space != Space::Shared)
    return d.error("atomics work on global and shared memory");
  bool cas = static_cast<AtomicKind>(op.variant) == AtomicKind::Cas;
  size_t first = reduction ? 0 : 1, least = first + (cas ? 3 : 2);
  if (!d.expectCount(least, least + 1) || !d.address(d.operand(first), op) || !d.source(first + 1, op.type, op.b))
    return false;
  if (cas && !d.source(first + 2, op.type, op.c))
    return false;
  if (!reduction && !d.destination(0, op.type, op.dst))
    return false;
  return d.append(op);
}

} // namespace

bool decodeOrder(Decoder &d, Op &op) {
  static constexpr std::pair<std::string_view, Order> orders[] = {{".relaxed", Order::Relaxed},
                                                                  {".acquire", Order::Acquire},
                                                                  {".release", Order::Release},
                                                                  {".acq_rel", Order::AcqRel},
                                                                  {".sc", Order::Sc}};
  for (const auto &[name, order] : orders)
    if (d.has(name)) {
      op.order = order;
      return true;
    }
  return false;
}

bool decodeScope(Decoder &d, Op &op) {
  static constexpr std::pair<std::string_view, Scope> scopes[] = {
      {".cta", Scope::Block}, {".cluster", Scope::Cluster}, {".gpu", Scope::Device}, {".sys", Scope::System}};
  for (const auto &[name, scope] : scopes)
    if (d.has(name)) {
      op.scope = scope;
      return true;
    }
  return false;
}

void addMemoryDecoders(DecodeTable &table) {
  table["ld"] = table["ldu"] = load;
  table["st"] = store;
  for (std::string_view name : {"prefetch", "prefetchu", "discard", "applypriority"})
    table[name] = prefetch;
  table["createpolicy"] = createPolicy;
}

void addAtomicDecoders(DecodeTable &table) { table["atom"] = table["red"] = atomic; }

} // namespace tessera::sim::program
