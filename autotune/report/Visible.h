// Visible: texts of files, drivers and machines made safe to show: on a terminal, in a table, in JSON, in a page.
#pragma once

#include <string>
#include <string_view>

namespace tessera::tune::report {

/// Bytes that are no UTF-8, control characters and those that turn the direction of the text around become U+FFFD, so
/// that nothing moves the cursor, clears the screen or stands where it was not written. Line ends and tabs stay; a
/// carriage return is a space.
std::string visible(std::string_view text);

/// The same on one line: line ends and tabs are spaces. For cells of tables.
std::string visibleLine(std::string_view text);

/// JSON text, of valid UTF-8, with the characters that visible() replaces written as \uXXXX: the same value.
std::string visibleJson(std::string_view json);

} // namespace tessera::tune::report
