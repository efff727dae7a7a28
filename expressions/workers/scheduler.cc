#include "expressions/workers/scheduler.h"

#include <algorithm>
#include <cerrno>
#include <utility>

#include <poll.h>
#include <sys/socket.h>

#include "os/thread.h"

namespace millrace {
namespace {

using namespace std::chrono_literals;

/// How many timeouts on slow jq workers fail a job: after the first timeout the job is started once
/// more, on a new jq worker.
constexpr int kMaxTimeouts = 2;

/// A job is sent to a jq worker together with others only if the last kQuickInARow evaluations of
/// its lane were quick.
constexpr int kQuickInARow = 4;
constexpr size_t kMostTogether = 16;
constexpr size_t kMostSharedBytes = size_t{16} << 10;  // a larger request is sent alone
constexpr size_t kMostKeptBytes = size_t{1} << 20;     // larger send buffers are freed after use

/// A job with more bytes is large: to read, copy and write them takes tens of milliseconds.
constexpr size_t kMostOfASmallJob = size_t{256} << 10;

/// A namespace may use another slow slot while this many times the slots that it uses are fewer
/// than the free ones. So it uses at most about a quarter of all slots, and the next namespace at
/// most a quarter of the rest. The share is low because all slow jq workers share the processors:
/// with two processors and 16 slots, a namespace whose evaluations never end makes an evaluation of
/// another one 2.5 times as long; with a share of a half, 4.5 times.
constexpr size_t kFreeForEach = 3;

constexpr int kUnavailableAfter = 3;  // after so many failed starts in a row, checks fail

constexpr Duration kLongestTimeout = 24h;

/// The processor time that a process has used. For a process that has ended that time is unknown;
/// then the longest possible time is returned.
std::chrono::steady_clock::duration computed_by(clockid_t cpu) {
  timespec time{};
  if (clock_gettime(cpu, &time) != 0) return std::chrono::steady_clock::duration::max();
  return std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec);
}

}  // namespace

JqPool::Scheduler::Scheduler(JqLauncher launcher, Settings settings,
                             std::unique_ptr<PolledMailbox<Job>> submitted)
    : program_(launcher.program()),
      settings_(settings),
      submitted_(std::move(submitted)),
      launcher_(std::move(launcher)),
      slots_(settings.workers + settings.slow_workers) {
  for (size_t i = settings.workers; i < slots_.size(); ++i) slots_[i].slow = true;
  thread_ = std::thread([this] { run(); });
}

JqPool::Scheduler::~Scheduler() {
  submitted_->close();
  thread_.join();
}

void JqPool::Scheduler::submit(Job job) {
  if (job.kind == Job::Kind::kEvaluation) job.counted = {loads_, job.space};
  if (job.evaluation.stop.stop_possible()) {
    job.on_stop = std::make_unique<Job::OnStop>(
        job.evaluation.stop, [has_stopped = &has_stopped_, submitted = submitted_.get()] {
          *has_stopped = true;
          submitted->wake();
        });
  }
  submitted_->put(std::move(job));
}

JqPool::Stats JqPool::Scheduler::stats() const {
  const std::lock_guard lock(mutex_);
  Stats stats = stats_;
  stats.waiting += submitted_->size();
  stats.spaces = loads_.now();
  return stats;
}

void JqPool::Scheduler::run() {
  name_thread("jq-pool");
  while (take_submitted()) {
    if (has_stopped_.exchange(false)) end_stopped();
    fill_slots();
    start_workers();
    if (failed_starts_ >= kUnavailableAfter) give_up_checks();
    publish_stats();
    wait();
    end_overdue();
  }
  launcher_.reset();
}

// How jobs are assigned to slots.

