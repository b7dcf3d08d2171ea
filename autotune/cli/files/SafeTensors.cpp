// Reading and writing the index of a .safetensors file.
#include "autotune/cli/files/SafeTensors.h"

#include "autotune/cli/files/Extent.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <set>

namespace tessera::files {
namespace {

using Json = nlohmann::json;

constexpr uint64_t kMaxHeader = 100'000'000; // the format's own limit

Status refuse(std::string what) { return Status(Code::File, "its .safetensors index " + std::move(what)); }

/// Nesting beyond what an index has is refused before the parser builds it.
bool nestsDeeperThan(std::string_view text, int limit) {
  int depth = 0;
  bool inString = false;
  for (size_t n = 0; n < text.size(); ++n) {
    const char c = text[n];
    if (inString) {
      if (c == '\\')
        ++n;
      else if (c == '"')
        inString = false;
    } else if (c == '"') {
      inString = true;
    } else if (c == '{' || c == '[') {
      if (++depth > limit)
        return true;
    } else if (c == '}' || c == ']') {
      --depth;
    }
  }
  return false;
}

/// A list of non-negative integers, or nothing.
std::optional<std::vector<uint64_t>> numbers(const Json &object, const char *key, size_t limit) {
  const auto found = object.find(key);
  if (found == object.end() || !found->is_array() || found->size() > limit)
    return std::nullopt;
  std::vector<uint64_t> values;
  for (const Json &value : *found) {
    if (!value.is_number_unsigned())
      return std::nullopt;
    values.push_back(value.get<uint64_t>());
  }
  return values;
}

std::optional<DType> elementType(std::string_view type) {
  if (type == "F16")
    return DType::F16;
  if (type == "BF16")
    return DType::BF16;
  if (type == "F32")
    return DType::F32;
  return std::nullopt;
}

Result<SafeTensorsEntry> readEntry(const std::string &name, const Json &value, uint64_t dataBegin, uint64_t dataBytes) {
  const std::string shown = name.substr(0, 60);
  if (!value.is_object())
    return refuse(fmt::format("has no object for '{}'", shown));
  const auto type = value.find("dtype");
  if (type == value.end() || !type->is_string())
    return refuse(fmt::format("gives '{}' no dtype", shown));
  const auto shape = numbers(value, "shape", kMaxRank);
  if (!shape)
    return refuse(fmt::format("gives '{}' no shape of up to {} sizes", shown, kMaxRank));
  const auto offsets = numbers(value, "data_offsets", 2);
  if (!offsets || offsets->size() != 2 || (*offsets)[0] > (*offsets)[1] || (*offsets)[1] > dataBytes)
    return refuse(fmt::format("gives '{}' no data_offsets within the {} bytes of data", shown, dataBytes));
  SafeTensorsEntry entry{name, type->get<std::string>(), *shape, dataBegin + (*offsets)[0], dataBegin + (*offsets)[1]};
  if (const std::optional<DType> known = elementType(entry.type)) {
    const std::optional<uint64_t> bytes = byteExtent(entry.shape, byteSize(*known));
    if (!bytes || *bytes != entry.end - entry.begin)
      return refuse(fmt::format("gives '{}' the shape ({}) of {}, but {} bytes", shown, fmt::join(entry.shape, ", "),
                                entry.type, entry.end - entry.begin));
  }
  return entry;
}

} // namespace

Result<std::vector<SafeTensorsEntry>> readSafeTensorsIndex(const ByteSource &source) {
  std::byte start[8];
  if (source.size() < sizeof start)
    return refuse(fmt::format("is missing: the file has {} bytes", source.size()));
  if (Status status = source.read(0, start); !status)
    return status;
  uint64_t length = 0;
  for (unsigned n = 0; n < 8; ++n)
    length |= uint64_t(start[n]) << (8 * n);
  if (length > kMaxHeader || length > source.size() - 8)
    return refuse(
        fmt::format("claims {} bytes; the file has {} and an index at most {}", length, source.size(), kMaxHeader));
  std::string text(length, '\0');
  if (Status status = source.read(8, std::as_writable_bytes(std::span(text))); !status)
    return status;
  if (nestsDeeperThan(text, 3))
    return refuse("is nested more deeply than three levels");
  std::set<std::string> names;
  std::string twice;
  const Json index = Json::parse(
      text,
      [&](int depth, Json::parse_event_t event, Json &parsed) {
        if (event == Json::parse_event_t::key && depth == 1 && !names.insert(parsed.get<std::string>()).second)
          twice = parsed.get<std::string>();
        return true;
      },
      /*allow_exceptions=*/false);
  if (index.is_discarded() || !index.is_object())
    return refuse("is not a JSON object");
  if (!twice.empty())
    return refuse(fmt::format("names '{}' twice", twice.substr(0, 60)));
  std::vector<SafeTensorsEntry> entries;
  for (const auto &[name, value] : index.items()) {
    if (name == "__metadata__")
      continue;
    Result<SafeTensorsEntry> entry = readEntry(name, value, 8 + length, source.size() - 8 - length);
    if (!entry)
      return entry.status();
    entries.push_back(*std::move(entry));
  }
  return entries;
}

Result<HostTensor> readSafeTensor(const ByteSource &source, const SafeTensorsEntry &entry) {
  const std::optional<DType> type = elementType(entry.type);
  if (!type)
    return Status(Code::File,
                  fmt::format("its tensor '{}' has the type {}", entry.name.substr(0, 60), entry.type.substr(0, 20)),
                  "F16, BF16 and F32 are read");
  HostTensor tensor{*type, {entry.shape.begin(), entry.shape.end()}, std::vector<std::byte>(entry.end - entry.begin)};
  if (Status status = source.read(entry.begin, tensor.bytes); !status)
    return status;
  return tensor;
}

std::string safeTensorsHeader(std::span<const NamedTensor> tensors) {
  nlohmann::ordered_json index = nlohmann::ordered_json::object();
  uint64_t offset = 0;
  for (const NamedTensor &named : tensors) {
    const uint64_t end = offset + named.tensor->bytes.size();
    const char *type = named.tensor->type == DType::F16 ? "F16" : named.tensor->type == DType::BF16 ? "BF16" : "F32";
    index[named.name] = {{"dtype", type}, {"shape", named.tensor->shape}, {"data_offsets", {offset, end}}};
    offset = end;
  }
  std::string text = index.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
  text.append((8 - text.size() % 8) % 8, ' ');
  std::string header(8, '\0');
  for (unsigned n = 0; n < 8; ++n)
    header[n] = char(text.size() >> (8 * n) & 0xff);
  return header + text;
}

} // namespace tessera::files
