// SpecList: the attentions that a bundle is built for, as a JSON array of objects whose keys are the command line's
// flags.
#pragma once

#include "autotune/cli/ProblemFlags.h"

#include <string_view>
#include <vector>

namespace tessera::cli {

/// `[{"dtype": "bf16", "head-dim": 128, "causal": "bottom-right"}, ...]`: each key is a flag of ProblemFlags without
/// its dashes, each value what the flag takes, and checked by the same parser; --lse and --precise take true or false.
/// For untrusted bytes of any size. File where the text is no JSON or too long; InvalidArgument or Unsupported where it
/// is no such list or an attention in it is wrong. Messages hold the position in the list, counted from 0, and the key.
Result<std::vector<ResolvedProblem>> parseSpecList(std::string_view json);

} // namespace tessera::cli
