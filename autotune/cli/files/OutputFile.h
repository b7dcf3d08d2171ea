// Writing files whole: a path holds what it held before, or all of the new content.
#pragma once

#include "runtime/spec/Result.h"

#include <span>
#include <string>
#include <string_view>
#include <sys/types.h>

namespace tessera::files {

/// Writes the parts one after the other to a new file and gives it the name `path` at the end, so that `path` is never
/// half written and nothing is left behind by a process that dies. A file that it replaces passes on its mode and, as
/// far as the process may, its owner; a link leads to the file that is replaced. Refused where checkWritable refuses.
Status writeFile(const std::string &path, std::span<const std::string_view> parts);

/// Whether writeFile could write there, asked before the work that makes the content. InvalidArgument for an empty
/// name; File where it is a folder, a link to nowhere, a pipe or a device other than /dev/null, or where its folder is
/// not there or takes no file.
Status checkWritable(const std::string &path);

/// writeFile of one part; "-" is stdout.
Status writeOutput(const std::string &path, std::string_view bytes);

/// Makes a file that must not exist yet, with this mode.
Status createFile(const std::string &path, std::string_view bytes, mode_t mode);

/// Whether both paths lead to one existing file.
bool sameFile(const std::string &a, const std::string &b);

} // namespace tessera::files
