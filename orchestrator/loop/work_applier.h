// WorkApplier: the order in which the work of one turn is applied to the batch in hand, and what
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
#include "orchestrator/loop/pressure.h"
#include "orchestrator/loop/work.h"

namespace millrace {

class WorkApplier {
 public:
  WorkApplier(EngineState& engine, const Pressure& pressure, const Intake& intake)
      : engine_(engine), pressure_(pressure), intake_(intake) {}

  /// Applies all of `work` but the events that are too many for one batch: these go to `left`.
  /// Errors: those of the store; the batch is lost then.
  Status apply(Work& work, Work& left, TimePoint now);

  /// Acknowledgements and changes of the stream alone.
  Status apply_acks(const Work& work, TimePoint now, Outbox::Then then);
  Status apply_commands(const std::vector<CommandInput>& commands, TimePoint now);

  /// The event of that sequence becomes a dead letter when it comes: the process has died of it.
  void set_poison(uint64_t sequence) { poison_ = sequence; }

  /// Whether the event stream is open. Any thread.
  bool reads_events() const { return connected_; }

 private:
  Status apply_webhook_results(const std::vector<WebhookResult>& results, TimePoint now);
  Status apply_deliveries(std::vector<Delivery>& deliveries, Work& left, TimePoint now);
  Status apply(const Delivery& delivery, TimePoint now);
  Status apply_event(const EventInput& event, TimePoint now);
  Status fire_until(TimePoint time, TimePoint now, bool hold);
  bool is_behind(const Work& left) const;
  Status apply_tasks(const std::vector<TaskInput>& tasks, TimePoint now);

  EngineState& engine_;
  const Pressure& pressure_;
  const Intake& intake_;
  uint64_t poison_ = 0;     ///< 0: none
  bool caught_up_ = false;  ///< nothing in the stream may still come before now
  std::atomic<bool> connected_ = false;
};

}  // namespace millrace
