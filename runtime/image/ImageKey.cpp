// Key text and its digest.
#include "runtime/image/ImageKey.h"

#include "runtime/image/Digest.h"

#include <fmt/format.h>

namespace tessera {

std::string ImageKey::text() const {
  std::string text = "tessera-key 1\n";
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

std::string keyHash(std::string_view keyText) { return hexText(digestOf(keyText)); }

} // namespace tessera
