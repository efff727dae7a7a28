#include "expressions/workers/manager.h"

#include <algorithm>
#include <cerrno>
#include <utility>

#include <fmt/format.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "expressions/workers/jq_program.h"

namespace millrace {
namespace {

using namespace std::chrono_literals;

constexpr int kMaxTries = 2;
constexpr auto kStartTimeout = 10s;
constexpr std::chrono::steady_clock::duration kFirstPause = 50ms;
constexpr std::chrono::steady_clock::duration kLongestPause = 5s;
constexpr Duration kLongestTimeout = 24h;
constexpr int kUnavailableAfter = 3;  // failed starts in a row

std::string describe(int status) {
  if (status == -1) return "the jq worker ended";
  if (WIFSIGNALED(status)) return fmt::format("the jq worker died of signal {}", WTERMSIG(status));
  return fmt::format("the jq worker ended with exit code {}", WEXITSTATUS(status));
}

}  // namespace

JqPool::Manager::Manager(Settings settings, int wake_fd)
    : settings_(std::move(settings)),
      wake_fd_(wake_fd),
      slots_(std::max<size_t>(settings_.workers, 1)),
      thread_([this] { run(); }) {}

JqPool::Manager::~Manager() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  eventfd_write(wake_fd_, 1);
  thread_.join();
  close(wake_fd_);
}

void JqPool::Manager::submit(Job job) {
  {
    const std::lock_guard lock(mutex_);
    submitted_.push_back(std::move(job));
    ++stats_.waiting;
  }
  eventfd_write(wake_fd_, 1);
}

JqPool::Stats JqPool::Manager::stats() const {
  const std::lock_guard lock(mutex_);
  return stats_;
}

void JqPool::Manager::run() {
  for (;;) {
    {
      const std::lock_guard lock(mutex_);
      if (stopping_) break;
    }
    take_submitted();
    start_workers();
    assign();
    publish_stats();
    wait();
    kill_overdue();
  }
  slots_.clear();  // on this thread, which the workers are tied to
}

void JqPool::Manager::take_submitted() {
  const std::lock_guard lock(mutex_);
  std::move(submitted_.begin(), submitted_.end(), std::back_inserter(queue_));
  submitted_.clear();
}

void JqPool::Manager::start_workers() {
  const Clock::time_point now = Clock::now();
  for (Slot& slot : slots_) {
    if (slot.process || slot.start_at > now) continue;
    Result<WorkerProcess> process = WorkerProcess::start(settings_.command);
    if (!process) {
      start_failed(slot, process.error().message);
      continue;
    }
    ++own_stats_.started;
    slot.process.emplace(*std::move(process));
    slot.ready = false;
    slot.reader = {};
    slot.deadline = now + kStartTimeout;
  }
  if (failed_starts_ < kUnavailableAfter) return;
  publish_stats();
  std::deque<Job> waiting;
  for (Job& job : std::exchange(queue_, {})) {
    if (job.waits_for_workers) {
      waiting.push_back(std::move(job));
    } else {
      job.done(Job::End::kUnavailable, {}, own_stats_.last_problem);
    }
  }
  queue_ = std::move(waiting);
}

void JqPool::Manager::assign() {
  for (Slot& slot : slots_) {
    if (queue_.empty()) return;
    if (!slot.ready || slot.job) continue;
    slot.job = std::move(queue_.front());
    queue_.pop_front();
    ++slot.job->tries;
    slot.sent = 0;
    slot.replies.clear();
    slot.deadline = Clock::now() + std::min(slot.job->timeout, kLongestTimeout);
    send(slot);
  }
}

