// tessera bundle merge, split and strip-ptx: bundles into bundles.
#include "autotune/cli/ProblemFlags.h"
#include "autotune/cli/bundle/BundleCommands.h"

#include <fmt/format.h>

namespace tessera::cli {
namespace {

Result<MergeConflict> parsePreference(const std::string &text) {
  if (text == "first")
    return MergeConflict::KeepFirst;
  if (text == "last")
    return MergeConflict::KeepLast;
  return Status(Code::InvalidArgument, fmt::format("'{}' is not first or last", text));
}

struct MergeFlags {
  std::vector<std::string> files;
  std::string output;
  MergeConflict conflict = MergeConflict::Refuse;
};

Result<ExitCode> merge(const MergeFlags &flags, const CommonFlags &common) {
  if (Status status = checkOutput(flags.output, flags.files); !status)
    return status;
  std::vector<BundlePointer> bundles;
  for (const std::string &file : flags.files) {
    const Result<BundlePointer> bundle = Bundle::open(file);
    if (!bundle)
      return bundle.status();
    bundles.push_back(*bundle);
  }
  const Result<BundleWriter> writer = mergeBundles(bundles, flags.conflict);
  if (!writer)
    return Status(writer.status().code(), writer.status().message(),
                  flags.conflict == MergeConflict::Refuse ? "--prefer first or --prefer last chooses among them"
                                                          : writer.status().hint());
  return writeBundle(writer->serialize(), flags.output, common);
}

struct ReworkFlags {
  std::string file, output, target;
};

/// One bundle through `rework` into another.
template <typename Rework>
Result<ExitCode> reworkOne(const ReworkFlags &flags, const CommonFlags &common, Rework rework) {
  if (Status status = checkOutput(flags.output, {flags.file}); !status)
    return status;
  const Result<BundlePointer> bundle = Bundle::open(flags.file);
  if (!bundle)
    return bundle.status();
  const Result<BundleWriter> writer = rework(**bundle);
  return writeBundle(writer ? writer->serialize() : writer.status(), flags.output, common);
}

} // namespace

Command declareBundleMerge(CLI::App &app) {
  auto flags = std::make_shared<MergeFlags>();
  app.add_option("files", flags->files, "the bundles")->type_name("FILE...")->required()->expected(1, 1024);
  addOutput(app, flags->output, "the bundle to write");
  addValue(app, "--prefer", flags->conflict, parsePreference,
           "which to keep of two different kernels of one attention, schedule and target (default: refuse)",
           "first|last");
  app.footer("A signature is not carried over: the content is another.\n"
             "Example:\n  tessera bundle merge a.tsb b.tsb -o all.tsb --prefer last");
  return [flags](const CommonFlags &common) { return merge(*flags, common); };
}

Command declareBundleSplit(CLI::App &app) {
  auto flags = std::make_shared<ReworkFlags>();
  addInput(app, flags->file);
  app.add_option("--target", flags->target, "the target to keep")->type_name("ARCH")->required();
  addOutput(app, flags->output, "the bundle to write");
  app.footer("Example:\n  tessera bundle split app.tsb --target sm_80 -o app-sm_80.tsb");
  return [flags](const CommonFlags &common) -> Result<ExitCode> {
    const Result<CodeTarget> target = CodeTarget::parse(flags->target);
    if (!target)
      return target.status();
    return reworkOne(*flags, common, [&](const Bundle &bundle) { return splitBundle(bundle, *target); });
  };
}

Command declareBundleStripPtx(CLI::App &app) {
  auto flags = std::make_shared<ReworkFlags>();
  addInput(app, flags->file);
  addOutput(app, flags->output, "the bundle to write");
  app.footer("Without PTX a kernel runs on its target's own family alone, and not on the simulator.\n"
             "Example:\n  tessera bundle strip-ptx app.tsb -o small.tsb");
  return [flags](const CommonFlags &common) { return reworkOne(*flags, common, stripPtx); };
}

} // namespace tessera::cli
