// What is said over NATS of a task: the message that brings it to whoever does it, the words that a
// worker acknowledges with, and the answer. Pure; docs/FORMATS.md has it for those who write
// workers. Private to broker/.
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

/// The message for a WorkQueue or a NatsService. Errors: kFunctionUnavailable, the subject is none
/// of the work queue's; kFunctionFiles, the task comes with files, which have no way over NATS.
/// Its own subject is as inside millrace; `prefix` is that of the answer's.
tl::expected<NatsMessage, Error> task_message(const Task& task,
                                              std::string_view prefix = kDefaultPrefix);

/// Where the answer to a task of the work queue goes: `millrace.results.0.<namespace>.<action id>`.
/// The 0 is the partition that the namespace lies in; today there is no other.
std::string reply_subject(std::string_view space, const InstanceId& task,
                          std::string_view prefix = kDefaultPrefix);

/// Where it is said that nobody waits for a task any more: `millrace.stops.<action id>`.
std::string stop_subject(const InstanceId& task, std::string_view prefix = kDefaultPrefix);

/// The durable consumer that workers pull from: what follows `millrace.tasks.`, with `+` for each
/// dot and `+`, `/`, `\` percent-encoded. One that would be longer than 128 bytes is cut, and ends
/// in `+` and 16 hexadecimal digits of the subject's fingerprint.
std::string task_consumer(std::string_view subject);

/// What a worker says to the broker of a message that it has taken, and we overhear.
enum class AckWord {
  kAlive,  ///< `+WPI`
  kDone,   ///< `+ACK`, or its other forms: the stream no longer has the message
  kNak,    ///< `-NAK`: will not do it
  kTerm,   ///< `+TERM`: the same, and the stream no longer has the message
};
/// nullopt: no word that the broker knows.
std::optional<AckWord> read_ack_word(std::string_view body);

/// The task that an answer is for, and the namespace of that task, as its subject names them.
struct AnsweredTask {
  InstanceId task;
  std::string space;

  bool operator==(const AnsweredTask&) const = default;
};
/// Reads reply_subject(), and its old form `millrace.results.<namespace>.<action id>`, which tasks
/// name that were sent before there were partitions. nullopt: it is neither. Headers do not count:
/// a broker's permissions are for subjects, so only these show for which namespace a worker speaks.
std::optional<AnsweredTask> answered_task(std::string_view subject,
                                          std::string_view prefix = kDefaultPrefix);

/// The bytes of an answer, or the error that its headers name: `Direktiv-ErrorCode` with
/// `Direktiv-ErrorMessage`, else `Nats-Service-Error-Code` with `Nats-Service-Error`. A code that
/// is no identifier becomes kFunctionStatus; more than kMaxAnswerBytes are kFunctionTooLarge.
tl::expected<std::string, Error> read_answer(NatsMessage answer);

/// Headers that nats.c may have misread (may_hold_the_next_header), with those apart that it took
/// for the values of others. An error code is no header, so it is not kept where it looks like one.
Headers apart(Headers headers);

}  // namespace millrace
