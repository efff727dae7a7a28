// Instances: the instances that the current batch has started or loaded. Each instance is read
// once, stepped for each input that concerns it, and written once at the end of the batch. Engine
// thread only.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "orchestrator/batch/batch_state.h"
#include "orchestrator/batch/event_start_id.h"
#include "orchestrator/batch/history_trims.h"
#include "orchestrator/batch/large_instances.h"
#include "orchestrator/batch/pending_starts.h"
#include "orchestrator/batch/quotas.h"
#include "orchestrator/batch/slots.h"
#include "orchestrator/batch/start_rates.h"
#include "orchestrator/batch/store_lookup.h"
#include "orchestrator/engine/runs.h"

namespace millrace {

/// An instance of the current batch, with the values that its rows had when it was read.
struct LoadedInstance {
  Instance instance;
  bool is_new = false;
  bool changed = false;
  bool has_new_input = false;               ///< its next run began in this batch
  std::optional<IndexedInstance> indexed;   ///< as it was read; nullopt: the index does not have it
  std::shared_ptr<const std::string> data;  ///< the data as it was read, as text
  bool had_slots = false;
  bool had_found_data = false;
  /// The failed state's data as it was read, as text.
  std::shared_ptr<const std::string> failed_data;
  std::vector<Call> calls;  ///< the calls as they were read
  /// The indexes of the calls that have changed since, besides the last ones, which may have been
  /// removed; nullopt: any may have changed.
  std::optional<std::vector<size_t>> changed_calls{std::in_place};
  uint32_t compensations = 0;  ///< the number of their rows
  std::vector<HistoryRecord> history;
};

/// The properties of an instance at its start.
struct StartSpec {
  LazyJson data;
  LazyJson how;       ///< detail of the first history record
  uint32_t hops = 0;  ///< highest hops of the events that start the instance
  std::string idempotency_key;
  std::optional<InstanceId> id;  ///< nullopt: a random id
  /// The instance listens for events after this position; nullopt: from now on.
  std::optional<ListenFrom> listen_from;
  std::optional<Caller> caller;
  uint32_t depth = 0;
  Sealing sealed;
  std::string traceparent;
  std::string correlation;
  LazyJson start_event = {};     ///< Instance::start_event
  ConsumedEvents consumed = {};  ///< the events that start it, if its workflow looks back
  Origin origin;
  StartPlace place = {};  ///< StartGate::place
};

class Instances {
 public:
  explicit Instances(BatchState& batch) : batch_(batch) {}

  /// Whether another instance of the workflow may start now. Error `direktiv.mutex` if the workflow
  /// is singular and an instance of it has not ended.
  Status refuse_singular(const WorkflowEntry& entry, const Workflow& workflow) const;
  Quotas& quotas() { return quotas_; }
  StartRates& rates() { return rates_; }
  PendingStarts& pending() { return pending_; }

  /// Whether an instance may start now with that input: decide_start(). Counts the start for the
  /// `rateLimit`, so it is called once, before every start(). `has_counted`: the `rateLimit` has
  /// counted its requests. Errors: those of the store.
  Result<StartGate> admit(TimePoint now, const WorkflowEntry& entry, const Workflow& workflow,
                          const LazyJson& input, bool has_counted = false);
  /// Why a request is refused that the workflow puts off: refusal_of_request() in start_decision.h.
  Result<std::optional<Error>> refuse_request(TimePoint now, const WorkflowEntry& entry,
                                              const Workflow& workflow, const LazyJson& input,
                                              bool is_new);
  /// Whether the call that waits for a subflow is a compensation. A start that is dropped, or whose
  /// result belongs to several calls, does not make it.
  Result<bool> is_compensation(TimePoint now, NamespaceNumber ns,
                               const std::optional<Caller>& caller);
  /// Counts a start without a caller that admit() refused.
  void count_skipped(const StartGate& gate);
  /// Counts one whose caller gets the error.
  void count_rejected(const StartGate& gate);
  /// Counts it, and notes the effect with the event that would have started the instance.
  void note_skipped(const EventPosition& position, const WorkflowEntry& entry,
                    const StartGate& gate);

  /// Starts an instance and steps it until it waits, asks for an evaluation, ends or reaches the
  /// limit of one step.
  Result<InstanceId> start(TimePoint now, const WorkflowEntry& entry, const Workflow& workflow,
                           StartSpec spec);

