// Status and Result<T>: how every fallible call of the runtime reports; no exception crosses the library boundary.
#pragma once

#include <optional>
#include <string>
#include <utility>

namespace tessera {

/// The kind of a failure. Each code maps to one exit code of the command line (see autotune/cli).
enum class Code {
  Ok,
  InvalidArgument, ///< the caller's values are wrong; the message carries them
  Unsupported,     ///< a valid request that Tessera cannot serve; the hint names the nearest thing that it can
  NotFound,        ///< no such device, file, kernel or record
  NoDevice,        ///< no driver, no GPU, or none of the name asked for
  File,            ///< a file could not be read or written, or its content is malformed
  DriverError,     ///< the CUDA driver (or the simulator) refused; the message names the call and its CUresult
  CompileError,    ///< the compiler refused; the message holds its diagnostics
  Internal,        ///< a defect of Tessera
};

/// Success, or a code with a sentence for people and, where there is one, a remedy. A value type; thread-compatible.
class [[nodiscard]] Status {
public:
  Status() = default;
  Status(Code code, std::string message, std::string hint = {})
      : code_(code), message_(std::move(message)), hint_(std::move(hint)) {}

  bool ok() const { return code_ == Code::Ok; }
  explicit operator bool() const { return ok(); }
  Code code() const { return code_; }
  const std::string &message() const { return message_; }
  const std::string &hint() const { return hint_; }

  /// Message and hint in one text, as the command line prints it.
  std::string text() const { return hint_.empty() ? message_ : message_ + "\n  hint: " + hint_; }

private:
  Code code_ = Code::Ok;
  std::string message_;
  std::string hint_;
};

/// A value or the Status that says why there is none.
template <typename T> class [[nodiscard]] Result {
public:
  Result(T value) : value_(std::move(value)) {}
  Result(Status status) : status_(std::move(status)) {}

  bool ok() const { return value_.has_value(); }
  explicit operator bool() const { return ok(); }
  const Status &status() const { return status_; }

  T &operator*() & { return *value_; }
  const T &operator*() const & { return *value_; }
  T &&operator*() && { return std::move(*value_); }
  T *operator->() { return &*value_; }
  const T *operator->() const { return &*value_; }

private:
  std::optional<T> value_;
  Status status_;
};

} // namespace tessera
