// The worker's side: requests one after the other, with the compiler and the device opened when first needed.
#include "autotune/measure/Rig.h"
#include "autotune/search/Messages.h"
#include "runtime/engine/ImageSource.h"

#include <cerrno>
#include <csignal>
#include <fcntl.h>
#include <unistd.h>

namespace tessera::tune {
namespace {

Reply refused(Status status, Fate fate = Fate::Refused) {
  Reply reply;
  reply.fate = fate;
  reply.status = std::move(status);
  return reply;
}

class Server {
public:
  Reply answer(const Request &request) {
    if (request.service == Service::Begin) {
      options_ = request.options;
      Reply ready;
      ready.fate = Fate::Done;
      return ready;
    }
    return request.service == Service::Compile ? compile(request.candidate) : judge(request);
  }

private:
  Reply compile(const Candidate &candidate) {
    if (!source_) {
      if (const auto compiler = CompilerLibrary::open(options_.compilerLibrary); !compiler)
        return refused(compiler.status(), Fate::Broken);
      source_ = std::make_unique<ImageSource>(DiskCache::open(options_.cache), options_.compilerLibrary);
    }
    const Result<Target> target = Target::parse(candidate.target);
    if (!target)
      return refused(target.status());
    Result<FoundImage> found = source_->get(candidate.task.spec, candidate.schedule, *target, Policy::Jit);
    if (!found)
      return refused(found.status());
    Reply reply;
    reply.fate = Fate::Done;
    reply.compiled = {std::move(found->image), found->milliseconds, !found->compiled};
    return reply;
  }

  Reply judge(const Request &request) {
    if (!rig_) {
      const Result<Device> device = Device::open(options_.device);
      if (!device)
        return refused(device.status(), Fate::Broken);
      Result<std::unique_ptr<Rig>> rig = Rig::open(*device);
      if (!rig)
        return refused(rig.status(), Fate::Broken);
      rig_ = *std::move(rig);
    }
    const KernelImage &image = request.image;
    const Task &task = request.candidate.task;
    Reply reply;
    reply.found.task = task;
    reply.found.schedule = image.schedule;
    reply.found.target = image.target;
    const auto keep = [&reply](auto result, auto &to) {
      reply.status = result.status();
      if (result)
        to = *std::move(result);
    };
    if (request.service == Service::Predict)
      keep(rig_->predictCompiled(image, task), reply.found.after);
    else if (request.service == Service::Measure)
      keep(rig_->measure(image, task, request.effort), reply.found.measurement);
    else
      keep(rig_->verify(image, task), reply.found.verification);
    reply.fate = reply.status ? Fate::Done : Fate::Refused;
    return reply;
  }

  WorkerOptions options_;
  std::unique_ptr<ImageSource> source_;
  std::unique_ptr<Rig> rig_;
};

/// False at the end of the input, and once the output is closed.
bool readMore(int in, FrameReader &reader) {
  char buffer[65536];
  ssize_t bytes;
  do
    bytes = read(in, buffer, sizeof buffer);
  while (bytes < 0 && errno == EINTR);
  if (bytes > 0)
    reader.feed({buffer, size_t(bytes)});
  return bytes > 0;
}

bool writeAll(int out, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = write(out, bytes.data(), bytes.size());
    if (written < 0 && errno != EINTR)
      return false;
    bytes.remove_prefix(written > 0 ? size_t(written) : 0);
  }
  return true;
}

} // namespace

int serve(int in, int out) {
  std::signal(SIGPIPE, SIG_IGN);
  in = fcntl(in, F_DUPFD_CLOEXEC, 3);
  const bool standard = out == STDOUT_FILENO;
  out = fcntl(out, F_DUPFD_CLOEXEC, 3);
  if (in < 0 || out < 0)
    return 1;
  if (standard)
    dup2(STDERR_FILENO, STDOUT_FILENO);
  Server server;
  FrameReader reader;
  for (;;) {
    Result<std::optional<Frame>> frame = reader.next();
    if (!frame)
      return 1;
    if (!*frame) {
      if (!readMore(in, reader))
        return reader.empty() ? 0 : 1;
      continue;
    }
    const Result<Request> request = Request::parse(**frame);
    Reply reply = request ? server.answer(*request) : refused(request.status());
    Result<Frame> answer = reply.frame();
    if (!answer)
      answer = refused(answer.status()).frame();
    if (!writeAll(out, encode(*answer)))
      return 1;
  }
}

} // namespace tessera::tune
