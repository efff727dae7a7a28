// What the messages of a source become: a CloudEvent stays what it is, and the mapping of the
// source makes an event of any other message. Any thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/event.h"
#include "base/result.h"
#include "base/time.h"
#include "orchestrator/definition/event_mapping.h"
#include "orchestrator/definition/source_settings.h"
#include "orchestrator/ports/evaluator.h"
#include "orchestrator/ports/origin_streams.h"

namespace millrace {

/// The error code if no jq worker can evaluate a mapping; the message is not at fault.
inline constexpr std::string_view kNoJqWorker = "jq.unavailable";

/// How the messages of one source become events.
struct SourceMapping {
  std::shared_ptr<const EventMapping> mapping;  ///< null: only CloudEvents are read
  std::string stream;                           ///< the name of the origin stream
  std::string source;  ///< the attribute `source`, unless the mapping sets it
  uint64_t lane = 0;   ///< a slow mapping delays only those of the same lane
  uint64_t space = 0;  ///< the namespace, which takes turns with others
};

/// The mapping of the source; null: it has none.
std::shared_ptr<const EventMapping> shared_mapping(const SourceSettings& settings);

/// The attribute `source` of events of a source whose mapping does not set it.
std::string source_attribute(std::string_view ns, std::string_view name);

/// The attribute `id` of the event of a message whose mapping does not set it:
/// `<stream>-<sequence>-<time>`, with the time at which the broker stored the message, in ms since
/// 1970. A stream that was created again or rolled back has the sequences of other messages once
/// more, so the sequence alone would make duplicates of these.
std::string message_id_of(std::string_view stream, uint64_t sequence, TimePoint stamped);

/// The event that a message becomes, or why it becomes none: known at once, or from a jq worker
/// later. Most are known at once, without what a future costs.
class MadeEvent {
 public:
  MadeEvent(Result<Event> known)  // NOLINT(google-explicit-constructor)
      : known_(std::move(known)) {}
  MadeEvent(std::future<Result<Event>> later)  // NOLINT(google-explicit-constructor)
      : later_(std::move(later)) {}

  /// Waits until the event is known, at most until that time. Returns whether it is known.
  bool wait_until(std::chrono::steady_clock::time_point until) const {
    return known_ || later_.wait_until(until) == std::future_status::ready;
  }
  bool is_known() const { return wait_until({}); }
  /// Precondition: it was not taken before. Waits until it is known.
  Result<Event> take() { return known_ ? *std::move(known_) : later_.get(); }

 private:
  std::optional<Result<Event>> known_;
  std::future<Result<Event>> later_;  ///< unless known_
};

/// Makes the event of a message. A jq worker evaluates what the fast lane cannot; then the result
/// comes later, on a thread of the evaluator, and it does not come if the evaluator ends before.
/// `evaluate`: null: there are no jq workers. `now`: the result of jq's `now`. Errors: `event.*`
/// (it is a CloudEvent that is not valid), `source.no_mapping`, those of MappingRun::finish(), and
/// kNoJqWorker.
MadeEvent make_event(const SourceMapping& how, const OriginMessage& message, TimePoint now,
                     const Evaluator& evaluate);

}  // namespace millrace
