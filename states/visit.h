// Visit: one instance in one state, as the state sees it. It holds the data, gives the time,
// evaluates expressions and notes what the state wants done; the engine reads the notes.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include <tl/expected.hpp>

#include "base/event.h"
#include "base/json.h"
#include "base/time.h"
#include "expressions/evaluation.h"
#include "expressions/template.h"
#include "model/effect.h"
#include "model/history.h"
#include "model/instance.h"
#include "model/lookup.h"
#include "states/state.h"

namespace millrace {

/// A value, or the outcome (Raise or Park) to hand on to the engine as it is.
template <class T>
using Evaluated = tl::expected<T, Outcome>;

/// The code of a workflow's error where a row that it needs is damaged.
inline constexpr std::string_view kStoreDamaged = "millrace.store.damaged";

/// What stops a running call of `instance`. The tasks of a child go down with it `at_once`, or
/// finish first.
Effect stopping(const Instance& instance, const Call& call, bool at_once = true);

class Visit {
 public:
  /// `results` are those of the evaluations that this step has asked for so far, in order;
  /// `earlier` what the call of the engine has wanted done before: it hides what `lookup` has.
  Visit(Instance& instance, TimePoint now, std::span<const EvaluationResult> results,
        const Lookup& lookup, const std::vector<Effect>& earlier);

  TimePoint now() const { return now_; }
  const Instance& instance() const { return instance_; }
  const Json& data() const { return instance_.data.value(); }

  /// The results of the programs over the data, in order. What the fast lane takes is evaluated in
  /// place; if anything is left, one Evaluate is noted and Park comes back. An error of a program
  /// comes back as Raise.
  Evaluated<std::vector<Json>> run(std::span<const Program* const> programs);

  /// The values of the templates over the data, in one go.
  Evaluated<std::vector<Json>> evaluate(std::span<const Template* const> templates);
  Evaluated<Json> evaluate(const Template& one);

  /// A template, and what it is to be evaluated over. Both outlive the call.
  struct Over {
    const Template* value = nullptr;
    const LazyJson* input = nullptr;
  };
  /// The same where each has an input of its own.
  Evaluated<std::vector<Json>> evaluate(std::span<const Over> values);

  /// The first of `conditions` that is_true (expressions/evaluation.h); nullopt if none.
  /// What stands behind it is not evaluated, so its errors do not count.
  Evaluated<std::optional<size_t>> first_true(std::span<const Template> conditions);

  /// Has a worker validate the subject, or the whole data, against a JSON Schema. nullopt: it
  /// matches; else Raise direktiv.schema.failed, or Park.
  std::optional<Outcome> validate(const std::string& schema, const std::optional<Json>& subject);

  /// Replaces the data; Raise millrace.limits.data where it would nest deeper than kMaxJsonDepth.
  std::optional<Raise> set_data(Json data);
  /// Adds or replaces a key of the data; Raise direktiv.jq.notObject where the data is no object,
  /// millrace.limits.data as set_data.
  std::optional<Raise> put(const std::string& key, Json value);

  /// Listen for an event; it comes to State::take under `entry`.
  void listen(size_t entry, EventFilter filter);
  /// Stop listening for it, the others stay.
  void stop_listening(size_t entry);
  /// Have State::elapsed called at `deadline`.
  void wait_until(TimePoint deadline);

  /// What the state has got so far, by its own numbering; emptied when the instance leaves.
  std::vector<std::optional<LazyJson>>& slots() { return instance_.slots; }

  /// Publish `event`, at once or at `at`. Its id and time are set here: the id is the instance's,
  /// the step's and the place in it, so that it is the same however often it is sent. One that ends
  /// too long a chain becomes a dead letter (model/hops.h). Raise
  /// millrace.event.invalid or millrace.event.tooLarge where it is no event that can be sent.
  std::optional<Raise> publish(Event event, std::optional<TimePoint> at);

