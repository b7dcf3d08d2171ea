// The commands under `tessera bundle`, and what several of them share.
#pragma once

#include "autotune/cli/Commands.h"
#include "autotune/cli/Describe.h"
#include "runtime/bundle/BundleWriter.h"

#include <memory>
#include <string>
#include <vector>

namespace tessera::cli {

Command declareBundleBuild(CLI::App &app);
Command declareBundleInspect(CLI::App &app);
Command declareBundleVerify(CLI::App &app);
Command declareBundleMerge(CLI::App &app);
Command declareBundleSplit(CLI::App &app);
Command declareBundleStripPtx(CLI::App &app);
Command declareBundleExtract(CLI::App &app);
Command declareBundleDiff(CLI::App &app);
Command declareBundleSign(CLI::App &app);
Command declareBundleKeygen(CLI::App &app);
Command declareBundleEmbed(CLI::App &app);

using BundlePointer = std::shared_ptr<const Bundle>;

/// The positional FILE of a command, and its -o; both needed.
void addInput(CLI::App &app, std::string &file);
void addOutput(CLI::App &app, std::string &file, const std::string &what);

/// checkOutputFile for -o; InvalidArgument also where the output is stdout, which is for reports.
Status checkOutput(const std::string &output, const std::vector<std::string> &inputs);

/// Writes the bytes of a bundle, or passes on why there are none; then says what was written, as JSON or, unless quiet,
/// as a line on stderr.
Result<ExitCode> writeBundle(const Result<std::string> &bytes, const std::string &path, const CommonFlags &common);

/// Bytes of an entry beside its cubin: the compressed PTX and the facts.
uint64_t otherBytes(const BundleEntry &entry);

/// What a bundle holds for each target: kernels, cubin_bytes, other_bytes, bytes.
Json sizesByTarget(const BundleIndex &index);
void printSizesByTarget(const BundleIndex &index);

/// "8.0", or "-" for none.
std::string ptxText(uint32_t version);

/// The first digits of a digest, enough to name an entry by.
std::string shortHash(const Digest &digest);

} // namespace tessera::cli