/// Queues the submitted jobs. False if the pool is ending.
bool JqPool::Scheduler::take_submitted() {
  std::optional<std::vector<Job>> jobs;
  {
    const std::lock_guard lock(mutex_);  // so that stats() counts each job once
    jobs = submitted_->take();
    if (!jobs) return false;
    stats_.waiting += jobs->size();
  }
  for (Job& job : *jobs) {
    job.number = ++last_job_;
    if (job.is_stopped()) has_stopped_ = true;
    if (job.kind == Job::Kind::kEvaluation && is_slow(job.lane)) {
      enqueue_slow(std::move(job));
    } else {
      enqueue_fast(std::move(job));
    }
  }
  return true;
}

void JqPool::Scheduler::enqueue_fast(Job job) {
  if (job.bytes > kMostOfASmallJob) {
    large_.push_back(std::move(job));
    return;
  }
  const uint64_t space = job.space;
  const uint64_t lane = job.lane;
  queue_.push(space, lane, std::move(job));
}

bool JqPool::Scheduler::is_slow(uint64_t lane) {
  const auto known = lanes_.find(lane);
  if (known == lanes_.end()) return false;
  const Lane& its = known->second;
  if (its.running || !its.queue.empty() || its.probation_end > Clock::now()) return true;
  lanes_.erase(known);
  return false;
}

void JqPool::Scheduler::enqueue_slow(Job job) {
  job.counted.move_to(EvaluationLoads::Place::kSlowWaiting);
  Lane& lane = lanes_[job.lane];
  lane.space = job.space;
  if (!lane.running && lane.queue.empty()) turns_.push(lane.space, job.lane, job.lane);
  const auto place =
      std::upper_bound(lane.queue.begin(), lane.queue.end(), job.number,
                       [](uint64_t number, const Job& other) { return number < other.number; });
  lane.queue.insert(place, std::move(job));
}

void JqPool::Scheduler::fill_slots() {
  const auto is_free = [](const Slot& slot) {
    return !slot.slow && slot.ready && slot.jobs.empty();
  };
  auto free = static_cast<size_t>(std::count_if(slots_.begin(), slots_.end(), is_free));
  for (Slot& slot : slots_) {
    if (!has_jobs()) break;
    if (!is_free(slot)) continue;
    const size_t share = std::min(kMostTogether, (queue_.size() + free - 1) / free);
    --free;
    slot.jobs.push_back(next_job());
    while (!queue_.empty() && slot.jobs.size() < share && may_share(slot.jobs.back()) &&
           may_share(queue_.front())) {
      slot.jobs.push_back(queue_.pop());
    }
    begin(slot);
  }
  while (!turns_.empty()) {
    Slot* const slot = slot_for_slow_work();
    if (slot == nullptr) return;
    const std::optional<uint64_t> next =
        turns_.pop_of([this](uint64_t space) { return may_use_slow_worker(space); });
    if (!next) return;
    Lane& lane = lanes_[*next];
    slot->jobs.push_back(std::move(lane.queue.front()));
    slot->jobs.back().counted.move_to(EvaluationLoads::Place::kSlowRunning);
    lane.queue.pop_front();
    lane.running = true;
    if (slot->ready) begin(*slot);
  }
}

/// Whether a fast slot may get a large job.
bool JqPool::Scheduler::takes_large() const {
  return !large_.empty() && std::none_of(slots_.begin(), slots_.end(), [](const Slot& slot) {
    return !slot.slow && !slot.jobs.empty() && slot.jobs.front().bytes > kMostOfASmallJob;
  });
}

/// Takes the job that a fast slot gets next: the small one whose turn it is, unless the oldest
/// large one is older. Of the large jobs, one of another lane than the last time, if there is one.
/// Precondition: has_jobs().
Job JqPool::Scheduler::next_job() {
  const bool is_small =
      !takes_large() || (!queue_.empty() && queue_.front().number < large_.front().number);
  if (is_small) return queue_.pop();
  auto next = std::find_if(large_.begin(), large_.end(),
                           [this](const Job& job) { return job.lane != large_lane_; });
  if (next == large_.end()) next = large_.begin();
  large_lane_ = next->lane;
  Job job = std::move(*next);
  large_.erase(next);
  return job;
}

