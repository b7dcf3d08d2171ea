// trials-fuzzer: any bytes as a tuning log. What is read is valid, is written so that it reads as the same, and the
// choice that it amounts to does not depend on its order.
#include "autotune/log/TrialLog.h"
#include "tests/fuzz/Expect.h"
#include "tests/fuzz/JsonMutator.h"

#include <algorithm>

using namespace tessera;
using namespace tessera::tune;
using fuzz::expect;

namespace {

constexpr std::string_view words[] = {
    "kind",
    "trial",
    "end",
    "part",
    "complete",
    "measured",
    "predicted",
    "duplicate",
    "spills",
    "failed",
    "crashed",
    "timed out",
    "faulted",
    "wrong",
    "killed",
    "sm_86",
    "1e999",
    "-1",
    "NVIDIA A100-SXM4-80GB (Tessera simulator)",
    "v1:q64,kv32,w4,s2,anchored,mma,qreg,online,pack,h8,first,persist",
    "v1:in=f16,out=f16,d=64,dv=64,mask=full,scale=0.125,softcap=none,outputs=o,precision=tf32,access=16"};

std::string text(const std::vector<Choice> &choices) {
  std::string text;
  for (const Choice &choice : choices)
    text += trialJson(choice.winner).dump() + "\n";
  return text;
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  const TrialLines lines = readTrials(fuzz::viewOf(data, size));
  for (const Trial &trial : lines.trials) {
    expect(trial.task.spec.validate().ok() && trial.task.problem.validate().ok(), "a trial that is read is valid");
    const std::string line = trialJson(trial).dump() + "\n";
    const TrialLines again = readTrials(line);
    expect(again.damaged.empty() && again.trials.size() == 1, "a trial that is written can be read", line);
    expect(trialJson(again.trials[0]).dump() + "\n" == line, "a trial that is written is read as the same", line);
  }
  for (const TaskEnd &end : lines.ends) {
    const std::string line = taskEndJson(end).dump() + "\n";
    const TrialLines again = readTrials(line);
    expect(again.damaged.empty() && again.ends.size() == 1, "an end that is written can be read", line);
    expect(taskEndJson(again.ends[0]).dump() + "\n" == line, "an end that is written is read as the same", line);
    const Completeness found = completeness(lines.ends, end);
    expect(found.parts >= 1 && found.done <= found.parts, "no more parts are done than there are");
  }
  std::vector<Trial> reversed(lines.trials.rbegin(), lines.trials.rend());
  const std::vector<Trial> both[] = {mergeTrials({{lines.trials}}), mergeTrials({{reversed}})};
  expect(text(choose(both[0])) == text(choose(both[1])), "merged logs choose the same in any order");
  return 0;
}

/// Changes one line, which may be JSON.
extern "C" size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t maxSize, unsigned seed) {
  return fuzz::mutateLine(data, size, maxSize, seed, words);
}
