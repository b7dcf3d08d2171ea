// DriverMutator: changes a sequence of calls as a sequence of calls; the format is that of DriverFuzzer.cpp.
#pragma once

#include <string_view>
#include <vector>

namespace tessera::fuzz {

/// Everything that a line can begin with.
std::vector<std::string_view> entryPointNames();

} // namespace tessera::fuzz
