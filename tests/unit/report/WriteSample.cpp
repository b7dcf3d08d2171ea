// Writes the report of a made-up run: write-sample-report FILE TASKS TRIALS modelled|measured|mixed|empty|hostile.
#include "tests/unit/report/SampleOutcome.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>

using namespace tessera::tune;

int main(int argc, char **argv) {
  if (argc != 5) {
    std::fprintf(stderr, "usage: write-sample-report FILE TASKS TRIALS modelled|measured|mixed|empty|hostile\n");
    return 2;
  }
  const std::string_view kind = argv[4];
  const bool modelled = kind == "modelled";
  SearchOutcome outcome =
      sampleOutcome(std::strtoul(argv[2], nullptr, 10), std::strtoul(argv[3], nullptr, 10), modelled);
  ReportInput input = sampleInput(outcome, modelled);
  if (kind == "mixed") // logs of a simulator and of a GPU together
    for (size_t i = 0; i < outcome.tasks.size(); i += 2)
      outcome.tasks[i] = sampleOutcome(outcome.tasks.size(), std::strtoul(argv[3], nullptr, 10), true).tasks[i];
  input.replayed = kind == "mixed";
  if (kind == "empty")
    outcome = {};
  if (kind == "hostile") {
    input.device = "<script>alert(1)</script>";
    input.title = "--log \"</style><img src=http://127.0.0.1/x onerror=alert(1)>\"";
    outcome.warnings.push_back("bytes \x01\xff\xc0\x80 & a word that is " + std::string(300, 'w') + " long");
    for (TaskOutcome &task : outcome.tasks)
      for (Trial &trial : task.trials)
        trial.reason += " <iframe src='http://127.0.0.1/y'></iframe>" + std::string(200, 'x');
  }
  std::ofstream file(argv[1], std::ios::binary);
  file << reportHtml(input);
  return file.flush() ? 0 : 1;
}
