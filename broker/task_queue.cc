#include "broker/task_queue.h"

#include <algorithm>
#include <chrono>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include "broker/nats_status.h"
#include "broker/round_trip.h"
#include "broker/stored_message.h"
#include "broker/task_consumers.h"
#include "broker/task_message.h"
#include "broker/task_queue_impl.h"
#include "broker/wire.h"
#include "os/crash_point.h"
#include "os/thread.h"

namespace millrace {
namespace {

using std::chrono::steady_clock;

/// The largest number of messages that are sent together. Afterwards, stops and new tasks are
/// processed before more messages are sent.
constexpr size_t kMostAtOnce = 512;

/// The interval at which the consumers are asked which tasks workers have got. A worker need not
/// report that it got a task.
constexpr Duration kServiceLookEach{500};

/// The wait before failed messages are sent again, unless the connection comes back earlier.
constexpr Duration kRetry{200};

/// Whether a request to the broker got no answer, so that the next request would get none either.
bool gives_no_answer(const Error& error) {
  return error.code == "broker.unreachable" || error.code == "broker.timeout";
}

}  // namespace

TaskQueue::Impl::Impl(Connection& connection, TaskSink& sink, const TaskQueueSettings& settings)
    : connection_(connection),
      sink_(sink),
      on_stray_(settings.on_stray),
      tasks_stream_(tasks_stream(settings.streams)),
      results_stream_(results_stream(settings.streams)),
      prefix_(settings.streams.prefix),
      folder_made_(settings.folder.made),
      request_subjects_(settings.request_subjects),
      call_timeout_(settings.call_timeout),
      flush_timeout_(settings.flush_timeout),
      look_timeout_(settings.look_timeout),
      keeper_(connection, {tasks_stream_, results_stream_}),
      book_({.ack_timeout = settings.ack_timeout,
             .grace = settings.grace,
             .look_timeout = settings.look_timeout,
             .folder = settings.folder.mark}) {
  if (settings.on_callback) {
    callbacks_ = std::make_unique<TaskCallbacks>(
        connection_,
        RequestSubjects{.prefix = prefix_, .inbox_prefix = request_subjects_.inbox_prefix},
        settings.on_callback);
  }
  watch_ = connection_.watch([this](LinkChange change) {
    const std::lock_guard lock(mutex_);
    if (change == LinkChange::kDisconnected) lost_ = true;
    if (change == LinkChange::kConnected) try_at_ = {};
    changed_.notify_all();
  });
  refusals_ =
      connection_.watch_refusals([this](const std::string& subject) { on_refused(subject); });
  thread_ = std::thread(&Impl::work, this);
  results_ = std::make_unique<TaskResults>(
      connection, keeper_,
      TaskResults::Settings{.stream = results_stream_,
                            .process = settings.process,
                            .epoch = settings.epoch,
                            .pull = settings.pull,
                            .most_unstored = settings.most_unstored,
                            .most_unstored_bytes = settings.most_unstored_bytes},
      TaskResults::Handlers{.answer =
                                [this](NatsMessage answer, std::function<void()> stored) {
                                  on_result(std::move(answer), std::move(stored));
                                },
                            .caught_up =
                                [this] {
                                  const std::lock_guard lock(mutex_);
                                  caught_up_ = true;
                                  changed_.notify_all();
                                }});
}

TaskQueue::Impl::~Impl() {
  results_.reset();
  connection_.unwatch(refusals_);
  connection_.unwatch(watch_);
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    changed_.notify_all();
  }
  thread_.join();
  callbacks_.reset();
  words_.reset();
  answers_.reset();
  acks_.reset();
}

void TaskQueue::Impl::run(Task task) {
  std::optional<Duration> limit;
  if (const auto* const service = std::get_if<NatsService>(&task.target)) {
    // Settings that an earlier release stored may name any subject.
    if (auto why = request_subjects_.refusal(service->subject)) {
      sink_.report(
          {task.id, TaskEnded{.result = fail(std::string(kFunctionRefused), *std::move(why))}}, {});
      return;
    }
    if (!task.has_timeout()) limit = call_timeout_;
    // A service starts at once; a worker takes a task from the stream when it has time for it.
    const auto now = std::chrono::time_point_cast<Duration>(std::chrono::system_clock::now());
    task.deadline = deadline_if_started(task, now);
  }
  tl::expected<NatsMessage, Error> message = task_message(task, prefix_);
  if (!message) {
    sink_.report({task.id, TaskEnded{.result = tl::unexpected(std::move(message).error())}}, {});
    return;
  }
  const bool inherited = folder_made_ && time_of(task.id) < *folder_made_;
  const std::lock_guard lock(mutex_);
  book_.add(task.id, task.ns, std::holds_alternative<WorkQueue>(task.target), *std::move(message),
            limit, inherited);
  changed_.notify_all();
}

