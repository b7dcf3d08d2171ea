// From a file name to the form of a profile.
#include "autotune/cli/profile/Writers.h"

#include "autotune/cli/files/OutputFile.h"

namespace tessera::cli::profile {

Form formOf(std::string_view path) {
  if (path.ends_with(".trace.json"))
    return Form::ChromeTrace;
  return path.ends_with(".json") ? Form::Speedscope : Form::Listing;
}

std::string_view describe(Form form) {
  switch (form) {
  case Form::Speedscope:
    return "flame graphs for https://www.speedscope.app";
  case Form::ChromeTrace:
    return "trace for https://ui.perfetto.dev or chrome://tracing";
  case Form::Listing:
    break;
  }
  return "annotated PTX listing";
}

Status writeProfile(const std::string &path, const LaunchProfile &profile, std::string_view ptx) {
  std::string text;
  switch (formOf(path)) {
  case Form::Listing:
    text = annotatedListing(profile, ptx);
    break;
  case Form::Speedscope:
    text = speedscope(profile, profile.kernel + ".ptx");
    break;
  case Form::ChromeTrace:
    text = chromeTrace(profile);
    break;
  }
  const std::string_view parts[] = {text};
  return files::writeFile(path, parts);
}

} // namespace tessera::cli::profile
