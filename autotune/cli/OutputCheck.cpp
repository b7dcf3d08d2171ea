// Inputs are told from outputs by the file, not by its name.
#include "autotune/cli/OutputCheck.h"

#include "autotune/cli/files/OutputFile.h"

#include <fmt/format.h>

namespace tessera::cli {

Status checkOutputFile(const char *flag, const std::string &output, const std::vector<std::string> &inputs) {
  for (const std::string &input : inputs)
    if (files::sameFile(output, input))
      return Status(Code::InvalidArgument, fmt::format("{} is the input and would be overwritten", output),
                    fmt::format("name another file with {}", flag));
  if (Status status = files::checkWritable(output); !status)
    return Status(status.code(), fmt::format("{}: {}", flag, status.message()), status.hint());
  return {};
}

} // namespace tessera::cli
