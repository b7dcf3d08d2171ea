// Loop nest by strongly connected components: a component with a cycle is a loop; without the edges back to its header
// the components within it are the loops inside.
#include "runtime/simulator/program/Loops.h"

#include "runtime/simulator/program/ControlFlow.h"

#include <algorithm>
#include <numeric>
#include <tuple>
#include <unordered_map>

namespace tessera::sim::program {

namespace {

/// Components of the part of a graph that `within` marks with `mark`, without edges into `cut`; by Tarjan, without
/// recursion, because control flow can be as deep as the text is long.
class Components {
public:
  Components(const std::vector<BasicBlock> &blocks, const std::vector<int> &within)
      : blocks_(blocks), within_(within), number_(blocks.size(), 0), low_(blocks.size(), 0),
        onStack_(blocks.size(), false) {}

  /// Appends the components that have a cycle, each sorted.
  void find(const std::vector<uint32_t> &nodes, int mark, uint32_t cut, std::vector<std::vector<uint32_t>> &out) {
    for (uint32_t node : nodes)
      number_[node] = 0;
    next_ = 0;
    for (uint32_t node : nodes)
      if (!number_[node])
        visit(node, mark, cut, out);
  }

private:
  struct Step {
    uint32_t node;
    size_t next = 0;
  };

  void enter(uint32_t node) {
    number_[node] = low_[node] = ++next_;
    stack_.push_back(node);
    onStack_[node] = true;
    path_.push_back({node});
  }

  void visit(uint32_t root, int mark, uint32_t cut, std::vector<std::vector<uint32_t>> &out) {
    enter(root);
    while (!path_.empty()) {
      Step &step = path_.back();
      const std::vector<uint32_t> &successors = blocks_[step.node].successors;
      if (step.next < successors.size()) {
        uint32_t s = successors[step.next++];
        if (within_[s] != mark || s == cut)
          continue;
        if (!number_[s])
          enter(s);
        else if (onStack_[s])
          low_[step.node] = std::min(low_[step.node], number_[s]);
        continue;
      }
      uint32_t node = step.node;
      path_.pop_back();
      if (!path_.empty())
        low_[path_.back().node] = std::min(low_[path_.back().node], low_[node]);
      if (low_[node] != number_[node])
        continue;
      std::vector<uint32_t> component;
      uint32_t member = 0;
      do {
        member = stack_.back();
        stack_.pop_back();
        onStack_[member] = false;
        component.push_back(member);
      } while (member != node);
      const std::vector<uint32_t> &own = blocks_[node].successors;
      bool loopsOnItself = node != cut && std::find(own.begin(), own.end(), node) != own.end();
      if (component.size() > 1 || loopsOnItself) {
        std::sort(component.begin(), component.end());
        out.push_back(std::move(component));
      }
    }
  }

  const std::vector<BasicBlock> &blocks_;
  const std::vector<int> &within_;
  std::vector<uint32_t> number_, low_;
  std::vector<bool> onStack_;
  std::vector<uint32_t> stack_;
  std::vector<Step> path_;
  uint32_t next_ = 0;
};

/// The last word of a branch's text is the name of where it goes.
std::string targetName(const std::string &text) {
  size_t end = text.find_last_not_of(" \t\r\n;"), begin = text.find_last_of(" \t\r\n", end);
  return end == std::string::npos || begin == std::string::npos ? std::string() : text.substr(begin + 1, end - begin);
}

/// Outer loops before inner ones, in the order of the text.
void sortByText(std::vector<Loop> &loops, std::vector<int> &innermost) {
  std::vector<int> order(loops.size()), place(loops.size());
  std::iota(order.begin(), order.end(), 0);
  auto at = [&](int i) -> const Loop & { return loops[static_cast<size_t>(i)]; };
  std::sort(order.begin(), order.end(), [&](int a, int b) {
    return std::tuple(at(a).first, at(a).depth, a) < std::tuple(at(b).first, at(b).depth, b);
  });
  std::vector<Loop> sorted;
  for (int i : order) {
    place[static_cast<size_t>(i)] = static_cast<int>(sorted.size());
    sorted.push_back(at(i));
  }
  for (Loop &loop : sorted)
    loop.parent = loop.parent < 0 ? -1 : place[static_cast<size_t>(loop.parent)];
  for (int &index : innermost)
    index = index < 0 ? -1 : place[static_cast<size_t>(index)];
  loops = std::move(sorted);
}

} // namespace

LoopNest findLoops(const DecodedFunction &function, const std::vector<SourceInstruction> &instructions) {
  LoopNest nest;
  nest.innermostOf.assign(function.ops.size(), -1);
  if (function.ops.empty())
    return nest;
  std::vector<BasicBlock> blocks = basicBlocks(function);
  std::vector<std::vector<uint32_t>> predecessors(blocks.size());
  for (uint32_t b = 0; b < blocks.size(); ++b)
    for (uint32_t s : blocks[b].successors)
      predecessors[s].push_back(b);
  std::vector<int> innermost(blocks.size(), -1);
  Components components(blocks, innermost);
  std::unordered_map<uint32_t, uint32_t> branchTo; // op to an instruction that goes there
  for (const Op &op : function.ops)
    if (op.code == Opcode::Bra)
      branchTo.try_emplace(static_cast<uint32_t>(op.imm), op.instruction);
  struct Found {
    std::vector<uint32_t> blocks;
    int parent;
  };
  std::vector<Found> work;
  auto look = [&](const std::vector<uint32_t> &nodes, int mark, uint32_t cut) {
    std::vector<std::vector<uint32_t>> found;
    components.find(nodes, mark, cut, found);
    for (auto &component : found)
      work.push_back({std::move(component), mark});
  };
  std::vector<uint32_t> all(blocks.size());
  for (uint32_t b = 0; b < blocks.size(); ++b)
    all[b] = b;
  look(all, -1, ptx::none);
  while (!work.empty()) {
    Found found = std::move(work.back());
    work.pop_back();
    uint32_t header = ptx::none;
    auto isInside = [&](uint32_t b) { return std::binary_search(found.blocks.begin(), found.blocks.end(), b); };
    for (uint32_t b : found.blocks) { // in the order of the text
      bool entered = b == 0 || std::any_of(predecessors[b].begin(), predecessors[b].end(),
                                           [&](uint32_t p) { return !isInside(p); });
      if (entered && header == ptx::none)
        header = b;
    }
    if (header == ptx::none) // never reached
      header = found.blocks.front();
    int index = static_cast<int>(nest.loops.size());
    Loop loop;
    loop.header = blocks[header].first;
    loop.first = blocks[found.blocks.front()].first;
    loop.end = blocks[found.blocks.back()].end;
    loop.parent = found.parent;
    loop.depth = found.parent < 0 ? 1 : nest.loops[static_cast<size_t>(found.parent)].depth + 1;
    if (auto branch = branchTo.find(loop.header); branch != branchTo.end())
      loop.label = targetName(instructions[branch->second].text);
    nest.loops.push_back(std::move(loop));
    for (uint32_t b : found.blocks)
      innermost[b] = index;
    look(found.blocks, index, header);
  }
  sortByText(nest.loops, innermost);
  for (uint32_t b = 0; b < blocks.size(); ++b)
    for (uint32_t i = blocks[b].first; i < blocks[b].end; ++i)
      nest.innermostOf[i] = innermost[b];
  return nest;
}

} // namespace tessera::sim::program
