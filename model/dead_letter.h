// DeadLetter: a message that could not be used, as it was received, and why.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/time.h"
#include "cloudevents/nats_binding.h"
#include "model/instance.h"

namespace millrace {

/// Set aside what could not be used, as received, and why.
struct DeadLetter {
  std::string space;  ///< name; "default" where the subject did not tell
  Error reason;
  uint64_t sequence = 0;
  NatsMessage message;
  /// The namespace that had that name when the message was for it; none: the one that has it now.
  std::optional<NamespaceNumber> number = std::nullopt;
};

/// The header of a dead letter that has the number of its namespace, or 0 where there was none.
inline constexpr std::string_view kDeadLetterNamespace = "Millrace-Namespace";

/// What tells a namespace from an earlier one of the same name.
struct NamespaceIdentity {
  NamespaceNumber number{};
  TimePoint created_at;
};

}  // namespace millrace
