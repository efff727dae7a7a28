// The NATS messages of a task: the message that brings the task to a worker or service, the words
// with which a worker acknowledges it, and the answer. Pure. docs/FORMATS.md describes them for
// authors of workers. Private to broker/.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include <tl/expected.hpp>

#include "base/ids.h"
#include "broker/streams.h"
#include "cloudevents/nats_binding.h"
#include "model/task.h"

namespace millrace {

/// The message for a WorkQueue or a NatsService. Errors: kFunctionUnavailable, the subject does not
/// belong to the work queue; kFunctionFiles, the task has files and no folder: workers get none.
/// The subject of the message is one inside millrace; `prefix` is for the subjects of the answer
/// and of callbacks.
tl::expected<NatsMessage, Error> task_message(const Task& task,
                                              std::string_view prefix = kDefaultPrefix);

/// Returns a message of task_message() under another Nats-Msg-Id: the action id, `/` and 16
/// hexadecimal digits of the fingerprint of `folder`. The stream of tasks stores it although it has
/// stored `message` before, but only once for each `folder`.
NatsMessage sent_again(NatsMessage message, std::string_view folder);

/// The subject for the answer to a task of the work queue: `millrace.results.0.<namespace>.<action
/// id>`. The 0 is the partition of the namespace; no other partition exists yet.
std::string reply_subject(std::string_view ns, const InstanceId& task,
                          std::string_view prefix = kDefaultPrefix);

/// The subject for the message that a task was cancelled: `millrace.stops.<action id>`.
std::string stop_subject(const InstanceId& task, std::string_view prefix = kDefaultPrefix);

/// The name of the durable consumer that workers pull from: the part after `millrace.tasks.`, with
/// `+` for each dot, and `+`, `/`, `\` percent-encoded. A name longer than 128 bytes is cut and
/// ends in `+` and 16 hexadecimal digits of the subject's fingerprint.
std::string task_consumer(std::string_view subject);

/// A worker's acknowledgement of its message to the broker. millrace subscribes to these messages
/// too.
enum class AckWord {
  kAlive,  ///< `+WPI`: the worker still works on the task
  kDone,   ///< `+ACK`, or its other forms: the stream no longer has the message
  kNak,    ///< `-NAK`: the worker will not do the task
  kTerm,   ///< `+TERM`: the worker will not do the task; the stream no longer has the message
};
/// nullopt: the broker does not know that word.
std::optional<AckWord> read_ack_word(std::string_view body);

/// The task that an answer is for, and the task's namespace, as the subject of the answer names
/// them.
struct AnsweredTask {
  InstanceId task;
  std::string ns;

  bool operator==(const AnsweredTask&) const = default;
};
/// Reads the subjects of reply_subject(), and the old form `millrace.results.<namespace>.<action
/// id>`, which older tasks without a partition name. nullopt: the subject has neither form. Headers
/// are ignored: a broker's permissions are for subjects, so only the subject proves for which
/// namespace a worker may answer.
std::optional<AnsweredTask> answered_task(std::string_view subject,
                                          std::string_view prefix = kDefaultPrefix);

/// The bytes of an answer, or the error in its headers: `Direktiv-ErrorCode` with
/// `Direktiv-ErrorMessage`, else `Nats-Service-Error-Code` with `Nats-Service-Error`. An invalid
/// error code becomes kFunctionStatus; an answer of more than kMaxAnswerBytes becomes
/// kFunctionTooLarge.
tl::expected<std::string, Error> read_answer(NatsMessage answer);

/// Whether an answer says that its service has accepted the task, and answers it later: it has the
/// header `Millrace-Answer: accepted` and no error.
bool is_accepted(const NatsMessage& answer);

/// Splits headers that nats.c may have misread (may_hold_the_next_header): a value that contains
/// the next header becomes a header of its own. An error code never looks like a header, so an
/// error code of that form is cleared.
Headers apart(Headers headers);

}  // namespace millrace