void TaskQueue::Impl::stop(const InstanceId& task) {
  const std::lock_guard lock(mutex_);
  book_.stop(task);
  changed_.notify_all();
}

bool TaskQueue::Impl::check_started(const InstanceId& task) {
  const std::lock_guard lock(mutex_);
  if (!book_.ask(task, steady_clock::now())) return false;
  changed_.notify_all();
  return true;
}

std::optional<Duration> TaskQueue::Impl::since_heartbeat(const InstanceId& task) const {
  const std::lock_guard lock(mutex_);
  return book_.since_heartbeat(task, steady_clock::now());
}

uint64_t TaskQueue::Impl::waiting_bytes(std::string_view ns) const {
  const std::lock_guard lock(mutex_);
  return book_.unsent_bytes(ns);
}

TaskQueue::Counts TaskQueue::Impl::counts() const {
  const std::lock_guard lock(mutex_);
  Counts counts = counts_;
  counts.tasks = book_.size();
  counts.unsent = book_.unsent();
  if (callbacks_) counts.callbacks_busy = callbacks_->refused_as_busy();
  return counts;
}

Status TaskQueue::Impl::health() const {
  {
    const std::lock_guard lock(mutex_);
    if (!health_) return health_;
  }
  return results_->health();
}

void TaskQueue::Impl::work() {
  name_thread("tasks");
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    const auto now = steady_clock::now();
    if (std::exchange(lost_, false)) {
      try_again(kRetry, {"broker.unreachable", "the connection to NATS was lost"});
      book_.link_lost();
    }
    if (std::vector<TaskReport> reports = book_.elapse(now); !reports.empty()) {
      lock.unlock();
      report(std::move(reports));
      lock.lock();
      continue;
    }
    const bool may_try = connection_.connected() && now >= try_at_;
    if (may_try && !open_) {
      open_ = true;  // set before open_streams(), so that a failure meanwhile resets it
      lock.unlock();
      const Status opened = open_streams();
      lock.lock();
      if (!opened) try_again(StreamKeeper::kLeaveAlone, opened.error());
      if (opened && open_ && !health_) {
        spdlog::info("tasks are sent");
        health_ = {};
      }
      continue;
    }
    // Answers come first, because a task that has an answer is not sent again.
    const bool with_stream = open_ && caught_up_;
    if (may_try && book_.has_mail(with_stream)) {
      TaskMail mail = book_.take_mail(with_stream, kMostAtOnce, now);
      lock.unlock();
      if (!mail.empty()) send(std::move(mail));
      lock.lock();
      continue;
    }
    if (TaskBook::Asked asked; may_try && open_ && !(asked = book_.take_asked()).empty()) {
      lock.unlock();
      look_for(asked);
      lock.lock();
      continue;
    }
    if (may_try && open_ && now >= look_at_) {
      const std::vector<std::string> subjects = book_.waiting_subjects();
      if (!subjects.empty()) {
        lock.unlock();
        look_up_started(subjects);
        lock.lock();
      }
      look_at_ = steady_clock::now() + kServiceLookEach;
      continue;
    }
    sleep(lock, now);
  }
}

/// Waits for a change, or until the first due time.
void TaskQueue::Impl::sleep(std::unique_lock<std::mutex>& lock, steady_clock::time_point now) {
  std::optional<steady_clock::time_point> until = book_.next_time();
  if (open_ && book_.waits_for_workers()) until = std::min(until.value_or(look_at_), look_at_);
  if (connection_.connected() && now < try_at_) until = until ? std::min(*until, try_at_) : try_at_;
  if (until) {
    changed_.wait_until(lock, *until);
  } else {
    changed_.wait(lock);
  }
}

/// The sequence of the last message that the subject's consumer gave to a worker; 0: none. A
/// consumer that was deleted is created again.
Result<uint64_t> TaskQueue::Impl::last_given(const std::string& subject) {
  Result<uint64_t> given = last_given_out(connection_, prefix_, subject, look_timeout_);
  if (given || given.error().code != "broker.not_found") return given;
  const Status made = ensure_task_consumer(connection_, prefix_, subject);
  const std::lock_guard lock(mutex_);
  if (!made) {
    try_again(StreamKeeper::kLeaveAlone, made.error());  // the stream may be deleted too
    return tl::unexpected(made.error());
  }
  ++counts_.consumers_created_again;
  spdlog::warn(
      "the consumer of {} was deleted, so that workers got no tasks; it was created again, and "
      "workers get unfinished tasks a second time",
      subject);
  return 0;
}

