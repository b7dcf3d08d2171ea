// Style: the style sheet of a report, from Style.css.
#pragma once

#include <string_view>

namespace tessera::tune::report {

extern const std::string_view style;

} // namespace tessera::tune::report
