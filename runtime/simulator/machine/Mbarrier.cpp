// mbarrier objects: life, arrivals, phases, waits, and their misuse.
#include "runtime/simulator/machine/Mbarrier.h"

#include "runtime/simulator/machine/Async.h"
#include "runtime/simulator/machine/Races.h"
#include "runtime/simulator/machine/Report.h"

#include <cstring>
#include <fmt/format.h>

namespace tessera::sim::machine {

using program::Opcode;
using program::Order;
using program::Space;

namespace {

constexpr uint32_t countMask = mbarrierMaxCount, phaseMask = 7;
constexpr int64_t maxTransactions = (1 << 20) - 1;

MbarrierWord load(const Warp &w, uint32_t address) {
  uint64_t bits;
  std::memcpy(&bits, w.shared + address, sizeof bits);
  return MbarrierWord::unpack(bits);
}

void store(Warp &w, uint32_t address, const MbarrierWord &word) {
  uint64_t bits = word.pack();
  std::memcpy(w.shared + address, &bits, sizeof bits);
}

Evidence misuse(const Block &block, unsigned lane, uint32_t address, bool fatal, std::string message) {
  Evidence e;
  e.kind = FindingKind::BarrierMisuse;
  e.fatal = fatal;
  e.lane = lane;
  e.hasAddress = true;
  e.address = address;
  e.bytes = mbarrierBytes;
  e.space = "shared";
  e.object = describeShared(block, address);
  e.message = std::move(message);
  return e;
}

/// With the object itself as the other party. Returns false when the report ends the launch.
bool report(Warp &w, const Op &op, unsigned lane, uint32_t address, bool fatal, std::string message) {
  Block &block = *w.block;
  Evidence e = misuse(block, lane, address, fatal, std::move(message));
  e.other = describeMbarrier(block, address);
  if (auto found = block.mbarriers->live.find(address); found != block.mbarriers->live.end()) {
    e.otherLine = lineOf(block, *found->second.initialised);
    e.otherInstruction = block.launch->program->instructions[found->second.initialised->instruction].text;
  }
  machine::report(w, op, std::move(e));
  return !fatal;
}

/// The object itself as memory: initialisation and invalidation are plain writes, everything else is strong.
void recordObject(Warp &w, const Op &op, uint32_t address, unsigned lane, Intent intent) {
  if (!w.checks || !w.block->races)
    return;
  uint64_t addresses[warpSize];
  addresses[lane] = address;
  Op access = op;
  access.order = intent == Intent::Store ? Order::Weak : Order::Relaxed;
  access.scope = program::Scope::Block;
  recordAccess(w, access, Space::Shared, addresses, 1u << lane, mbarrierBytes, intent);
}

void reportUndefinedOperands(Warp &w, const Op &op, uint32_t second, std::string_view what) {
  if (!w.checks)
    return;
  if (uint32_t bad = w.undef(op.a).lanes & w.active)
    reportUndefined(w, op, op.a, bad, "an address");
  if (uint32_t bad = w.undef(second).lanes & w.active)
    reportUndefined(w, op, second, bad, what);
}

void defineResult(Warp &w, uint32_t offset) {
  if (!w.checks)
    return;
  Undefined &u = w.undef(offset);
  u.lanes &= ~w.active;
  u.computed &= ~w.active;
}

/// The completion test after every change: a phase ends when nothing is pending and no bytes are under way.
void completeIfDone(Block &block, const Op &op, Mbarrier &m, MbarrierWord &word) {
  if (word.pending || word.transactions)
    return;
  word.phase = (word.phase + 1) & phaseMask;
  word.pending = word.expected;
  ++m.phase;
  m.phaseArrivals = word.expected;
  m.observed = false;
  m.completer = &op;
  m.completed = std::move(m.collecting);
  m.collecting.clear();
  ++block.effects;
}

bool addTransactions(Warp &w, const Op &op, unsigned lane, uint32_t address, MbarrierWord &word, int64_t bytes) {
  int64_t sum = word.transactions + bytes;
  if (sum > maxTransactions || sum < -maxTransactions)
    return report(w, op, lane, address, true,
                  fmt::format("the transaction count becomes {}; it ranges from {} to {}", sum, -maxTransactions,
                              maxTransactions));
  word.transactions = static_cast<int32_t>(sum);
  return true;
}

} // namespace

MbarrierWord MbarrierWord::unpack(uint64_t bits) {
  MbarrierWord word;
  word.pending = bits & countMask;
  word.expected = bits >> 20 & countMask;
  word.transactions = static_cast<int32_t>(static_cast<int64_t>(bits << 3) >> 43);
  word.phase = static_cast<uint32_t>(bits >> 61);
  return word;
}

uint64_t MbarrierWord::pack() const {
  return uint64_t(pending) | uint64_t(expected) << 20 |
         (uint64_t(static_cast<uint32_t>(transactions)) & 0x1fffff) << 40 | uint64_t(phase) << 61;
}

std::string describeMbarrier(const Block &block, uint32_t address) {
  std::string where = fmt::format("mbarrier at shared address {:#x} ({})", address, describeShared(block, address));
  auto found = block.mbarriers->live.find(address);
  if (found == block.mbarriers->live.end()) {
    auto gone = block.mbarriers->invalidated.find(address);
    return gone == block.mbarriers->invalidated.end()
               ? fmt::format("no {} was initialised", where)
               : fmt::format("the {} was invalidated at line {}", where, lineOf(block, *gone->second));
  }
  const Mbarrier &m = found->second;
  MbarrierWord word = load(block.warps[0], address);
  std::string text = fmt::format("{}: phase {} has {} of {} arrivals", where, m.phase,
                                 m.phaseArrivals - std::min(m.phaseArrivals, word.pending), m.phaseArrivals);
  if (word.transactions)
    text += fmt::format(" and lacks {} bytes of transactions", word.transactions);
  if (unsigned waiting = outstandingArrivals(block, address))
    text += fmt::format(" ({} more when asynchronous copies complete)", waiting);
  text += fmt::format(", initialised at line {}", lineOf(block, *m.initialised));
  if (m.completer)
    text += fmt::format(", phase {} completed at line {}{}", m.phase - 1, lineOf(block, *m.completer),
                        m.observed ? "" : " and no wait has seen that");
  return text;
}

void reportMbarrierAccess(Warp &w, const Op &op, unsigned lane, uint32_t address, unsigned bytes, bool isLoad) {
  uint32_t object = address & ~(mbarrierBytes - 1);
  while (object < address + bytes && !w.block->mbarriers->live.contains(object))
    object += mbarrierBytes;
  Evidence e = misuse(*w.block, lane, address, false,
                      fmt::format("{} the bytes of a live mbarrier, which only mbarrier instructions may touch",
                                  isLoad ? "reads" : "writes"));
  e.bytes = bytes;
  e.other = describeMbarrier(*w.block, object);
  if (auto found = w.block->mbarriers->live.find(object); found != w.block->mbarriers->live.end()) {
    e.otherLine = lineOf(*w.block, *found->second.initialised);
    e.otherInstruction = w.block->launch->program->instructions[found->second.initialised->instruction].text;
  }
  machine::report(w, op, std::move(e));
}

bool locateMbarrier(Warp &w, const Op &op, unsigned lane, bool live, uint32_t &address) {
  uint64_t a = op.flags & program::AddressIs32 ? uint32_t(w.reg<uint32_t>(op.a)[lane] + uint32_t(op.imm))
                                               : w.reg<uint64_t>(op.a)[lane] + uint64_t(op.imm);
  Place where;
  if (!place(w, op, lane, op.space, a, mbarrierBytes, mbarrierBytes, Intent::Atomic, where))
    return false;
  if (where.space != Space::Shared) {
    Evidence e;
    e.kind = FindingKind::BarrierMisuse;
    e.fatal = true;
    e.lane = lane;
    e.hasAddress = true;
    e.address = where.address;
    e.bytes = mbarrierBytes;
    e.space = ptx::toString(where.space);
    if (where.space == Space::Global)
      e.object = describeGlobal(*w.block->launch->memory, where.address);
    e.message = "an mbarrier lies in shared memory, this address does not";
    machine::report(w, op, std::move(e));
    return false;
  }
  address = static_cast<uint32_t>(where.address);
  if (live && !w.block->mbarriers->live.contains(address))
    return report(w, op, lane, address, true,
                  w.block->mbarriers->invalidated.contains(address) ? "the mbarrier has been invalidated"
                                                                    : "no mbarrier was initialised here");
  return true;
}

bool arriveAt(Warp &w, const Op &op, unsigned lane, uint32_t address, const Arrival &arrival, uint64_t &before) {
  Mbarrier &m = w.block->mbarriers->live.at(address);
  MbarrierWord word = load(w, address);
  before = word.pack();
  uint32_t n = arrival.count;
  if (n == 0 || n > mbarrierMaxCount)
    return report(w, op, lane, address, true, fmt::format("the count {} is not one of 1 to {}", n, mbarrierMaxCount));
  if (!m.observed) {
    report(w, op, lane, address, false,
           fmt::format("arrives in phase {}, but no wait has seen phase {} complete", m.phase, m.phase - 1));
    m.observed = true; // once per phase
  }
  if (!addTransactions(w, op, lane, address, word, arrival.transactions))
    return false;
  if (n > word.pending)
    return report(w, op, lane, address, true,
                  fmt::format("{} arrivals, but phase {} lacks only {}", n, m.phase, word.pending));
  if (arrival.drop && n > word.expected)
    return report(w, op, lane, address, true,
                  fmt::format("drops {} arrivals, but phases expect only {}", n, word.expected));
  word.pending -= n;
  word.expected -= arrival.drop ? n : 0;
  if (arrival.noComplete && !word.pending && !word.transactions)
    report(w, op, lane, address, false, fmt::format("an arrival with .noComplete completes phase {}", m.phase));
  if (arrival.releases)
    raceRelease(w, m.collecting);
  if (arrival.copies)
    raceReleaseCopies(w, arrival.copies, m.collecting);
  completeIfDone(*w.block, op, m, word);
  store(w, address, word);
  ++w.block->effects;
  return true;
}

bool addPending(Warp &w, const Op &op, unsigned lane, uint32_t address) {
  Mbarrier &m = w.block->mbarriers->live.at(address);
  MbarrierWord word = load(w, address);
  if (word.pending >= mbarrierMaxCount)
    return report(w, op, lane, address, true, fmt::format("the pending count exceeds {}", mbarrierMaxCount));
  ++word.pending;
  ++m.phaseArrivals;
  store(w, address, word);
  return true;
}

const Op *runMbarrierInit(Warp &w, const Op &op) {
  Block &block = *w.block;
  reportUndefinedOperands(w, op, op.b, "a count");
  for (uint32_t rest = w.active; rest; rest &= rest - 1) {
    auto lane = static_cast<unsigned>(__builtin_ctz(rest));
    uint32_t address = 0, count = w.reg<uint32_t>(op.b)[lane];
    if (!locateMbarrier(w, op, lane, false, address))
      return nullptr;
    if (count == 0 || count > mbarrierMaxCount) {
      report(w, op, lane, address, true, fmt::format("the count {} is not one of 1 to {}", count, mbarrierMaxCount));
      return nullptr;
    }
    auto known = block.mbarriers->live.find(address);
    if (known != block.mbarriers->live.end())
      report(w, op, lane, address, false,
             "initialises an mbarrier that is live already; it has to be invalidated before");
    recordObject(w, op, address, lane, Intent::Store);
    if (w.checks) {
      uint8_t *shadow = w.sharedShadow + address;
      bool overlaps = false;
      for (unsigned k = 0; k < mbarrierBytes; ++k) {
        overlaps |= known == block.mbarriers->live.end() && (shadow[k] & barrierObject);
        shadow[k] &= static_cast<uint8_t>(~barrierObject);
      }
      if (overlaps)
        reportMbarrierAccess(w, op, lane, address, mbarrierBytes, false);
      storeShadow(w, op, lane, {w.shared + address, shadow, Space::Shared, address}, mbarrierBytes, false, false);
      for (unsigned k = 0; k < mbarrierBytes; ++k)
        shadow[k] |= barrierObject;
    }
    Mbarrier m;
    m.initialised = &op;
    m.phaseArrivals = count;
    block.mbarriers->live[address] = std::move(m);
    block.mbarriers->invalidated.erase(address);
    MbarrierWord word;
    word.pending = word.expected = count;
    store(w, address, word);
    ++block.effects;
  }
  return &op + 1;
}

const Op *runMbarrierInval(Warp &w, const Op &op) {
  Block &block = *w.block;
  reportUndefinedOperands(w, op, op.a, "an address");
  for (uint32_t rest = w.active; rest; rest &= rest - 1) {
    auto lane = static_cast<unsigned>(__builtin_ctz(rest));
    uint32_t address = 0;
    if (!locateMbarrier(w, op, lane, true, address))
      return nullptr;
    if (unsigned waiting = outstandingArrivals(block, address)) {
      report(w, op, lane, address, true,
             fmt::format("invalidates an mbarrier at which {} asynchronous arrivals are outstanding", waiting));
      return nullptr;
    }
    if (int32_t bytes = load(w, address).transactions)
      report(w, op, lane, address, false,
             fmt::format("invalidates an mbarrier that lacks {} bytes of transactions", bytes));
    recordObject(w, op, address, lane, Intent::Store);
    if (w.checks)
      std::memset(w.sharedShadow + address, 0, mbarrierBytes);
    block.mbarriers->live.erase(address);
    block.mbarriers->invalidated[address] = &op;
    ++block.effects;
  }
  return &op + 1;
}

const Op *runMbarrierArrive(Warp &w, const Op &op) {
  reportUndefinedOperands(w, op, op.b, "a count");
  advanceCopies(*w.block);
  uint32_t recorded = ~0u; // once per instruction and object is enough
  auto *states = w.reg<uint64_t>(op.dst);
  for (uint32_t rest = w.active; rest; rest &= rest - 1) {
    auto lane = static_cast<unsigned>(__builtin_ctz(rest));
    uint32_t address = 0, operand = w.reg<uint32_t>(op.b)[lane];
    if (!locateMbarrier(w, op, lane, true, address))
      return nullptr;
    if (address != recorded)
      recordObject(w, op, address, lane, Intent::Atomic);
    recorded = address;
    Arrival arrival;
    arrival.drop = op.variant & program::ArriveDrop;
    arrival.noComplete = op.variant & program::ArriveNoComplete;
    if (op.variant & program::ArriveExpectTx)
      arrival.transactions = operand;
    else
      arrival.count = operand;
    arrival.releases = op.order != Order::Relaxed;
    uint64_t before = 0;
    if (!arriveAt(w, op, lane, address, arrival, before))
      return nullptr;
    states[lane] = before;
  }
  defineResult(w, op.dst);
  return &op + 1;
}

const Op *runMbarrierTransactions(Warp &w, const Op &op) {
  reportUndefinedOperands(w, op, op.b, "a number of bytes");
  bool expects = op.code == Opcode::MbarExpectTx;
  for (uint32_t rest = w.active; rest; rest &= rest - 1) {
    auto lane = static_cast<unsigned>(__builtin_ctz(rest));
    uint32_t address = 0;
    if (!locateMbarrier(w, op, lane, true, address))
      return nullptr;
    recordObject(w, op, address, lane, Intent::Atomic);
    MbarrierWord word = load(w, address);
    int64_t bytes = w.reg<uint32_t>(op.b)[lane];
    if (!addTransactions(w, op, lane, address, word, expects ? bytes : -bytes))
      return nullptr;
    if (!expects)
      completeIfDone(*w.block, op, w.block->mbarriers->live.at(address), word);
    store(w, address, word);
  }
  return &op + 1;
}

const Op *runMbarrierPendingCount(Warp &w, const Op &op) {
  const auto *states = w.reg<uint64_t>(op.a);
  auto *counts = w.reg<uint32_t>(op.dst);
  for (uint32_t rest = w.active; rest; rest &= rest - 1) {
    int lane = __builtin_ctz(rest);
    counts[lane] = MbarrierWord::unpack(states[lane]).pending;
  }
  return &op + 1;
}

namespace {

/// One lane's test against the word.
bool isComplete(Warp &w, const Op &op, unsigned lane, uint32_t address, const Mbarrier &m) {
  uint32_t current = load(w, address).phase;
  if (op.variant & program::WaitParity) {
    uint32_t parity = w.reg<uint32_t>(op.b)[lane];
    if (parity > 1)
      report(w, op, lane, address, false, fmt::format("the phase parity is {}; it is 0 or 1", parity));
    bool done = (current & 1) != (parity & 1);
    const Polling &p = w.polling;
    if (!done && p.op == &op && p.address == address && m.phase >= p.phase + 2 && (p.phase & 1) == parity)
      report(w, op, lane, address, false,
             fmt::format("waits for phase {}, and has missed its completion: phase {} is collecting arrivals already",
                         p.phase, m.phase));
    return done;
  }
  uint32_t ago = (current - MbarrierWord::unpack(w.reg<uint64_t>(op.b)[lane]).phase) & phaseMask;
  if (ago > 1)
    report(w, op, lane, address, false,
           fmt::format("waits with a state from {} phases before the current phase {}; only the current and the one "
                       "before can be waited for",
                       ago, m.phase));
  return ago != 0;
}

/// Of everything that the warp's next instructions depend on, but memory; 0 when there is too much of it.
uint64_t hashRegisters(const Warp &w) {
  if (w.localBytes || w.frames.size() > 4)
    return 0;
  uint64_t hash = Random::mix(w.carry + w.splits.size());
  for (const Split &s : w.splits)
    hash = Random::mix(hash ^ reinterpret_cast<uintptr_t>(s.pc) ^ s.mask);
  for (const Frame *frame : w.frames)
    for (uint32_t at = 0; at < frame->function->frameBytes; at += sizeof(uint64_t)) {
      uint64_t word;
      std::memcpy(&word, frame->regs + at, sizeof word);
      hash = (hash ^ word) * 0x9e3779b97f4a7c15;
      hash ^= hash >> 29;
    }
  return hash | 1;
}

} // namespace

const Op *runMbarrierWait(Warp &w, const Op &op) {
  Block &block = *w.block;
  reportUndefinedOperands(w, op, op.b, op.variant & program::WaitParity ? "a phase parity" : "a state");
  advanceCopies(block);
  // try_wait may give up at any time.
  bool givesUp = op.variant & program::WaitTry && block.launch->options->schedule == Schedule::Random &&
                 block.random.below(4) == 0;
  uint32_t complete = 0, visited = ~0u;
  const Mbarrier *failed = nullptr;
  uint32_t failedAddress = 0;
  for (uint32_t rest = w.active; rest; rest &= rest - 1) {
    auto lane = static_cast<unsigned>(__builtin_ctz(rest));
    uint32_t address = 0;
    if (!locateMbarrier(w, op, lane, true, address))
      return nullptr;
    if (address != visited) {
      recordObject(w, op, address, lane, Intent::Load);
      if (!carryOutArrivals(block, address))
        return nullptr;
    }
    bool again = address == visited;
    visited = address;
    Mbarrier &m = block.mbarriers->live.at(address);
    if (givesUp)
      continue;
    if (!isComplete(w, op, lane, address, m)) {
      failed = &m;
      failedAddress = address;
      continue;
    }
    complete |= 1u << lane;
    m.observed = true;
    if (op.order != Order::Relaxed && !(again && complete & ((1u << lane) - 1)))
      raceAcquire(w, m.completed);
  }
  uint32_t &result = w.predicate(op.dst);
  result = (result & ~w.active) | complete;
  defineResult(w, op.dst);
  if (complete) {
    w.polling.op = nullptr;
    return &op + 1;
  }
  if (failed && !outstandingArrivals(block, failedAddress)) {
    // A warp that asks again waits for the phase that it asked for first.
    bool again = w.polling.op == &op && w.polling.address == failedAddress &&
                 !((w.polling.phase ^ failed->phase) & 1) && op.variant & program::WaitParity;
    notePoll(w, op, failedAddress);
    if (!again)
      w.polling.phase = failed->phase;
    uint64_t registers = hashRegisters(w);
    w.polling.repeats = registers && registers == w.polling.registers ? w.polling.repeats + 1 : 0;
    w.polling.registers = registers;
  }
  return giveWay(w, &op + 1);
}

} // namespace tessera::sim::machine
