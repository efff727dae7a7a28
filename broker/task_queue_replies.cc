// The incoming messages of a TaskQueue: the stream's acknowledgements, the broker's answers to
// questions, answers of services, acknowledgements of workers, and answers of workers. The messages
// come on threads of nats.c and of TaskResults.
#include <chrono>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "broker/nats_status.h"
#include "broker/publisher.h"
#include "broker/stored_message.h"
#include "broker/task_message.h"
#include "broker/task_queue_impl.h"
#include "broker/wire.h"

namespace millrace {
namespace {

using std::chrono::steady_clock;

/// The data of a message, as long as the message exists.
std::string_view data_of(natsMsg* message) {
  return {natsMsg_GetData(message), static_cast<size_t>(natsMsg_GetDataLength(message))};
}

tl::unexpected<Error> no_jetstream() {
  return fail("broker.unreachable", "no stream accepts tasks; check that JetStream is enabled");
}

TaskReport ended_by(const InstanceId& task, std::string_view code, std::string why) {
  return {task,
          TaskEnded{.result = tl::unexpected<Error>(Error{std::string(code), std::move(why)})}};
}

}  // namespace

/// Handles an acknowledgement of the tasks stream, or the broker's answer to a question.
void TaskQueue::Impl::on_broker_reply(natsMsg* message) {
  std::string_view token = natsMsg_GetSubject(message);
  token.remove_prefix(ack_inbox_.size());
  if (token.starts_with(kAboutMessage)) {
    on_found(token.substr(kAboutMessage.size()), TaskQuestion::About::kMessage, message);
  } else if (token.starts_with(kAboutAnswer)) {
    on_found(token.substr(kAboutAnswer.size()), TaskQuestion::About::kAnswer, message);
  } else {
    on_ack(message);
  }
}

/// The task that the subject of a message to `inbox` names. nullopt: the task was stopped, is
/// already answered, or is of the other kind (`queued`), whose messages come to another inbox.
std::optional<InstanceId> TaskQueue::Impl::task_of(natsMsg* message, const std::string& inbox,
                                                   bool queued) const {
  const std::string_view subject = natsMsg_GetSubject(message);
  const Result<InstanceId> task = parse_instance_id(subject.substr(inbox.size()));
  if (!task) return std::nullopt;
  const std::lock_guard lock(mutex_);
  if (book_.is_queued(*task) != queued) return std::nullopt;
  return *task;
}

void TaskQueue::Impl::on_ack(natsMsg* message) {
  const std::optional<InstanceId> known = task_of(message, ack_inbox_, true);
  if (!known) return;
  const InstanceId& task = *known;
  const Result<PublishAck> ack = natsMsg_IsNoResponders(message)
                                     ? Result<PublishAck>(no_jetstream())
                                     : read_publish_ack(data_of(message));
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
  report(std::move(reports));
}

/// Handles the broker's answer to a TaskQuestion. After an error the question is asked again when
/// its time has passed.
void TaskQueue::Impl::on_found(std::string_view task, TaskQuestion::About about, natsMsg* message) {
  const Result<InstanceId> id = parse_instance_id(task);
  if (!id) return;
  const Result<bool> is_there =
      natsMsg_IsNoResponders(message)
          ? Result<bool>(no_jetstream())
          : read_whether_stored(question_subject(about), data_of(message));
  const std::lock_guard lock(mutex_);
  if (is_there) {
    book_.found(*id, about, *is_there, steady_clock::now());
  } else {
    try_again(StreamKeeper::kLeaveAlone, is_there.error());
  }
  changed_.notify_all();
}

/// Handles the answer of a service.
void TaskQueue::Impl::on_answer(natsMsg* message) {
  const std::optional<InstanceId> known = task_of(message, answer_inbox_, false);
  if (!known) return;
  const InstanceId& task = *known;
  NatsMessage answer;
  const bool sure = read_message(message, answer);
  if (natsMsg_IsNoResponders(message)) {
    end(task, kFunctionUnavailable, "no service listens on the function's subject");
    return;
  }
  if (!sure) answer.headers = apart(std::move(answer.headers));
  if (is_accepted(answer) && accept(task)) return;
  const bool empty = answer.data.empty();
  tl::expected<std::string, Error> result = read_answer(std::move(answer));
  if (result && empty && !sure) {
    // The unreadable headers may contain the error of the service.
    end(task, kFunctionUnavailable, "the headers of the service's answer can't be read");
    return;
  }
  {
    const std::lock_guard lock(mutex_);
    if (!book_.answered(task, std::nullopt, steady_clock::now())) return;
    if (book_.has_mail(false)) changed_.notify_all();  // another request may be sent
  }
  sink_.report({task, TaskEnded{.result = std::move(result)}}, {});
}

/// Takes the answer of a service that it has accepted the task. Returns false if the task has no
/// callback: then the answer is a result.
bool TaskQueue::Impl::accept(const InstanceId& task) {
  {
    const std::lock_guard lock(mutex_);
    if (book_.may_answer_later(task) == false) return false;
    if (!book_.answered(task, std::nullopt, steady_clock::now())) return true;
    if (book_.has_mail(false)) changed_.notify_all();  // another request may be sent
  }
  sink_.report({task, TaskAccepted{}}, {});
  return true;
}

void TaskQueue::Impl::on_word(natsMsg* message) {
  const std::string_view subject = natsMsg_GetSubject(message);
  const std::optional<DeliveryNumbers> numbers = parse_ack_subject(subject);
  const std::optional<AckWord> word = read_ack_word(data_of(message));
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

void TaskQueue::Impl::on_result(NatsMessage answer, std::function<void()> stored) {
  std::optional<AnsweredTask> answered = answered_task(answer.subject, prefix_);
  bool accepts = is_accepted(answer);
  {
    const std::lock_guard lock(mutex_);
    ++counts_.answers;
    // The answer of a NATS service comes as the reply to its request.
    if (answered && book_.is_queued(answered->task) == false) answered.reset();
    if (answered) {
      // A task of an earlier process, which may be unknown here, has a callback, too.
      accepts = accepts && book_.may_answer_later(answered->task) != false;
      // The stream need not keep the message of an accepted task, as that of an answered one.
      book_.answered(answered->task, answered->ns, steady_clock::now());
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
  TaskReport report{.task = answered->task, .what = TaskAccepted{}, .ns = std::move(answered->ns)};
  if (!accepts) report.what = TaskEnded{.result = read_answer(std::move(answer))};
  // Tasks of an earlier process may be unknown here, so the sink compares the namespaces.
  sink_.report(std::move(report), std::move(stored));
}

/// Ends the requests to services that NATS refused. A refused message to the stream gets no
/// acknowledgement, so it is sent again until the stream has it.
void TaskQueue::Impl::on_refused(const std::string& subject) {
  std::vector<TaskReport> reports;
  {
    const std::lock_guard lock(mutex_);
    reports = book_.refused(subject);
    if (book_.has_mail(false)) changed_.notify_all();  // other requests may be sent
  }
  report(std::move(reports));
}

/// Ends a task that failed without an answer that can be used.
void TaskQueue::Impl::end(const InstanceId& task, std::string_view code, std::string why) {
  {
    const std::lock_guard lock(mutex_);
    if (!book_.failed(task)) return;
    if (book_.has_mail(false)) changed_.notify_all();  // another request may be sent
  }
  sink_.report(ended_by(task, code, std::move(why)), {});
}

void TaskQueue::Impl::report(std::vector<TaskReport> reports) {
  for (TaskReport& report : reports) sink_.report(std::move(report), {});
}

}  // namespace millrace
