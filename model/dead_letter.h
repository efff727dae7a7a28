// DeadLetter: a message that could not be used, with the reason.
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

/// A message for the dead-letter queue: the message as it was received, and why it could not be
/// used.
struct DeadLetter {
  std::string ns;  ///< name of the namespace; "default" if the subject names no namespace
  Error reason;
  uint64_t sequence = 0;
  NatsMessage message;
  /// Number of the namespace that had the name `ns` when the message was addressed to it; nullopt:
  /// the message is for the namespace that has this name now.
  std::optional<NamespaceNumber> number = std::nullopt;
  std::string source = {};  ///< the name of the source that read the message; empty: none
};

/// The header of a dead letter that holds the number of its namespace; the number is 0 if the
/// namespace did not exist.
inline constexpr std::string_view kDeadLetterNamespace = "Millrace-Namespace";

/// The header of a dead letter that holds the name of the source that read the message.
inline constexpr std::string_view kDeadLetterSource = "Millrace-Source";

/// Distinguishes a namespace from an earlier one of the same name.
struct NamespaceIdentity {
  NamespaceNumber number{};
  TimePoint created_at;
};

}  // namespace millrace
