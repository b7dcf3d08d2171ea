// The search's side: a loop over children that are asked, waited for, killed and replaced.
#include "autotune/search/Workers.h"

#include "autotune/reference/Processors.h"
#include "autotune/search/Child.h"
#include "autotune/search/Median.h"
#include "autotune/search/Messages.h"
#include "autotune/search/Stopwatch.h"

#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <numeric>
#include <poll.h>
#include <set>

namespace tessera::tune {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kPollMilliseconds = 50;
constexpr std::chrono::milliseconds kAway(4 * kPollMilliseconds); ///< longer between two looks: we were held up
constexpr double kLongestStart = 30;
constexpr unsigned kMostStarts = 3; ///< that fail in a row
constexpr double kLeastRunSeconds = 30;
constexpr size_t kNone = SIZE_MAX;

constexpr std::string_view workNames[] = {"start", "compile", "count", "measurement", "verification"};

/// One child and what it is at.
struct Slot {
  std::unique_ptr<Child> child; ///< null: not started, or ended
  bool ready = false;           ///< it has answered the greeting
  size_t job = kNone;
  Stopwatch watch;            ///< since it was started, or asked
  unsigned failedStarts = 0;  ///< in a row
  std::set<std::string> seen; ///< kernels that it was asked about: what it counted of them it knows
};

/// Requests of one service that are asked at once.
struct Round {
  Service service;
  const std::function<void(size_t, Reply)> &ended;
  const Stopped &stopped;
  std::vector<size_t> waiting;
  std::set<size_t> killed; ///< whose worker was killed from outside, once
};

/// A kernel by name.
std::string kernelName(const KernelImage &image) {
  return image.spec.text() + " " + image.schedule.text() + " " + image.target;
}

class Workers : public Workshop {
public:
  explicit Workers(const WorkerOptions &options)
      : options_(options), slots_(options.jobs ? options.jobs : usableProcessors()) {}

  unsigned width() const override { return unsigned(slots_.size()); }

  void compile(std::span<const Candidate> candidates, const Done<Compiled> &done, const Stopped &stopped) override {
    Request request;
    request.service = Service::Compile;
    run(
        Service::Compile, candidates.size(),
        [&](size_t index) {
          request.candidate = candidates[index];
          return request.frame();
        },
        {},
        [&](size_t index, Reply reply) {
          done(index, {reply.fate, std::move(reply.status), std::move(reply.compiled)});
        },
        stopped);
  }
  void predictCompiled(std::span<const Job> jobs, const Done<Prediction> &done, const Stopped &stopped) override {
    judge(Service::Predict, jobs, {}, &Trial::after, done, stopped);
  }
  void measure(std::span<const Job> jobs, const Effort &effort, const Done<Measurement> &done,
               const Stopped &stopped) override {
    judge(Service::Measure, jobs, effort, &Trial::measurement, done, stopped);
  }
  void verify(std::span<const Job> jobs, const Done<Verification> &done, const Stopped &stopped) override {
    judge(Service::Verify, jobs, {}, &Trial::verification, done, stopped);
  }

private:
  using Make = std::function<Result<Frame>(size_t)>;
  using Name = std::function<std::string(size_t)>;
  using Ended = std::function<void(size_t, Reply)>;

  template <typename T>
  void judge(Service service, std::span<const Job> jobs, const Effort &effort, std::optional<T> Trial::*found,
             const Done<T> &done, const Stopped &stopped) {
    Request request;
    request.service = service;
    request.effort = effort;
    run(
        service, jobs.size(),
        [&](size_t index) {
          request.candidate.task = jobs[index].task;
          request.image = *jobs[index].image;
          return request.frame();
        },
        [&](size_t index) { return kernelName(*jobs[index].image); },
        [&](size_t index, Reply reply) {
          if (reply.fate == Fate::Done && !(reply.found.*found)) {
            reply.fate = Fate::Refused;
            reply.status = Status(Code::Internal, "a worker's answer does not fit the question");
          }
          done(index, {reply.fate, std::move(reply.status), (reply.found.*found).value_or(T{})});
        },
        stopped);
  }

  /// `name`: of the kernel that a request is about; empty: it does not matter who gets it.
  void run(Service service, size_t count, const Make &make, const Name &name, const Ended &ended,
           const Stopped &stopped);
  size_t choose(const Slot &slot, const std::vector<size_t> &waiting, const std::vector<std::string> &names) const;
  Status start(Slot &slot);
  void dropDead();
  void hear(Slot &slot, Round &round);
  void lose(Slot &slot, Round &round, const std::string &late = {});
  double mostSeconds(Service service) const;
  double limit(Service service) const;
  std::string late(const Slot &slot, Service service) const;
  void look(std::span<Slot> slots);

