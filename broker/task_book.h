// What is known of the tasks that are under way over NATS, and what each piece of news makes of it:
// what is to be sent, taken back and told. Pure but for memory: time is given, nothing is sent.
// About 200 bytes a task once the broker has it. Private to broker/; not for several threads.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "base/time.h"
#include "broker/task_message.h"
#include "cloudevents/nats_binding.h"
#include "orchestrator/ports/publisher.h"

namespace millrace {

/// What is to go over the wire next.
struct TaskMail {
  struct Message {
    InstanceId task;
    bool queued = false;  ///< into the stream, which acknowledges it; else to a service
    std::shared_ptr<const NatsMessage> message;
  };
  std::vector<Message> messages;
  std::vector<uint64_t> deletes;  ///< messages of the stream, by sequence
  std::vector<InstanceId> stops;

  bool empty() const { return messages.empty() && deletes.empty() && stops.empty(); }
};

class TaskBook {
 public:
  using Time = std::chrono::steady_clock::time_point;

  struct Settings {
    Duration ack_timeout{5'000};  ///< a message is sent again when the stream has not taken it
    /// How long a worker may take between its answer and its last acknowledgement, in either order.
    Duration grace{2'000};
    Duration look_timeout{1'000};        ///< within which is found out whether a worker has a task
    size_t most_unacknowledged = 4'096;  ///< messages sent ahead of the stream's acknowledgements
  };
  explicit TaskBook(Settings settings) : settings_(settings) {}

  /// A task of that namespace. `queued`: for the work queue, else for a service. One that is known
  /// is left as it is.
  void add(const InstanceId& task, std::string_view space, bool queued, NatsMessage message);
  /// It is taken back: from here, or from the stream, and whoever has it is told.
  void stop(const InstanceId& task);

  /// `with_stream`: the stream is there; else only what needs none is taken. What is taken counts
  /// as sent.
  TaskMail take_mail(bool with_stream, size_t most, Time now);
  bool has_mail(bool with_stream) const;

  /// None of it is sure to have been sent: what is to be taken back or told is so again.
  void not_sent(TaskMail mail);
  /// The broker has taken the request to a service, which begins with it then.
  std::optional<TaskReport> delivered(const InstanceId& task);
  /// It is to be sent again: the broker did not take it.
  void send_again(const InstanceId& task);
  /// The connection is lost: what the broker has not taken for certain is to be sent again.
  void link_lost();

  /// The stream has taken it. What the stream lost, as its sequence shows, has ended.
  std::vector<TaskReport> stored(const InstanceId& task, const PublishAck& ack, Time now);
  /// The stream no longer has what it took from this sequence on, up to `last`.
  std::vector<TaskReport> lost(uint64_t first, uint64_t last);
  /// The newest sequence that was acknowledged to us.
  uint64_t newest() const { return newest_; }

  /// A worker's word on the message with that sequence, which it has from that consumer: one that
  /// is not the consumer of the message's subject says nothing of it.
  std::optional<TaskReport> heard(std::string_view consumer, uint64_t sequence, AckWord word,
                                  Time now);
  /// Workers have been given all messages of that subject up to this sequence: who says nothing has
  /// begun with his all the same.
  std::vector<TaskReport> given_out(const std::string& subject, uint64_t sequence);
  /// Subjects with messages that nobody has begun with, as far as is known.
  std::vector<std::string> waiting_subjects() const;
  bool waits_for_workers() const;

  /// Whether a worker has the task is to be found out and told, as TaskStarted or TaskUnbegun.
  /// False: it is not known, or no worker can have it.
  bool ask(const InstanceId& task, Time now);
  /// Tasks that are asked about and whose place in the stream is known, by their subjects. They
  /// are answered by given_out(), and those that it leaves out by unbegun().
  using Asked = std::map<std::string, std::vector<InstanceId>>;
  Asked take_asked();
  /// Workers have not been given these: told, unless something else is known of them by now.
  std::vector<TaskReport> unbegun(const std::vector<InstanceId>& tasks);

  /// The answer is there, given for that namespace if it is known for which. False: it was not
  /// waited for, or the task is another namespace's.
  bool answered(const InstanceId& task, const std::optional<std::string>& space, Time now);
  /// Nobody has got it, and nobody will. False: it was not waited for.
  bool failed(const InstanceId& task);

  /// What time alone has brought about.
  std::vector<TaskReport> elapse(Time now);
  /// When that may be; nullopt: nothing waits for it.
  std::optional<Time> next_time() const;

  /// Whether it is one for the work queue; nullopt: it is not known.
  std::optional<bool> is_queued(const InstanceId& task) const;
  size_t size() const { return tasks_.size(); }
  /// How many messages words are kept of that may be ours: bounded in number and by time.
  size_t overheard() const { return early_.size(); }
  /// Of them, those that the broker has not taken yet.
  size_t unsent() const { return unsent_; }

 private:
  enum class Standing : uint8_t {
    kWanted,
    kRefused,  ///< a worker has given it back; its answer may be on the way
    kAnswered,
    kStopped,
  };
  /// What tasks of one subject share.
  struct Subject {
    std::string consumer;                    ///< that gives them out; empty: they are not queued
    std::map<uint64_t, InstanceId> unbegun;  ///< by sequence, those that nobody has begun with
  };
  using Subjects = std::map<std::string, Subject>;

  struct Entry {
    std::shared_ptr<const NatsMessage> message;  ///< until the broker has it
    Subjects::iterator subject;                  ///< of the name "" where it is not queued
    std::set<std::string>::iterator space;       ///< the namespace's name
    uint64_t sequence = 0;                       ///< in the stream; 0: not known
    Time look_at{};                              ///< when time may bring about something
    std::optional<Time> asked_until;             ///< whether it has begun is to be told by then
    Standing standing = Standing::kWanted;
    bool queued = false;
    bool sent = false;
    bool begun = false;  ///< a worker has been heard, or a service asked
    bool gone = false;   ///< the stream no longer has it
  };
  using Tasks =
      std::map<InstanceId, Entry>;  // ids sort by time, so what goes again keeps its order
  /// What was said of a message before the stream acknowledged it to us, or of one that is not
  /// ours: each word of each consumer once.
  struct Early {
    Time since{};
    std::vector<std::pair<std::string, AckWord>> words;
  };

  void keep_early(std::string_view consumer, uint64_t sequence, AckWord word, Time now);
  void forget_early(Time before);
  void look(const InstanceId& task, Entry& entry, Time when);
  std::optional<TaskReport> apply(const InstanceId& task, Entry& entry, AckWord word, Time now);
  void settle(Tasks::iterator at, Time now);
  void have_sent(Entry& entry);
  void has_begun(Entry& entry);
  Tasks::iterator forget(Tasks::iterator at);

  const Settings settings_;
  Tasks tasks_;
  std::deque<InstanceId> queue_;  ///< to be sent to the stream; what is no longer so is passed over
  std::deque<InstanceId> calls_;  ///< the same, to services
  size_t unsent_ = 0;
  size_t unacknowledged_ = 0;  ///< sent to the stream, which has not answered
  uint64_t newest_ = 0;
  std::unordered_map<uint64_t, InstanceId> by_sequence_;
  Subjects subjects_;
  std::set<std::string> spaces_;
  std::map<uint64_t, Early> early_;                       ///< all behind newest_
  std::deque<std::pair<Time, uint64_t>> early_in_order_;  ///< some are gone: see Early::since
  std::set<InstanceId> asked_;  ///< to be looked for; some are answered by now
  std::deque<std::pair<Time, InstanceId>> asked_until_;
  std::set<std::pair<Time, InstanceId>> looks_;  ///< some are out of date: see Entry::look_at
  std::vector<uint64_t> deletes_;
  std::vector<InstanceId> stops_;
};

}  // namespace millrace
