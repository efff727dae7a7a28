// The subjects of the event stream: `millrace.events.<namespace>.<type>`. The type in the subject
// serves the filters of subscribers only, so it may be cut; the router uses the type of the event.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace millrace {

/// The prefix of all subjects of events.
inline constexpr std::string_view kEventSubjectPrefix = "millrace.events.";

/// The longest encoded type in a subject, in bytes; a longer one is cut, because a NATS server
/// closes a connection that sends a line of more than 4 KiB.
inline constexpr size_t kMaxSubjectTail = 200;

/// The subject of an event, which is valid to publish to for any namespace and type. Bytes that a
/// token must not contain (spaces, control characters, `*`, `>`, bytes outside ASCII) and `%` are
/// percent-encoded, and so are all dots of the namespace and the dots of the type that would make
/// an empty token. An empty text becomes `%`.
std::string event_subject(std::string_view ns, std::string_view type);

/// Any text as one token of a subject, encoded as event_subject() encodes the namespace.
std::string subject_token(std::string_view text);

/// Whether a message can be published to the subject: no empty token, space, control character or
/// wildcard, and at most 3 KiB. A NATS server closes a connection that sends a line of more than
/// 4 KiB, and the line also contains the reply subject and sizes.
bool is_publish_subject(std::string_view subject);

/// Whether `pattern` is a pattern of subjects: tokens as in a subject to publish to, of which each
/// may be `*` (any token) and the last one may be `>` (one or more tokens).
bool is_subject_pattern(std::string_view pattern);

/// Whether `outer` matches all subjects that `inner` matches (`*` and `>` in both).
bool subject_covers(std::string_view outer, std::string_view inner);

/// Whether a subject exists that both patterns match.
bool subjects_overlap(std::string_view first, std::string_view second);

/// The decoded namespace in the subject of an event; nullopt if `subject` is not the subject of an
/// event. `prefix` is the prefix of these subjects on the broker.
std::optional<std::string> subject_namespace(std::string_view subject,
                                             std::string_view prefix = kEventSubjectPrefix);

}  // namespace millrace