bool JqPool::Scheduler::may_share(const Job& job) const {
  if (job.kind == Job::Kind::kCheck || job.bytes > kMostSharedBytes) return false;
  const auto known = quick_.find(job.lane);
  return known != quick_.end() && known->second >= kQuickInARow;
}

/// Whether the namespace may use another slow slot (kFreeForEach). A namespace that uses none may
/// use one if any is free.
bool JqPool::Scheduler::may_use_slow_worker(uint64_t space) const {
  size_t free = 0;
  size_t used = 0;
  for (const Slot& slot : slots_) {
    if (!slot.slow) continue;
    if (slot.jobs.empty()) {
      ++free;
    } else if (slot.jobs.front().space == space) {
      ++used;
    }
  }
  return kFreeForEach * used < free;
}

/// A free slow slot, if possible one whose jq worker has started; null if none is free.
JqPool::Scheduler::Slot* JqPool::Scheduler::slot_for_slow_work() {
  Slot* free = nullptr;
  for (Slot& slot : slots_) {
    if (!slot.slow || !slot.jobs.empty()) continue;
    if (slot.ready) return &slot;
    free = &slot;
  }
  return free;
}

// Requests to jq workers and their replies.

void JqPool::Scheduler::begin(Slot& slot) {
  slot.outgoing.clear();
  slot.sent = 0;
  for (Job& job : slot.jobs) {
    using enum EvaluationLoads::Place;
    job.counted.move_to(slot.slow ? kSlowRunning : kFastRunning);
    append_request(job, slot.outgoing);
  }
  slot.stage = Stage::kStarted;
  allow(slot, time_to_run(slot));
  send(slot);
}

/// Appends the message of the job. An evaluation begins after the replies that have arrived.
void JqPool::Scheduler::append_request(const Job& job, std::string& outgoing) {
  if (job.kind == Job::Kind::kCheck) {
    outgoing += job.check;
    return;
  }
  std::string request = wire::encode(job.evaluation);
  wire::begin_at(request, static_cast<uint32_t>(job.replies.size()));
  if (outgoing.empty()) {
    outgoing = std::move(request);
  } else {
    outgoing += request;
  }
}

JqPool::Scheduler::Clock::duration JqPool::Scheduler::time_to_run(const Slot& slot) const {
  const Job& job = slot.jobs.front();
  if (job.kind == Job::Kind::kCheck) return settings_.compiling;
  return slot.slow ? job.timeout : settings_.slice;
}

/// Sets the computing time that the slot's jq worker may use from now on.
void JqPool::Scheduler::allow(Slot& slot, Clock::duration allowance) {
  slot.allowance = std::min<Clock::duration>(allowance, kLongestTimeout);
  slot.computed = computed_by(slot.cpu);
  slot.deadline = Clock::now() + slot.allowance;
  slot.latest = Clock::now() + settings_.most_waiting * slot.allowance;
}

