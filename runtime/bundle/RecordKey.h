// RecordKey: what makes two tuning records answers to one question, and the order of records in an index.
#pragma once

#include "runtime/spec/TuningRecord.h"

#include <array>
#include <string>
#include <tuple>

namespace tessera::detail {

/// Spec, target, device; batch, heads, KV heads, query length, key length.
using RecordKey = std::tuple<std::string, std::string, std::string, std::array<int64_t, 5>>;
RecordKey keyOf(const TuningRecord &record);

/// GPU and shape of a record, for messages: "NVIDIA A100, batch 2, heads 32 on 8, lengths 2048 and 2048".
std::string circumstances(const TuningRecord &record);

} // namespace tessera::detail
