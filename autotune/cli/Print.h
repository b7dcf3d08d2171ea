// What the program prints: results on stdout, messages on stderr; no fault of either stream is an exception.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace tessera::cli {

struct CommonFlags;

/// A message on stderr: what it quotes of files, logs and drivers is made safe for a terminal, and its further lines
/// stand below its first, so that no text of others looks like a message of its own. Where stderr takes none it is
/// lost: nobody listens, and the exit code still tells.
void sayText(std::string_view text);
template <typename... T> void say(fmt::format_string<T...> format, T &&...values) {
  sayText(fmt::format(format, std::forward<T>(values)...));
}

/// A message that is no error: not where --quiet is given.
void remark(const CommonFlags &common, std::string_view text);

/// On stderr as it is: for control sequences of our own.
void sayRaw(std::string_view text);

/// A part of the result for people, on stdout, made safe for a terminal. What stdout does not take is found out by
/// stdoutComplete().
void showText(std::string_view text);
template <typename... T> void show(fmt::format_string<T...> format, T &&...values) {
  showText(fmt::format(format, std::forward<T>(values)...));
}

/// Flushes stdout; false where it did not take everything since the last call.
bool stdoutComplete();

/// Takes the places of closed stdin, stdout and stderr, so that no file that is opened later receives what is printed.
/// Reading and writing there fail as before.
void holdStandardStreams();

/// "1 kernel", "3 kernels"; `many` where the plural is not made with an s.
std::string counted(uint64_t count, std::string_view one, std::string_view many = {});

} // namespace tessera::cli
