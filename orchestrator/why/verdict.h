// Verdict: why an event had, or did not have, an effect on one listener. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "model/cursor.h"
#include "orchestrator/why/predicates.h"

namespace millrace {

enum class Verdict : uint8_t {
  kWoke,         ///< woke the instance, or would wake it
  kStarted,      ///< started an instance, or would start one
  kFilled,       ///< filled one entry of the instance's eventAnd state; other entries still wait
  kGrouped,      ///< waits in a group of the eventsAnd start for events of its other entries
  kPredicate,    ///< a predicate does not hold
  kBefore,       ///< was applied before the listener began to listen
  kAfter,        ///< was applied after the wait had ended
  kUnread,       ///< is not applied yet, or not yet for this listener
  kDuplicate,    ///< an event with this source and id had an effect before
  kPaused,       ///< was taken by a paused instance, which continues when it is resumed; or
                 ///< started an instance of a paused workflow
  kSkipped,      ///< the workflow is singular and has a live instance, or has no free slot
  kCorrelation,  ///< lacks an attribute of the correlation of the eventsAnd start
  kLifespan,     ///< its lifespan in a group ended, or its group was closed
  kLimit,        ///< a pattern reached its limit, which counts as no match; or the window of a
                 ///< `lookback` could not be read completely
  kDead,         ///< became a dead letter, or would become one
  kRateLimit,    ///< the `rateLimit` of the workflow was used up for the key of the start
  kDebounced,    ///< the `debounce` of the workflow has put off the start, or would put it off
  kBatched,      ///< is in a batch of starts of the workflow, or would be put into one
};

/// The name of the verdict in the API: "woke", "started", …
std::string_view to_string(Verdict verdict);

/// The names of all verdicts, in the order of the enumeration.
std::span<const std::string_view> verdict_names();

/// Whether the verdict says that the event had an effect on the listener, or would have one.
bool is_effect(Verdict verdict);

/// What is known about a listener and an event besides the predicates.
struct Circumstances {
  /// The position of the event; nullopt: the event is a test event, which is not sent.
  std::optional<EventPosition> event;
  EventPosition applied;  ///< the newest applied event
  /// Of an instance: the newest event that it cannot have waited for.
  std::optional<EventPosition> listens_from;
  bool is_early = false;   ///< of an instance: came before, in the window of the state's `lookback`
  bool is_start = false;   ///< the listener is that of a start
  bool is_newer = false;   ///< of a start: its definition was applied after the event came
  bool is_paused = false;  ///< the instance is paused
  bool is_for_others = false;      ///< the event may go to another workflow or instance only
  bool is_duplicate = false;       ///< the source and id of the event are known from another one
  bool needs_others = false;       ///< other entries of the start or the state wait for events
  bool lacks_correlation = false;  ///< of a start: the event lacks an attribute of `correlate`
  /// Of a start and a test event: what the limits do with it; nullopt: they permit it.
  std::optional<Verdict> limited;
  std::optional<Verdict> effect;  ///< what the event had done here, as stored
};

/// The verdict on the listener. What is stored decides first, then the predicates, then the time.
Verdict decide_verdict(const FilterResult& result, const Circumstances& about);

/// The order in which verdicts are shown: effects first, then listeners for which all predicates
/// hold, then those with the fewest predicates that do not hold, those with more hints first.
bool is_nearer(Verdict a, const FilterResult& a_result, Verdict b, const FilterResult& b_result);

}  // namespace millrace
