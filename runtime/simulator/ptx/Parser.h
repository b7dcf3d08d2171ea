// Parser: PTX text to a SyntaxTree. Knows the grammar; opcodes and their operands are the decoder's business.
#pragma once

#include "runtime/simulator/ptx/Syntax.h"
#include "runtime/spec/Result.h"

#include <memory>
#include <string_view>

namespace tessera::sim::ptx {

/// Parses one module. The tree's views point into `source`. Errors name the line and quote its text.
Result<SyntaxTree> parse(std::string_view source);

/// The line numbered `line` (1-based) of `source`, without indentation, for messages.
std::string_view lineText(std::string_view source, uint32_t line);

} // namespace tessera::sim::ptx
