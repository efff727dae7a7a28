// The subjects of the event stream: `millrace.events.<namespace>.<type>`. The type is there for
// subscribers' filters only, so it may be cut; routing looks at the event.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace millrace {

/// What all subjects of events begin with.
inline constexpr std::string_view kEventSubjectPrefix = "millrace.events.";

/// The longest tail that an event's type makes, in bytes; the rest of a longer one is left out: a
/// server ends the connection that sends a line of more than 4 KiB.
inline constexpr size_t kMaxSubjectTail = 200;

/// A legal subject to publish to, whatever the two texts are. What no token may hold (blanks,
/// control characters, `*`, `>`, bytes outside ASCII) and `%` is percent-encoded, so are all dots
/// of the namespace and those of the type that would make an empty token. An empty text is `%`.
std::string event_subject(std::string_view ns, std::string_view type);

/// One token of a subject, whatever the text is: encoded as the namespace of an event is.
std::string subject_token(std::string_view text);

/// Whether that is a subject to publish to: no empty token, blank, control character or wildcard,
/// and at most 3 KiB: a server ends the connection that sends a line of more than 4 KiB, with
/// subject, reply and sizes.
bool is_publish_subject(std::string_view subject);

/// The namespace in the subject of an event, decoded; nullopt where the subject is none of those.
/// `prefix` is what they begin with on the broker.
std::optional<std::string> subject_namespace(std::string_view subject,
                                             std::string_view prefix = kEventSubjectPrefix);

}  // namespace millrace
