// Reconvergence points: the immediate post-dominator of every branch that can diverge.
#include "runtime/simulator/program/ControlFlow.h"

#include "runtime/simulator/program/Decoder.h"

#include <algorithm>

namespace tessera::sim::program {

namespace {

/// A trap does not count: as in machine code, the text goes on behind it, so that lanes meet again behind a check.
bool leavesThread(const Op &op) { return op.code == Opcode::Exit || op.code == Opcode::Return; }
bool endsBlock(const Op &op) { return op.code == Opcode::Bra || op.code == Opcode::BrxIdx || leavesThread(op); }

} // namespace

std::vector<BasicBlock> basicBlocks(const DecodedFunction &function) {
  const std::vector<Op> &ops = function.ops;
  std::vector<uint32_t> blockOf(ops.size() + 1, 0);
  std::vector<BasicBlock> blocks;
  for (uint32_t i = 0; i < ops.size(); ++i) {
    if (i == 0 || ops[i].code == Opcode::Join || endsBlock(ops[i - 1])) {
      if (!blocks.empty())
        blocks.back().end = i;
      blocks.push_back({i, i, {}, false});
    }
    blockOf[i] = static_cast<uint32_t>(blocks.size() - 1);
  }
  blocks.back().end = static_cast<uint32_t>(ops.size());
  for (uint32_t b = 0; b < blocks.size(); ++b) {
    BasicBlock &block = blocks[b];
    const Op &last = ops[block.end - 1];
    bool guarded = last.guardKind != 0;
    if (last.code == Opcode::Bra)
      block.successors.push_back(blockOf[static_cast<size_t>(last.imm)]);
    else if (last.code == Opcode::BrxIdx)
      for (uint32_t target : function.branchTables[static_cast<size_t>(last.imm)])
        block.successors.push_back(blockOf[target]);
    if (leavesThread(last) && !guarded)
      block.exits = true;
    else if ((!endsBlock(last) || guarded) && b + 1 < blocks.size())
      block.successors.push_back(b + 1);
    std::sort(block.successors.begin(), block.successors.end());
    block.successors.erase(std::unique(block.successors.begin(), block.successors.end()), block.successors.end());
  }
  return blocks;
}

namespace {

using Edges = std::vector<std::vector<uint32_t>>;

/// The immediate post-dominator of every block; blocks.size() stands for the exit, none for blocks that never get
/// there.
std::vector<uint32_t> postDominators(const std::vector<BasicBlock> &blocks, const Edges &successors) {
  auto count = static_cast<uint32_t>(blocks.size());
  const uint32_t exit = count; // virtual
  // Reverse post-order of the reversed graph, from the virtual exit.
  Edges predecessors(count + 1);
  for (uint32_t b = 0; b < count; ++b) {
    for (uint32_t s : successors[b])
      predecessors[s].push_back(b);
    if (blocks[b].exits)
      predecessors[exit].push_back(b);
  }
  std::vector<uint32_t> order, number(count + 1, ptx::none);
  std::vector<std::pair<uint32_t, size_t>> stack{{exit, 0}};
  std::vector<bool> seen(count + 1, false);
  seen[exit] = true;
  while (!stack.empty()) {
    auto &[node, next] = stack.back();
    if (next < predecessors[node].size()) {
      uint32_t p = predecessors[node][next++];
      if (!seen[p]) {
        seen[p] = true;
        stack.push_back({p, 0});
      }
    } else {
      number[node] = static_cast<uint32_t>(order.size());
      order.push_back(node);
      stack.pop_back();
    }
  }
  std::vector<uint32_t> dominator(count + 1, ptx::none);
  dominator[exit] = exit;
  auto intersect = [&](uint32_t a, uint32_t b) {
    while (a != b) {
      while (number[a] < number[b])
        a = dominator[a];
      while (number[b] < number[a])
        b = dominator[b];
    }
    return a;
  };
  for (bool changed = true; changed;) {
    changed = false;
    for (size_t i = order.size(); i-- > 0;) {
      uint32_t node = order[i];
      if (node == exit)
        continue;
      uint32_t best = blocks[node].exits ? exit : ptx::none;
      for (uint32_t s : successors[node])
        if (dominator[s] != ptx::none)
          best = best == ptx::none ? s : intersect(best, s);
      if (best != dominator[node]) {
        dominator[node] = best;
        changed = true;
      }
    }
  }
  return dominator;
}

} // namespace

void placeJoins(DecodedFunction &function) {
  std::vector<BasicBlock> blocks = basicBlocks(function);
  auto count = static_cast<uint32_t>(blocks.size());
  Edges all(count), staying(count);
  std::vector<uint32_t> entries(count, 0);
  for (uint32_t b = 0; b < count; ++b) {
    all[b] = blocks[b].successors;
    for (uint32_t s : all[b])
      ++entries[s];
  }
  auto leavesAtOnce = [&](uint32_t b) {
    uint32_t first = blocks[b].first + (function.ops[blocks[b].first].code == Opcode::Join);
    return function.ops[first].code == Opcode::Exit && !function.ops[first].guardKind;
  };
  // Side ways out of the kernel do not count for those who stay: they meet where they would without them.
  auto isWayOut = [&](uint32_t b) {
    if (leavesAtOnce(b))
      return true;
    bool exits = all[b].empty() && function.ops[blocks[b].end - 1].code == Opcode::Exit;
    return entries[b] <= 1 && (exits || (all[b].size() == 1 && leavesAtOnce(all[b][0])));
  };
  for (uint32_t b = 0; b < count; ++b) {
    for (uint32_t s : all[b])
      if (!isWayOut(s))
        staying[b].push_back(s);
    if (staying[b].empty())
      staying[b] = all[b];
  }
  std::vector<uint32_t> dominator = postDominators(blocks, all), meeting = postDominators(blocks, staying);
  auto joinAt = [&](uint32_t d) {
    if (d >= count || leavesAtOnce(d)) // lanes that reach an exit leave at once: nobody waits for the others there
      return ptx::none;
    uint32_t first = blocks[d].first;
    return function.ops[first].code == Opcode::Join ? first : ptx::none;
  };
  for (uint32_t b = 0; b < count; ++b) {
    Op &last = function.ops[blocks[b].end - 1];
    if (last.code != Opcode::Bra && last.code != Opcode::BrxIdx)
      continue;
    if (last.code == Opcode::Bra)
      last.target = &function.ops[static_cast<size_t>(last.imm)];
    last.join = joinAt(dominator[b]);
    bool allStay = staying[b].size() == all[b].size() &&
                   std::all_of(all[b].begin(), all[b].end(), [&](uint32_t s) { return meeting[s] != ptx::none; });
    if (last.join == ptx::none && allStay)
      last.join = joinAt(meeting[b]);
  }
}

} // namespace tessera::sim::program
