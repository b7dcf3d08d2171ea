// IndexText: the index of a bundle as tables of texts and rows of numbers, and its one JSON form.
#pragma once

#include "runtime/image/Digest.h"
#include "runtime/spec/Result.h"

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tessera::detail {

/// One image. The columns, in this order, in front of the digest.
struct EntryRow {
  enum Column {
    Spec,
    TargetName,
    ScheduleText,
    Size,
    SharedBytes,
    BlockThreads,
    Registers,
    ClusterBlocks,
    PtxVersion,
    CubinBytes,
    Columns
  };
  static constexpr uint64_t largest(size_t column) { return column == Size ? UINT64_MAX : UINT32_MAX; }
  std::array<uint64_t, Columns> numbers{};
  Digest digest{};
};

/// One tuning record; the columns up to SeqlenKv are its key.
struct RecordRow {
  enum Column { Spec, TargetName, Device, Batch, Heads, KvHeads, SeqlenQ, SeqlenKv, ScheduleText, Columns };
  static constexpr uint64_t largest(size_t) { return INT64_MAX; }
  std::array<uint64_t, Columns> numbers{};
};

/// Rows name texts by their place in a table. Tables are sorted and hold each text once.
struct IndexText {
  std::vector<std::string> builds, devices, schedules, specs, targets;
  std::vector<EntryRow> entries;
  std::vector<RecordRow> records;

  /// One line of JSON. Every text must satisfy isIndexText().
  std::string json() const;
  /// The inverse, for untrusted bytes: File for everything that json() would not have written.
  static Result<IndexText> parse(std::string_view json);
};

/// Texts that an index holds: 1 to 1024 printable ASCII characters without quote and backslash, which need no escapes.
bool isIndexText(std::string_view text);

} // namespace tessera::detail
