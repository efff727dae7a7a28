// The known state of the tasks that are under way over NATS. The functions change this state, and
// return what has to be sent, deleted, asked and reported. No I/O: the time is an argument, and
// nothing is sent. Each task takes about 200 bytes once the broker has it; a doubtful task
// (task_doubts.h) also keeps its message. Private to broker/; for one thread at a time.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "base/time.h"
#include "broker/task_doubts.h"
#include "broker/task_message.h"
#include "cloudevents/nats_binding.h"
#include "orchestrator/ports/publisher.h"

namespace millrace {

/// What has to be sent to NATS next.
struct TaskMail {
  struct Message {
    InstanceId task;
    bool queued = false;  ///< true: to the stream, which acknowledges it; false: to a service
    std::shared_ptr<const NatsMessage> message;
    bool again = false;  ///< an inherited task, whose first message the stream does not have
  };
  std::vector<Message> messages;
  std::vector<TaskQuestion> questions;
  std::vector<uint64_t> deletes;  ///< sequences of messages to delete from the stream
  std::vector<InstanceId> stops;  ///< tasks whose worker or service has to stop

  bool empty() const {
    return messages.empty() && questions.empty() && deletes.empty() && stops.empty();
  }
};

class TaskBook {
 public:
  using Time = std::chrono::steady_clock::time_point;

