// OutputCheck: whether the files that a command is to write can be written and spare its inputs, asked before any work.
#pragma once

#include "runtime/spec/Result.h"

#include <string>
#include <vector>

namespace tessera::cli {

/// `flag` is the output's ("--out"). InvalidArgument where the output is one of the inputs, each a path or empty;
/// otherwise what files::checkWritable says.
Status checkOutputFile(const char *flag, const std::string &output, const std::vector<std::string> &inputs);

} // namespace tessera::cli
