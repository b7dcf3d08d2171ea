// The group `tessera bundle` and its common parts.
#include "autotune/cli/bundle/BundleCommands.h"

#include "autotune/cli/Columns.h"
#include "autotune/cli/OutputCheck.h"
#include "autotune/cli/Print.h"
#include "autotune/cli/files/OutputFile.h"
#include "runtime/cache/CacheOptions.h"
#include "runtime/image/Digest.h"

#include <fmt/format.h>

#include <map>

namespace tessera::cli {
namespace {

constexpr const char *kFooter = R"(Examples:
  tessera bundle build --specs specs.json --targets sm_80,sm_90 -o app.tsb   every attention of the list on both targets
  tessera bundle inspect app.tsb                                             what it holds
  tessera bundle keygen -o release.key                                       a key pair: release.key and release.key.pub
  tessera bundle sign app.tsb --key release.key                              sign it in place
  tessera bundle verify app.tsb --public-key release.key.pub                 every kernel sound, and signed by that key
  tessera bundle embed app.tsb --symbol app_kernels -o kernels.o             an object file to link into a program

specs.json is a list of attentions whose keys are flags of `tessera run`:
  [{"dtype": "bf16", "head-dim": 128, "causal": "bottom-right"}, {"dtype": "f16", "head-dim": 64, "lse": true}])";

constexpr CommandEntry kCommands[] = {
    {"build", "compile a list of attentions for several targets into one file", declareBundleBuild},
    {"inspect", "what a bundle holds", declareBundleInspect},
    {"verify", "read every kernel and check its digest, and the signature", declareBundleVerify},
    {"merge", "one bundle of several", declareBundleMerge},
    {"split", "the kernels of one target", declareBundleSplit},
    {"strip-ptx", "without PTX: smaller, and for no newer GPU than its targets", declareBundleStripPtx},
    {"extract", "one kernel's cubin, PTX or image", declareBundleExtract},
    {"diff", "how two bundles differ; exit code 1 if they do", declareBundleDiff},
    {"sign", "sign with a private key", declareBundleSign},
    {"keygen", "make a key pair", declareBundleKeygen},
    {"embed", "an object file that carries a bundle in a program", declareBundleEmbed},
};

struct Sizes {
  uint64_t kernels = 0, cubin = 0, other = 0, bytes = 0;
  void add(const BundleEntry &entry) {
    ++kernels;
    cubin += entry.cubinBytes;
    other += otherBytes(entry);
    bytes += entry.size;
  }
};

std::map<std::string, Sizes> sizes(const BundleIndex &index) {
  std::map<std::string, Sizes> sizes;
  for (const BundleEntry &entry : index.entries)
    sizes[entry.target.text()].add(entry);
  return sizes;
}

} // namespace

CommandGroup bundleCommands() {
  return {"bundle", "kernels compiled ahead, in one file that an application ships", kFooter, kCommands};
}

void addInput(CLI::App &app, std::string &file) {
  app.add_option("file", file, "the bundle")->type_name("FILE")->required();
}

void addOutput(CLI::App &app, std::string &file, const std::string &what) {
  app.add_option("-o,--output", file, what)->type_name("FILE")->required()->group("Output");
}

Status checkOutput(const std::string &output, const std::vector<std::string> &inputs) {
  if (output == "-")
    return Status(Code::InvalidArgument, "-o - would mix the file with the report on stdout", "name a file with -o");
  return checkOutputFile("-o", output, inputs);
}

Result<ExitCode> writeBundle(const Result<std::string> &bytes, const std::string &path, const CommonFlags &common) {
  if (!bytes)
    return bytes.status();
  const Result<BundlePointer> bundle = Bundle::openEmbedded(std::as_bytes(std::span(*bytes)), path);
  if (!bundle)
    return bundle.status();
  if (Status status = files::writeOutput(path, *bytes); !status)
    return status;
  const size_t kernels = (*bundle)->index().entries.size();
  const bool isSigned = (*bundle)->signature().has_value();
  if (common.json)
    printJson({{"file", path}, {"bytes", bytes->size()}, {"kernels", kernels}, {"signed", isSigned}});
  else if (!common.quiet)
    say("{}: {}, {}{}\n", path, counted(kernels, "kernel"), byteText(bytes->size()), isSigned ? ", signed" : "");
  return Right;
}

uint64_t otherBytes(const BundleEntry &entry) { return entry.size - std::min<uint64_t>(entry.size, entry.cubinBytes); }

Json sizesByTarget(const BundleIndex &index) {
  Json targets = Json::array();
  for (const auto &[target, size] : sizes(index))
    targets.push_back({{"target", target},
                       {"kernels", size.kernels},
                       {"cubin_bytes", size.cubin},
                       {"other_bytes", size.other},
                       {"bytes", size.bytes}});
  return targets;
}

void printSizesByTarget(const BundleIndex &index) {
  Columns columns({{"target"},
                   {"kernels", Columns::Right},
                   {"cubin", Columns::Right},
                   {"PTX and facts", Columns::Right},
                   {"total", Columns::Right}});
  Sizes all;
  for (const BundleEntry &entry : index.entries)
    all.add(entry);
  const auto row = [&](const std::string &name, const Sizes &size) {
    columns.row(
        {name, fmt::format("{}", size.kernels), byteText(size.cubin), byteText(size.other), byteText(size.bytes)});
  };
  const std::map<std::string, Sizes> targets = sizes(index);
  for (const auto &[target, size] : targets)
    row(target, size);
  if (targets.size() > 1)
    row("all", all);
  columns.print();
}

std::string ptxText(uint32_t version) { return version == 0 ? "-" : fmt::format("{}.{}", version / 10, version % 10); }

std::string shortHash(const Digest &digest) { return hexText(digest).substr(0, 12); }

} // namespace tessera::cli
