// Cooperative groups: blocks, tiles of a warp, coalesced and labelled lanes, and their collective algorithms.
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>

namespace cg = cooperative_groups;

template <int size> __device__ int tileSum(cg::thread_block block, int value) {
  auto tile = cg::tiled_partition<size>(block);
  for (int offset = tile.size() / 2; offset; offset /= 2)
    value += tile.shfl_down(value, offset);
  return tile.shfl(value, 0) * 100 + (int)tile.thread_rank() + (int)tile.meta_group_rank() * 7;
}

extern "C" __global__ void tiles(const int *in, int *out) {
  auto block = cg::this_thread_block();
  int t = block.thread_rank(), n = block.size(), x = in[t];
  out[t] = tileSum<32>(block, x);
  out[n + t] = tileSum<16>(block, x);
  out[2 * n + t] = tileSum<4>(block, x);
  auto tile = cg::tiled_partition<8>(block);
  out[3 * n + t] = tile.ballot(x > 0) + 1000 * tile.any(x == 3) + 2000 * tile.all(x < 40) + 4000 * (int)tile.match_any(x & 3);
  block.sync();
  out[4 * n + t] = cg::reduce(tile, x, cg::plus<int>());
  auto warp = cg::tiled_partition<32>(block);
  out[5 * n + t] = cg::reduce(warp, x, cg::greater<int>());
  out[6 * n + t] = (int)(cg::reduce(warp, x * 0.5f, cg::plus<float>()) * 2);
  out[7 * n + t] = cg::inclusive_scan(warp, x, cg::plus<int>());
  out[8 * n + t] = cg::exclusive_scan(tile, x, cg::plus<int>());
}

extern "C" __global__ void coalesced(const int *in, int *out, int *counter) {
  auto block = cg::this_thread_block();
  auto warp = cg::tiled_partition<32>(block);
  int t = block.thread_rank(), n = block.size(), x = in[t];
  out[t] = out[n + t] = out[2 * n + t] = -1;
  if (x % 3 == 0) {
    // Lanes that the schedule brings here together add up what they reserve.
    auto active = cg::coalesced_threads();
    int base = 0;
    if (active.thread_rank() == 0)
      base = atomicAdd(counter, (int)active.size());
    out[t] = active.shfl(base, 0) + (int)active.thread_rank();
  }
  warp.sync();
  auto parts = cg::labeled_partition(warp, x & 3);
  out[n + t] = cg::reduce(parts, x, cg::plus<int>()) * 100 + (int)parts.size();
  auto halves = cg::binary_partition(warp, x > 5);
  out[2 * n + t] = cg::reduce(halves, x, cg::less<int>()) * 100 + (int)halves.thread_rank();
}

// Ranks within the grid, and the whole grid in step: each round adds up what two other blocks left in the round before.
extern "C" __global__ void gridRanks(int *out) {
  auto grid = cg::this_grid();
  out[grid.thread_rank()] = (int)grid.size() * 1000 + (int)grid.block_rank() + (int)cg::this_thread_block().group_index().x;
}
extern "C" __global__ void gridSteps(int *values, int rounds) {
  auto grid = cg::this_grid();
  int t = grid.thread_rank(), n = grid.size();
  for (int round = 0; round < rounds; ++round) {
    int *from = values + (round & 1) * n, *to = values + (~round & 1) * n;
    to[t] = from[(t + 40) % n] + 3 * from[(t + n - 40) % n];
    grid.sync();
  }
}
