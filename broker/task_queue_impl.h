// TaskQueue::Impl: the thread that sends, and the state that it shares with the threads that
// receive. Private to task_queue.cc (the thread and what it sends) and task_queue_replies.cc (what
// is received).
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "broker/listening.h"
#include "broker/nats_handles.h"
#include "broker/stream_keeper.h"
#include "broker/streams.h"
#include "broker/task_book.h"
#include "broker/task_callbacks.h"
#include "broker/task_queue.h"
#include "broker/task_results.h"

namespace millrace {

// The last token of the subject to which an answer of the broker comes, within the inbox: for a
// message of a task, the action id; for a TaskQuestion, one of these texts and the action id.
inline constexpr std::string_view kAboutMessage = "message-";
inline constexpr std::string_view kAboutAnswer = "answer-";

class TaskQueue::Impl {
 public:
  Impl(Connection& connection, TaskSink& sink, const TaskQueueSettings& settings);
  ~Impl();

  void run(Task task);
  void stop(const InstanceId& task);
  bool check_started(const InstanceId& task);
  std::optional<Duration> since_heartbeat(const InstanceId& task) const;
  uint64_t waiting_bytes(std::string_view ns) const;
  Counts counts() const;
  Status health() const;

 private:
  void work();
  void sleep(std::unique_lock<std::mutex>& lock, std::chrono::steady_clock::time_point now);
  Status open_streams();
  Status open_consumers();
  Status make_consumer(const std::string& subject);
  Result<uint64_t> last_given(const std::string& subject);
  void look_up_started(const std::vector<std::string>& subjects);
  void look_for(const TaskBook::Asked& asked);
  bool listen();
  void send(TaskMail mail);
  bool send_message(const TaskMail::Message& mail);
  bool send_question(const TaskQuestion& question);
  std::string question_subject(TaskQuestion::About about) const;
  void try_again(Duration later, const Error& why);

  void on_broker_reply(natsMsg* message);
  std::optional<InstanceId> task_of(natsMsg* message, const std::string& inbox, bool queued) const;
  void on_ack(natsMsg* message);
  void on_found(std::string_view task, TaskQuestion::About about, natsMsg* message);
  void on_answer(natsMsg* message);
  bool accept(const InstanceId& task);
  void on_word(natsMsg* message);
  void on_result(NatsMessage answer, std::function<void()> stored);
  void on_refused(const std::string& subject);

  void end(const InstanceId& task, std::string_view code, std::string why);
  void report(std::vector<TaskReport> reports);

  Connection& connection_;
  TaskSink& sink_;
  const std::function<void()> on_stray_;
  const StreamSettings tasks_stream_;
  const StreamSettings results_stream_;
  const std::string prefix_;
  const std::optional<TimePoint> folder_made_;
  const RequestSubjects request_subjects_;
  const Duration call_timeout_;
  const Duration flush_timeout_;
  const Duration look_timeout_;
  // Set by listen(). Each ends in a dot; reply subjects add their last token. A service sees the
  // inbox of its answer in the request, so acknowledgements of the stream and answers of the broker
  // to questions have another one.
  std::string ack_inbox_;
  std::string answer_inbox_;
  uint64_t watch_ = 0;
  uint64_t refusals_ = 0;
  StreamKeeper keeper_;

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  bool stopping_ = false;
  bool lost_ = false;       ///< the connection, or messages that were sent over it, may be lost
  bool open_ = false;       ///< the streams exist
  bool caught_up_ = false;  ///< answers that waited in the stream have been processed
  std::chrono::steady_clock::time_point try_at_{};
  std::chrono::steady_clock::time_point look_at_{};
  Status health_ = fail("broker.unreachable", "there is no connection to NATS yet");
  TaskBook book_;
  Counts counts_;

  // Only for the sending thread, and afterwards for the destructor.
  std::set<std::string> consumers_;  ///< subjects whose consumers were created or found
  int64_t created_ = 0;              ///< creation time of the tasks stream
  std::unique_ptr<Listening> acks_;
  std::unique_ptr<Listening> answers_;
  std::unique_ptr<Listening> words_;
  std::unique_ptr<TaskCallbacks> callbacks_;  ///< null: they are not taken

  std::thread thread_;
  std::unique_ptr<TaskResults> results_;
};

}  // namespace millrace
