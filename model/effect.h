// Effect: all that the engine asks of the outside, a closed list. Effects are performed only after
// the batch that holds them is on disk; those that must survive a crash are rows of that batch.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/event.h"
#include "base/json.h"
#include "base/result.h"
#include "base/time.h"
#include "cloudevents/nats_binding.h"
#include "expressions/evaluation.h"
#include "model/instance.h"

namespace millrace {

/// Send a generated event into the event stream, at once or when `at` comes.
struct Publish {
  NamespaceNumber space{};
  Event event;
  std::optional<TimePoint> at;
};

/// Set aside what could not be used, as received, and why.
struct DeadLetter {
  std::string space;  ///< name; "default" where the subject did not tell
  Error reason;
  uint64_t sequence = 0;
  NatsMessage message;
};

/// Evaluate what the fast lane does not take. Comes back as EvaluatedInput: `before` and behind it
/// the results of this evaluation.
struct Evaluate {
  NamespaceNumber space{};
  InstanceId instance;
  uint64_t step = 0;
  std::vector<EvaluationResult> before;
  Evaluation evaluation;
};

/// The outcome of a command.
struct Answer {
  uint64_t request = 0;
  Result<Json> result;
};

using Effect = std::variant<Publish, DeadLetter, Evaluate, Answer>;

}  // namespace millrace
