// Messages: what millrace sends to the broker, made from values. Pure.
#pragma once

#include <string>
#include <string_view>

#include "base/event.h"
#include "cloudevents/nats_binding.h"
#include "model/dead_letter.h"

namespace millrace {

/// No message is larger: the broker's default max_payload of 1 MiB less room for its headers.
inline constexpr size_t kMaxMessageBytes = size_t{1024 - 16} * 1024;

/// An event for the event stream, structured, under `millrace.events.<space>.<type>`. Its
/// Nats-Msg-Id is the same for the same (space, source, id), whoever sends it.
NatsMessage event_message(std::string_view space, const Event& event);

/// A dead letter under `millrace.dlq.<space>.<reason>`: the bytes and headers as received, with
/// Millrace-Reason, -Detail, -Subject and -Sequence. What is too large to be sent again holds the
/// head of the bytes, and their number in Millrace-Truncated. `stream_created`, the sequence and
/// the reason in full make its Nats-Msg-Id: one message may be of no use in several places.
NatsMessage dead_letter_message(const DeadLetter& letter, int64_t stream_created);

/// The dead letter that takes the place of an event of ours which the broker does not take, as
/// large as it is: a head of its bytes.
NatsMessage too_large_letter(NatsMessage event, const Error& error);

/// Leaves a quarter of the bytes of a dead letter that is itself too large; false: it has none.
bool shorten_letter(NatsMessage& letter);

}  // namespace millrace
