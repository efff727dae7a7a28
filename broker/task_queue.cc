#include "broker/task_queue.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <variant>
#include <vector>

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include "broker/listening.h"
#include "broker/nats_status.h"
#include "broker/publisher.h"
#include "broker/stream_keeper.h"
#include "broker/streams.h"
#include "broker/task_book.h"
#include "broker/task_consumers.h"
#include "broker/task_message.h"
#include "broker/task_results.h"
#include "broker/wire.h"
#include "os/crash_point.h"
#include "os/thread.h"

namespace millrace {
namespace {

using std::chrono::steady_clock;

/// What is sent in one go: between two of them stops and new tasks are looked at.
constexpr size_t kMostAtOnce = 512;

/// How long the server may take to read what was sent.
constexpr Duration kMostFlush{1'000};

/// How often is looked which tasks were given to workers that do not say so.
constexpr Duration kLookEach{500};

/// How long the server may take to say what it has given to workers.
constexpr Duration kMostLook{1'000};

/// Before what could not be sent is tried again, if the connection does not come back before.
constexpr Duration kRetry{200};

TaskReport ended_by(const InstanceId& task, std::string_view code, std::string why) {
  return {task,
          TaskEnded{.result = tl::unexpected<Error>(Error{std::string(code), std::move(why)})}};
}

NatsMsgHandle nats_message(const NatsMessage& message, const std::string& subject,
                           const std::string& reply) {
  natsMsg* raw = nullptr;
  natsStatus status = natsMsg_Create(&raw, subject.c_str(), reply.c_str(), message.data.data(),
                                     static_cast<int>(message.data.size()));
  NatsMsgHandle made(raw);
  for (const auto& [name, value] : message.headers) {
    if (status == NATS_OK) status = natsMsgHeader_Add(raw, name.c_str(), value.c_str());
  }
  if (status != NATS_OK) made.reset();
  return made;
}

}  // namespace

/// The thread that sends, and what it shares with those that hear.
class TaskQueue::Runner {
 public:
  Runner(Connection& connection, TaskSink& sink, const TaskQueueSettings& settings);
  ~Runner();

  void run(Task task);
  void stop(const InstanceId& task);
  bool look(const InstanceId& task);
  Counts counts() const;
  Status health() const;

 private:
  void work();
  Status open_streams();
  Status open_consumers();
  Status make_consumer(const std::string& subject);
  void look_who_has_begun(const std::vector<std::string>& subjects);
  void look_for(const TaskBook::Asked& asked);
  bool listen();
  void send(TaskMail mail);
  bool send_message(const TaskMail::Message& mail);
  void try_again(Duration later, const Error& why);

  void on_reply(natsMsg* message);
  void on_stored(const InstanceId& task, natsMsg* message);
  void on_service_answer(const InstanceId& task, natsMsg* message);
  void on_word(natsMsg* message);
  void on_result(NatsMessage answer, std::function<void()> stored);

  void end(const InstanceId& task, std::string_view code, std::string why);
  void tell(std::vector<TaskReport> reports);

  Connection& connection_;
  TaskSink& sink_;
  const std::function<void()> on_stray_;
  const StreamSettings tasks_stream_;
  const StreamSettings results_stream_;
  const std::string prefix_;
  std::string inbox_;  ///< made by listen(); ends in a dot, the action id follows
  uint64_t watch_ = 0;
  StreamKeeper keeper_;

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  bool stopping_ = false;
  bool lost_ = false;       ///< the connection was lost, or what was sent on it may be
  bool open_ = false;       ///< the streams are there
  bool caught_up_ = false;  ///< answers that waited for us have been taken in
  steady_clock::time_point try_at_{};
  steady_clock::time_point look_at_{};
  Status health_ = fail("broker.unreachable", "not connected yet");
  TaskBook book_;
  Counts counts_;

  // Only for the thread, and for the destructor behind it.
  std::set<std::string> consumers_;  ///< subjects whose consumers were made or found
  int64_t created_ = 0;              ///< when the stream was
  std::unique_ptr<Listening> replies_;
  std::unique_ptr<Listening> words_;

  std::thread thread_;
  std::unique_ptr<TaskResults> results_;
};

TaskQueue::Runner::Runner(Connection& connection, TaskSink& sink, const TaskQueueSettings& settings)
    : connection_(connection),
      sink_(sink),
      on_stray_(settings.on_stray),
      tasks_stream_(tasks_stream(settings.streams)),
      results_stream_(results_stream(settings.streams)),
      prefix_(settings.streams.prefix),
      keeper_(connection, {tasks_stream_, results_stream_}),
      book_({.ack_timeout = settings.ack_timeout, .grace = settings.grace}) {
  watch_ = connection_.watch([this](LinkChange change) {
    const std::lock_guard lock(mutex_);
    if (change == LinkChange::kDisconnected) lost_ = true;
    if (change == LinkChange::kConnected) try_at_ = {};
    changed_.notify_all();
  });
  thread_ = std::thread(&Runner::work, this);
  results_ = std::make_unique<TaskResults>(
      connection, keeper_,
      TaskResults::Settings{.stream = results_stream_,
                            .process = settings.process,
                            .pull = settings.pull,
                            .most_unstored = settings.most_unstored},
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

TaskQueue::Runner::~Runner() {
  results_.reset();
  connection_.unwatch(watch_);
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    changed_.notify_all();
  }
  thread_.join();
  words_.reset();
  replies_.reset();
}

void TaskQueue::Runner::run(Task task) {
  if (std::holds_alternative<NatsService>(task.target)) {
    // It is asked at once; a worker takes a task from the stream when it has time for it.
    const auto now = std::chrono::time_point_cast<Duration>(std::chrono::system_clock::now());
    task.deadline = deadline_if_begun(task, now);
  }
  tl::expected<NatsMessage, Error> message = task_message(task, prefix_);
  if (!message) {
    sink_.report({task.id, TaskEnded{.result = tl::unexpected(std::move(message).error())}}, {});
    return;
  }
  const std::lock_guard lock(mutex_);
  book_.add(task.id, task.space, std::holds_alternative<WorkQueue>(task.target),
            *std::move(message));
  changed_.notify_all();
}

void TaskQueue::Runner::stop(const InstanceId& task) {
  const std::lock_guard lock(mutex_);
  book_.stop(task);
  changed_.notify_all();
}

bool TaskQueue::Runner::look(const InstanceId& task) {
  const std::lock_guard lock(mutex_);
  if (!book_.ask(task, steady_clock::now())) return false;
  changed_.notify_all();
  return true;
}

TaskQueue::Counts TaskQueue::Runner::counts() const {
  const std::lock_guard lock(mutex_);
  Counts counts = counts_;
  counts.tasks = book_.size();
  counts.unsent = book_.unsent();
  return counts;
}

Status TaskQueue::Runner::health() const {
  {
    const std::lock_guard lock(mutex_);
    if (!health_) return health_;
  }
  return results_->health();
}

void TaskQueue::Runner::work() {
  name_thread("tasks");
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    const auto now = steady_clock::now();
    if (std::exchange(lost_, false)) {
      try_again(kRetry, {"broker.unreachable", "the connection was lost"});
      book_.link_lost();
    }
    if (std::vector<TaskReport> reports = book_.elapse(now); !reports.empty()) {
      lock.unlock();
      tell(std::move(reports));
      lock.lock();
      continue;
    }
    const bool may_try = connection_.connected() && now >= try_at_;
    if (may_try && !open_) {
      open_ = true;  // what goes wrong meanwhile says so
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
    // Answers first: a task that has one is not sent again.
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
        look_who_has_begun(subjects);
        lock.lock();
      }
      look_at_ = steady_clock::now() + kLookEach;
      continue;
    }
    std::optional<steady_clock::time_point> until = book_.next_time();
    if (open_ && book_.waits_for_workers()) until = std::min(until.value_or(look_at_), look_at_);
    if (connection_.connected() && now < try_at_)
      until = until ? std::min(*until, try_at_) : try_at_;
    if (until) {
      changed_.wait_until(lock, *until);
    } else {
      changed_.wait(lock);
    }
  }
}

/// A worker need not say that he has begun: the consumer knows what it has given out.
void TaskQueue::Runner::look_who_has_begun(const std::vector<std::string>& subjects) {
  for (const std::string& subject : subjects) {
    const Result<uint64_t> given = last_given_out(connection_, prefix_, subject, kMostLook);
    if (!given) continue;
    std::vector<TaskReport> reports;
    {
      const std::lock_guard lock(mutex_);
      reports = book_.given_out(subject, *given);
    }
    tell(std::move(reports));
  }
}

/// The same for tasks that were asked about. Where the broker does not answer, they count as not
/// begun.
void TaskQueue::Runner::look_for(const TaskBook::Asked& asked) {
  bool says = true;
  for (const auto& [subject, tasks] : asked) {
    const Result<uint64_t> given =
        says ? last_given_out(connection_, prefix_, subject, kMostLook) : Result<uint64_t>(0);
    says = says && given;
    std::vector<TaskReport> reports;
    {
      const std::lock_guard lock(mutex_);
      if (says) reports = book_.given_out(subject, *given);
      for (TaskReport& report : book_.unbegun(tasks)) reports.push_back(std::move(report));
    }
    tell(std::move(reports));
  }
}

/// Under the lock. The streams and consumers are looked at again, and not at once.
void TaskQueue::Runner::try_again(Duration later, const Error& why) {
  open_ = false;
  try_at_ = steady_clock::now() + later;
  if (health_ || health_.error().code != why.code) {
    spdlog::warn("tasks are not sent: {}", why.message);
  }
  health_ = tl::unexpected(why);
  changed_.notify_all();
}

/// The streams are there, with all that they had, and whoever works can take from them.
Status TaskQueue::Runner::open_streams() {
  uint64_t newest = 0;
  {
    const std::lock_guard lock(mutex_);
    newest = book_.newest();
  }
  const StreamInfo tasks = TRY(keeper_.ensure(tasks_stream_));
  TRY(keeper_.ensure(results_stream_));
  const bool anew = std::exchange(created_, tasks.created) != tasks.created;
  std::vector<TaskReport> reports;
  {
    const std::lock_guard lock(mutex_);
    reports = book_.lost(anew ? 1 : tasks.last_sequence + 1, newest);
  }
  tell(std::move(reports));
  return open_consumers();
}

Status TaskQueue::Runner::open_consumers() {
  const std::set<std::string> subjects = std::exchange(consumers_, {});
  for (const std::string& subject : subjects) {
    Status made = make_consumer(subject);
    if (made) continue;
    consumers_ = subjects;  // all again, when the streams are next looked at
    return made;
  }
  return {};
}

/// One that can't be made keeps nobody else from working: its tasks wait in the stream.
Status TaskQueue::Runner::make_consumer(const std::string& subject) {
  if (!consumers_.insert(subject).second) return {};
  Status made = ensure_task_consumer(connection_, prefix_, subject);
  if (made) return made;
  if (made.error().code == "broker.unreachable" || made.error().code == "broker.timeout") {
    return made;
  }
  spdlog::error("nobody can take tasks of {}: {}", subject, made.error().message);
  return {};
}

/// nats.c subscribes again at each reconnect; only a new connection needs other subscriptions.
bool TaskQueue::Runner::listen() {
  if (inbox_.empty()) {
    Result<std::string> inbox = make_inbox();
    if (!inbox) return false;
    inbox_ = *std::move(inbox) + ".";
  }
  const std::shared_ptr<natsConnection> handle = connection_.handle();
  const auto hears = [&](const std::unique_ptr<Listening>& one) {
    return one != nullptr && one->status() == NATS_OK && one->handle() == handle;
  };
  if (hears(replies_) && hears(words_)) return true;
  words_.reset();
  replies_.reset();
  replies_ = std::make_unique<Listening>(
      connection_, inbox_ + "*", [this](NatsMsgHandle& message) { on_reply(message.get()); });
  words_ = std::make_unique<Listening>(connection_, fmt::format("$JS.ACK.{}.>", tasks_stream_.name),
                                       [this](NatsMsgHandle& message) { on_word(message.get()); });
  return hears(replies_) && hears(words_);
}

void TaskQueue::Runner::send(TaskMail mail) {
  bool sent = listen();
  const std::shared_ptr<natsConnection> handle = connection_.handle();
  const auto publish = [&](const std::string& subject, const std::string& data) {
    return natsConnection_PublishString(handle.get(), subject.c_str(), data.c_str()) == NATS_OK;
  };
  for (const TaskMail::Message& message : mail.messages) {
    sent = sent && send_message(message);
  }
  for (const uint64_t sequence : mail.deletes) {
    const std::string body = fmt::format(R"({{"seq":{},"no_erase":true}})", sequence);
    sent = sent &&
           publish(connection_.api_subject(fmt::format("STREAM.MSG.DELETE.{}", tasks_stream_.name)),
                   body);
  }
  for (const InstanceId& task : mail.stops) {
    sent = sent && publish(stop_subject(task, prefix_), to_string(task));
  }
  sent = sent && natsConnection_FlushTimeout(handle.get(), kMostFlush.count()) == NATS_OK;
  std::vector<TaskReport> begun;
  {
    const std::lock_guard lock(mutex_);
    if (!sent) {
      book_.not_sent(std::move(mail));
      lost_ = true;
      return;
    }
    for (const TaskMail::Message& message : mail.messages) {
      if (message.queued) continue;
      if (auto report = book_.delivered(message.task)) begun.push_back(*std::move(report));
    }
  }
  tell(std::move(begun));
}

/// False: the connection is lost.
bool TaskQueue::Runner::send_message(const TaskMail::Message& mail) {
  if (!connection_.connected()) return false;  // each time: it may be forbidden in between
  const Status checked = check_message(*mail.message, connection_.max_payload());
  if (!checked) {
    const bool too_large = checked.error().code == kTooLarge;
    end(mail.task, too_large ? kFunctionTooLarge : kFunctionUnavailable, checked.error().message);
    return true;
  }
  if (mail.queued && !make_consumer(mail.message->subject)) return false;
  const std::string& subject = mail.message->subject;
  const NatsMsgHandle message =
      nats_message(*mail.message, mail.queued ? broker_subject(prefix_, subject) : subject,
                   inbox_ + to_string(mail.task));
  const bool sent = message != nullptr &&
                    natsConnection_PublishMsg(connection_.handle().get(), message.get()) == NATS_OK;
  crash_point(CrashPoint::kTaskSent);
  return sent;
}

/// From the stream that takes tasks, or from a service.
void TaskQueue::Runner::on_reply(natsMsg* message) {
  const std::string_view subject = natsMsg_GetSubject(message);
  const Result<InstanceId> task = parse_instance_id(subject.substr(inbox_.size()));
  if (!task) return;
  std::optional<bool> queued;
  {
    const std::lock_guard lock(mutex_);
    queued = book_.is_queued(*task);
  }
  if (!queued) return;  // stopped, or answered before
  if (*queued) {
    on_stored(*task, message);
  } else {
    on_service_answer(*task, message);
  }
}

void TaskQueue::Runner::on_stored(const InstanceId& task, natsMsg* message) {
  const Result<PublishAck> ack =
      natsMsg_IsNoResponders(message)
          ? fail("broker.unreachable", "no stream takes tasks; is JetStream on?")
          : read_publish_ack(
                {natsMsg_GetData(message), static_cast<size_t>(natsMsg_GetDataLength(message))});
  if (!ack && ack.error().code == kTooLarge) {
    end(task, kFunctionTooLarge, ack.error().message);
    return;
  }
  std::vector<TaskReport> reports;
  {
    const std::lock_guard lock(mutex_);
    if (ack) {
      reports = book_.stored(task, *ack, steady_clock::now());
    } else {
      book_.send_again(task);
      try_again(StreamKeeper::kLeaveAlone, ack.error());
    }
    changed_.notify_all();
  }
  tell(std::move(reports));
}

void TaskQueue::Runner::on_service_answer(const InstanceId& task, natsMsg* message) {
  NatsMessage answer;
  const bool sure = read_message(message, answer);
  if (natsMsg_IsNoResponders(message)) {
    end(task, kFunctionUnavailable, "no service listens on the function's subject");
    return;
  }
  if (!sure) answer.headers = apart(std::move(answer.headers));
  const bool empty = answer.data.empty();
  tl::expected<std::string, Error> result = read_answer(std::move(answer));
  if (result && empty && !sure) {
    // What could not be read may be what says that it failed.
    end(task, kFunctionUnavailable, "the headers of the service's answer can't be read");
    return;
  }
  {
    const std::lock_guard lock(mutex_);
    if (!book_.answered(task, std::nullopt, steady_clock::now())) return;
  }
  sink_.report({task, TaskEnded{.result = std::move(result)}}, {});
}

void TaskQueue::Runner::on_word(natsMsg* message) {
  const std::string_view subject = natsMsg_GetSubject(message);
  const std::optional<DeliveryNumbers> numbers = parse_ack_subject(subject);
  const std::optional<AckWord> word = read_ack_word(
      {natsMsg_GetData(message), static_cast<size_t>(natsMsg_GetDataLength(message))});
  if (!numbers || !word) return;
  std::optional<TaskReport> report;
  {
    const std::lock_guard lock(mutex_);
    report =
        book_.heard(consumer_of_ack(subject), numbers->stream_sequence, *word, steady_clock::now());
    if (*word != AckWord::kAlive) changed_.notify_all();
  }
  if (report) sink_.report(*std::move(report), {});
}

void TaskQueue::Runner::on_result(NatsMessage answer, std::function<void()> stored) {
  std::optional<AnsweredTask> answered = answered_task(answer.subject, prefix_);
  {
    const std::lock_guard lock(mutex_);
    ++counts_.answers;
    if (answered) {
      book_.answered(answered->task, answered->space, steady_clock::now());
    } else {
      ++counts_.strays;
    }
    changed_.notify_all();
  }
  if (!answered) {
    on_stray_();
    stored();
    return;
  }
  // Tasks of an earlier process may be unknown here, so it is the sink that compares namespaces.
  sink_.report({.task = answered->task,
                .what = TaskEnded{.result = read_answer(std::move(answer))},
                .space = std::move(answered->space)},
               std::move(stored));
}

/// It has failed before anybody got it.
void TaskQueue::Runner::end(const InstanceId& task, std::string_view code, std::string why) {
  {
    const std::lock_guard lock(mutex_);
    if (!book_.failed(task)) return;
  }
  sink_.report(ended_by(task, code, std::move(why)), {});
}

void TaskQueue::Runner::tell(std::vector<TaskReport> reports) {
  for (TaskReport& report : reports) sink_.report(std::move(report), {});
}

TaskQueue::TaskQueue(Connection& connection, TaskSink& sink, TaskQueueSettings settings)
    : runner_(std::make_unique<Runner>(connection, sink, settings)) {}

TaskQueue::~TaskQueue() = default;

void TaskQueue::run(Task task) { runner_->run(std::move(task)); }

void TaskQueue::stop(const InstanceId& task) { runner_->stop(task); }

bool TaskQueue::look(const InstanceId& task) { return runner_->look(task); }

TaskQueue::Counts TaskQueue::counts() const { return runner_->counts(); }

Status TaskQueue::health() const { return runner_->health(); }

}  // namespace millrace
