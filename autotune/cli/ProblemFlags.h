// ProblemFlags: the flags that describe an attention, and the spec and sizes that they amount to.
#pragma once

#include "autotune/cli/Values.h"
#include "autotune/cli/files/HostTensor.h"
#include "autotune/reference/View.h"
#include "runtime/spec/AttentionSpec.h"
#include "runtime/spec/Problem.h"

#include <CLI/App.hpp>

#include <array>
#include <optional>
#include <string>
#include <vector>

namespace tessera::cli {

/// An option whose text is checked by one of the parsers of Values.h.
template <typename T, typename Field>
CLI::Option *addValue(CLI::App &app, const std::string &flag, Field &field, Result<T> (*parse)(const std::string &),
                      const std::string &description, const std::string &typeName) {
  return app
      .add_option_function<std::string>(
          flag,
          [&field, parse, flag](const std::string &text) {
            const Result<T> value = parse(text);
            if (!value)
              throw CLI::ValidationError(flag, value.status().text());
            field = *value;
          },
          description)
      ->type_name(typeName);
}

/// The spec with the sizes it is run at.
struct ResolvedProblem {
  AttentionSpec spec;
  reference::Sizes sizes{};
  std::vector<std::string> notes; ///< what was assumed, to be said in the output

  Problem problem() const {
    return {sizes.batch, sizes.queryHeads, sizes.keyHeads, sizes.queryLength, sizes.keyLength};
  }
};

struct ProblemFlags {
  std::optional<DType> dtype, outDType;
  std::optional<int64_t> batch, heads, kvHeads, headDim, valueDim, seqlenQ, seqlenKv;
  std::optional<Align> causal, align;
  std::optional<Window> window;
  std::optional<float> softcap, scale;
  bool lse = false, precise = false;

  /// Declares the flags on a command.
  void addTo(CLI::App &app);

  /// Spec and sizes from the flags and, where given, the tensors read for q, k and v, whose shapes stand where a flag
  /// is absent. InvalidArgument where a flag contradicts a tensor (naming both), tensors contradict each other, or
  /// flags do.
  Result<ResolvedProblem> resolve(const std::optional<std::array<files::HostTensor, 3>> &tensors = std::nullopt) const;

private:
  Status resolveMask(ResolvedProblem &problem) const;
};

} // namespace tessera::cli
