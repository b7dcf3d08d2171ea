// Key text and its digest.
#include "runtime/image/ImageKey.h"

#include "runtime/image/Digest.h"
#include "runtime/spec/CanonicalText.h"

#include <fmt/format.h>

namespace tessera {

namespace {
constexpr std::string_view start = "tessera-key ";
} // namespace

std::string ImageKey::text() const {
  std::string text = fmt::format("{}1\n", start);
  auto add = [&](std::string_view field, std::string_view value) {
    text += fmt::format("{} {}:{}\n", field, value.size(), value);
  };
  add("compiler", compilerBuild);
  add("spec", spec.text());
  add("schedule", schedule.text());
  add("target", target);
  add("assembler", assembler);
  add("options", options);
  return text;
}

std::optional<std::vector<KeyField>> keyFields(std::string_view keyText) {
  const size_t line = keyText.find('\n');
  if (!keyText.starts_with(start) || line == keyText.npos)
    return std::nullopt;
  std::vector<KeyField> fields{{"schema", std::string(keyText.substr(start.size(), line - start.size()))}};
  for (std::string_view rest = keyText.substr(line + 1); !rest.empty();) {
    const size_t space = rest.find(' '), colon = rest.find(':');
    size_t size = 0;
    if (space == rest.npos || colon == rest.npos || space > colon ||
        !detail::readNumber(rest.substr(space + 1, colon - space - 1), size) || size >= rest.size() - colon - 1 ||
        rest[colon + 1 + size] != '\n')
      return std::nullopt;
    fields.push_back({std::string(rest.substr(0, space)), std::string(rest.substr(colon + 1, size))});
    rest.remove_prefix(colon + 1 + size + 1);
  }
  return fields;
}

std::string keyHash(std::string_view keyText) { return hexText(digestOf(keyText)); }

} // namespace tessera