  /// Starts an instance as start() does, by an event, or by the event that completes a group. The
  /// id follows from the event (event_start_id.h). If an instance has that id, the new instance
  /// gets a random id. If the event is decided late, as start_later() does.
  Result<InstanceId> start_by(TimePoint now, const AppliedEvent& applied,
                              const WorkflowEntry& entry, const Workflow& workflow, StartSpec spec);

  /// Starts an instance whose first step is in a later batch. To be used for a start whose input
  /// comes again if the process dies of the first step.
  Result<InstanceId> start_later(TimePoint now, const WorkflowEntry& entry,
                                 const Workflow& workflow, StartSpec spec);

  /// Returns the live instance, from this batch or the store. Returns null if no live instance has
  /// that id, or if its rows are damaged or do not fit its definition; damage is counted and noted.
  Result<LoadedInstance*> load(TimePoint now, NamespaceNumber ns, const InstanceId& id);
  /// Returns the live instance or null, for a command about this one instance. Error
  /// `store.damaged_row` if its rows are damaged or do not fit its definition.
  Result<LoadedInstance*> load_undamaged(TimePoint now, NamespaceNumber ns, const InstanceId& id);

  /// Asks the throttle of the workflow about an instance that would begin its first run. 0: it may,
  /// and the start is counted. Else the number of its row among those that wait
  /// (instance_throttles.cc).
  Result<uint64_t> ask_throttle(TimePoint now, const WorkflowEntry& entry, const Workflow& workflow,
                                const Instance& instance);

  /// Whether the instance is one of the current batch, so that its rows may be out of date.
  bool is_loaded(const InstanceId& id) const { return loaded_.contains(id); }

  /// The number of compensations that the instance, if it is one of the current batch, had when it
  /// was read, or has now; the higher one. 0: it is not one of the batch.
  uint32_t compensations_of(const InstanceId& id) const;

  /// The rows of an instance that remove_damaged() found.
  struct Removed {
    size_t rows = 0;            ///< number of rows that were erased
    uint64_t last_history = 0;  ///< newest history row; 0: the head does not decode
  };
  /// Erases the rows of a damaged instance and ends its tasks. If its head decodes, its caller gets
  /// the error `direktiv.cancels.api`. Subflows that it started continue.
  Result<Removed> remove_damaged(NamespaceNumber ns, const InstanceId& id);

  /// Loads an ended instance for a stimulus that starts a new run of it. Its limits are those of
  /// the newest revision. Errors `direktiv.mutex` as in refuse_singular(), those of over_quota(),
  /// `millrace.concurrency.limit` if the workflow has no free slot, and those of evaluate_slot().
  Result<LoadedInstance*> revive(TimePoint now, const WorkflowEntry& entry, Instance ended);

  /// Applies the stimulus and returns whether it changed the instance; a stale stimulus does not.
  /// If the instance then listens for events, it is offered its kept events.
  Result<bool> step(TimePoint now, LoadedInstance& loaded, const Stimulus& stimulus);

  /// Gives a waiting instance the kept events that its listeners match, in their order. Before each
  /// of them, fires the timers of the instance that come before the event. Returns whether the
  /// instance changed. If the budget of the batch or of the unit of work is used up, or the unit of
  /// work after some events, the instance becomes undecided, and LateMatches continues. An
  /// undecided instance gets no event.
  Result<bool> offer_kept_events(TimePoint now, LoadedInstance& loaded);

  /// Goes on for an undecided instance, with the kept event of that number, before which all events
  /// are decided: gives it the event if its listeners match. Before that, or before the next event
  /// that they may match, fires the timers that were due first. Returns the number of the kept
  /// event from which to go on; nullopt: there is none, and the instance is no longer undecided.
  /// If the budget did not suffice, it is the number at which the search stopped.
  Result<std::optional<uint64_t>> catch_up(TimePoint now, LoadedInstance& loaded, uint64_t number,
                                           MatchBudget& budget);

  // Timers (instance_timers.cc). The caller offers the kept events afterwards.

  /// Fires a timer; the instance then listens for events after `from`, unless events are kept for
  /// it. Returns false if the instance no longer has the timer, or if the timer must wait for the
  /// answer of a runner.
  Result<bool> fire(TimePoint now, LoadedInstance& loaded, const Timer& timer,
                    const ListenFrom& from);
  /// Fires the timers with a deadline up to `until`, which is not after `now`, in the order
  /// (deadline, kind): those that come before an event. Returns whether one has fired.
  Result<bool> fire_passed(TimePoint now, LoadedInstance& loaded, TimePoint until,
                           const ListenFrom& from);