/// Finds out which tasks have started. A worker need not report a start, but the consumer knows
/// which messages it gave to workers.
void TaskQueue::Impl::look_up_started(const std::vector<std::string>& subjects) {
  for (const std::string& subject : subjects) {
    const Result<uint64_t> given = last_given(subject);
    // If the broker does not answer, each further question would hold up the messages to send.
    if (!given && gives_no_answer(given.error())) return;
    if (!given) continue;
    std::vector<TaskReport> reports;
    {
      const std::lock_guard lock(mutex_);
      reports = book_.given_out(subject, *given);
    }
    report(std::move(reports));
  }
}

/// Finds out whether the tasks of check_started() have started. If the broker does not answer, they
/// count as not started.
void TaskQueue::Impl::look_for(const TaskBook::Asked& asked) {
  bool says = true;
  for (const auto& [subject, tasks] : asked) {
    const Result<uint64_t> given = says ? last_given(subject) : Result<uint64_t>(0);
    says = says && given;
    std::vector<TaskReport> reports;
    {
      const std::lock_guard lock(mutex_);
      if (says) reports = book_.given_out(subject, *given);
      for (TaskReport& report : book_.not_started(tasks)) reports.push_back(std::move(report));
    }
    report(std::move(reports));
  }
}

/// Call this function under the lock. The streams and consumers are checked again after the time
/// `later`.
void TaskQueue::Impl::try_again(Duration later, const Error& why) {
  open_ = false;
  try_at_ = steady_clock::now() + later;
  if (health_ || health_.error().code != why.code) {
    spdlog::warn("tasks are not sent: {}", why.message);
  }
  health_ = tl::unexpected(why);
  changed_.notify_all();
}

/// Makes sure that the streams exist, ends the tasks that they lost, and makes sure that workers
/// can take tasks.
Status TaskQueue::Impl::open_streams() {
  uint64_t newest = 0;
  {
    const std::lock_guard lock(mutex_);
    newest = book_.newest();
  }
  if (callbacks_) TRY(callbacks_->listen());
  const StreamInfo tasks = TRY(keeper_.ensure(tasks_stream_));
  TRY(keeper_.ensure(results_stream_));
  const bool is_new_stream = std::exchange(created_, tasks.created) != tasks.created;
  std::vector<TaskReport> reports;
  {
    const std::lock_guard lock(mutex_);
    reports = book_.lost(is_new_stream ? 1 : tasks.last_sequence + 1, newest);
  }
  report(std::move(reports));
  return open_consumers();
}

Status TaskQueue::Impl::open_consumers() {
  const std::set<std::string> subjects = std::exchange(consumers_, {});
  for (const std::string& subject : subjects) {
    Status made = make_consumer(subject);
    if (made) continue;
    consumers_ = subjects;  // the next attempt checks all consumers again
    return made;
  }
  return {};
}

/// Creates the consumer of one subject. If that fails for a reason other than the connection, only
/// the tasks of that subject wait in the stream; other subjects are not affected.
Status TaskQueue::Impl::make_consumer(const std::string& subject) {
  if (!consumers_.insert(subject).second) return {};
  Status made = ensure_task_consumer(connection_, prefix_, subject);
  if (made || gives_no_answer(made.error())) return made;
  spdlog::error("workers cannot take tasks of {}: {}", subject, made.error().message);
  return {};
}

/// Subscribes to acknowledgements of the stream and answers to questions, to answers of services,
/// and to acknowledgements of workers. nats.c subscribes again at each reconnect; only a new
/// connection needs other subscriptions.
bool TaskQueue::Impl::listen() {
  if (ack_inbox_.empty()) {
    ack_inbox_ = connection_.make_inbox() + ".";
    answer_inbox_ = connection_.make_inbox() + ".";
  }
  const std::shared_ptr<natsConnection> handle = connection_.handle();
  const auto is_usable = [&](const std::unique_ptr<Listening>& one) {
    return one != nullptr && one->status() == NATS_OK && one->handle() == handle;
  };
  const auto are_usable = [&] {
    return is_usable(acks_) && is_usable(answers_) && is_usable(words_);
  };
  if (are_usable()) return true;
  words_.reset();
  answers_.reset();
  acks_.reset();
  acks_ = std::make_unique<Listening>(
      connection_, ack_inbox_ + "*",
      [this](NatsMsgHandle& message) { on_broker_reply(message.get()); });
  answers_ =
      std::make_unique<Listening>(connection_, answer_inbox_ + "*",
                                  [this](NatsMsgHandle& message) { on_answer(message.get()); });
  words_ = std::make_unique<Listening>(connection_, fmt::format("$JS.ACK.{}.>", tasks_stream_.name),
                                       [this](NatsMsgHandle& message) { on_word(message.get()); });
  return are_usable();
}

