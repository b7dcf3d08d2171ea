// What warps learn from each other: barriers, fences, strong accesses, asynchronous copies.
#include "runtime/simulator/machine/Races.h"

#include "runtime/simulator/machine/Report.h"

namespace tessera::sim::machine {

using program::Order;
using program::Scope;

namespace {

enum Reach : unsigned { InBlock, InDevice };

Reach reachOf(Scope scope) { return scope == Scope::Device || scope == Scope::System ? InDevice : InBlock; }

WarpKnowledge &knowledge(Warp &w) { return w.block->races->warps[w.index]; }

bool isAcquire(Order order) { return order == Order::Acquire || order == Order::AcqRel || order == Order::Sc; }
bool isRelease(Order order) { return order == Order::Release || order == Order::AcqRel || order == Order::Sc; }

} // namespace

void raceStart(Block &block) {
  if (!block.races)
    block.races = std::make_unique<RaceState>();
  RaceState &r = *block.races;
  r.warps.assign(block.launch->warps, {});
  for (uint32_t i = 0; i < block.launch->warps; ++i) {
    r.warps[i].own[i] = 1;
  }
  for (Clock &clock : r.arrived)
    clock.clear();
  r.shared.clear();
  r.sharedFlags.clear();
  r.ownGlobal.clear();
  r.ownGlobalFlags.clear();
  GridRaces *grid = block.launch->inTurns ? block.launch->grid : nullptr;
  r.global = grid ? &grid->cells : &r.ownGlobal;
  r.globalFlags = grid ? &grid->flags : &r.ownGlobalFlags;
  r.sharedGuesses.clear();
  r.ownGlobalGuesses.clear();
  r.globalGuesses = grid ? &grid->guesses : &r.ownGlobalGuesses;
}

void raceFinish(Block &block) {
  if (!block.races)
    return;
  for (GuessedReads *guesses : {&block.races->sharedGuesses, &block.races->ownGlobalGuesses}) {
    for (GuessedRead &guess : *guesses)
      addFinding(block, guess.instruction, std::move(guess.finding));
    guesses->clear();
  }
}

void raceRelease(Warp &w, Clock &into) {
  if (!w.block->races)
    return;
  WarpKnowledge &k = knowledge(w);
  into.join(w.block->linear, k.own);
  into.join(k.others);
  ++k.own[w.index];
}

void raceAcquire(Warp &w, const Clock &from) {
  if (!w.block->races)
    return;
  WarpKnowledge &k = knowledge(w);
  for (const auto &[block, progress] : from.blocks)
    if (block == w.block->linear)
      joinProgress(k.own, progress);
    else
      k.others.join(block, progress);
}

void raceArrive(Block &block, Warp &warp, unsigned barrier) { raceRelease(warp, block.races->arrived[barrier]); }

void raceBarrier(Block &block, unsigned barrier) {
  Clock &arrived = block.races->arrived[barrier];
  for (Warp &w : block.warps)
    for (const Split &s : w.splits)
      if (s.wait == Wait::Barrier && s.barrier == barrier) {
        raceAcquire(w, arrived);
        break;
      }
  arrived.clear();
}

void raceFence(Warp &w, const Op &op) {
  if (!w.block->races)
    return;
  WarpKnowledge &k = knowledge(w);
  Reach reach = reachOf(op.scope);
  if (op.order != Order::Release)
    for (unsigned i = InBlock; i <= reach; ++i) {
      raceAcquire(w, k.seen[i]);
      k.seen[i].clear();
    }
  if (op.order == Order::Acquire)
    return;
  Clock now;
  raceRelease(w, now);
  for (unsigned i = InBlock; i <= reach; ++i)
    k.fenced[i] = now;
}

uint32_t raceIssue(Warp &w) { return w.block->races ? ++knowledge(w).asyncClock : 0; }

void raceComplete(Warp &w, uint32_t interval) {
  if (!w.block->races)
    return;
  uint32_t &known = knowledge(w).own[asyncParty(w.index)];
  known = std::max(known, interval);
}

void raceReleaseCopies(Warp &w, uint32_t interval, Clock &into) {
  if (!w.block->races)
    return;
  Progress progress{};
  progress[asyncParty(w.index)] = interval;
  into.join(w.block->linear, progress);
}

/// A strong access of one address; called in the order of execution.
void synchronise(Warp &w, const Op &op, Flag &flag, Intent intent) {
  WarpKnowledge &k = knowledge(w);
  Reach reach = reachOf(op.scope);
  uint64_t here = w.block->linear;
  if (intent != Intent::Store) {
    const auto inBlock = flag.block.find(here);
    if (isAcquire(op.order)) {
      if (inBlock != flag.block.end())
        raceAcquire(w, inBlock->second);
      if (reach == InDevice)
        raceAcquire(w, flag.wide);
    } else {
      if (inBlock != flag.block.end())
        k.seen[InBlock].join(inBlock->second);
      if (reach == InDevice)
        k.seen[InDevice].join(flag.wide);
    }
  }
  if (intent == Intent::Load)
    return;
  if (intent == Intent::Store) { // an atomic goes on with the release that it read, a plain write ends it
    flag.wide.clear();
    flag.block.clear();
  }
  if (isRelease(op.order)) {
    Clock now;
    raceRelease(w, now);
    flag.block[here].join(now);
    if (reach == InDevice)
      flag.wide.join(now);
  } else {
    if (!k.fenced[InBlock].empty())
      flag.block[here].join(k.fenced[InBlock]);
    if (reach == InDevice)
      flag.wide.join(k.fenced[InDevice]);
  }
}

} // namespace tessera::sim::machine
