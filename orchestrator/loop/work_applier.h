// WorkApplier: makes one batch of the work of a turn: the order in which it is applied, and what
// depends on how far the event stream was read: which timers an event may still overtake. Engine
// thread only, but for reads_events().
#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "orchestrator/loop/engine_state.h"
#include "orchestrator/loop/intake.h"
#include "orchestrator/loop/work.h"

namespace millrace {

/// What a turn is like.
struct TurnState {
  TimePoint now;
  Backlog backlog;
  bool takes_new_work = true;  ///< else events wait, and so do ticks and what batches have left
  bool store_is_full = false;
};

class WorkApplier {
 public:
  WorkApplier(EngineState& engine, const Intake& intake) : engine_(engine), intake_(intake) {}

  /// A batch of all of `work` but the events that are too many for one: these go to `left`. The
  /// caller commits it. Errors: those of the store; the batch is lost then.
  Result<BatchOutcome> apply(Work& work, Work& left, const TurnState& turn);

  /// A batch of what takes things away: acknowledgements, changes of the stream, commands. Errors
  /// as above.
  Result<BatchOutcome> make_room(const Work& work, TimePoint now);

  /// The event of that sequence becomes a dead letter when it comes: the process has died of it.
  void set_poison(uint64_t sequence) { poison_ = sequence; }

  /// Whether the event stream is open. Any thread.
  bool reads_events() const { return connected_; }

 private:
  Status apply_acks(const Work& work, TimePoint now, Outbox::OnAck on_ack);
  Status apply_webhook_results(const std::vector<WebhookResult>& results, TimePoint now);
  Status apply_deliveries(std::vector<Delivery>& deliveries, Work& left, const TurnState& turn);
  Status apply(const Delivery& delivery, const TurnState& turn);
  Status apply_event(const EventInput& event, const TurnState& turn);
  Status fire_until(TimePoint time, const TurnState& turn, bool hold);
  bool is_behind(const Work& left) const;
  Status apply_commands(const std::vector<CommandInput>& commands, TimePoint now);
  Status apply_tasks(const std::vector<TaskInput>& tasks, TimePoint now);

  EngineState& engine_;
  const Intake& intake_;
  uint64_t poison_ = 0;     ///< 0: none
  bool caught_up_ = false;  ///< nothing in the stream may still come before now
  std::atomic<bool> connected_ = false;
};

}  // namespace millrace
