// tessera bundle sign and keygen: who vouches for a bundle.
#include "autotune/cli/Print.h"
#include "autotune/cli/SourceFlags.h"
#include "autotune/cli/bundle/BundleCommands.h"
#include "autotune/cli/files/OutputFile.h"

#include <fmt/format.h>

#include <unistd.h>

namespace tessera::cli {
namespace {

struct SignFlags {
  std::string file, key, output;
};

Result<ExitCode> sign(const SignFlags &flags, const CommonFlags &common) {
  const Result<PrivateKey> key = readPrivateKey(flags.key);
  if (!key)
    return key.status();
  const Result<BundlePointer> bundle = Bundle::open(flags.file);
  if (!bundle)
    return bundle.status();
  const std::string &output = flags.output.empty() ? flags.file : flags.output;
  if (Status status = checkOutput(output, {flags.key}); !status)
    return status;
  return writeBundle(signBundle(**bundle, *key), output, common);
}

Result<ExitCode> keygen(const std::string &path, const CommonFlags &common) {
  if (Status status = checkOutput(path, {}); !status)
    return status;
  const Result<PrivateKey> key = PrivateKey::generate();
  if (!key)
    return key.status();
  const std::string publicPath = path + ".pub", publicText = key->publicKey().text() + "\n";
  if (Status status = files::createFile(publicPath, publicText, 0644); !status)
    return status;
  if (Status status = files::createFile(path, key->text() + "\n", 0600); !status) {
    ::unlink(publicPath.c_str());
    return status;
  }
  if (common.json)
    printJson({{"private_key", path}, {"public_key", publicPath}, {"public_text", key->publicKey().text()}});
  else if (!common.quiet)
    say("{} (keep it secret) and {} (give it to whoever checks)\n", path, publicPath);
  return Right;
}

} // namespace

Command declareBundleSign(CLI::App &app) {
  auto flags = std::make_shared<SignFlags>();
  addInput(app, flags->file);
  app.add_option("--key", flags->key, "private key of `tessera bundle keygen`")->type_name("KEYFILE")->required();
  app.add_option("-o,--output", flags->output, "the bundle to write (default: in place)")
      ->type_name("FILE")
      ->group("Output");
  app.footer("Example:\n  tessera bundle sign app.tsb --key release.key");
  return [flags](const CommonFlags &common) { return sign(*flags, common); };
}

Command declareBundleKeygen(CLI::App &app) {
  auto path = std::make_shared<std::string>();
  addOutput(app, *path, "file of the private key; the public one goes to FILE.pub. Neither may exist");
  app.footer("Example:\n  tessera bundle keygen -o release.key");
  return [path](const CommonFlags &common) { return keygen(*path, common); };
}

} // namespace tessera::cli
