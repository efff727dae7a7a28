// Effect rows: what became of each event. Table `effects`: one row for each batch, under the
// position of its last event, with the effects of the events that the batch applied; and a row for
// later effects of an event, under the position of that event. The rows of events that are far
// behind are erased. Functions that read take any View, functions that write the Transaction. A
// damaged row gives an error that names it (damage.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "model/cursor.h"
#include "model/instance.h"
#include "orchestrator/store/rows/damage.h"
#include "orchestrator/store/transaction.h"

namespace millrace {

/// One effect of an event; an event that woke three instances has three.
struct EventEffect {
  // On disk: never renumber.
  enum class Kind : uint8_t {
    kStarted = 0,       ///< started `instance`
    kWoken = 1,         ///< woke `instance`
    kGrouped = 2,       ///< waits in an eventsAnd group of `workflow`
    kDuplicate = 3,     ///< none: an event with its source and id came before
    kSkipped = 4,       ///< none: `workflow` is singular and has a live instance
    kUncorrelated = 5,  ///< none: the event lacks an attribute of the correlation of `workflow`
    kKept = 6,          ///< is a kept event, for instances that may come to wait for it
    kRefused = 7,       ///< became a dead letter
    kExpired = 8,       ///< its lifespan in a group of `workflow` ended
    kClosed = 9,        ///< its group was closed by a new revision of `workflow`, or its deletion
    kRateLimited = 10,  ///< none: the `rateLimit` of `workflow` was used up
    kDebounced = 11,    ///< the `debounce` of `workflow` has put off the start
    kBatched = 12,      ///< its data is in a batch of starts of `workflow`
  };
  Kind kind{};
  InstanceId instance{};      ///< of kStarted and kWoken
  WorkflowNumber workflow{};  ///< of all other kinds but kDuplicate, kKept and kRefused

  bool operator==(const EventEffect&) const = default;
};

/// An effect and the event that had it.
struct PlacedEffect {
  EventPosition event;
  EventEffect effect;

  bool operator==(const PlacedEffect&) const = default;
};

/// A row of the table.
struct EffectRow {
  EventPosition at;      ///< the event, or the last event of the batch
  uint64_t number = 0;   ///< distinguishes the rows of one event
  bool is_late = false;  ///< has effects of the event `at` only, from a later batch
  std::vector<PlacedEffect> effects;
};

/// How many of the newest sequences of a stream keep their effects.
inline constexpr uint64_t kEffectsKept = 1'000'000;

/// Writes a row. No effect is of another stream than `row.at`, or later.
void write_effects(Transaction& tx, const EffectRow& row);

/// Visits the rows from the position `from` on, until `see` returns false.
Status each_effect_row(const View& view, const EventPosition& from,
                       const std::function<bool(const EffectRow& row)>& see,
                       const OnDamage& damaged = nullptr);

/// All effects of one event, as far as they are kept.
Result<std::vector<EventEffect>> read_effects(const View& view, const EventPosition& event);

/// Erases at most `most` of the oldest rows that are more than kEffectsKept sequences before
/// `newest`, or of another stream. Returns the position of the oldest row that is left; the
/// position `newest` if none is left. `oldest` is a position before which there is no row.
Result<EventPosition> trim_effects(Transaction& tx, const EventPosition& oldest,
                                   const EventPosition& newest, size_t most);

// The bytes of a row, for the store check.

std::string encode_effects(const EffectRow& row);
/// Decodes a key, and then the value into the same row. Errors: a damaged row; `store.corrupt`.
Result<EffectRow> decode_effect_key(std::string_view key);
Status decode_effects(std::string_view bytes, EffectRow& row);

}  // namespace millrace