  const WorkerOptions options_;
  std::vector<Slot> slots_;
  std::array<std::vector<double>, std::size(workNames)> seconds_; ///< by service
  Clock::time_point looked_ = Clock::now();                       ///< at what the workers do
  Status broken_;                                                 ///< no worker can be started
};

Reply outcome(Fate fate, Status status) {
  Reply reply;
  reply.fate = fate;
  reply.status = std::move(status);
  return reply;
}

double Workers::mostSeconds(Service service) const {
  return service == Service::Compile ? options_.slowestSeconds : options_.slowestRunSeconds;
}

/// Seconds that an answer may take, as far as is known now.
double Workers::limit(Service service) const {
  const bool compiling = service == Service::Compile;
  const double most = mostSeconds(service);
  const double least = compiling ? options_.leastSeconds : std::max(options_.leastSeconds, kLeastRunSeconds);
  const std::vector<double> &before = seconds_[size_t(service)];
  if (before.size() < 2)
    return most;
  return std::min(most, std::max(least, options_.patience * medianOf(before)));
}

/// Whether it takes too long to start or to answer, and in what way.
std::string Workers::late(const Slot &slot, Service service) const {
  return slot.ready ? slot.watch.late(limit(service), mostSeconds(service))
                    : slot.watch.late(kLongestStart, kLongestStart);
}

/// Takes the time of all. Where we were held up, because the machine was suspended, or the job, so were they.
void Workers::look(std::span<Slot> slots) {
  const Clock::time_point now = Clock::now();
  const Clock::duration away = now - std::exchange(looked_, now);
  for (Slot &slot : slots) {
    if (!slot.child)
      continue;
    if (away > kAway)
      slot.watch.skip(away);
    slot.watch.see(now, slot.child->cpuSeconds());
  }
}

Status Workers::start(Slot &slot) {
  Result<std::unique_ptr<Child>> child = Child::start(options_.command);
  if (!child)
    return child.status();
  slot.child = *std::move(child);
  slot.ready = false;
  slot.job = kNone;
  slot.seen.clear();
  slot.watch.start(Clock::now(), 0);
  Request begin;
  begin.options = options_;
  const Result<Frame> greeting = begin.frame();
  if (!greeting)
    return greeting.status();
  slot.child->send(*greeting);
  return {};
}

/// Children that ended while nothing was asked of them; no candidate is to be blamed for it.
void Workers::dropDead() {
  for (Slot &slot : slots_) {
    if (!slot.child)
      continue;
    pollfd polls[2];
    slot.child->wanted(polls);
    if (poll(polls, 2, 0) > 0)
      slot.child->pump(polls);
    if (slot.child->gone())
      slot.child.reset();
  }
}

/// The place in `waiting` of the request that this child should have: one about a kernel that it knows, else one that
/// no other knows.
size_t Workers::choose(const Slot &slot, const std::vector<size_t> &waiting,
                       const std::vector<std::string> &names) const {
  if (names.empty())
    return 0;
  size_t unknown = waiting.size();
  for (size_t i = 0; i < waiting.size(); ++i) {
    const std::string &name = names[waiting[i]];
    if (slot.seen.contains(name))
      return i;
    const auto knows = [&](const Slot &other) { return other.seen.contains(name); };
    if (unknown == waiting.size() && std::none_of(slots_.begin(), slots_.end(), knows))
      unknown = i;
  }
  return unknown == waiting.size() ? 0 : unknown;
}

void Workers::run(Service service, size_t count, const Make &make, const Name &name, const Ended &ended,
                  const Stopped &stopped) {
  const bool alone = service != Service::Compile && !options_.device.starts_with("sim:");
  const std::span<Slot> slots(slots_.data(), alone ? 1 : std::min(slots_.size(), count));
  const auto busy = [](const Slot &slot) { return slot.job != kNone; };
  Round round{service, ended, stopped, std::vector<size_t>(count), {}};
  std::vector<size_t> &waiting = round.waiting;
  std::iota(waiting.begin(), waiting.end(), size_t(0));
  std::vector<std::string> names;
  for (size_t i = 0; i < count && name && !alone; ++i)
    names.push_back(name(i));
  const auto giveUp = [&](Fate fate, const Status &status) {
    for (size_t job : waiting)
      ended(job, outcome(fate, status));
  };
  broken_ = {};
  for (Slot &slot : slots_)
    slot.failedStarts = 0;
  dropDead();
  for (;;) {
    if (stopped()) {
      for (Slot &slot : slots)
        if (busy(slot)) {
          slot.child.reset();
          ended(std::exchange(slot.job, kNone), outcome(Fate::Cancelled, {}));
        }
      return giveUp(Fate::Cancelled, {});
    }
    look(slots);
    for (Slot &slot : slots)
      if (!slot.child && !waiting.empty() && broken_)
        broken_ = start(slot);
    for (Slot &slot : slots) {
      if (!slot.child || !slot.ready || busy(slot) || waiting.empty())
        continue;
      const size_t place = choose(slot, waiting, names), job = waiting[place];
      waiting.erase(waiting.begin() + ptrdiff_t(place));
      Result<Frame> frame = make(job);
      if (!frame) {
        ended(job, outcome(Fate::Refused, frame.status()));
        continue;
      }
      slot.job = job;
      if (!names.empty())
        slot.seen.insert(names[job]);
      slot.watch.start(Clock::now(), slot.child->cpuSeconds());
      slot.child->send(*frame);
    }
    if (waiting.empty() && std::none_of(slots.begin(), slots.end(), busy))
      return;
    if (!broken_ && std::none_of(slots.begin(), slots.end(), [](const Slot &slot) { return slot.child != nullptr; }))
      return giveUp(Fate::Broken, broken_);

    std::vector<pollfd> polls(2 * slots.size(), pollfd{-1, 0, 0});
    for (size_t i = 0; i < slots.size(); ++i)
      if (slots[i].child)
        slots[i].child->wanted(&polls[2 * i]);
    const int ready = poll(polls.data(), polls.size(), kPollMilliseconds);
    look(slots);
    if (ready < 0)
      continue; // a signal: perhaps to stop
    for (size_t i = 0; i < slots.size(); ++i) {
      Slot &slot = slots[i];
      if (!slot.child)
        continue;
      slot.child->pump(&polls[2 * i]);
      hear(slot, round);
      if (slot.child && slot.child->gone())
        lose(slot, round);
      else if (slot.child && (busy(slot) || !slot.ready))
        if (const std::string how = late(slot, service); !how.empty())
          lose(slot, round, how);
    }
  }
}

/// What the child has answered, if it has.
void Workers::hear(Slot &slot, Round &round) {
  Result<std::optional<Frame>> frame = slot.child->receive();
  if (frame && !*frame)
    return;
  Result<Reply> reply = frame ? Reply::parse(**frame) : frame.status();
  if (!reply || (slot.ready && slot.job == kNone))
    return lose(slot, round);
  if (!slot.ready) {
    slot.ready = true;
    slot.failedStarts = 0;
    return;
  }
  if (round.service != Service::Compile || !reply->compiled.fromCache)
    if (reply->fate == Fate::Done)
      seconds_[size_t(round.service)].push_back(slot.watch.spent());
  // After a fault, which verify() takes for a wrong answer, the device may be lost to its process.
  const bool refused = reply->fate == Fate::Refused && reply->status.code() == Code::DriverError;
  if (refused || (reply->found.verification && !reply->found.verification->right))
    slot.child.reset();
  round.ended(std::exchange(slot.job, kNone), *std::move(reply));
}

/// The child is of no more use: it ended, said what is no answer, or took too long, in the way that `late` says.
void Workers::lose(Slot &slot, Round &round, const std::string &late) {
  const End end = slot.child->kill();
  slot.child.reset();
  if (!slot.ready) {
    if (++slot.failedStarts >= kMostStarts)
      broken_ =
          Status(Code::Internal, fmt::format("the worker `{}` {} before it could be asked anything, {} times in a row",
                                             options_.command[0], late.empty() ? end.text : "was killed after " + late,
                                             slot.failedStarts));
    return;
  }
  if (slot.job == kNone)
    return;
  const size_t job = std::exchange(slot.job, kNone);
  const std::string_view what = workNames[size_t(round.service)];
  if (!late.empty())
    round.ended(job, outcome(Fate::TimedOut, {Code::Internal, fmt::format("the {} was killed after {}", what, late)}));
  else if (round.stopped()) // by what ended the worker too
    round.ended(job, outcome(Fate::Cancelled, {}));
  else if (end.fromOutside && round.killed.insert(job).second)
    round.waiting.insert(round.waiting.begin(), job);
  else
    round.ended(job, outcome(end.fromOutside ? Fate::Killed : Fate::Crashed,
                             {Code::Internal, fmt::format("the {} {}", what, end.text),
                              end.fromOutside ? "it was so twice: if memory ran out, try fewer jobs" : ""}));
}

} // namespace

Result<std::unique_ptr<Workshop>> makeWorkers(const WorkerOptions &options) {
  if (options.command.empty())
    return Status(Code::InvalidArgument, "workers have no command to run");
  if (!(options.slowestSeconds > 0 && options.slowestRunSeconds > 0 && options.patience >= 1 &&
        options.leastSeconds >= 0))
    return Status(Code::InvalidArgument,
                  fmt::format("the time limits of workers must be positive and their patience at least 1, got {} s, {} "
                              "s, {} s, {}",
                              options.slowestSeconds, options.slowestRunSeconds, options.leastSeconds,
                              options.patience));
  return std::unique_ptr<Workshop>(std::make_unique<Workers>(options));
}

} // namespace tessera::tune
