// KernelKey: a request as a few words that compare and hash without building texts.
#pragma once

#include "runtime/driver/Context.h"
#include "runtime/spec/Problem.h"
#include "runtime/spec/Schedule.h"

#include <array>
#include <bit>
#include <cstddef>

namespace tessera::detail {

/// Equal requests have equal keys; requests whose specs or schedules differ in any field that matters have different
/// ones, be they valid or not.
struct KernelKey {
  std::array<uint64_t, 16> words{};

  /// `schedule` null: the one that is chosen. `problem` null: the choice does not depend on the shape.
  KernelKey(const Context &context, const AttentionSpec &spec, const Schedule *schedule,
            const Problem *problem = nullptr) {
    auto pack = [](uint64_t high, uint64_t low) { return high << 32 | low; };
    words[0] = uint64_t(reinterpret_cast<uintptr_t>(context.handle()));
    words[10] = uint64_t(reinterpret_cast<uintptr_t>(&context.driver()));
    words[1] = pack(spec.headDim, spec.valueDim);
    words[2] = pack(spec.accessBytes, uint64_t(spec.dtype) | uint64_t(spec.outputType()) << 8 |
                                          uint64_t(spec.outputs) << 16 | uint64_t(spec.precision) << 24);
    words[3] = uint64_t(spec.mask.left.value_or(0));
    words[4] = uint64_t(spec.mask.right.value_or(0));
    words[5] = pack(std::bit_cast<uint32_t>(spec.effectiveScale()), std::bit_cast<uint32_t>(spec.softcap.value_or(0)));
    words[6] = uint64_t(spec.mask.left.has_value()) | uint64_t(spec.mask.right.has_value()) << 1 |
               uint64_t(spec.softcap.has_value()) << 2 |
               uint64_t(!spec.mask.isFull() && spec.mask.align == Align::BottomRight) << 3 |
               uint64_t(schedule != nullptr) << 4 | uint64_t(problem != nullptr) << 5;
    if (problem) {
      const int64_t extents[] = {problem->batch, problem->heads, problem->kvHeads, problem->seqlenQ, problem->seqlenKv};
      for (unsigned i = 0; i < 5; ++i)
        words[11 + i] = uint64_t(extents[i]);
    }
    if (!schedule)
      return;
    words[7] = pack(schedule->tileQ, schedule->tileKv);
    words[8] = pack(schedule->warps, schedule->stages);
    words[9] = pack(schedule->rescale == Rescale::Lazy ? std::bit_cast<uint32_t>(schedule->lazyThreshold) : 0,
                    uint64_t(schedule->rescale) | uint64_t(schedule->rowSum) << 8 |
                        uint64_t(schedule->queryInRegisters) << 16 | uint64_t(schedule->loops) << 24 |
                        uint64_t(schedule->packHeads) << 26 | uint64_t(schedule->order) << 27 |
                        uint64_t(schedule->persistent) << 28);
    words[6] |= uint64_t(schedule->headGroup) << 32;
  }

  friend bool operator==(const KernelKey &, const KernelKey &) = default;
};

struct KernelKeyHash {
  size_t operator()(const KernelKey &key) const {
    uint64_t hash = 0x9e3779b97f4a7c15;
    for (uint64_t word : key.words) {
      hash = (hash ^ word) * 0xff51afd7ed558ccd;
      hash ^= hash >> 32;
    }
    return size_t(hash);
  }
};

} // namespace tessera::detail