  struct Settings {
    /// After this time, an unacknowledged message is sent again, and an unanswered question is
    /// asked again.
    Duration ack_timeout{5'000};
    /// How long a worker may take between its answer and its last acknowledgement, in either order.
    Duration grace{2'000};
    Duration look_timeout{1'000};        ///< the limit to find out whether a worker has a task
    size_t most_unacknowledged = 4'096;  ///< limit of messages that the stream has not acknowledged
    size_t most_questions = 64;          ///< limit of questions that the broker has not answered
    std::string folder = {};             ///< the mark of the data folder: see sent_again()
    /// The heartbeats of a task are reported no more often than this: a worker may send any number.
    Duration heartbeat_each{100};
    /// The most requests of one namespace to services that have not answered. Their answers come
    /// to this process at once, and it cannot leave them in a stream.
    size_t most_calls = 1'024;
  };
  explicit TaskBook(Settings settings)
      : settings_(std::move(settings)), doubts_(settings_.most_questions) {}

  /// Adds a task of that namespace. `queued`: for the work queue, else for a service. `limit`: how
  /// long a service may take from when it has the request; nullopt: there is no limit. `inherited`:
  /// another process may have sent the task and received its answer. A task that is already known
  /// is not changed.
  void add(const InstanceId& task, std::string_view ns, bool queued, NatsMessage message,
           std::optional<Duration> limit = std::nullopt, bool inherited = false);
  /// Cancels the task: the task is removed from this object or from the stream, and its worker or
  /// service gets a stop message.
  void stop(const InstanceId& task);

  /// Returns what has to be sent next, with at most `most` messages and questions together.
  /// `with_stream`: the streams exist, and the answers that waited in their stream have been read;
  /// if not, only what needs no stream is returned. The returned messages and questions count as
  /// sent.
  TaskMail take_mail(bool with_stream, size_t most, Time now);
  bool has_mail(bool with_stream) const;

  /// It is not certain that any part of `mail` was sent: the deletes and stops of `mail` are queued
  /// again. link_lost() queues its messages and questions again.
  void not_sent(TaskMail mail);
  /// The broker has accepted the request to a service, so the service has started the task.
  std::optional<TaskReport> delivered(const InstanceId& task, Time now);
  /// The broker did not accept the message: it has to be sent again.
  void send_again(const InstanceId& task);
  /// The connection is lost: messages that the broker has not acknowledged have to be sent again,
  /// and questions that it has not answered have to be asked again.
  void link_lost();

  /// The stream has stored the message. If its sequence shows that the stream lost tasks, those are
  /// reported as ended. If an inherited task is a duplicate, it becomes doubtful.
  std::vector<TaskReport> stored(const InstanceId& task, const PublishAck& ack, Time now);
  /// The broker's answer to a question: whether the message or the answer is in its stream. The
  /// task is sent again, under another Nats-Msg-Id, if neither is there and no acknowledgement of a
  /// worker has come. An answer to a question that is not open is ignored.
  void found(const InstanceId& task, TaskQuestion::About about, bool is_there, Time now);
  /// The stream does not have its messages from sequence `first` to `last` any more: their tasks
  /// are reported as ended.
  std::vector<TaskReport> lost(uint64_t first, uint64_t last);
  /// The newest sequence that the stream acknowledged to this process.
  uint64_t newest() const { return newest_; }

  /// A worker sent `word` about the message with that sequence, which `consumer` gave to the
  /// worker. The word is ignored if `consumer` is not the consumer of the message's subject.
  std::optional<TaskReport> heard(std::string_view consumer, uint64_t sequence, AckWord word,
                                  Time now);
  /// The time since the task's last heartbeat; nullopt: there was none.
  std::optional<Duration> since_heartbeat(const InstanceId& task, Time now) const {
    const auto at = tasks_.find(task);
    if (at == tasks_.end() || !at->second.heard_at) return std::nullopt;
    return std::chrono::duration_cast<Duration>(now - *at->second.heard_at);
  }
  /// Workers have got all messages of that subject up to this sequence. So the tasks of these
  /// messages have started, even if no acknowledgement of a worker has come.
  std::vector<TaskReport> given_out(const std::string& subject, uint64_t sequence);
  /// Subjects with tasks that no worker has started, as far as is known.
  std::vector<std::string> waiting_subjects() const;
  bool waits_for_workers() const;

  /// Finds out whether a worker has the task; the result is reported as TaskStarted or
  /// TaskNotStarted. A start that is known already is not reported again. Returns false if the task
  /// is unknown or no worker can have it.
  bool ask(const InstanceId& task, Time now);
  /// Tasks from ask() whose sequence in the stream is known, by subject. given_out() answers for
  /// those that have started, not_started() for the others.
  using Asked = std::map<std::string, std::vector<InstanceId>>;
  Asked take_asked();
  /// Workers have not got these tasks. Reports TaskNotStarted for each task of ask() that has no
  /// result yet.
  std::vector<TaskReport> not_started(const std::vector<InstanceId>& tasks);

  /// The answer to the task has come, under the namespace `ns`, if that is known. Returns false if
  /// the task did not wait for an answer, or belongs to another namespace.
  bool answered(const InstanceId& task, const std::optional<std::string>& ns, Time now);
  /// No worker or service has got the task, and none will. Returns false if the task did not wait
  /// for an answer.
  bool failed(const InstanceId& task);
  /// NATS refused a message on the subject. Requests to services that were sent on it and have no
  /// answer are reported as ended: it is not known which of them was refused.
  std::vector<TaskReport> refused(const std::string& subject);

  /// Applies everything that is due at `now`, and returns the reports.
  std::vector<TaskReport> elapse(Time now);
  /// The next time at which elapse() has something to do; nullopt: there is nothing to do.
  std::optional<Time> next_time() const;

  /// Whether the task is for the work queue; nullopt: the task is unknown.
  std::optional<bool> is_queued(const InstanceId& task) const {
    const auto at = tasks_.find(task);
    return at == tasks_.end() ? std::nullopt : std::optional(at->second.queued);
  }
  /// Whether the task has a callback, so that its service or worker may accept it and answer it
  /// later;
  /// nullopt: the task is unknown.
  std::optional<bool> may_answer_later(const InstanceId& task) const {
    const auto at = tasks_.find(task);
    return at == tasks_.end() ? std::nullopt : std::optional(at->second.may_answer_later);
  }
  size_t size() const { return tasks_.size(); }
  /// The number of messages with early words (struct Early). Their number and their age are
  /// limited.
  size_t overheard() const { return early_.size(); }
  /// The number of tasks that the broker has not accepted yet.
  size_t unsent() const { return unsent_; }
  /// The bytes of the messages of such tasks of a namespace.
  uint64_t unsent_bytes(std::string_view ns) const {
    const auto found = spaces_.find(ns);
    return found == spaces_.end() ? 0 : found->second.unsent_bytes;
  }

 private:
  enum class Standing : uint8_t {
    kWanted,
    kRefused,  ///< a worker gave the task back; its answer may still come
    kAnswered,
    kStopped,
  };
  /// The data that tasks of one subject share.
  struct Subject {
    std::string consumer;  ///< gives the tasks to workers; empty: the tasks are for services
    std::map<uint64_t, InstanceId> not_started;  ///< by sequence: tasks that no worker has started
  };
  using Subjects = std::map<std::string, Subject>;
  /// A namespace.
  struct Space {
    uint64_t unsent_bytes = 0;
    size_t calls = 0;                ///< requests to services that are sent, or are to be sent
    std::deque<InstanceId> waiting;  ///< further ones, in their order; may be outdated
  };
  using Spaces = std::map<std::string, Space, std::less<>>;  // by name
  /// The tasks for services, by the subject of their requests.
  using Requests = std::map<std::string, std::set<InstanceId>>;

  struct Entry {
    std::shared_ptr<const NatsMessage> message;  ///< null once the broker has it
    Subjects::iterator subject;                  ///< the subject "" if the task is for a service
    Spaces::iterator ns;                         ///< the task's namespace
    Requests::iterator requests;                 ///< those on its subject; only for a service
    uint64_t sequence = 0;                       ///< in the stream; 0: not known
    Time look_at{};                              ///< when elapse() has to check this entry
    std::optional<Time> asked_until;             ///< deadline to report whether the task started
    std::optional<Time> heard_at;                ///< the last word of a worker
    std::optional<Time> reported_at;             ///< the last heartbeat that was reported
    std::optional<Duration> limit;               ///< for a service: see add()
    Standing standing = Standing::kWanted;
    bool queued = false;
    bool sent = false;
    bool is_called = false;         ///< one of Space::calls
    bool started = false;           ///< a worker has the task, or the service got the request
    bool gone = false;              ///< the stream does not have the message any more
    bool may_answer_later = false;  ///< its message has the header kCallbackHeader
    bool inherited = false;  ///< becomes doubtful if the stream acknowledges it as a duplicate
  };
  using Tasks = std::map<InstanceId, Entry>;  // ids sort by time, so resent tasks keep their order
  /// The words of workers about a message that the stream has not acknowledged to us yet, or that
  /// is not ours: each word of each consumer once.
  struct Early {
    Time since{};
    std::vector<std::pair<std::string, AckWord>> words;
  };

  void keep_early(std::string_view consumer, uint64_t sequence, AckWord word, Time now);
  void forget_early(Time before);
  void check_started(const InstanceId& task, Entry& entry, Time when);
  std::optional<TaskReport> apply(const InstanceId& task, Entry& entry, AckWord word, Time now);
  void take_from_stream(Tasks::iterator at, Time now);
  void deliver_again(const InstanceId& task, Entry& entry);
  void set_message(Entry& entry, NatsMessage message);
  void add_call(const InstanceId& task, Entry& entry);
  void call(const InstanceId& task, Entry& entry);
  void call_next(Space& space);
  void forget_request(Tasks::iterator at);
  void forget_sequence(const InstanceId& task, const Entry& entry);
  void have_sent(Entry& entry);
  void has_started(Entry& entry);
  Tasks::iterator forget(Tasks::iterator at);

  const Settings settings_;
  /// Each of these tasks is in tasks_. Until it is sent again, its sequence is known, it has not
  /// started and its standing is kWanted.
  TaskDoubts doubts_;
  Tasks tasks_;
  std::deque<InstanceId> queue_;  ///< to be sent to the stream; outdated entries are skipped
  std::deque<InstanceId> calls_;  ///< to be sent to services; outdated entries are skipped
  size_t unsent_ = 0;
  size_t unacknowledged_ = 0;  ///< sent to the stream, which has not answered yet
  uint64_t newest_ = 0;
  std::unordered_map<uint64_t, InstanceId> by_sequence_;
  Subjects subjects_;
  Spaces spaces_;
  Requests requests_;
  std::map<uint64_t, Early> early_;                       ///< all have sequences above newest_
  std::deque<std::pair<Time, uint64_t>> early_in_order_;  ///< may be outdated: see Early::since
  std::set<InstanceId> asked_;  ///< tasks of ask() to look up; some may have a result by now
  std::deque<std::pair<Time, InstanceId>> asked_until_;
  std::set<std::pair<Time, InstanceId>> looks_;  ///< some entries are outdated: see Entry::look_at
  std::vector<uint64_t> deletes_;
  std::vector<InstanceId> stops_;
};

}  // namespace millrace
