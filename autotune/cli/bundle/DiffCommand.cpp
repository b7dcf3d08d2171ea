// tessera bundle diff: how two bundles differ, with diff's exit codes.
#include "autotune/cli/Print.h"
#include "autotune/cli/bundle/BundleCommands.h"

#include <fmt/format.h>

namespace tessera::cli {
namespace {

struct DiffFlags {
  std::string first, second;
};

const char *name(BundleDifference::Kind kind) {
  return kind == BundleDifference::OnlyFirst    ? "only_first"
         : kind == BundleDifference::OnlySecond ? "only_second"
                                                : "changed";
}

Result<ExitCode> diff(const DiffFlags &flags, const CommonFlags &common) {
  const Result<BundlePointer> first = Bundle::open(flags.first), second = Bundle::open(flags.second);
  for (const Result<BundlePointer> *bundle : {&first, &second})
    if (!*bundle)
      return bundle->status();
  const std::vector<BundleDifference> differences = diffBundles(**first, **second);
  if (common.json) {
    Json json;
    json["first"] = flags.first;
    json["second"] = flags.second;
    json["differences"] = Json::array();
    for (const BundleDifference &one : differences)
      json["differences"].push_back({{"kind", name(one.kind)},
                                     {"target", one.target},
                                     {"spec", one.spec},
                                     {"schedule", one.schedule},
                                     {"detail", one.detail}});
    printJson(json);
  } else {
    constexpr const char *marks[] = {"-", "+", "!"}; // as diff -c has them
    for (const BundleDifference &one : differences)
      show("{} {}, {}, {}: {}\n", marks[one.kind], one.target, specText(one.spec), one.schedule, one.detail);
  }
  return differences.empty() ? Right : CheckFailed;
}

} // namespace

Command declareBundleDiff(CLI::App &app) {
  auto flags = std::make_shared<DiffFlags>();
  app.add_option("first", flags->first, "a bundle")->type_name("A")->required();
  app.add_option("second", flags->second, "another")->type_name("B")->required();
  app.footer(
      "- only in A, + only in B, ! in both and different; signatures are not compared. Exit code 1 where they differ.\n"
      "Example:\n  tessera bundle diff old.tsb new.tsb");
  return [flags](const CommonFlags &common) { return diff(*flags, common); };
}

} // namespace tessera::cli
