// From rows of an index to its entries and records.
#include "runtime/bundle/IndexTables.h"

#include "runtime/bundle/BundleLayout.h"

#include <algorithm>
#include <fmt/format.h>
#include <optional>

namespace tessera::detail {
namespace {

Status malformed(std::string what) { return {Code::File, "the index is malformed: " + std::move(what)}; }

/// A table of texts with what each of them stands for, worked out once, and whether a row names it.
template <typename T> class Table {
public:
  Table(const std::vector<std::string> &texts, std::string_view name)
      : texts_(texts), name_(name), values_(texts.size()), used_(texts.size()) {}

  /// The text at `place`, counted as used; null and a fault outside the table.
  const std::string *text(uint64_t place, Status &fault) {
    if (place >= texts_.size()) {
      fault = malformed(fmt::format("it names {} number {}, there are {}", name_, place, texts_.size()));
      return nullptr;
    }
    used_[place] = true;
    return &texts_[place];
  }

  /// T::parse of the text at `place`; null and a fault where that fails or the text is not the canonical one.
  const T *value(uint64_t place, Status &fault) {
    const std::string *source = text(place, fault);
    if (!source || values_[place])
      return source ? &*values_[place] : nullptr;
    Result<T> parsed = T::parse(*source);
    if (!parsed || parsed->text() != *source) {
      fault = malformed(
          fmt::format("{} '{}' {}", name_, *source, parsed ? "is not written canonically" : parsed.status().message()));
      return nullptr;
    }
    return &values_[place].emplace(std::move(*parsed));
  }

  /// Names a text that no row uses.
  Status allUsed() const {
    for (size_t i = 0; i < texts_.size(); ++i)
      if (!used_[i])
        return malformed(fmt::format("nothing uses {} '{}'", name_, texts_[i]));
    return {};
  }

private:
  const std::vector<std::string> &texts_;
  std::string_view name_;
  std::vector<std::optional<T>> values_;
  std::vector<bool> used_;
};

/// The driver's names of GPUs mean nothing further.
struct Plain {
  static Result<Plain> parse(std::string_view) { return Plain{}; }
  std::string text() const { return {}; }
};

struct Tables {
  explicit Tables(const IndexText &text)
      : specs(text.specs, "spec"), schedules(text.schedules, "schedule"), targets(text.targets, "target"),
        devices(text.devices, "device") {}
  Table<AttentionSpec> specs;
  Table<Schedule> schedules;
  Table<CodeTarget> targets;
  Table<Plain> devices;
};

Result<BundleEntry> resolveEntry(const EntryRow &row, Tables &tables) {
  Status fault;
  auto number = [&](EntryRow::Column column) { return row.numbers[column]; };
  // Specs and schedules stay texts: they are compared, and only those of a kernel that is loaded need be understood.
  const std::string *spec = tables.specs.text(number(EntryRow::Spec), fault);
  const std::string *schedule = tables.schedules.text(number(EntryRow::ScheduleText), fault);
  const CodeTarget *target = tables.targets.value(number(EntryRow::TargetName), fault);
  if (!fault.ok())
    return fault;
  BundleEntry entry;
  entry.spec = *spec;
  entry.schedule = *schedule;
  entry.target = *target;
  entry.size = number(EntryRow::Size);
  entry.digest = row.digest;
  entry.sharedBytes = uint32_t(number(EntryRow::SharedBytes));
  entry.blockThreads = uint32_t(number(EntryRow::BlockThreads));
  entry.registers = uint32_t(number(EntryRow::Registers));
  entry.clusterBlocks = uint32_t(number(EntryRow::ClusterBlocks));
  entry.ptxVersion = uint32_t(number(EntryRow::PtxVersion));
  entry.cubinBytes = uint32_t(number(EntryRow::CubinBytes));
  return entry;
}

Result<TuningRecord> resolveRecord(const RecordRow &row, Tables &tables) {
  Status fault;
  auto number = [&](RecordRow::Column column) { return row.numbers[column]; };
  auto extent = [&](RecordRow::Column column) { return int64_t(row.numbers[column]); };
  const AttentionSpec *spec = tables.specs.value(number(RecordRow::Spec), fault);
  const Schedule *schedule = tables.schedules.value(number(RecordRow::ScheduleText), fault);
  const CodeTarget *target = tables.targets.value(number(RecordRow::TargetName), fault);
  const std::string *device = tables.devices.text(number(RecordRow::Device), fault);
  if (!fault.ok())
    return fault;
  Problem problem{extent(RecordRow::Batch), extent(RecordRow::Heads), extent(RecordRow::KvHeads),
                  extent(RecordRow::SeqlenQ), extent(RecordRow::SeqlenKv)};
  if (Status status = problem.validate(); !status.ok())
    return malformed("the shape of a record: " + status.message());
  return TuningRecord{*spec, *device, target->text(), problem, *schedule};
}

/// Whether the first `keys` columns of the rows increase from row to row: sorted, and none twice.
template <typename Row> bool strictlyIncreasing(const std::vector<Row> &rows, size_t keys) {
  return std::adjacent_find(rows.begin(), rows.end(), [&](const Row &a, const Row &b) {
           return !std::lexicographical_compare(a.numbers.begin(), a.numbers.begin() + keys, b.numbers.begin(),
                                                b.numbers.begin() + keys);
         }) == rows.end();
}

} // namespace

Result<BundleIndex> resolveIndex(IndexText &&text, uint64_t indexSize, uint64_t fileSize) {
  if (!strictlyIncreasing(text.entries, EntryRow::ScheduleText + 1))
    return malformed("the images are not sorted by spec, target and schedule, or two have all three in common");
  if (!strictlyIncreasing(text.records, RecordRow::SeqlenKv + 1))
    return malformed("the records are not sorted, or two are for one spec, target, device and shape");
  if (text.builds.empty() != text.entries.empty())
    return malformed(fmt::format("{} builds for {} images", text.builds.size(), text.entries.size()));

  BundleIndex index;
  Tables tables(text);
  uint64_t end = headerSize + indexSize;
  index.entries.reserve(text.entries.size());
  for (const EntryRow &row : text.entries) {
    Result<BundleEntry> entry = resolveEntry(row, tables);
    if (!entry)
      return entry.status();
    // Both sides stay below 2^63, since `end` never leaves the file.
    entry->offset = imageOffset(end);
    if (entry->size == 0 || entry->offset >= fileSize || entry->size > fileSize - entry->offset)
      return malformed(
          fmt::format("an image of {} bytes at {}; the file has {}", entry->size, entry->offset, fileSize));
    end = entry->offset + entry->size;
    index.entries.push_back(*entry);
  }
  if (end != fileSize)
    return malformed(fmt::format("the images end at {}, the file at {}", end, fileSize));
  index.records.reserve(text.records.size());
  for (const RecordRow &row : text.records) {
    Result<TuningRecord> record = resolveRecord(row, tables);
    if (!record)
      return record.status();
    index.records.push_back(std::move(*record));
  }
  for (const Status &status :
       {tables.specs.allUsed(), tables.schedules.allUsed(), tables.targets.allUsed(), tables.devices.allUsed()})
    if (!status.ok())
      return status;
  // The strings keep their places when their vectors move, so the entries still point at them.
  index.specs = std::move(text.specs);
  index.schedules = std::move(text.schedules);
  index.builds = std::move(text.builds);
  return index;
}

} // namespace tessera::detail
