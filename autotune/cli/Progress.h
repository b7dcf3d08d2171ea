// Progress: one line on stderr for what is being done, at once on a terminal, and only if it takes long elsewhere.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

namespace tessera::cli {

/// Not thread-safe for the caller; prints from its own thread too.
class Progress {
public:
  /// What a step is at this moment: a time that is left goes on falling while nothing happens. Called on another
  /// thread, one call at a time, until the step has ended.
  using Text = std::function<std::string()>;

  explicit Progress(bool quiet);
  ~Progress();

  /// Ends the last step and begins this one.
  void step(std::string what);
  void step(Text what);
  /// How often a step that counts is worth renewing: often on a terminal, rarely in a log.
  std::chrono::milliseconds interval() const { return std::chrono::milliseconds(terminal ? 100 : 5000); }
  /// Ends the last step and clears its line.
  void done();

private:
  void run();
  void draw() const;
  const bool quiet;
  const bool terminal;
  std::mutex mutex;
  std::condition_variable changed;
  Text current; ///< none: no step
  unsigned generation = 0;
  bool stopping = false;
  std::thread printer; ///< started by the first step
};

} // namespace tessera::cli
