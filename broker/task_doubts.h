// The doubtful tasks of a TaskBook. A task is doubtful if it is an inherited task and the stream
// acknowledged its message as a duplicate: a worker may have removed the first message, and the
// process that sent it may have received the answer. The broker is asked whether the stream still
// has the message. If the message is gone and the grace has passed, the broker is asked whether an
// answer waits. If there is none, the task is sent again. No I/O and no time: the TaskBook decides
// when a question is asked. Private to broker/; for one thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>

#include "base/ids.h"
#include "cloudevents/nats_binding.h"
#include "orchestrator/ports/publisher.h"

namespace millrace {

/// A question to the broker about a doubtful task.
struct TaskQuestion {
  enum class About : uint8_t {
    kMessage,  ///< whether the stream of tasks has the message with the sequence `sequence`
    kAnswer,   ///< whether the stream of answers has an answer to the task
  };
  InstanceId task;
  std::string ns;  ///< the task's namespace
  About about = About::kMessage;
  uint64_t sequence = 0;
};

class TaskDoubts {
 public:
  /// `most_open`: the limit of questions that the broker has not answered.
  explicit TaskDoubts(size_t most_open) : most_open_(most_open) {}

  /// Adds a task whose message `message` is a duplicate of the message with that sequence. The
  /// question about the message is queued.
  void add(const InstanceId& task, uint64_t sequence, std::shared_ptr<const NatsMessage> message);
  /// The task is not doubtful any more. Unknown tasks are ignored.
  void drop(const InstanceId& task);
  /// Includes the tasks that are sent again and not acknowledged yet.
  bool contains(const InstanceId& task) const { return doubts_.contains(task); }
  /// Whether it is not known yet if the stream has the task's message.
  bool is_message_unknown(const InstanceId& task) const;

  bool has_question() const { return !queue_.empty() && open_ < most_open_; }
  /// Returns the next queued question without its namespace, and opens it; nullopt: no question is
  /// queued, or the limit of open questions is reached.
  std::optional<TaskQuestion> open_next();
  /// The broker has answered the question. Returns false if the question is not open: the answer is
  /// late or repeated.
  bool close(const InstanceId& task, TaskQuestion::About about);
  /// The stream does not have the message: ask() queues the question about the answer.
  void message_is_gone(const InstanceId& task);
  /// Queues the question about the task, also if an earlier question is still open.
  void ask(const InstanceId& task);
  /// Queues all open questions again: their answers are lost.
  void ask_open_again();

  /// The task is sent again. Returns its first message, which is not kept any longer.
  std::shared_ptr<const NatsMessage> send_again(const InstanceId& task);
  /// Whether the acknowledgement belongs to the first message of a task that is sent again.
  bool is_of_first_message(const InstanceId& task, const PublishAck& ack) const;

 private:
  enum class State : uint8_t {
    kQueued,
    kOpen,   ///< the broker has to answer
    kWaits,  ///< until ask()
    kSentAgain,
  };
  struct Doubt {
    std::shared_ptr<const NatsMessage> message;
    uint64_t sequence = 0;
    TaskQuestion::About about = TaskQuestion::About::kMessage;
    State state = State::kQueued;
  };

  const size_t most_open_;
  size_t open_ = 0;
  std::unordered_map<InstanceId, Doubt> doubts_;
  std::deque<InstanceId> queue_;  ///< outdated entries are skipped
};

}  // namespace millrace
