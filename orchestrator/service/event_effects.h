// EventEffects: what became of the events of one namespace, in the JSON form of queries. For one
// query, on one thread.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/event.h"
#include "base/json.h"
#include "base/result.h"
#include "model/cursor.h"
#include "model/instance.h"
#include "orchestrator/store/rows/effect_rows.h"
#include "orchestrator/store/transaction.h"

namespace millrace {

class EventEffects {
 public:
  /// Of the events in the stream that was created at that time (StreamSpan::created). `applied`:
  /// how far the engine had applied the event stream before the view was taken. `view` outlives the
  /// object.
  static Result<EventEffects> make(const View& view, NamespaceNumber ns, int64_t created,
                                   const Cursor& applied);

  /// The number of the stream among those of the store; 0: the store has applied nothing of it.
  uint32_t stream() const { return stream_; }
  /// Whether the store has applied the event with that sequence.
  bool is_applied(uint64_t sequence) const { return sequence <= applied_; }

  Result<std::vector<EventEffect>> of(uint64_t sequence) const;

  /// Adds "applied", "effects" (at most kMostEffectsShown) and "effectCount" to the item.
  Status add_to(Json& item, uint64_t sequence, const std::vector<EventEffect>& effects);
  /// Adds "to" if only one workflow or instance may take the event: {"workflow": id}, {"workflow":
  /// number, "deleted": true} if the workflow does not exist any more, or {"instance": id}.
  Status add_target(Json& item, const Event& event);

 private:
  EventEffects(const View& view, NamespaceNumber ns) : view_(&view), ns_(ns) {}

  Result<std::optional<std::string>> existing(WorkflowNumber workflow);
  Result<std::string> name_of(WorkflowNumber workflow);

  const View* view_;
  NamespaceNumber ns_{};
  uint32_t stream_ = 0;
  uint64_t applied_ = 0;
  std::optional<std::map<WorkflowNumber, std::string>> names_;  ///< read when they are needed
};

/// How far the event stream is applied: the later one of the cursor in the store and `applied`, the
/// engine's cursor before the view was taken. Batches without effects move only the latter one.
Result<Cursor> applied_in(const View& view, const Cursor& applied);

/// Whether one of these is an effect on an instance or a group.
bool has_effect(const std::vector<EventEffect>& effects);

}  // namespace millrace
