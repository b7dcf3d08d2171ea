// The C functions of specs and texts.
#include "runtime/engine/c/Conversions.h"
#include "runtime/engine/c/Handles.h"
#include "runtime/engine/c/LastError.h"
#include "runtime/engine/c/SizedStruct.h"

using namespace tessera;
using namespace tessera::c;

const char *tessera_text_string(const tessera_text *text) noexcept { return text ? text->string.c_str() : ""; }

void tessera_text_destroy(tessera_text *text) noexcept { delete text; }

tessera_code tessera_spec_validate(const tessera_spec *spec) noexcept {
  return guarded([&]() -> Status {
    AttentionSpec own;
    if (Status status = toSpec(spec, own); !status)
      return status;
    return own.validate();
  });
}

tessera_code tessera_spec_to_text(const tessera_spec *spec, tessera_text **text) noexcept {
  return makeHandle(text, "text", {}, [&]() -> Result<std::unique_ptr<tessera_text>> {
    AttentionSpec own;
    if (Status status = toSpec(spec, own); !status)
      return status;
    if (Status status = own.validate(); !status)
      return status;
    return std::make_unique<tessera_text>(own.text());
  });
}

tessera_code tessera_spec_from_text(const char *text, tessera_spec *spec) noexcept {
  return guarded([&]() -> Status {
    if (Status status = required({{"text", text}, {"spec", spec}}); !status)
      return status;
    Result<AttentionSpec> parsed = AttentionSpec::parse(text);
    if (!parsed)
      return parsed.status();
    const tessera_spec whole = fromSpec(*parsed);
    if (Status status = checkSize<tessera_spec>(spec->size, "tessera_spec"); !status)
      return status;
    // An older struct may lack the member that makes the difference.
    tessera_spec held{};
    std::memcpy(&held, &whole, std::min(spec->size, sizeof held));
    AttentionSpec readBack;
    if (!toSpec(&held, readBack) || !(readBack == *parsed))
      return {Code::Unsupported, fmt::format("tessera_spec of {} bytes cannot hold \"{}\"", spec->size, text),
              "build the program with the tessera_c.h of this library"};
    return writeSized(*spec, "tessera_spec", whole);
  });
}