void JqPool::Manager::wait() {
  std::vector<pollfd> fds{{wake_fd_, POLLIN, 0}};
  std::vector<Slot*> polled;
  Clock::time_point next = Clock::time_point::max();
  for (Slot& slot : slots_) {
    if (!slot.process) {
      next = std::min(next, slot.start_at);
      continue;
    }
    if (slot.job || !slot.ready) next = std::min(next, slot.deadline);
    const bool sending = slot.job && slot.sent < slot.job->request.size();
    fds.push_back({slot.process->fd(), static_cast<short>(POLLIN | (sending ? POLLOUT : 0)), 0});
    polled.push_back(&slot);
  }
  int timeout = -1;
  if (next != Clock::time_point::max()) {
    // Rounded up: waking before the deadline would only mean waiting again.
    const auto left = std::chrono::ceil<Duration>(next - Clock::now());
    timeout = static_cast<int>(std::clamp<int64_t>(left.count(), 0, 60'000));
  }
  if (poll(fds.data(), fds.size(), timeout) <= 0) return;
  if (fds[0].revents != 0) {
    eventfd_t count = 0;
    eventfd_read(wake_fd_, &count);
  }
  for (size_t i = 0; i < polled.size(); ++i) {
    const short events = fds[i + 1].revents;
    if ((events & POLLOUT) != 0) send(*polled[i]);
    if ((events & (POLLIN | POLLHUP | POLLERR)) != 0) receive(*polled[i]);
  }
}

void JqPool::Manager::kill_overdue() {
  const Clock::time_point now = Clock::now();
  for (Slot& slot : slots_) {
    if (!slot.process || slot.deadline > now) continue;
    if (slot.job) {
      ++own_stats_.timed_out;
      slot.process.reset();
      slot.start_at = now;
      slot.ready = false;
      finish(slot, Job::End::kTimedOut, "");
    } else if (!slot.ready) {
      start_failed(slot, "the jq worker did not get ready");
    }
  }
}

void JqPool::Manager::send(Slot& slot) {
  const std::string& request = slot.job->request;
  while (slot.sent < request.size()) {
    const ssize_t sent = ::send(slot.process->fd(), request.data() + slot.sent,
                                request.size() - slot.sent, MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0) return;  // full, or the worker is gone: poll tells when and which
    slot.sent += static_cast<size_t>(sent);
  }
}

void JqPool::Manager::receive(Slot& slot) {
  char buffer[1 << 16];
  for (;;) {
    const ssize_t received = ::recv(slot.process->fd(), buffer, sizeof buffer, 0);
    if (received < 0 && errno == EINTR) continue;
    if (received < 0 && errno == EAGAIN) return;
    if (received <= 0) return worker_ended(slot);
    slot.reader.append({buffer, static_cast<size_t>(received)});
    while (const auto body = slot.reader.next()) {
      std::optional<wire::Reply> reply = wire::decode_reply(*body);
      const bool expected =
          reply && slot.ready == (reply->kind != wire::Reply::Kind::kReady) &&
          (!slot.ready || (slot.job && slot.replies.size() < slot.job->max_replies));
      if (!expected) return worker_ended(slot);
      take_reply(slot, *std::move(reply));
    }
    if (slot.reader.broken()) return worker_ended(slot);
    if (static_cast<size_t>(received) < sizeof buffer) return;
  }
}

void JqPool::Manager::take_reply(Slot& slot, wire::Reply reply) {
  if (!slot.ready) {
    slot.ready = true;
    slot.pause = {};
    failed_starts_ = 0;
    return;
  }
  const bool last = reply.last;
  slot.replies.push_back(std::move(reply));
  if (last) finish(slot, Job::End::kAnswered, "");
}

void JqPool::Manager::worker_ended(Slot& slot) {
  const int status = slot.process->end();
  if (!slot.job) return start_failed(slot, describe(status));
  slot.process.reset();
  slot.ready = false;
  slot.start_at = Clock::now();
  ++own_stats_.crashed;
  own_stats_.last_problem = describe(status);
  if (slot.job->tries < kMaxTries) {
    queue_.push_front(*std::exchange(slot.job, std::nullopt));
    return;
  }
  const bool out_of_memory = WIFEXITED(status) && WEXITSTATUS(status) == kOutOfMemoryExit;
  finish(slot, out_of_memory ? Job::End::kOutOfMemory : Job::End::kCrashed,
         own_stats_.last_problem);
}

void JqPool::Manager::start_failed(Slot& slot, std::string problem) {
  slot.process.reset();
  slot.ready = false;
  slot.pause = std::clamp(slot.pause * 2, kFirstPause, kLongestPause);
  slot.start_at = Clock::now() + slot.pause;
  ++failed_starts_;
  ++own_stats_.start_failures;
  own_stats_.last_problem = std::move(problem);
}

void JqPool::Manager::finish(Slot& slot, Job::End end, const std::string& problem) {
  const Job job = *std::exchange(slot.job, std::nullopt);
  publish_stats();
  job.done(end, std::exchange(slot.replies, {}), problem);
}

void JqPool::Manager::publish_stats() {
  own_stats_.running = 0;
  own_stats_.ready_workers = 0;
  for (const Slot& slot : slots_) {
    if (slot.job) ++own_stats_.running;
    if (slot.ready) ++own_stats_.ready_workers;
  }
  const std::lock_guard lock(mutex_);
  own_stats_.waiting = queue_.size() + submitted_.size();
  stats_ = own_stats_;
}

}  // namespace millrace