void TaskQueue::Impl::send(TaskMail mail) {
  bool sent = listen();
  const std::shared_ptr<natsConnection> handle = connection_.handle();
  const auto publish = [&](const std::string& subject, const std::string& data) {
    return natsConnection_PublishString(handle.get(), subject.c_str(), data.c_str()) == NATS_OK;
  };
  for (const TaskMail::Message& message : mail.messages) {
    sent = sent && send_message(message);
  }
  for (const TaskQuestion& question : mail.questions) sent = sent && send_question(question);
  for (const uint64_t sequence : mail.deletes) {
    sent = sent &&
           publish(connection_.api_subject(fmt::format("STREAM.MSG.DELETE.{}", tasks_stream_.name)),
                   delete_request(sequence));
  }
  for (const InstanceId& task : mail.stops) {
    sent = sent && publish(stop_subject(task, prefix_), to_string(task));
  }
  sent = sent && round_trip(handle.get(), flush_timeout_) == NATS_OK;
  const auto again = std::count_if(mail.messages.begin(), mail.messages.end(),
                                   [](const TaskMail::Message& message) { return message.again; });
  std::vector<TaskReport> started;
  {
    const std::lock_guard lock(mutex_);
    if (!sent) {
      book_.not_sent(std::move(mail));
      lost_ = true;
      return;
    }
    const auto now = steady_clock::now();
    for (const TaskMail::Message& message : mail.messages) {
      if (message.queued) continue;
      if (auto report = book_.delivered(message.task, now)) started.push_back(*std::move(report));
    }
  }
  if (again > 0) {
    spdlog::info(
        "{} tasks are sent to workers again: they are older than the data folder, their messages "
        "are not in stream {} any more, and stream {} has no answer to them",
        again, tasks_stream_.name, results_stream_.name);
  }
  report(std::move(started));
}

/// Returns false if the connection is lost.
bool TaskQueue::Impl::send_message(const TaskMail::Message& mail) {
  // Checked for each message, because forbid() may be called meanwhile.
  if (!connection_.connected()) return false;
  const Status checked = check_message(*mail.message, connection_.max_payload());
  if (!checked) {
    const bool too_large = checked.error().code == kTooLarge;
    end(mail.task, too_large ? kFunctionTooLarge : kFunctionUnavailable, checked.error().message);
    return true;
  }
  if (mail.queued && !make_consumer(mail.message->subject)) return false;
  const std::string& subject = mail.message->subject;
  const std::string reply = (mail.queued ? ack_inbox_ : answer_inbox_) + to_string(mail.task);
  NatsMsgHandle message;
  natsStatus status =
      make_message(*mail.message, mail.queued ? broker_subject(prefix_, subject) : subject,
                   reply.c_str(), message);
  if (status == NATS_OK) {
    status = natsConnection_PublishMsg(connection_.handle().get(), message.get());
  }
  crash_point(CrashPoint::kTaskSent);
  return status == NATS_OK;
}

/// The answer is handled by on_found(). Returns false if the connection is lost.
bool TaskQueue::Impl::send_question(const TaskQuestion& question) {
  if (!connection_.connected()) return false;
  const bool for_message = question.about == TaskQuestion::About::kMessage;
  const std::string body =
      for_message ? get_request(question.sequence)
                  : get_first_request(reply_subject(question.ns, question.task, prefix_));
  const std::string reply = fmt::format(
      "{}{}{}", ack_inbox_, for_message ? kAboutMessage : kAboutAnswer, to_string(question.task));
  return natsConnection_PublishRequestString(connection_.handle().get(),
                                             question_subject(question.about).c_str(),
                                             reply.c_str(), body.c_str()) == NATS_OK;
}

/// The subject of the request that asks the question.
std::string TaskQueue::Impl::question_subject(TaskQuestion::About about) const {
  const bool for_message = about == TaskQuestion::About::kMessage;
  return connection_.api_subject(
      fmt::format("STREAM.MSG.GET.{}", for_message ? tasks_stream_.name : results_stream_.name));
}

TaskQueue::TaskQueue(Connection& connection, TaskSink& sink, const TaskQueueSettings& settings)
    : impl_(std::make_unique<Impl>(connection, sink, settings)) {}

TaskQueue::~TaskQueue() = default;

void TaskQueue::run(Task task) { impl_->run(std::move(task)); }

void TaskQueue::stop(const InstanceId& task) { impl_->stop(task); }

bool TaskQueue::check_started(const InstanceId& task) { return impl_->check_started(task); }

std::optional<Duration> TaskQueue::since_heartbeat(const InstanceId& task) const {
  return impl_->since_heartbeat(task);
}

uint64_t TaskQueue::waiting_bytes(std::string_view ns) const { return impl_->waiting_bytes(ns); }

TaskQueue::Counts TaskQueue::counts() const { return impl_->counts(); }

Status TaskQueue::health() const { return impl_->health(); }

}  // namespace millrace
