// Words: an attention as people read it, on one line of a table or of a report.
#pragma once

#include "runtime/spec/AttentionSpec.h"

#include <string>

namespace tessera::tune {

/// What is compiled: "bf16, d 128, causal, bottom-right, with LSE"; what is usual goes without saying.
std::string specWords(const AttentionSpec &spec);

/// Its parts, for lines that have something to say between them.
std::string typeWords(const AttentionSpec &spec);  ///< "bf16", "f16 to f32"
std::string dimWords(const AttentionSpec &spec);   ///< "d 128", "d 192 and 128"
std::string maskWords(const Mask &mask);           ///< "full", "causal, bottom-right", "window 3,inf, top-left"
std::string scoreWords(const AttentionSpec &spec); ///< mask, scale, soft cap and outputs: "full, softcap 30, with LSE"

} // namespace tessera::tune