  /// The calls of the state, by index. Emptied, and those that run cancelled, when the instance
  /// leaves.
  std::vector<Call>& calls() { return instance_.calls; }
  /// Raise direktiv.limits.depth where a call would nest too deep.
  std::optional<Raise> refuse_depth() const;
  /// Starts the next attempt of the call, with its input. Where no other can follow, the input
  /// goes.
  void start_call(size_t index, const Function& function, const ActionPolicy& policy);
  /// Somebody works on its attempt from now on.
  void begin_call(size_t index, const TimeoutPolicy& timeouts);
  /// What of its timeouts is counting counts from now.
  void count_anew(size_t index, const TimeoutPolicy& timeouts);
  /// The same of one of them.
  void count_anew(size_t index, TimeoutKind kind, const TimeoutPolicy& timeouts);
  /// Its attempt is waited for no longer; what runs it is stopped.
  void stop_call(size_t index);
  /// Notes when its next attempt is due.
  void retry_call(size_t index, TimePoint at);
  /// Has State::overdue or State::attempts_due called when the first of the times that the calls
  /// have noted comes.
  void arm_calls();
  /// What an action has that its workflow gives no policy.
  const RetryPolicy* default_retries() const { return lookup_.default_retries(instance_.space); }
  /// What calls of that function have by the settings of its service; null: nothing.
  const ServicePolicy* service_policy(const Function& function) const;
  /// Whether calls of that function wait until its service goes on.
  bool is_held(const Function& function) const;
  /// When the child of the call last did anything.
  std::optional<TimePoint> last_moved(const Call& call) const;
  /// Starts work that nobody waits for. Raise direktiv.limits.depth for the end of a chain of
  /// detached subflows that is as long as a chain of events may be (model/hops.h).
  std::optional<Raise> start_detached(const Function& function, Call call);

  /// A variable as this step has left it; nullopt: there is none. One that is sealed makes the
  /// instance so. Raise millrace.store.damaged where its row can't be read.
  Evaluated<std::optional<Variable>> variable(VariableScope scope, const std::string& key);
  /// Sets it, or deletes it; a value has kMaxVariableBytes at most.
  void set_variable(VariableScope scope, const std::string& key, std::optional<Variable> value);

  /// A secret of the namespace; nullopt: there is none. Raise as variable().
  Evaluated<std::optional<std::string>> secret(std::string_view name) const;

  /// The error that the instance ends with; the first one stays (Error states). It takes the place
  /// of an older `.error` in the data.
  void fail_at_end(Error error);

  /// Adds a record to the instance's history.
  void tell(HistoryKind kind, LazyJson detail);

  // For the engine: what was noted.
  bool has_effects() const { return !effects_.empty(); }
  bool has_changed_data() const { return changed_data_; }
  std::vector<Effect> take_effects() { return std::move(effects_); }
  std::vector<HistoryRecord> take_history() { return std::move(history_); }

 private:
  /// The task of the call, as far as it is the same for one that is detached.
  StartTask task(const Function& function, const Call& call) const;

  std::optional<Variable> note_sealed(std::optional<Variable> found);

  struct Job {
    const Program* program = nullptr;
    const LazyJson* input = nullptr;
  };
  Evaluated<std::vector<Json>> run(std::span<const Job> jobs);
  /// The results of `evaluation`, or the Park that asks for them.
  Evaluated<const EvaluationResult*> ask(Evaluation evaluation);

  Instance& instance_;
  TimePoint now_;
  std::span<const EvaluationResult> results_;
  const Lookup& lookup_;
  const std::vector<Effect>& earlier_;
  size_t results_used_ = 0;
  bool acted_ = false;
  bool changed_data_ = false;
  uint32_t published_ = 0;
  uint32_t detached_ = 0;
  std::vector<Effect> effects_;
  std::vector<HistoryRecord> history_;
};

}  // namespace millrace
