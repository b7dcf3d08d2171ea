// Key texts taken apart into fields that people know, and compared.
#include "runtime/cache/KeyComparison.h"

#include "runtime/image/ImageKey.h"

#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <tuple>

namespace tessera {
namespace {

using Fields = std::vector<KeyField>;

/// The schedule's parts have no names in their text: by their words, or by the letters before the number.
std::string schedulePart(std::string_view part) {
  struct Name {
    std::string_view part, field;
  };
  static constexpr std::array words = {Name{"every", "rescale"}, Name{"anchored", "rescale"}, Name{"add", "row_sum"},
                                       Name{"mma", "row_sum"},   Name{"qsmem", "query"},      Name{"qreg", "query"},
                                       Name{"online", "loops"},  Name{"three", "loops"}};
  static constexpr std::array numbers = {Name{"q", "tile_q"}, Name{"kv", "tile_kv"}, Name{"w", "warps"},
                                         Name{"s", "stages"}, Name{"lazy", "rescale"}};
  for (const Name &word : words)
    if (part == word.part)
      return std::string(word.field);
  const std::string_view letters = part.substr(0, part.find_first_of("0123456789."));
  for (const Name &number : numbers)
    if (letters == number.part)
      return std::string(number.field);
  return std::string(letters.empty() ? part : letters);
}

/// "v1:d=128,mask=full" as "spec d", "spec mask"; "v1:q128,every" as "schedule tile_q", "schedule rescale".
void addParts(Fields &fields, const std::string &name, std::string_view text) {
  const size_t colon = std::min(text.find(':'), text.size());
  fields.push_back({name + " version", std::string(text.substr(0, colon))});
  for (std::string_view rest = text.substr(std::min(colon + 1, text.size())); !rest.empty();) {
    const std::string_view part = rest.substr(0, rest.find(','));
    rest.remove_prefix(std::min(part.size() + 1, rest.size()));
    if (const size_t equals = part.find('='); equals != std::string_view::npos) {
      fields.push_back({fmt::format("{} {}", name, part.substr(0, equals)), std::string(part.substr(equals + 1))});
      continue;
    }
    const std::string field = schedulePart(part);
    const bool number = field != "rescale" && part.find_first_of("0123456789") != std::string_view::npos;
    fields.push_back({fmt::format("{} {}", name, field),
                      std::string(number ? part.substr(part.find_first_of("0123456789")) : part)});
  }
}

/// The fields of a key, spec and schedule taken apart; nothing for a text that is no key.
std::optional<Fields> fieldsOf(std::string_view text) {
  std::optional<Fields> whole = keyFields(text);
  if (!whole)
    return std::nullopt;
  Fields fields;
  for (KeyField &field : *whole)
    if (field.name == "spec" || field.name == "schedule")
      addParts(fields, field.name, field.value);
    else
      fields.push_back(std::move(field));
  return fields;
}

} // namespace

std::vector<KeyDifference> compareKeys(const std::string &wanted, const std::string &found) {
  if (wanted == found)
    return {};
  const std::optional<Fields> wantedFields = fieldsOf(wanted), foundFields = fieldsOf(found);
  if (!wantedFields || !foundFields)
    return {{"key", wanted, found}};
  std::vector<KeyDifference> differences;
  Fields left = *foundFields;
  for (const KeyField &field : *wantedFields) {
    auto other = std::find_if(left.begin(), left.end(), [&](const KeyField &f) { return f.name == field.name; });
    const std::string value = other == left.end() ? "" : other->value;
    if (other == left.end() || value != field.value)
      differences.push_back({field.name, field.value, value});
    if (other != left.end())
      left.erase(other);
  }
  for (KeyField &field : left)
    differences.push_back({std::move(field.name), "", std::move(field.value)});
  return differences;
}

std::optional<NearestKey> nearestKey(const std::string &wanted, const std::vector<DiskCache::Key> &keys) {
  std::optional<NearestKey> nearest;
  auto rank = [](const NearestKey &key) {
    auto any = [&](std::string_view field) {
      return std::any_of(key.differences.begin(), key.differences.end(),
                         [&](const KeyDifference &d) { return d.field.starts_with(field); });
    };
    return std::tuple(any("key"), key.differences.size(), any("spec "), -key.entry.lastUse);
  };
  for (const DiskCache::Key &key : keys) {
    NearestKey candidate{key.entry, compareKeys(wanted, key.keyText)};
    if (!nearest || rank(candidate) < rank(*nearest))
      nearest = std::move(candidate);
  }
  return nearest;
}

} // namespace tessera
