// The JSON of a bundle's index, one line:
//
//   {"builds":["12ab"],"devices":[...],
//    "entries":[[spec,target,schedule,size,shared,threads,registers,cluster,ptx,cubin,"digest"],...],
//    "records":[[spec,target,device,batch,heads,kv_heads,seqlen_q,seqlen_kv,schedule],...],
//    "schedules":[...],"specs":[...],"targets":["sm_80",...]}
//
// spec, target, schedule and device are places in the tables of those names, from 0. Tables instead of objects keep the
// index of 500 images near 110 KB, which is what opening a bundle costs. Any JSON reader reads it; ours accepts this
// one form only, byte by byte, which needs no nesting, no escapes and no second look at blanks, order or repeated
// parts, and is several times as fast as a general reader with a comparison behind it (0.1 ms against 0.6 ms for 500
// images).
#include "runtime/bundle/IndexText.h"

#include <algorithm>
#include <charconv>
#include <fmt/format.h>

namespace tessera::detail {
namespace {

constexpr size_t maxText = 1024; // of one text, as of the canonical texts themselves

bool readHex(std::string_view text, Digest &digest) {
  auto nibble = [](char c) { return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1; };
  if (text.size() != 2 * digest.size())
    return false;
  int bad = 0;
  for (size_t i = 0; i < digest.size(); ++i) {
    const int high = nibble(text[2 * i]), low = nibble(text[2 * i + 1]);
    bad |= high | low;
    digest[i] = uint8_t(high << 4 | low);
  }
  return bad >= 0;
}

/// Reads the one form from front to back. The first fault is kept; nothing is read behind it.
class Reader {
public:
  explicit Reader(std::string_view json) : json_(json), rest_(json) {}

  /// These very characters.
  bool literal(std::string_view text) {
    if (!fault_.ok() || !rest_.starts_with(text))
      return fail(fmt::format("expected '{}'", text));
    rest_.remove_prefix(text.size());
    return true;
  }

  /// "name":[item,item,...], each item read by `item`, which returns false after a fault.
  template <typename Item> bool list(std::string_view name, Item item) {
    if (!literal(fmt::format("\"{}\":[", name)))
      return false;
    if (rest_.starts_with(']'))
      return literal("]");
    do {
      if (!item())
        return false;
    } while (rest_.starts_with(',') && literal(","));
    return literal("]");
  }

  bool table(std::string_view name, std::vector<std::string> &texts) {
    return list(name, [&] {
      std::string_view text;
      if (!string(text))
        return false;
      if (!isIndexText(text))
        return fail("a text that is empty, too long, or not of plain printable characters");
      // Order at once: it also bounds how many short texts a forged index can hold.
      if (!texts.empty() && texts.back() >= text)
        return fail("a text out of place: tables are sorted and hold each text once");
      texts.emplace_back(text);
      return true;
    });
  }

  template <typename Row> bool rows(std::string_view name, std::vector<Row> &rows) {
    return list(name, [&] {
      Row &row = rows.emplace_back();
      const char *separator = "[";
      for (size_t column = 0; column < row.numbers.size(); ++column) {
        if (!literal(separator) || !number(row.numbers[column], Row::largest(column)))
          return false;
        separator = ",";
      }
      if constexpr (requires { row.digest; })
        if (std::string_view hex; !literal(",") || !string(hex) || !readHex(hex, row.digest))
          return fail("expected a digest of 64 hexadecimal digits");
      return literal("]");
    });
  }

  /// Ok where nothing is left and nothing went wrong.
  Status finish() {
    if (fault_.ok() && !rest_.empty())
      fail("expected the end");
    return fault_;
  }

private:
  bool number(uint64_t &value, uint64_t largest) {
    auto [end, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), value);
    const size_t digits = size_t(end - rest_.data());
    if (error != std::errc() || value > largest || (digits > 1 && rest_.starts_with('0')))
      return fail(fmt::format("expected a whole number up to {}", largest));
    rest_.remove_prefix(digits);
    return true;
  }

  bool string(std::string_view &text) {
    if (!literal("\""))
      return false;
    const size_t end = rest_.substr(0, maxText + 1).find('"');
    if (end == rest_.npos)
      return fail(fmt::format("a text of more than {} characters, or without end", maxText));
    text = rest_.substr(0, end);
    rest_.remove_prefix(end + 1);
    return true;
  }

  bool fail(std::string what) {
    if (fault_.ok())
      fault_ = {Code::File, fmt::format("byte {} of the index: {}", json_.size() - rest_.size(), what)};
    return false;
  }

  std::string_view json_, rest_;
  Status fault_;
};

std::string tableJson(std::string_view name, const std::vector<std::string> &texts) {
  return texts.empty() ? fmt::format("\"{}\":[]", name)
                       : fmt::format("\"{}\":[\"{}\"]", name, fmt::join(texts, "\",\""));
}

template <typename Row> std::string rowsJson(std::string_view name, const std::vector<Row> &rows) {
  std::string json = fmt::format("\"{}\":[", name);
  const char *separator = "";
  for (const Row &row : rows) {
    json += fmt::format("{}[{}", separator, fmt::join(row.numbers, ","));
    if constexpr (requires { row.digest; })
      json += fmt::format(",\"{}\"", hexText(row.digest));
    json += ']';
    separator = ",";
  }
  return json + ']';
}

} // namespace

bool isIndexText(std::string_view text) {
  return !text.empty() && text.size() <= maxText &&
         std::all_of(text.begin(), text.end(), [](char c) { return c >= ' ' && c <= '~' && c != '"' && c != '\\'; });
}

std::string IndexText::json() const {
  return fmt::format("{{{},{},{},{},{},{},{}}}", tableJson("builds", builds), tableJson("devices", devices),
                     rowsJson("entries", entries), rowsJson("records", records), tableJson("schedules", schedules),
                     tableJson("specs", specs), tableJson("targets", targets));
}

Result<IndexText> IndexText::parse(std::string_view json) {
  IndexText index;
  Reader reader(json);
  (void)(reader.literal("{") && reader.table("builds", index.builds) && reader.literal(",") &&
         reader.table("devices", index.devices) && reader.literal(",") && reader.rows("entries", index.entries) &&
         reader.literal(",") && reader.rows("records", index.records) && reader.literal(",") &&
         reader.table("schedules", index.schedules) && reader.literal(",") && reader.table("specs", index.specs) &&
         reader.literal(",") && reader.table("targets", index.targets) && reader.literal("}"));
  if (Status status = reader.finish(); !status.ok())
    return status;
  return index;
}

} // namespace tessera::detail
