// Builds the pairwise grid.
#include "tests/kernels/GridCases.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace tessera::kernels {
namespace {

constexpr unsigned kDims[][2] = {{8, 8},     {40, 40},   {64, 64},  {72, 72},  {96, 96}, {128, 128}, {192, 192},
                                 {256, 256}, {192, 128}, {64, 128}, {128, 64}, {8, 256}, {256, 40}};
enum Length { Zero, One, TileMinusOne, Tile, TilePlusOne, Prime, ThreeTiles, Lengths };
constexpr int kMasks = 8, kTypes = 5, kGroups = 4, kLayouts = 6, kScores = 4, kSchedules = 14, kExtras = 4;
constexpr int kLevels[] = {
    int(std::size(kDims)), Lengths, Lengths, kMasks, kTypes, kGroups, kLayouts, kScores, kSchedules, kExtras};
enum Factor {
  Dims,
  QueryLength,
  KeyLength,
  MaskKind,
  Types,
  Groups,
  LayoutKind,
  Scores,
  ScheduleKind,
  Extras,
  Factors
};

using Row = std::array<int, Factors>;

bool isLength(int factor) { return factor == QueryLength || factor == KeyLength; }

/// A covering array of strength two, built greedily: each row starts from an uncovered pair and takes, factor by
/// factor, the value that covers most of what is left. A row with a length of 0 computes nothing and covers only the
/// pairs of that length. Deterministic.
std::vector<Row> pairwise() {
  std::set<std::array<int, 4>> left; // factor a < factor b, their values
  for (int a = 0; a < Factors; ++a)
    for (int b = a + 1; b < Factors; ++b)
      for (int x = 0; x < kLevels[a]; ++x)
        for (int y = 0; y < kLevels[b]; ++y)
          left.insert({a, b, x, y});
  std::vector<Row> rows;
  while (!left.empty()) {
    Row row;
    row.fill(-1);
    const std::array<int, 4> seed = *left.begin();
    row[seed[0]] = seed[2];
    row[seed[1]] = seed[3];
    const auto isZero = [&](int factor) { return isLength(factor) && row[factor] == Zero; };
    const bool empty = isZero(seed[0]) || isZero(seed[1]);
    for (int factor = 0; factor < Factors; ++factor) {
      if (row[factor] >= 0)
        continue;
      int best = 0, most = -1;
      for (int step = 0; step < kLevels[factor]; ++step) {
        const int value = (step + int(rows.size())) % kLevels[factor]; // ties go to another value in every row
        if (isLength(factor) && value == Zero)
          continue;
        int gain = 0;
        for (int other = 0; other < Factors; ++other)
          if (row[other] >= 0 && other != factor && (!empty || isZero(other)))
            gain += other < factor ? left.count({other, factor, row[other], value})
                                   : left.count({factor, other, value, row[other]});
        if (gain > most) {
          most = gain;
          best = value;
        }
      }
      row[factor] = best;
    }
    for (int a = 0; a < Factors; ++a)
      for (int b = a + 1; b < Factors; ++b)
        if (!empty || isZero(a) || isZero(b))
          left.erase({a, b, row[a], row[b]});
    rows.push_back(row);
  }
  return rows;
}

int64_t lengthOf(int kind, int64_t tile, int64_t prime) {
  const int64_t lengths[] = {0, 1, tile - 1, tile, tile + 1, prime, 3 * tile + 5};
  return lengths[kind];
}

Mask maskOf(int kind, int64_t tile) {
  switch (kind) {
  case 1:
    return Mask::causal(Align::BottomRight);
  case 2:
    return Mask::causal(Align::TopLeft);
  case 3:
    return Mask::window(tile / 2 + 3, 0, Align::BottomRight);
  case 4:
    return Mask::window(tile, 19, Align::TopLeft);
  case 5:
    return Mask::window(0, 0, Align::BottomRight);
  case 6:
    return Mask::window(std::nullopt, 5, Align::BottomRight);
  case 7:
    return Mask::window(20, std::nullopt, Align::TopLeft);
  default:
    return Mask::full();
  }
}

constexpr const char *kMaskNames[] = {"full",       "causalBR", "causalTL",  "windowLeft",
                                      "windowBoth", "diagonal", "rightOnly", "leftOnly"};

/// Variants of the default schedule, the first that is legal among those asked for; `kind` 0 is the default itself.
std::optional<Schedule> scheduleOf(int kind, const AttentionSpec &spec, std::string &label) {
  const Schedule base = defaultFor(spec);
  Schedule wanted = base;
  constexpr const char *labels[] = {"default", "every", "anchored", "mma",       "stages2", "qreg",       "narrow",
                                    "oneWarp", "three", "packed",   "headGroup", "first",   "persistent", "together"};
  switch (kind) {
  case 1:
    wanted.rescale = Rescale::Every;
    break;
  case 2:
    wanted.rescale = Rescale::Anchored;
    break;
  case 3:
    wanted.rowSum = RowSum::Mma;
    break;
  case 4:
    wanted.stages = 2;
    break;
  case 5:
    wanted.queryInRegisters = true;
    break;
  case 6:
    wanted.tileKv = 16;
    break;
  case 7:
    wanted.warps = 1;
    wanted.tileQ = 16;
    wanted.tileKv = std::min(base.tileKv, 32u);
    break;
  case 8:
    wanted.loops = Loops::Three;
    break;
  case 9:
    wanted.packHeads = true;
    break;
  case 10:
    wanted.headGroup = 3;
    break;
  case 11:
    wanted.order = TileOrder::FirstFirst;
    break;
  case 12:
    wanted.persistent = true;
    break;
  case 13:
    wanted.packHeads = wanted.persistent = true;
    wanted.headGroup = 2;
    wanted.order = TileOrder::FirstFirst;
    break;
  default:
    label = labels[0];
    return std::nullopt;
  }
  if (wanted.legal(spec, target()).ok()) {
    label = labels[kind];
    return wanted;
  }
  label = labels[0]; // f16 has no anchored reference, f32 no row sum by mma, and wide heads not every tile
  return std::nullopt;
}

GridCase caseOf(const Row &row) {
  GridCase made;
  KernelCase &test = made.test;
  AttentionSpec &spec = test.spec;
  spec.headDim = kDims[row[Dims]][0];
  spec.valueDim = kDims[row[Dims]][1];
  constexpr DType types[] = {DType::BF16, DType::F16, DType::F32, DType::F32, DType::BF16};
  spec.dtype = types[row[Types]];
  if (row[Types] == 3)
    spec.precision = Precision::Precise;
  if (row[Types] == 4)
    spec.outDType = DType::F32;
  if (row[Scores] & 1)
    spec.softcap = 5.0f;
  if (row[Scores] & 2)
    spec.scale = 0.3f;
  spec.outputs = row[Extras] & 1 ? Output::O : Output::O | Output::LSE;
  test.layout = Layout(row[LayoutKind]);
  constexpr int64_t groups[] = {1, 3, 7, 8};
  test.problem.kvHeads = row[Groups] == 0 ? 3 : row[Groups] == 1 ? 2 : 1;
  test.problem.heads = groups[row[Groups]] * test.problem.kvHeads;
  test.problem.batch = row[Extras] & 2 ? 2 : 1;
  test.margins = row[Extras] != 1;
  // accessBytes is part of the spec and depends on where things lie; schedules depend on it little, lengths on the
  // schedule's tiles.
  std::string schedule;
  test.schedule = scheduleOf(row[ScheduleKind], spec, schedule);
  const Schedule tiles = test.schedule.value_or(defaultFor(spec));
  spec.mask = maskOf(row[MaskKind], tiles.tileKv);
  test.problem.seqlenQ = lengthOf(row[QueryLength], tiles.tileQ, 97);
  test.problem.seqlenKv = lengthOf(row[KeyLength], tiles.tileKv, 211);
  // The simulator's time goes with scores times dims: long cases keep their shape and lose repetitions.
  const auto work = [&] {
    return double(test.problem.batch * test.problem.heads * test.problem.seqlenQ * test.problem.seqlenKv) *
           (spec.headDim + spec.valueDim);
  };
  constexpr double most = 4e7;
  if (work() > most)
    test.problem.batch = 1;
  if (work() > most) {
    test.problem.heads /= test.problem.kvHeads;
    test.problem.kvHeads = 1;
  }
  constexpr const char *typeNames[] = {"bf16", "f16", "tf32", "f32precise", "bf16f32"};
  made.name = fmt::format("d{}x{}_q{}_k{}_{}_{}_b{}h{}over{}_{}{}{}{}{}_{}", spec.headDim, spec.valueDim,
                          test.problem.seqlenQ, test.problem.seqlenKv, kMaskNames[row[MaskKind]], typeNames[row[Types]],
                          test.problem.batch, test.problem.heads, test.problem.kvHeads, name(test.layout),
                          test.margins ? "" : "_tight", spec.softcap ? "_softcap" : "", spec.scale ? "_scale" : "",
                          contains(spec.outputs, Output::LSE) ? "_lse" : "", schedule);
  return made;
}

} // namespace

const std::vector<GridCase> &gridCases() {
  static const std::vector<GridCase> cases = [] {
    std::vector<GridCase> made;
    std::set<std::string> names;
    for (const Row &row : pairwise())
      if (GridCase one = caseOf(row); names.insert(one.name).second)
        made.push_back(std::move(one));
    return made;
  }();
  return cases;
}

} // namespace tessera::kernels
