// The texts of the last error, one pair per thread.
#include "runtime/engine/c/LastError.h"

#include <fmt/format.h>
#include <string>

namespace tessera::c {
namespace {

struct Texts {
  std::string message, hint;
};

// Trivial thread locals stay usable until the thread is gone, in destructors and exit handlers too.
thread_local const char *message = "";
thread_local const char *hint = "";
thread_local Texts *owned = nullptr;
thread_local bool ending = false;    // the thread has freed what it owned
thread_local char late[2][256] = {}; // what is said after that, as far as it fits

struct Reaper {
  ~Reaper() {
    message = hint = "";
    ending = true;
    delete std::exchange(owned, nullptr);
  }
};

const char *copyLate(const std::string &text, char (&buffer)[256]) {
  buffer[text.copy(buffer, sizeof buffer - 1)] = 0;
  return buffer;
}

/// Texts of this thread, freed when it ends.
Texts &texts() {
  if (!owned) {
    owned = new Texts;
    static thread_local Reaper reaper;
    static_cast<void>(reaper);
  }
  return *owned;
}

static_assert(int(Code::Ok) == TESSERA_OK && int(Code::InvalidArgument) == TESSERA_INVALID_ARGUMENT &&
              int(Code::Unsupported) == TESSERA_UNSUPPORTED && int(Code::NotFound) == TESSERA_NOT_FOUND &&
              int(Code::NoDevice) == TESSERA_NO_DEVICE && int(Code::File) == TESSERA_FILE &&
              int(Code::DriverError) == TESSERA_DRIVER_ERROR && int(Code::CompileError) == TESSERA_COMPILE_ERROR &&
              int(Code::Internal) == TESSERA_INTERNAL);

} // namespace

tessera_code report(const Status &status) {
  if (status.ok()) [[likely]] {
    message = hint = "";
    return TESSERA_OK;
  }
  if (ending) {
    message = copyLate(status.message(), late[0]);
    hint = copyLate(status.hint(), late[1]);
  } else {
    Texts &kept = texts();
    kept.message = status.message();
    kept.hint = status.hint();
    message = kept.message.c_str();
    hint = kept.hint.c_str();
  }
  return tessera_code(status.code());
}

tessera_code report(tessera_code code, const char *newMessage, const char *newHint) noexcept {
  message = newMessage;
  hint = newHint;
  return code;
}

tessera_code reportUnexpected(const char *what) noexcept {
  try {
    return report(Status(Code::Internal, fmt::format("an exception: {}", what), "this is a defect of Tessera"));
  } catch (...) {
    return report(TESSERA_OUT_OF_MEMORY, "out of host memory", "");
  }
}

Status required(std::initializer_list<NamedPointer> pointers) {
  for (const NamedPointer &given : pointers)
    if (!given.pointer) [[unlikely]]
      return {Code::InvalidArgument, fmt::format("{} is NULL", given.name)};
  return {};
}

} // namespace tessera::c

const char *tessera_last_error(void) noexcept { return tessera::c::message; }
const char *tessera_last_hint(void) noexcept { return tessera::c::hint; }

const char *tessera_code_name(tessera_code code) noexcept {
  switch (code) {
  case TESSERA_OK:
    return "ok";
  case TESSERA_INVALID_ARGUMENT:
    return "invalid argument";
  case TESSERA_UNSUPPORTED:
    return "unsupported";
  case TESSERA_NOT_FOUND:
    return "not found";
  case TESSERA_NO_DEVICE:
    return "no device";
  case TESSERA_FILE:
    return "file";
  case TESSERA_DRIVER_ERROR:
    return "driver error";
  case TESSERA_COMPILE_ERROR:
    return "compile error";
  case TESSERA_INTERNAL:
    return "internal";
  case TESSERA_OUT_OF_MEMORY:
    return "out of memory";
  default:
    return "unknown code";
  }
}
