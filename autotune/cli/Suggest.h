// Suggest: what a misspelt name was probably meant to be.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tessera::cli {

/// The known name with the fewest letters to change, or nothing where more than three would have to be.
std::string nearestName(std::string_view text, const std::vector<std::string> &known);

/// "did you mean NAME? ", or nothing.
std::string didYouMean(std::string_view text, const std::vector<std::string> &known);

} // namespace tessera::cli
