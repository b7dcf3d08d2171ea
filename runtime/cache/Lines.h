// Lines: reading a text of one JSON object a line that a crash, another program or an enemy may have written.
#pragma once

#include "runtime/spec/Result.h"

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace tessera {

/// Hands every line but the blank ones to `read`, without its end. One that is longer than `mostBytes` is not handed
/// over, nor is one with a NUL, which a JSON parser may take for the end. Returns "line 3: why" for these and for those
/// that `read` refuses, at most a hundred, and then how many more there are.
std::vector<std::string> readLines(std::string_view text, size_t mostBytes,
                                   const std::function<Status(std::string_view)> &read);

} // namespace tessera
