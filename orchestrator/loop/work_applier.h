// WorkApplier: makes one batch of a turn's work. WorkApplier determines the order in which inputs
// are applied, and how much of the work one turn applies, so that no input waits long for another.
// By how far the event stream was read, it also determines which timers an event may still
// overtake. Engine thread only, except reads_events().
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "orchestrator/loop/engine_state.h"
#include "orchestrator/loop/fair_shares.h"
#include "orchestrator/loop/fair_work.h"
#include "orchestrator/loop/intake.h"
#include "orchestrator/loop/work.h"

namespace millrace {

/// The state at the beginning of a turn.
struct TurnState {
  TimePoint now;
  Backlog backlog;
  bool takes_new_work = true;  ///< false: events, ticks and backlog steps wait
  bool store_is_full = false;
  /// The rate at which the store was seen to write checkpoints, in bytes per second; nullopt: none
  /// was written yet.
  std::optional<uint64_t> checkpoint_rate = std::nullopt;
  uint64_t heavy_rate = 0;       ///< Pressure::heavy_rate()
  bool store_is_behind = false;  ///< Environment::is_behind()

  /// Whether a pass of the retention has steps left, or the next one is due.
  bool has_pass() const {
    const RetentionPlan& plan = backlog.retention;
    return plan.has_steps || (plan.next_pass && *plan.next_pass <= now);
  }
};

class WorkApplier {
 public:
  WorkApplier(EngineState& engine, const Intake& intake) : engine_(engine), intake_(intake) {}

  /// Applies `work` as one batch; inputs that are too many for one turn are moved to `left`, before
  /// those that it has. The caller commits the batch. Errors: those of the store; then the batch is
  /// lost.
  Result<BatchOutcome> apply(Work& work, Work& left, const TurnState& turn);

  /// Applies a batch of the inputs that free space: acknowledgements, changes of the stream,
  /// commands; purges and the retention free space, too. Errors: those of the store; then the batch
  /// is lost.
  Result<BatchOutcome> make_room(const Work& work, TimePoint now);

  /// Makes the event with that sequence a dead letter when the event comes, because processes died
  /// of it.
  void set_poison(uint64_t sequence) { poison_ = sequence; }

  /// If the last turn left only inputs that wait for the rate of bytes: when they may go on, as
  /// Clock::precise(); nullopt: other inputs are left, or none.
  std::optional<WorkTime> waits_until() const { return waits_until_; }
  /// Whether due timers are left for the next batch.
  bool has_timers_left() const { return has_timers_left_; }
  /// How long earlier work, timers, purges and the retention should rest before the next turn, if
  /// that has no inputs; 0: they need not.
  Duration rest() const {
    if (!waits_for_store()) return Duration(0);
    const WorkTime left = engine_.meter.now() + kRestForStore - engine_.clock.precise();
    return std::max(std::chrono::ceil<Duration>(left), Duration(0));
  }

  /// Whether the event stream is open. Any thread.
  bool reads_events() const { return connected_; }

 private:
  Status apply_acks(const Work& work, TimePoint now, Outbox::OnAck on_ack);
  Status apply_webhook_results(const std::vector<WebhookResult>& results, TimePoint now);
  Status apply_deliveries(std::vector<Delivery>& deliveries, Work& left, const TurnState& turn,
                          double share);
  Status apply(const Delivery& delivery, const TurnState& turn);
  Status apply_event(const EventInput& event, const TurnState& turn);
  Status fire_until(TimePoint time, const TurnState& turn, bool hold);
  bool is_behind(const Work& left) const;
  template <class Portion>
  Status delete_in_portions(const Portion& portion);
  Status purge();
  Status retain(TimePoint now);
  Status apply_commands(const std::vector<CommandInput>& commands, TimePoint now);
  Status apply_commands(std::vector<CommandInput>& commands, Work& left, TimePoint now,
                        double share);
  Status apply_missed_heartbeats(TimePoint now);
  void begin_turn(Work& work, const TurnState& turn);
  void choose_background(const Work& work, const TurnState& turn);
  void add_earlier_work(FairWork& fair, const Work& work, const TurnState& turn);
  static void add_results(FairWork& fair, const Work& work, const EngineState& engine);
  bool must_end(const UnitCost& used, double share) const;
  Status apply_fairly(FairWork& fair, const Work& work, const TurnState& turn,
                      FairWork::Added added, const FairWork::Ends& ends,
                      FairWork::Lanes lanes = FairWork::Lanes::kAll);
  void leave(const FairWork& fair, Work& work, Work& left, const TurnState& turn);
  bool waits_for_rate(const FairWork& fair, const Work& left, const TurnState& turn) const;

  /// The kinds of work that can wait for a later turn while inputs wait.
  enum class Background : uint8_t { kEarlierWork, kTimers, kPurges, kRetention };
  static constexpr size_t kBackgrounds = 4;
  /// If these kinds have together used this share of a turn, they rest in the next turn if it has
  /// inputs, and in the rest of the turn if inputs have come meanwhile.
  static constexpr double kShareBeforeRest = 0.3;
  /// While the store is behind, they rest in all turns except each of so many, and so long between
  /// two turns that have no inputs.
  static constexpr uint64_t kTurnsForStore = 8;
  static constexpr WorkTime kRestForStore = std::chrono::milliseconds(2);
  /// Whether this turn does no more of them than it must, because the store is behind: commits
  /// would soon have to wait for the checkpoint, and all inputs with them.
  bool waits_for_store() const { return turns_behind_ % kTurnsForStore != 0; }
  /// Whether this turn does more of that kind than it must.
  bool works(Background kind) const {
    if (rests_ || (only_ && *only_ != kind)) return false;
    return has_inputs_ || !engine_.meter.is_turn_spent(kShareBeforeRest) || !intake_.has_inputs();
  }

  EngineState& engine_;
  const Intake& intake_;
  uint64_t turn_ = 0;  ///< the number of the current turn
  FairShares shares_;
  uint64_t heavy_rate_ = 0;  ///< the last one of shares_
  FairShares command_shares_;
  UnitCost timers_;  ///< what the timers of the turn have cost so far
  /// What earlier work, timers, purges and the retention have cost in the turn so far.
  UnitCost background_;
  bool has_inputs_ = false;  ///< the turn has events, commands, results or reports
  bool rests_ = false;       ///< these kinds wait for the next turn, except the first timer
  /// The only kind that does not wait for a later turn; nullopt: all kinds do, or none does.
  std::optional<Background> only_;
  size_t last_only_ = kBackgrounds - 1;  ///< the number of the kind that was chosen last
  uint64_t turns_behind_ = 0;      ///< in how many turns up to this one the store has been behind
  bool deletes_archived_ = false;  ///< the last portion of a deletion was of archived instances
  /// By lane with unfinished work: the turn that did a unit of it last, or the first turn that has
  /// seen it.
  std::map<WorkLane, uint64_t> went_on_;
  std::optional<WorkTime> waits_until_;
  uint64_t poison_ = 0;     ///< sequence of a poison event; 0: no event
  size_t timers_left_ = 0;  ///< how many timers the current batch may still fire
  bool caught_up_ = false;  ///< the stream holds no event that came before now
  bool has_timers_left_ = false;
  std::atomic<bool> connected_ = false;
};

}  // namespace millrace
