// LastError: how every C function reports, with what went wrong kept for the calling thread.
#pragma once

#include "runtime/spec/Result.h"
#include "tessera/tessera_c.h"

#include <exception>
#include <initializer_list>
#include <memory>
#include <new>
#include <utility>

namespace tessera::c {

/// Keeps message and hint for this thread, or clears them for success; its code.
tessera_code report(const Status &status);
/// The same for texts of static storage, where memory has run out.
tessera_code report(tessera_code code, const char *message, const char *hint) noexcept;
/// Internal, with the exception's words.
tessera_code reportUnexpected(const char *what) noexcept;

/// Runs the body of a C function, a callable that returns a Status; whatever it throws becomes a code.
template <typename Body> tessera_code guarded(Body &&body) noexcept {
  try {
    return report(body());
  } catch (const std::bad_alloc &) {
    return report(TESSERA_OUT_OF_MEMORY, "out of host memory", "");
  } catch (const std::exception &exception) {
    return reportUnexpected(exception.what());
  } catch (...) {
    return reportUnexpected("of an unknown type");
  }
}

struct NamedPointer {
  const char *name;
  const void *pointer;
};
/// InvalidArgument naming the first pointer that is null.
Status required(std::initializer_list<NamedPointer> pointers);

/// Makes the handle of a C function: `*out` is null unless the body, which returns Result<std::unique_ptr<Handle>>, has
/// one. `pointers` are those that the function cannot do without.
template <typename Handle, typename Body>
tessera_code makeHandle(Handle **out, const char *outName, std::initializer_list<NamedPointer> pointers,
                        Body &&body) noexcept {
  if (out)
    *out = nullptr;
  return guarded([&]() -> Status {
    if (Status status = required({{outName, static_cast<const void *>(out)}}); !status)
      return status;
    if (Status status = required(pointers); !status)
      return status;
    Result<std::unique_ptr<Handle>> handle = body();
    if (!handle)
      return handle.status();
    *out = handle->release();
    return {};
  });
}

} // namespace tessera::c
