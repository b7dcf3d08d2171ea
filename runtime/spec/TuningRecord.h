// TuningRecord: which schedule was found best for an attention, a shape and a GPU; and the choice among records.
#pragma once

#include "runtime/spec/Problem.h"
#include "runtime/spec/Schedule.h"

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace tessera {

struct TuningRecord {
  AttentionSpec spec;
  std::string device; ///< the driver's name of the GPU: "NVIDIA A100-SXM4-80GB"; a simulator's has its suffix
  std::string target; ///< of the code that was measured: "sm_80", on a GPU of sm_86 too where that ran it
  Problem problem;    ///< the shape that was measured
  Schedule schedule;

  friend bool operator==(const TuningRecord &, const TuningRecord &) = default;
};

/// Whether this name of a device is a simulator's.
bool isSimulatedDevice(std::string_view device);

/// How a record was found to answer, nearest first.
enum class RecordMatch : uint8_t {
  Exact,   ///< this shape on this GPU: batch, heads and lengths, whatever they multiply to
  Bucket,  ///< a shape of the same bucket on this GPU
  Nearest, ///< the nearest shape on this GPU
  Family,  ///< the nearest shape on another GPU, with code for the same target
};
std::string_view name(RecordMatch match); ///< exact, bucket, nearest, family

/// Shapes of one bucket share their choices: the query and key lengths and batch * kv_heads each rounded up to a power
/// of two, and the same number of query heads per KV head. "q2048,kv2048,b32,g4".
std::string bucketOf(const Problem &problem);

struct RecordChoice {
  const TuningRecord *record = nullptr; ///< one of those given
  RecordMatch match = RecordMatch::Exact;
};

/// The record that answers for this spec, shape and GPU, or nothing. Nearest is the least sum of |log2| of the ratios
/// of lengths, batch * kv_heads and head ratio, within a bucket too: so shapes that differ only in how batch and heads
/// multiply come before all others but the shape itself. Ties go to the record that stands last, in a tuning log the
/// newest. Records of other specs or targets, and those whose schedule is no longer legal, are passed over, and so are
/// a simulator's for any other device than itself: its times are the cost model's, and a model's guess is not to pass
/// for a measurement.
/// `target` is that of the code that is to run.
std::optional<RecordChoice> chooseRecord(std::span<const TuningRecord> records, const AttentionSpec &spec,
                                         const Problem &problem, std::string_view device, const Target &target);

} // namespace tessera