  struct Page {
    std::vector<InstanceId> ids;
    std::optional<InstanceId> last;  ///< continue after this id; nullopt: the list is complete
  };
  /// Lists the next live instances of a namespace after `behind`, as this batch leaves them, for
  /// which `is_one` holds. Returns about `most` ids and scans at most about 500 heads.
  Result<Page> live(NamespaceNumber ns, const std::optional<InstanceId>& behind, size_t most,
                    const std::function<bool(const Instance& head)>& is_one) const;

  /// Trims the history of a stored instance, live or ended, that no input of the batch has changed
  /// (HistoryTrims::trim_stored). `head` is its stored head. To be called after all inputs of the
  /// batch. An instance that write() will write is left to write(). Returns false if the batch has
  /// looked at enough rows: a later batch continues.
  Result<bool> trim_stored(Instance head, PurgeBudget& budget);
  /// See HistoryTrims::take_left().
  std::optional<std::vector<InstanceId>> take_long_histories(NamespaceNumber ns) {
    return trims_.take_left(ns);
  }

  /// Writes all changed instances, trims their histories, and clears the cache.
  Status write();
  void clear() {
    loaded_.clear();
    large_.reset();
    trims_.clear();
  }

 private:
  class Admission;  // admission.cc

  LoadedInstance& begin(TimePoint now, const WorkflowEntry& entry, const Workflow& workflow,
                        StartSpec spec);
  // Slots (instance_slots.cc).
  std::optional<Error> refusal_of_wait(NamespaceNumber ns);
  Result<bool> has_room(const WorkflowEntry& entry, const Workflow& workflow, const Slot& slot);
  Result<bool> drop_gone(NamespaceNumber ns, const SlotKey& key, SlotCounts& counts);
  Status replace(TimePoint now, const WorkflowEntry& entry, const Workflow& workflow,
                 const Slot& slot, const InstanceId& newer);
  Status place(TimePoint now, LoadedInstance& loaded, const Workflow& workflow, Slot slot);
  Result<LoadedInstance*> begin_in_place(TimePoint now, const WorkflowEntry& entry,
                                         const Workflow& workflow, StartSpec spec);
  Result<std::optional<Slot>> slot_of_revived(TimePoint now, const WorkflowEntry& entry,
                                              const Workflow& workflow, const LazyJson& input);
  Status free_slot(Instance& instance, const Stimulus& stimulus);
  // Throttles (instance_throttles.cc).
  Result<bool> is_permitted(TimePoint now, const WorkflowEntry& entry, const Workflow& workflow,
                            const SlotKey& key);
  Status throttle(TimePoint now, LoadedInstance& loaded, const WorkflowEntry& entry,
                  const Workflow& workflow);
  Status hold_throttled(TimePoint now, const Instance& instance);
  Status leave_throttle(Instance& instance);
  Status begin_wait(TimePoint now, LoadedInstance& loaded, bool paused);
  Status publish_lifecycle(const LoadedInstance& loaded, const std::vector<HistoryRecord>& records);
  Status note(const Instance& instance);
  Result<bool> step_once(TimePoint now, LoadedInstance& loaded, const Stimulus& stimulus);
  // Next runs (next_runs.cc).
  Status begin_next_run(TimePoint now, LoadedInstance& loaded, LazyJson input);
  Result<std::optional<Error>> refusal_of_next_run(const Instance& instance, const LazyJson& input);
  Status end_history(LoadedInstance& loaded);
  bool awaits_start_check(TimePoint now, const Instance& instance);
  Result<std::optional<Instance>> read_undamaged(TimePoint now, NamespaceNumber ns,
                                                 const InstanceId& id);
  void note_taken(const InstanceId& instance, const EventPosition& at, const Fingerprint& known_as);
  void offer_later(const Instance& instance, const EvaluationDone& done, size_t taken);
  Status take_kept_event(TimePoint now, LoadedInstance& loaded, const KeptEventMatch& match);
  Result<bool> fire_before(TimePoint now, LoadedInstance& loaded, TimePoint time,
                           uint64_t undecided);

  BatchState& batch_;
  Quotas quotas_{batch_};
  StartRates rates_{batch_};
  PendingStarts pending_{batch_, *this};
  StoreLookup lookup_{batch_.tx, batch_.catalog, batch_.tasks, batch_.id_key, &quotas_};
  HistoryTrims trims_{batch_};
  /// Those that are not in loaded_; null: no instance was large.
  std::unique_ptr<LargeInstances> large_;
  std::map<InstanceId, LoadedInstance>
      loaded_;  // ordered by id, so that rows are written in a fixed order
};

}  // namespace millrace
