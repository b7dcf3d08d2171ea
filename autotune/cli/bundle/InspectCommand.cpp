// tessera bundle inspect: what a bundle holds, from its index alone; and verify: every byte of it.
#include "autotune/cli/Columns.h"
#include "autotune/cli/Print.h"
#include "autotune/cli/SourceFlags.h"
#include "autotune/cli/bundle/BundleCommands.h"
#include "runtime/cache/RecordLines.h"
#include "runtime/image/Digest.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace tessera::cli {
namespace {

Json entryJson(const BundleEntry &entry, size_t number) {
  const auto known = [](uint64_t value) { return value ? Json(value) : Json(nullptr); };
  Json json;
  json["number"] = number;
  json["hash"] = hexText(entry.digest);
  json["target"] = entry.target.text();
  json["spec"] = entry.spec;
  json["schedule"] = entry.schedule;
  json["registers"] = known(entry.registers);
  json["shared_bytes"] = entry.sharedBytes;
  json["block_threads"] = entry.blockThreads;
  json["cluster_blocks"] = entry.clusterBlocks;
  json["cubin_bytes"] = entry.cubinBytes;
  json["ptx_version"] = entry.ptxVersion ? Json(ptxText(entry.ptxVersion)) : Json(nullptr);
  json["bytes"] = entry.size;
  return json;
}

void inspectJson(const Bundle &bundle) {
  const BundleIndex &index = bundle.index();
  Json json;
  json["file"] = bundle.path();
  json["bytes"] = bundle.size();
  json["entries"] = Json::array();
  for (const BundleEntry &entry : index.entries)
    json["entries"].push_back(entryJson(entry, json["entries"].size() + 1));
  json["targets"] = sizesByTarget(index);
  json["records"] = Json::array();
  for (const TuningRecord &record : index.records)
    json["records"].push_back(Json::parse(recordLine(record)));
  json["builds"] = index.builds;
  json["signed_by"] = bundle.signature() ? Json(bundle.signature()->key.text()) : Json(nullptr);
  printJson(json);
}

void inspectTable(const Bundle &bundle) {
  const BundleIndex &index = bundle.index();
  Table facts;
  facts.row("bundle",
            fmt::format("{}, {}, {}", bundle.path(), counted(index.entries.size(), "kernel"), byteText(bundle.size())));
  for (const std::string &build : index.builds)
    facts.row("compiler", build);
  facts.row("records", fmt::format("{}", index.records.size()));
  facts.row("signed by", bundle.signature() ? bundle.signature()->key.text() : "nobody");
  facts.print();
  if (index.entries.empty())
    return;
  show("\n");
  Columns columns({{"#", Columns::Right},
                   {"target"},
                   {"attention"},
                   {"schedule"},
                   {"registers", Columns::Right},
                   {"shared", Columns::Right},
                   {"cubin", Columns::Right},
                   {"PTX", Columns::Right},
                   {"size", Columns::Right},
                   {"hash"}});
  for (size_t i = 0; i < index.entries.size(); ++i) {
    const BundleEntry &entry = index.entries[i];
    columns.row({fmt::format("{}", i + 1), entry.target.text(), specText(entry.spec), std::string(entry.schedule),
                 entry.registers ? fmt::format("{}", entry.registers) : "-", byteText(entry.sharedBytes),
                 entry.cubinBytes ? byteText(entry.cubinBytes) : "-", ptxText(entry.ptxVersion), byteText(entry.size),
                 shortHash(entry.digest)});
  }
  columns.print();
  show("\n");
  printSizesByTarget(index);
}

Result<ExitCode> inspect(const std::string &file, const CommonFlags &common) {
  const Result<BundlePointer> bundle = Bundle::open(file);
  if (!bundle)
    return bundle.status();
  common.json ? inspectJson(**bundle) : inspectTable(**bundle);
  return Right;
}

struct VerifyFlags {
  std::string file, publicKey;
};

Result<ExitCode> verify(const VerifyFlags &flags, const CommonFlags &common) {
  std::optional<PublicKey> key;
  if (!flags.publicKey.empty()) {
    const Result<PublicKey> read = readPublicKey(flags.publicKey);
    if (!read)
      return read.status();
    key = *read;
  }
  const Result<BundlePointer> bundle = Bundle::open(flags.file);
  if (!bundle)
    return bundle.status();
  // The signature first: it vouches for the index, and the index for every kernel.
  Status status = key ? (*bundle)->verifySignature(*key) : Status();
  const char *fault = status ? "kernel" : "signature";
  if (status)
    status = (*bundle)->verify();
  const size_t kernels = (*bundle)->index().entries.size();
  if (common.json)
    printJson({{"file", flags.file},
               {"ok", status.ok()},
               {"kernels", kernels},
               {"signature_checked", key.has_value()},
               {"fault", status ? Json(nullptr) : Json({{"in", fault}, {"reason", status.message()}})}});
  else if (!status)
    say("tessera: {}\n", status.text());
  else
    show("{}: {} sound, {}\n", flags.file, counted(kernels, "kernel"),
         key                      ? "signed by " + key->text()
         : (*bundle)->signature() ? "signature not checked (--public-key FILE does)"
                                  : "not signed");
  return status ? Right : CheckFailed;
}

} // namespace

Command declareBundleInspect(CLI::App &app) {
  auto file = std::make_shared<std::string>();
  addInput(app, *file);
  app.footer("Example:\n  tessera bundle inspect app.tsb");
  return [file](const CommonFlags &common) { return inspect(*file, common); };
}

Command declareBundleVerify(CLI::App &app) {
  auto flags = std::make_shared<VerifyFlags>();
  addInput(app, flags->file);
  app.add_option("--public-key", flags->publicKey, "the bundle must be signed by this key")->type_name("FILE");
  app.footer("Exit code 1 where a kernel is damaged or the signature is not of that key (`tessera run` ends with 5 and "
             "2 there).\n"
             "Example:\n  tessera bundle verify app.tsb --public-key release.key.pub");
  return [flags](const CommonFlags &common) { return verify(*flags, common); };
}

} // namespace tessera::cli
