// ListenerJudging: judges the listeners of one namespace against one event, as of one view, and
// finds the nearest of them. For one answer, on one thread.
#pragma once

#include <chrono>
#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "orchestrator/memory/definition_cache.h"
#include "orchestrator/ports/clock.h"
#include "orchestrator/service/judged_listener.h"
#include "orchestrator/service/past_waits.h"
#include "orchestrator/service/start_predictor.h"
#include "orchestrator/store/rows/catalog_rows.h"
#include "orchestrator/store/rows/effect_rows.h"
#include "orchestrator/store/transaction.h"
#include "orchestrator/why/judged_event.h"
#include "states/workflow.h"

namespace millrace {

/// The bounds of one answer.
struct JudgingBounds {
  size_t workflows = 1'000;                   ///< whose definitions are read
  size_t definition_bytes = size_t{8} << 20;  ///< of these definitions
  size_t listeners = 1'000;                   ///< of instances, that are judged
  size_t heads = 20'000;                      ///< of instances, that are read
  size_t effects = 100;                       ///< on instances, that are looked up
  size_t grouped = 20;                        ///< starts whose other groups are looked at
  size_t predicted = 100;                     ///< starts whose limits are asked
  std::chrono::milliseconds walk{50};         ///< for reading the heads, and for these limits
};

class ListenerJudging {
 public:
  /// Where the listeners are. All outlive the ListenerJudging.
  struct Place {
    const View& view;
    NamespaceNumber ns{};
    DefinitionCache& definitions;
    const Clock& clock;
  };

  /// `event` and `effects`, which are those of the event, outlive the ListenerJudging.
  ListenerJudging(const Place& place, const JudgedEvent& event, const EventStanding& standing,
                  const std::vector<EventEffect>& effects, const JudgingBounds& bounds = {})
      : place_(place),
        event_(event),
        standing_(standing),
        effects_(effects),
        bounds_(bounds),
        predictor_({.view = place.view, .ns = place.ns, .name = standing.ns}) {}

  // In this order.

  /// Judges the starts of all workflows.
  Status judge_starts();
  /// Judges the instances that the event has woken.
  Status judge_woken();
  /// Judges an instance, whether it listens for the type of the event or not; may be called first.
  /// `instance` must be complete, with its input.
  Status judge_asked(const Instance& instance);
  /// Judges those of the instances that listen for the type.
  Status judge_found(const std::vector<InstanceId>& ids);
  /// Judges instances that are entering a state which waits for the type: they do not listen yet.
  Status judge_entering();
  /// Judges the newest of the other instances that listen for the type. `of`: how many listeners
  /// have the type; nullopt: that is not known.
  Status judge_others(const std::optional<size_t>& of);

  /// If the event has no effect, and would have none: judges the newest instances that waited for
  /// the type and do so no more, and keeps those whose wait the event fits. Looks at 1 000 heads,
  /// reads 50 instances for 20 ms, and keeps 5.
  Status judge_over();

  /// How many listeners of the type were judged, with those that the event woke.
  size_t looked() const { return looked_ + looked_entering_ + looked_woken_; }
  /// Whether no bound has cut the look.
  bool is_complete() const { return is_complete_; }
  /// The types of the starts of the namespace, and those that states may wait for.
  const std::set<std::string>& types() const { return types_; }

  struct Nearest {
    std::vector<JudgedListener> listeners;  ///< the nearest first
    std::map<std::string, size_t> others;   ///< what excludes the others, and how many of them
  };
  /// The nearest listeners, with hints. `only`: the listener of this instance alone; the others are
  /// counted.
  Nearest nearest(size_t limit, const std::optional<InstanceId>& only = std::nullopt);

 private:
  struct OnWorkflow {
    Verdict verdict{};
    std::optional<InstanceId> instance;
    bool is_paused = false;  ///< of kStarted: the instance is paused
    bool is_closed = false;  ///< of kLifespan: the group was closed before a lifespan ended
  };

  Result<std::shared_ptr<const Workflow>> definition_of(Revision revision);
  Status note_effects();
  Circumstances circumstances() const;
  Result<std::string> addressee();
  Status note_target(JudgedListener& one);
  void note_pause(bool is_workflow_paused, JudgedListener& one) const;
  Status judge_start(std::string_view id, const WorkflowRecord& record, const Workflow& workflow);
  Result<std::optional<Instance>> oldest_live(WorkflowNumber workflow) const;
  void hint_at_data(JudgedListener& one);
  std::optional<std::string> start_key_of(const Workflow& workflow, uint32_t revision,
                                          size_t entry) const;
  bool may_predict();
  Result<std::optional<LazyJson>> input_of_start(const WorkflowRecord& record,
                                                 const Workflow& workflow, size_t entry) const;
  Status predict(const WorkflowRecord& record, const Workflow& workflow, size_t entry, bool is_live,
                 JudgedListener& one);
  std::string rate_limit_says(const JudgedListener& one, const WorkflowRecord& record,
                              const Workflow& workflow, size_t entry) const;
  Status describe_group(const WorkflowRecord& record, const Start& start, size_t entry,
                        JudgedListener& one, Circumstances& about);
  void note_partners(const WorkflowRecord& record, const Start& start,
                     std::vector<std::string> types, JudgedListener& one) const;
  Status add_waiting(const Instance& head);
  Status add_entering(const Instance& head);
  Result<bool> add_over(const InstanceId& id);
  Status add_not_listening(const Instance& instance, const Workflow& workflow);
  void note_fit(const PastWait& wait, const Workflow& workflow, JudgedListener& one);
  Status add_woken(const Instance& head);
  Result<bool> is_filled(const Instance& head);
  bool walks_on(const Instance& head);

  const Place place_;
  const JudgedEvent& event_;
  const EventStanding standing_;
  const std::vector<EventEffect>& effects_;
  const JudgingBounds bounds_;

  JudgedPatterns patterns_;
  std::shared_ptr<const Workflow> newest_definition_;  ///< that was looked up; null: none was
  Revision newest_revision_;                           ///< of that definition
  std::vector<JudgedListener> judged_;
  std::set<InstanceId> seen_;                          ///< instances that were judged
  std::set<InstanceId> woken_;                         ///< by the event
  std::map<WorkflowNumber, OnWorkflow> on_workflows_;  ///< effects of the event
  std::vector<WorkflowNumber> waiting_in_;  ///< workflows with a state that waits for the type
  std::set<std::string> types_;
  std::optional<std::string> addressee_;  ///< of an event with a target, when it was looked up
  size_t looked_ = 0;
  size_t looked_entering_ = 0;  ///< instances that do not listen yet
  size_t looked_woken_ = 0;     ///< instances that the event woke
  size_t looked_heads_ = 0;
  size_t grouped_ = 0;  ///< starts in one of whose groups the event waits
  StartPredictor predictor_;
  size_t predicted_ = 0;  ///< starts whose limits were asked
  Duration predict_ends_{};
  bool is_complete_ = true;
  Duration walk_ends_{};
  Status walk_status_;
  bool has_effects_ = false;  ///< the effects of the event are noted
};

}  // namespace millrace
