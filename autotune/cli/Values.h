// The texts that flags take: each parser gives a value, or a sentence that holds the text and what would be right.
#pragma once

#include "runtime/spec/DType.h"
#include "runtime/spec/Mask.h"
#include "runtime/spec/Result.h"

#include <cstdint>
#include <optional>
#include <string>

namespace tessera::cli {

/// Order of a generated tensor in memory, slowest dimension first.
enum class Layout { Bshd, Bhsd };

/// A window as written: "L,R" where a side may be "inf".
struct Window {
  std::optional<int64_t> left, right;
};

Result<int64_t> parseSize(const std::string &text);     ///< 0 to 2^31 - 1
Result<int64_t> parsePositive(const std::string &text); ///< 1 to 2^31 - 1
Result<uint64_t> parseSeed(const std::string &text);
Result<float> parseNumber(const std::string &text); ///< finite
Result<DType> parseType(const std::string &text);
Result<Align> parseAlign(const std::string &text);
Result<Layout> parseLayout(const std::string &text);
Result<Window> parseWindow(const std::string &text);
Result<bool> parseOnOff(const std::string &text);

/// "bottom-right" or "top-left".
const char *name(Align align);
const char *name(Layout layout);

} // namespace tessera::cli