void JqPool::Scheduler::wait() {
  std::vector<pollfd> fds{{submitted_->fd(), POLLIN, 0},
                          {launcher_ ? launcher_->fd() : -1, POLLIN, 0}};
  std::vector<Slot*> polled;
  Clock::time_point next = Clock::time_point::max();
  for (Slot& slot : slots_) {
    if (slot.worker == 0) {
      if (!slot.slow || !slot.jobs.empty()) next = std::min(next, next_start_);
      continue;
    }
    if (is_timed(slot)) next = std::min(next, slot.deadline);
    if (slot.slow && slot.ready && slot.jobs.empty())
      next = std::min(next, slot.idle_since + settings_.idle);
    if (!slot.socket) continue;
    const bool sending = slot.sent < slot.outgoing.size();
    fds.push_back({slot.socket.fd(), static_cast<short>(POLLIN | (sending ? POLLOUT : 0)), 0});
    polled.push_back(&slot);
  }
  int timeout = -1;
  if (next != Clock::time_point::max()) {
    // The wait is rounded up: after waking before the deadline, the thread would only wait again.
    const auto left = std::chrono::ceil<Duration>(next - Clock::now());
    timeout = static_cast<int>(std::clamp<int64_t>(left.count(), 0, 60'000));
  }
  if (poll(fds.data(), fds.size(), timeout) <= 0) return;
  for (size_t i = 0; i < polled.size(); ++i) {
    const pollfd& happened = fds[i + 2];
    if (polled[i]->socket.fd() != happened.fd) continue;  // the jq worker was ended in the meantime
    if ((happened.revents & POLLOUT) != 0) send(*polled[i]);
    if ((happened.revents & (POLLIN | POLLHUP | POLLERR)) != 0) receive(*polled[i]);
  }
  if (fds[1].revents != 0) take_notices();
}

void JqPool::Scheduler::send(Slot& slot) {
  while (slot.sent < slot.outgoing.size()) {
    const ssize_t sent = ::send(slot.socket.fd(), slot.outgoing.data() + slot.sent,
                                slot.outgoing.size() - slot.sent, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0) return;  // the socket is full, or the jq worker has ended: poll() reports which
    slot.sent += static_cast<size_t>(sent);
  }
  if (slot.outgoing.capacity() > kMostKeptBytes) slot.outgoing = {};
}

void JqPool::Scheduler::receive(Slot& slot) {
  char buffer[1 << 16];
  while (slot.socket) {
    const ssize_t received = ::recv(slot.socket.fd(), buffer, sizeof buffer, MSG_DONTWAIT);
    if (received < 0 && errno == EINTR) continue;
    if (received < 0 && errno == EAGAIN) return;
    if (received <= 0) {
      // The launcher's notice says how the jq worker ended. The kill makes sure that a jq worker
      // which closed its socket does end.
      slot.socket.reset();
      if (const Status asked = launcher_->kill_worker(slot.worker); !asked) {
        launcher_ended(asked.error().message);
      }
      return;
    }
    slot.reader.append({buffer, static_cast<size_t>(received)});
    const size_t jobs_before = slot.jobs.size();
    while (const auto body = slot.reader.next()) {
      std::optional<wire::Reply> reply = wire::decode_reply(*body);
      if (!reply || !take_reply(slot, *std::move(reply))) return protocol_error(slot);
    }
    if (slot.reader.broken()) return protocol_error(slot);
    if (slot.jobs.size() < jobs_before && slot.stage != Stage::kNone) {
      allow(slot, time_to_run(slot));
    }
    if (static_cast<size_t>(received) < sizeof buffer) return;
  }
}

/// Applies a reply of a jq worker. False if the reply is not valid at this stage.
bool JqPool::Scheduler::take_reply(Slot& slot, wire::Reply reply) {
  switch (reply.kind) {
    case wire::Reply::Kind::kReady:
      if (slot.ready) return false;
      slot.ready = true;
      slot.idle_since = Clock::now();
      failed_starts_ = 0;
      if (!slot.jobs.empty()) begin(slot);
      return true;
    case wire::Reply::Kind::kCompiling:
      if (slot.stage != Stage::kStarted) return false;
      slot.stage = Stage::kCompiling;
      allow(slot, slot.slow ? time_to_run(slot) : settings_.compiling);
      return true;
    case wire::Reply::Kind::kCompiled:
      if (slot.stage != Stage::kCompiling) return false;
      slot.stage = Stage::kRunning;
      allow(slot, time_to_run(slot));
      return true;
    case wire::Reply::Kind::kValue:
    case wire::Reply::Kind::kError:
    case wire::Reply::Kind::kGood:
      if (slot.stage != Stage::kStarted && slot.stage != Stage::kRunning) return false;
      Job& job = slot.jobs.front();
      if (job.replies.size() == job.max_replies) return false;
      job.replies.push_back(std::move(reply));
      if (job.replies.back().last) finish(slot, Job::End::kAnswered, "");
      return true;
  }
  return false;
}

/// Whether the slot's deadline applies: its jq worker is starting, or is working and has not closed
/// its socket.
bool JqPool::Scheduler::is_timed(const Slot& slot) {
  return slot.worker != 0 && (!slot.ready || (slot.socket && slot.stage != Stage::kNone));
}

void JqPool::Scheduler::end_overdue() {
  const Clock::time_point now = Clock::now();
  for (Slot& slot : slots_) {
    if (slot.slow && slot.ready && slot.jobs.empty() && slot.idle_since + settings_.idle <= now) {
      end_worker(slot);
    }
    if (!is_timed(slot) || slot.deadline > now) continue;
    if (!slot.ready) {
      end_worker(slot);
      start_failed("the jq worker did not become ready in time");
      continue;
    }
    const Clock::duration computed = computed_by(slot.cpu) - slot.computed;
    if (computed < slot.allowance && now < slot.latest) {
      slot.deadline = now + (slot.allowance - computed);
    } else {
      overran(slot);
    }
  }
}

void JqPool::Scheduler::overran(Slot& slot) {
  end_worker(slot);
  if (slot.jobs.size() > 1) return ask_each_alone(slot);
  Job& job = slot.jobs.front();
  if (job.is_stopped()) return finish(slot, Job::End::kStopped, kStoppedJob);
  if (slot.slow || job.kind == Job::Kind::kCheck) {
    ++own_stats_.timed_out;
    if (++job.timeouts == kMaxTimeouts || job.kind == Job::Kind::kCheck) {
      finish(slot, Job::End::kTimedOut, "");
    }
    return;
  }
  ++own_stats_.overran;
  job.overran = true;
  const uint64_t lane = job.lane;
  quick_.erase(lane);
  enqueue_slow(std::move(job));
  slot.jobs.clear();
  // The lane's other waiting jobs stay behind this job: they move to the lane's queue, too.
  const auto is_of_lane = [lane](const Job& other) {
    return other.kind != Job::Kind::kCheck && other.lane == lane;
  };
  for (Job& other : queue_.take_if(is_of_lane)) enqueue_slow(std::move(other));
  const auto others = std::stable_partition(
      large_.begin(), large_.end(), [&is_of_lane](const Job& other) { return !is_of_lane(other); });
  for (auto other = others; other != large_.end(); ++other) enqueue_slow(std::move(*other));
  large_.erase(others, large_.end());
}

void JqPool::Scheduler::finish(Slot& slot, Job::End end, const std::string& problem) {
  Job job = std::move(slot.jobs.front());
  slot.jobs.pop_front();
  job.counted.end();
  slot.stage = slot.jobs.empty() ? Stage::kNone : Stage::kStarted;
  slot.idle_since = Clock::now();
  note_speed(job, end);
  if (slot.slow) {
    Lane& lane = lanes_[job.lane];
    lane.running = false;
    const bool was_slow =
        job.overran || job.timeouts > 0 || computed_by(slot.cpu) - slot.computed >= settings_.slice;
    if (was_slow) lane.probation_end = Clock::now() + settings_.probation;
    if (!lane.queue.empty()) turns_.push(lane.space, job.lane, job.lane);
  }
  publish_stats();
  job.done(end, std::move(job.replies), problem);
}

void JqPool::Scheduler::note_speed(const Job& job, Job::End end) {
  if (job.kind == Job::Kind::kCheck) return;
  if (end != Job::End::kAnswered ||
      std::chrono::microseconds(job.replies.back().took) > settings_.quick) {
    quick_.erase(job.lane);
  } else if (int& in_a_row = quick_[job.lane]; in_a_row < kQuickInARow) {
    ++in_a_row;
  }
}

void JqPool::Scheduler::publish_stats() {
  own_stats_.running = 0;
  own_stats_.ready_workers = 0;
  own_stats_.waiting = queue_.size() + large_.size();
  for (const Slot& slot : slots_) {
    own_stats_.running += slot.jobs.size();
    if (slot.ready) ++own_stats_.ready_workers;
  }
  for (const auto& [number, lane] : lanes_) own_stats_.waiting += lane.queue.size();
  const std::lock_guard lock(mutex_);
  stats_ = own_stats_;
}

}  // namespace millrace
