// RequestSubjects: the NATS subjects on which services may be called (`request`). millrace sends a
// request with its own permissions, and the author of a workflow chooses what the request contains.
// So a request must not reach the API of JetStream, the streams of millrace or the inboxes of other
// clients. Pure value.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/defaults.h"

namespace millrace {

/// Whether an answer may be sent to a reply subject that another client has chosen: not to subjects
/// that begin with `$`, `millrace.` or the prefix of the server, where millrace has rights of its
/// own.
bool may_be_reply(std::string_view subject, std::string_view prefix);

struct RequestSubjects {
  std::string prefix = "millrace";  ///< of the streams and subjects of this server
  std::string inbox_prefix = defaults::kInboxPrefix;  ///< of the inboxes of this server
  /// Patterns of the only subjects on which services may be called; empty: all subjects that are
  /// not reserved. A reserved subject is refused even if a pattern matches it.
  std::vector<std::string> allowed;

  /// Why no service may be called on `subject`, and what to do, as a sentence; nullopt: services
  /// may be called on it. Reserved are subjects that begin with `$`, `_INBOX`, `millrace.`, the
  /// prefix of the server, or its inbox prefix.
  std::optional<std::string> refusal(std::string_view subject) const;

  /// As may_be_reply(), of the answer to a callback. Subjects with the inbox prefix of the server
  /// do not get one either, unless that is `_INBOX`, which all clients use.
  bool may_be_answered(std::string_view reply) const;
};

/// Reads patterns that are separated by commas, such as `shop.>,stock.*`. nullopt: one of them is
/// not a pattern of subjects.
std::optional<std::vector<std::string>> read_subject_patterns(std::string_view text);

}  // namespace millrace
