// Messages: builds the messages that millrace publishes to the broker. Pure.
#pragma once

#include <string>
#include <string_view>

#include "base/event.h"
#include "cloudevents/nats_binding.h"
#include "model/dead_letter.h"

namespace millrace {

/// The maximum size of a message: the broker's default max_payload of 1 MiB, less space for
/// headers.
inline constexpr size_t kMaxMessageBytes = size_t{1024 - 16} * 1024;

/// The message for an event of the event stream, in CloudEvents' structured mode, on
/// `millrace.events.<space>.<type>`, without a Nats-Msg-Id: the content of a dead letter.
NatsMessage event_message(std::string_view ns, const Event& event);

/// The Nats-Msg-Id of an event: 32 hexadecimal digits that depend only on (`ns`, source, id) and
/// `key`, not on the sender. `key` is Seal::message_key(): without it, a client that publishes to
/// one namespace cannot compute the id of an event of another namespace. Such a client could
/// publish that id first, and the event stream would drop the event as a duplicate.
std::string message_id(std::string_view key, std::string_view ns, const Event& event);

/// The Nats-Msg-Id of an event in messages of earlier releases, which had no key. The outbox may
/// still have such messages; they are sent under the id that is in their row.
std::string earlier_message_id(std::string_view ns, const Event& event);

/// event_message() with the header Nats-Msg-Id, for the event stream; `key` as in message_id().
NatsMessage message_to_publish(std::string_view key, std::string_view ns, const Event& event);

/// A dead letter on `millrace.dlq.<space>.<reason>`: the bytes and headers as received, with
/// Millrace-Reason, -Detail, -Subject and -Sequence. If the message is too large to be sent again,
/// the letter has only the start of the bytes, and Millrace-Truncated has their full number. The
/// Nats-Msg-Id of the dead letter is made from `stream_created`, the sequence, the reason, and the
/// message's subject and data, because one message may become a dead letter for several reasons.
NatsMessage dead_letter_message(const DeadLetter& letter, int64_t stream_created);

/// The dead letter that replaces a generated event or lifecycle event that is too large for the
/// broker; the letter has the start of the event's bytes.
NatsMessage too_large_letter(NatsMessage event, const Error& error);

/// Cuts the data of `letter`, a dead letter that is too large, to the first quarter. Returns false
/// if the letter has no data.
bool shorten_letter(NatsMessage& letter);

}  // namespace millrace
