// The life of the jq workers: how they are started, how their ends are handled, and what happens to
// the jobs that they were working on.
#include <algorithm>
#include <cstring>
#include <utility>

#include <fmt/format.h>
#include <sys/wait.h>

#include "expressions/workers/jq_program.h"
#include "expressions/workers/scheduler.h"
#include "expressions/workers/worker.h"

namespace millrace {
namespace {

using namespace std::chrono_literals;

/// How many jq workers may die on a job before the job fails.
constexpr int kMaxDeaths = 2;

constexpr std::chrono::steady_clock::duration kFirstPause = 50ms;
constexpr std::chrono::steady_clock::duration kLongestPause = 5s;

std::string describe(int status) {
  if (WIFSIGNALED(status)) return fmt::format("the jq worker died of signal {}", WTERMSIG(status));
  if (WEXITSTATUS(status) == kNotConfinedExit) return "the jq worker cannot be confined (seccomp)";
  return fmt::format("the jq worker ended with exit code {}", WEXITSTATUS(status));
}

/// Whether the jq worker was killed from outside the pool. A jq program cannot cause SIGKILL in its
/// jq worker, and notices about jq workers that the pool killed are ignored.
bool was_killed(int status) { return WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL; }

}  // namespace

void JqPool::Scheduler::start_workers() {
  const Clock::time_point now = Clock::now();
  if (next_start_ > now) return;
  if (!launcher_) {
    Result<JqLauncher> launcher = JqLauncher::start(program_);
    if (!launcher) return start_failed(launcher.error().message);
    launcher_.emplace(*std::move(launcher));
  }
  for (Slot& slot : slots_) {
    if (slot.worker != 0 || (slot.slow && slot.jobs.empty())) continue;
    slot.worker = ++last_worker_;
    slot.deadline = now + settings_.start_timeout;
    ++own_stats_.started;
    if (const Status asked = launcher_->start_worker(slot.worker, slot.slow); !asked) {
      return launcher_ended(asked.error().message);
    }
  }
}

/// Counts a failed start. The next start follows after a pause, which grows with each failed start
/// in a row.
void JqPool::Scheduler::start_failed(std::string problem) {
  ++failed_starts_;
  ++own_stats_.start_failures;
  own_stats_.last_problem = std::move(problem);
  const auto pause = kFirstPause * (1 << std::min(failed_starts_ - 1, 10));
  next_start_ = Clock::now() + std::min(pause, kLongestPause);
}

void JqPool::Scheduler::give_up_checks() {
  publish_stats();
  for (Slot& slot : slots_) {
    if (!slot.jobs.empty() && slot.jobs.front().kind == Job::Kind::kCheck && slot.worker == 0) {
      finish(slot, Job::End::kUnavailable, own_stats_.last_problem);
    }
  }
  const auto is_check = [](const Job& job) { return job.kind == Job::Kind::kCheck; };
  for (const Job& check : queue_.take_if(is_check)) {
    check.done(Job::End::kUnavailable, {}, own_stats_.last_problem);
  }
}

void JqPool::Scheduler::take_notices() {
  while (launcher_) {
    Result<std::optional<JqLauncher::Notice>> notice = launcher_->next();
    if (!notice) return launcher_ended(notice.error().message);
    if (!*notice) return;
    take_notice(**std::move(notice));
  }
}

void JqPool::Scheduler::take_notice(JqLauncher::Notice notice) {
  const auto slot = std::find_if(slots_.begin(), slots_.end(),
                                 [&](const Slot& one) { return one.worker == notice.worker; });
  if (slot == slots_.end()) return;  // the pool killed this jq worker
  switch (notice.kind) {
    case JqLauncher::Notice::Kind::kStarted:
      slot->socket = std::move(notice.socket);
      clock_getcpuclockid(notice.number, &slot->cpu);
      return;
    case JqLauncher::Notice::Kind::kNotStarted:
      forget_worker(*slot);
      return start_failed(
          fmt::format("cannot start a jq worker: {}", std::strerror(notice.number)));
    case JqLauncher::Notice::Kind::kEnded:
      receive(*slot);  // replies that the jq worker sent before it ended
      if (slot->worker == notice.worker) worker_ended(*slot, notice.number);
      return;
  }
}

/// Handles the end of the launcher. The jq workers end with their launcher; their end does not
/// count as a failure of their jobs.
void JqPool::Scheduler::launcher_ended(std::string problem) {
  launcher_.reset();
  for (Slot& slot : slots_) forget_worker(slot);
  start_failed(std::move(problem));
}

void JqPool::Scheduler::worker_ended(Slot& slot, int status) {
  const bool at_work = slot.stage != Stage::kNone;
  forget_worker(slot);
  if (!at_work) return start_failed(describe(status));
  if (was_killed(status)) return;  // not caused by the job, which is started again
  const bool out_of_memory = WIFEXITED(status) && WEXITSTATUS(status) == kOutOfMemoryExit;
  died_of_its_job(slot, out_of_memory ? Job::End::kOutOfMemory : Job::End::kCrashed,
                  describe(status));
}

void JqPool::Scheduler::protocol_error(Slot& slot) {
  const bool at_work = slot.stage != Stage::kNone;
  end_worker(slot);
  const char* const problem = "the jq worker sent a malformed reply";
  if (!at_work) return start_failed(problem);
  died_of_its_job(slot, Job::End::kCrashed, problem);
}

void JqPool::Scheduler::died_of_its_job(Slot& slot, Job::End end, std::string problem) {
  ++own_stats_.crashed;
  own_stats_.last_problem = std::move(problem);
  if (slot.jobs.size() > 1) return ask_each_alone(slot);
  if (++slot.jobs.front().deaths == kMaxDeaths) finish(slot, end, own_stats_.last_problem);
}

/// Sends each job of the slot alone: one of these jobs ended the jq worker, and if it does so
/// again, the scheduler knows which job it was.
void JqPool::Scheduler::ask_each_alone(Slot& slot) {
  has_stopped_ = true;  // end_stopped() has ignored those of the slot
  for (; !slot.jobs.empty(); slot.jobs.pop_back()) {
    quick_.erase(slot.jobs.back().lane);
    slot.jobs.back().counted.move_to(EvaluationLoads::Place::kFastWaiting);
    queue_.push_front(std::move(slot.jobs.back()));
  }
}

void JqPool::Scheduler::forget_worker(Slot& slot) {
  slot.worker = 0;
  slot.socket.reset();
  slot.ready = false;
  slot.reader = {};
  slot.outgoing = {};
  slot.sent = 0;
  slot.stage = Stage::kNone;
}

void JqPool::Scheduler::end_worker(Slot& slot) {
  const uint32_t worker = slot.worker;
  forget_worker(slot);
  if (!launcher_) return;
  if (const Status asked = launcher_->kill_worker(worker); !asked) {
    launcher_ended(asked.error().message);
  }
}

}  // namespace millrace
