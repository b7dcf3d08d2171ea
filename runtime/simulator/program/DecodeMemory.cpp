// Loads, stores, prefetches and atomics.
#include "runtime/simulator/program/Decoder.h"
#include "runtime/simulator/program/Variants.h"

#include <algorithm>

namespace tessera::sim::program {

namespace {

/// Which forms an access of memory has.
struct AccessRules {
  bool load = true;
  std::array<Order, 2> orders; ///< that it may have, beside weak
  std::array<std::string_view, 5> cacheOperators;
};
constexpr AccessRules loadRules{true, {Order::Relaxed, Order::Acquire}, {".ca", ".cg", ".cs", ".lu", ".cv"}};
constexpr AccessRules storeRules{false, {Order::Relaxed, Order::Release}, {".wb", ".cg", ".cs", ".wt", ""}};

bool stateSpace(Decoder &d, Op &op) {
  if (d.has(".global"))
    op.space = Space::Global;
  else if (d.has(".shared") || d.has(".shared::cta"))
    op.space = Space::Shared;
  else if (d.has(".shared::cluster")) // without a cluster, the block's own
    return (op.space = Space::Shared, d.require(90, "the state space .shared::cluster"));
  else if (d.has(".local"))
    op.space = Space::Local;
  else if (d.has(".const"))
    op.space = Space::Const;
  else if (d.has(".param") || d.has(".param::entry") || d.has(".param::func"))
    op.space = Space::Param;
  return true;
}

bool scope(Decoder &d, Op &op, const char *of) {
  if (!decodeScope(d, op))
    return d.error(fmt::format("{} needs a scope: .cta, .cluster, .gpu or .sys", of));
  return op.scope != Scope::Cluster || d.require(90, "the scope .cluster");
}

/// .weak, .volatile, .relaxed.scope …; the state space is settled. `strong`: anything but weak was written.
bool ordering(Decoder &d, Op &op, const AccessRules &rules, bool &strong) {
  bool mmio = d.has(".mmio"), isVolatile = !mmio && d.has(".volatile");
  if (strong = mmio || isVolatile; strong) {
    op.order = Order::Relaxed;
    op.scope = Scope::System;
  }
  bool ordered = !isVolatile && decodeOrder(d, op);
  if (ordered && std::find(rules.orders.begin(), rules.orders.end(), op.order) == rules.orders.end())
    return d.error(fmt::format("this ordering is not possible for '{}'", d.instruction().opcode));
  if (mmio && op.order != Order::Relaxed)
    return d.error(".mmio goes with .relaxed.sys");
  if (ordered && !scope(d, op, "an ordered access"))
    return false;
  if (mmio && (!ordered || op.scope != Scope::System || op.space == Space::Shared))
    return d.error(".mmio goes with .relaxed.sys on global memory");
  strong |= ordered;
  if (strong && op.space != Space::Generic && op.space != Space::Global && op.space != Space::Shared)
    return d.error(fmt::format("an access to .{} cannot be ordered or volatile", ptx::toString(op.space)));
  return true;
}

/// Cache operators, eviction priorities, prefetch sizes and cache policies: checked, and without effect on what is
/// modelled. `policy`: a cache policy follows the other operands.
bool cacheHints(Decoder &d, const Op &op, const AccessRules &rules, bool strong, bool readOnly, bool &policy) {
  auto any = [&](std::span<const std::string_view> names) {
    bool found = false;
    for (std::string_view name : names)
      found |= d.has(name);
    return found;
  };
  bool cache = any(rules.cacheOperators);
  if (cache && strong)
    return d.error("an ordered or volatile access takes no cache operator");
  static constexpr std::string_view firstLevel[] = {".L1::evict_normal", ".L1::evict_unchanged", ".L1::evict_first",
                                                    ".L1::evict_last", ".L1::no_allocate"};
  static constexpr std::string_view secondLevel[] = {".L2::evict_normal", ".L2::evict_first", ".L2::evict_last"};
  static constexpr std::string_view sizes[] = {".L2::64B", ".L2::128B", ".L2::256B"};
  bool first = any(firstLevel), second = any(secondLevel), prefetch = rules.load && any(sizes);
  policy = d.has(".L2::cache_hint");
  if (cache && first && !readOnly)
    return d.error("a cache operator and an eviction priority exclude each other");
  if ((first || second || prefetch || policy) && op.space != Space::Generic && op.space != Space::Global)
    return d.error(fmt::format("eviction priorities, prefetch sizes and cache policies are for global memory, not .{}",
                               ptx::toString(op.space)));
  if (second && ptx::sizeOf(op.type) * op.vector != 32)
    return d.error("an eviction priority of L2 goes with accesses of 32 bytes");
  return true;
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
  Op op = d.make(Opcode::Ld, Flow::Handler);
  bool uniform = d.instruction().opcode == "ldu", strong = false, policy = false;
  bool weak = d.has(".weak"), readOnly = d.has(".nc");
  if (!stateSpace(d, op) || (!weak && !uniform && !ordering(d, op, loadRules, strong)))
    return false;
  if (readOnly && (op.space != Space::Global || weak || strong))
    return d.error(".nc goes with weak loads of .global without .weak");
  if (uniform && op.space != Space::Global && op.space != Space::Generic)
    return d.error("'ldu' loads from global memory");
  vectorSize(d, op);
  if (!accessType(d, op) || (!uniform && !cacheHints(d, op, loadRules, strong, readOnly, policy)))
    return false;
  if (!d.expectCount(policy ? 3 : 2) || !d.address(d.operand(1), op))
    return false;
  if (uint32_t unused = 0; policy && !d.source(2, Type::B64, unused))
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
  Op op = d.make(Opcode::St, Flow::Handler);
  if (d.has(".async") || d.has(".bulk"))
    return d.error("'st.async' and 'st.bulk' are Hopper's, which this simulator does not have yet");
  bool weak = d.has(".weak"), strong = false, policy = false;
  if (!stateSpace(d, op) || (!weak && !ordering(d, op, storeRules, strong)))
    return false;
  vectorSize(d, op);
  if (!accessType(d, op) || !cacheHints(d, op, storeRules, strong, false, policy))
    return false;
  if (op.space == Space::Const)
    return d.error("constant memory cannot be written");
  if (!d.expectCount(policy ? 3 : 2) || !d.address(d.operand(0), op))
    return false;
  if (uint32_t unused = 0; policy && !d.source(2, Type::B64, unused))
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

/// Hints that change nothing; a bad address is no error.
bool prefetch(Decoder &d) {
  Op op = d.make(Opcode::Nop, Flow::None);
  std::string_view name = d.instruction().opcode;
  bool sized = name == "discard" || name == "applypriority";
  bool known = false;
  if (d.has(".tensormap"))
    return d.error("'prefetch.tensormap' is Hopper's, which this simulator does not have yet");
  if (!stateSpace(d, op))
    return false;
  if (op.space != Space::Generic && op.space != Space::Global && !(name == "prefetch" && op.space == Space::Local))
    return d.error(fmt::format("'{}' does not take .{}", name, ptx::toString(op.space)));
  if (name == "prefetchu")
    known = d.has(".L1") && op.space == Space::Generic;
  else if (name == "discard")
    known = d.has(".L2");
  else if (name == "applypriority")
    known = d.has(".L2::evict_normal");
  else
    known = d.has(".L1") || d.has(".L2") ||
            (op.space != Space::Local && (d.has(".L2::evict_last") || d.has(".L2::evict_normal")));
  if (!known)
    return d.error(fmt::format("'{}' needs a cache level that goes with it", name));
  if (!d.expectCount(sized ? 2 : 1) || !d.address(d.operand(0), op))
    return false;
  int64_t size = 128;
  if (sized && !d.immediate(d.operand(1), size, "the size"))
    return false;
  if (size != 128)
    return d.error(fmt::format("the size {} must be 128", size));
  op.a = unusedRegister;
  return d.append(op);
}

/// Cache policies are opaque; none has an effect here, so all are zero.
bool createPolicy(Decoder &d) {
  Op op = d.make(Opcode::Mov, Flow::Copy);
  op.registerBytes = 8;
  op.a = d.constant(8, 0);
  bool convert = d.has(".cvt"), range = !convert && d.has(".range");
  if (convert) {
    uint32_t unused = 0;
    return (d.has(".L2") || d.error("'createpolicy.cvt' needs .L2")) && d.typeOf(op.type, {Type::B64}) &&
           d.expectCount(2) && d.destination(0, Type::B64, op.dst) && d.source(1, Type::B64, unused) && d.append(op);
  }
  if (!range && !d.has(".fractional"))
    return d.error("'createpolicy' needs .fractional, .range or .cvt");
  bool primary = false;
  for (std::string_view name : {".L2::evict_last", ".L2::evict_normal", ".L2::evict_first", ".L2::evict_unchanged"})
    primary = primary || d.has(name);
  if (!primary)
    return d.error("'createpolicy' needs an eviction priority");
  if (!d.has(".L2::evict_first"))
    d.has(".L2::evict_unchanged"); // the secondary priority
  if (range)
    d.has(".global");
  if (!d.typeOf(op.type, {Type::B64}) || !d.expectCount(range ? 4 : 1, range ? 4 : 2) ||
      !d.destination(0, Type::B64, op.dst))
    return false;
  uint32_t unused = 0;
  if (range) {
    Op place = op;
    if (!d.address(d.operand(1), place, unused) || !d.source(2, Type::U32, unused) || !d.source(3, Type::U32, unused))
      return false;
  } else if (d.count() == 2 && !d.source(1, Type::F32, unused)) {
    return false;
  }
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
    fits = t == Type::U32 || t == Type::S32 || t == Type::U64 || t == Type::F32 || t == Type::F64 || half;
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
  if (half != bool(op.flags & Noftz))
    return d.error(half ? "atomics on f16 and bf16 need .noftz" : ".noftz goes with f16 and bf16");
  return true;
}

bool atomic(Decoder &d) {
  bool reduction = d.instruction().opcode == "red";
  Op op = d.make(reduction ? Opcode::Red : Opcode::Atom, Flow::Handler);
  if (reduction && d.has(".async"))
    return d.error("'red.async' is Hopper's, which this simulator does not have yet");
  op.order = Order::Relaxed; // the default; the scope then is .gpu
  if (decodeOrder(d, op) && op.order != Order::Relaxed && op.order != Order::Release &&
      (reduction || (op.order != Order::Acquire && op.order != Order::AcqRel)))
    return d.error(fmt::format("this ordering is not possible for '{}'", d.instruction().opcode));
  if (decodeScope(d, op) && op.scope == Scope::Cluster && !d.require(90, "the scope .cluster"))
    return false;
  if (!stateSpace(d, op))
    return false;
  if (!atomicOperation(d, op))
    return false;
  op.flags |= d.has(".noftz") ? Noftz : 0;
  bool policy = d.has(".L2::cache_hint");
  for (std::string_view vector : {".v2", ".v4", ".v8"})
    if (d.has(vector))
      return d.require(90, "an atomic on vectors") &&
             d.error("atomics on vectors are Hopper's, which this simulator does not have yet");
  if (!d.nextType(op.type) || !checkAtomicType(d, op, reduction))
    return false;
  if (op.space != Space::Generic && op.space != Space::Global && op.space != Space::Shared)
    return d.error("atomics work on global and shared memory");
  bool cas = static_cast<AtomicKind>(op.variant) == AtomicKind::Cas;
  size_t first = reduction ? 0 : 1, least = first + (cas ? 3 : 2);
  if (!d.expectCount(least + policy) || !d.address(d.operand(first), op) || !d.source(first + 1, op.type, op.b))
    return false;
  if (cas && !d.source(first + 2, op.type, op.c))
    return false;
  if (!reduction && !d.destination(0, op.type, op.dst))
    return false;
  if (uint32_t unused = 0; policy && !d.source(least, Type::B64, unused))
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
