// The subject in the report of a NATS server that it refused a message. The report comes apart from
// the message, and has no other link to it than this subject. Pure. Private to broker/.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace millrace {

/// The subject in a report such as `Permissions Violation for Publish to "svc.pay"`: the user may
/// not publish on it. nullopt: `complaint` is another report, or its end is missing (nats.c keeps
/// 255 bytes of a report, so the subject has more than about 210 bytes), or the subject has bytes
/// that the NATS server shows as escapes other than `\"` and `\\`.
std::optional<std::string> refused_subject(std::string_view complaint);

}  // namespace millrace
