// Visit: the interface of a state to its instance. A Visit provides the data and the time,
// evaluates expressions, and collects the effects that the state requests; the engine performs
// these effects.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <tl/expected.hpp>

#include "base/event.h"
#include "base/lazy_json.h"
#include "base/time.h"
#include "expressions/evaluation.h"
#include "expressions/template.h"
#include "model/early_events.h"
#include "model/effect.h"
#include "model/history.h"
#include "model/instance.h"
#include "model/lookup.h"
#include "states/state.h"

namespace millrace {

struct Workflow;

/// A value, or the outcome (Raise or Park) that the state must return to the engine unchanged.
template <class T>
using Evaluated = tl::expected<T, Outcome>;

/// The error code that a workflow gets if a state reads a damaged row.
inline constexpr std::string_view kDamagedStore = "millrace.store.damaged";

/// The effect that stops a running call of `instance`. For the call of a subflow: `at_once` says
/// whether the subflow's tasks are stopped too, or may finish first.
Effect stopping(const Instance& instance, const Call& call, bool at_once = true);

/// How many calls one visit makes, and about how many bytes of inputs they have. A state with more
/// calls makes them in several steps.
struct CallPortion {
  size_t calls = 250;
  size_t bytes = size_t{64} << 10;
  /// How many calls one step removes when the instance leaves their state after all have ended. The
  /// row of each is erased.
  size_t removed = 1'000;
};

class Visit {
 public:
  /// `results` are the results of the evaluations that this step has requested so far, in order.
  /// `earlier` are the effects that the engine has already collected for the same stimulus; a
  /// variable that `earlier` sets hides the value in `lookup`.
  /// `early` are the early events that the step has asked for; null: it has not asked, or they have
  /// not come.
  /// `workflow` is the definition of the instance; null: jq workers must run the jq programs that
  /// name `$instance` or `now`, and get null for the former.
  /// `asked_at` is the time of the visit that has requested `results` or `early`. It stays the
  /// result of jq's `now`, so that the repeated visit requests the same evaluations. nullopt:
  /// `now`.
  Visit(Instance& instance, TimePoint now, std::span<const EvaluationResult> results,
        const Lookup& lookup, const std::vector<Effect>& earlier, CallPortion portion = {},
        const EarlyEvents* early = nullptr, const Workflow* workflow = nullptr,
        std::optional<TimePoint> asked_at = std::nullopt);

  TimePoint now() const { return now_; }
  const Instance& instance() const { return instance_; }
  const LazyJson& data() const { return instance_.data; }

  /// The results of the jq programs over the data, in order. run() evaluates jq programs that the
  /// fast lane can run, if the data is not large and the programs copy little of it. For all others
  /// it records an Evaluate effect and returns Park. An error of a jq program is returned as Raise.
  Evaluated<std::vector<LazyJson>> run(std::span<const Program* const> programs);

  /// The values of the templates over the data, evaluated together.
  Evaluated<std::vector<LazyJson>> evaluate(std::span<const Template* const> templates);
  Evaluated<LazyJson> evaluate(const Template& one);
  /// The value of the template over `input`, which has its text if it is made from the data.
  Evaluated<LazyJson> evaluate_over(const Template& one, const LazyJson& input);

  /// A template and the input over which it is evaluated. The template and the input must outlive
  /// the call of evaluate().
  struct Over {
    const Template* value = nullptr;
    const LazyJson* input = nullptr;
  };
  /// The values of the templates, each over its own input, evaluated together. Precondition: an
  /// input that is the data of the instance, or made from it, has its text.
  Evaluated<std::vector<LazyJson>> evaluate(std::span<const Over> values);

  /// The index of the first condition that is_true (expressions/evaluation.h); nullopt if none is.
  /// The conditions after it are not evaluated, so their errors have no effect.
  Evaluated<std::optional<size_t>> first_true(std::span<const Template> conditions);

  /// Validates the subject, or all data if it is nullopt, against a JSON Schema in a jq worker.
  /// Returns nullopt if the subject matches, else Raise direktiv.schema.failed, or Park until the
  /// result has arrived.
  std::optional<Outcome> validate(const std::string& schema,
                                  const std::optional<LazyJson>& subject);

  /// Replaces the data. Raise millrace.limits.data if it would be nested deeper than kMaxJsonDepth.
  std::optional<Raise> set_data(LazyJson data);
  /// Adds or replaces a key of the data. Raise direktiv.jq.notObject if the data is not an object,
  /// millrace.limits.data if it would be nested deeper than kMaxJsonDepth.
  std::optional<Raise> put(const std::string& key, LazyJson value);
  /// The same for all members. Large data is copied once.
  std::optional<Raise> put_all(std::map<std::string, LazyJson> members);

  /// Asks for early events. Returns Park until they have come, and then nullopt: the engine offers
  /// them when the state listens. Raise millrace.limits.lookback if not all of them can be found.
  std::optional<Outcome> look_back(std::vector<EarlyListener> listeners, bool fills_each);

  /// Adds a listener. An event that matches `filter` is passed to State::take with this `entry`.
  void listen(size_t entry, EventFilter filter);
  /// Removes the listeners with this entry; the others remain.
  void stop_listening(size_t entry);
  /// Sets a timer that calls State::elapsed at `deadline`.
  void wait_until(TimePoint deadline);

  /// The events that the state has received so far; the state chooses the index of each event.
  /// Cleared when the instance leaves the state.
  std::vector<std::optional<LazyJson>>& slots() { return instance_.slots; }

  /// Publishes `event` at once, or at the time `at`. Sets the event's id and time. The id is made
  /// from the instance id, the step and the event's index in the step, so it is the same for every
  /// redelivery. An event with more than kMaxHops hops becomes a dead letter (model/hops.h). Raise
  /// millrace.event.invalid or millrace.event.tooLarge if the event cannot be published,
  /// millrace.quota.storeBytes if the namespace may not store an event until the time `at`.
  std::optional<Raise> publish(Event event, std::optional<TimePoint> at);

  /// The calls of the state, by index. When the instance leaves the state they are cleared, and the
  /// running ones are cancelled.
  std::vector<Call>& calls() { return instance_.calls; }
  const CallPortion& call_portion() const { return portion_; }
  /// Raise direktiv.limits.depth if the instance is nested too deep to make calls.
  std::optional<Raise> refuse_depth() const;
  /// Counts the result of a call. The error `millrace.limits.results` if the calls of the state
  /// would have more than kMostResultBytes of results with it.
  Status add_result(const LazyJson& result);
  /// Starts the next attempt of the call, with its input. If the policy allows no further attempt,
  /// the stored input is cleared.
  void start_call(size_t index, const Function& function, const ActionPolicy& policy,
                  const CallFlow& flow = {});
  /// Marks the call's attempt as started by a worker now: its schedule-to-start timeout ends, and
  /// its start-to-close timeout begins.
  void begin_call(size_t index, const TimeoutPolicy& timeouts);
  /// Restarts, from now, all timeouts of the call that are running.
  void restart_timeout(size_t index, const TimeoutPolicy& timeouts);
  /// Restarts, from now, one timeout of the call if it is running.
  void restart_timeout(size_t index, TimeoutKind kind, const TimeoutPolicy& timeouts);
  /// Stops the task or child that executes the call's attempt.
  void stop_call(size_t index);
  /// Schedules the call's next attempt for the time `at`.
  void retry_call(size_t index, TimePoint at);
  /// Sets the timer that calls State::overdue or State::attempts_due at the earliest deadline or
  /// retry time of all calls, or at `at` if that is earlier. A paused instance gets no timer.
  void arm_calls(std::optional<TimePoint> at = std::nullopt);
  /// The namespace's retry policy for actions to which their workflow gives no policy; null if the
  /// namespace has none.
  const RetryPolicy* default_retries() const { return lookup_.default_retries(instance_.ns); }
  /// The policies in the settings of the service that the function calls; null if there are none.
  const ServicePolicy* service_policy(const Function& function) const;
  /// Whether calls of the function are held: its service is paused, or the settings cannot be read
  /// (Lookup::is_held).
  bool is_held(const Function& function) const;
  /// The time of the latest step of the call's child; nullopt if the call has no live child.
  std::optional<TimePoint> last_moved(const Call& call) const;
  /// Lookup::awaited_limit() of the task of the call.
  std::string awaited_limit(const Call& call) const;
  /// Starts a task or subflow whose result is not awaited. Raise direktiv.limits.depth if a chain
  /// of detached subflows has reached kMaxHops (model/hops.h).
  std::optional<Raise> start_detached(const Function& function, Call call,
                                      const CallFlow& flow = {});

  /// A variable as this step has left it; nullopt if it does not exist. Reading a sealed variable
  /// seals the instance. Raise millrace.store.damaged if its row is damaged.
  Evaluated<std::optional<Variable>> variable(VariableScope scope, const std::string& key);
  /// Raise millrace.quota.storeBytes if the namespace may not store a value of `bytes` bytes for
  /// the variable. To be called before any variable of the visit is set.
  std::optional<Raise> refuse_variable(VariableScope scope, const std::string& key,
                                       size_t bytes) const;
  /// Sets the variable, or deletes it if `value` is nullopt. A value has at most kMaxVariableBytes.
  void set_variable(VariableScope scope, const std::string& key, std::optional<Variable> value);

  /// A secret of the namespace; nullopt if it does not exist. Raise millrace.store.damaged if its
  /// row is damaged.
  Evaluated<std::optional<std::string>> secret(std::string_view name) const;

  /// The newest compensation of the instance, which has one. Raise millrace.store.damaged if its
  /// row is damaged.
  Evaluated<Compensation> newest_compensation() const;

  /// The error of a state that makes `total` calls, if each of them would note a compensation and
  /// the instance may not have so many.
  std::optional<Raise> refuse_compensations(size_t total) const;

  /// Marks the instance so that it makes its compensations before it ends (Error states).
  void compensate_at_end() { instance_.compensates = true; }
  /// Sets the error that the instance ends with (Error states). Further calls of fail_at_end() have
  /// no effect. The error replaces an existing `.error` in the data.
  void fail_at_end(Error error);

  /// To be called if the visit has changed the call with that index and no other one.
  void note_only_call(size_t index) { only_call_ = index; }

  /// Adds a record to the instance's history.
  void record(HistoryKind kind, LazyJson detail);

  // For the engine: the effects that the state has requested.
  bool has_effects() const { return !effects_.empty(); }
  bool has_changed_data() const { return changed_data_; }
  /// The index of the only call that the visit has changed; nullopt: it may have changed any.
  std::optional<size_t> only_call() const { return only_call_; }
  std::vector<Effect> take_effects() { return std::move(effects_); }
  std::vector<HistoryRecord> take_history() { return std::move(history_); }

 private:
  /// The fields of a task that are the same for attached and detached calls.
  StartTask task(const Function& function, const Call& call, const CallFlow& flow) const;

  std::optional<Variable> note_sealed(std::optional<Variable> found);

  struct Job {
    const Program* program = nullptr;
    const LazyJson* input = nullptr;
  };
  /// What jq programs may name; null: jq workers must run the programs that name it.
  /// `names_instance`: whether one of them names `$instance`, which is made at its first use. Raise
  /// millrace.store.damaged if its row is damaged.
  Evaluated<const Bindings*> bindings(bool names_instance);
  Evaluated<std::vector<LazyJson>> run(std::span<const Job> jobs);
  /// A job that failed, by its index.
  struct Failure {
    size_t job = 0;
    Error error;
  };
  /// Asks jq workers for the results of the jobs with the indexes `slow` and puts them into
  /// `values`. Returns the failure of the first one that failed, or Park.
  Evaluated<std::optional<Failure>> run_slow(std::span<const Job> jobs,
                                             std::span<const size_t> slow, const Bindings* bound,
                                             std::vector<LazyJson>& values);
  /// The results of `evaluation` if they have arrived; else records an Evaluate effect and returns
  /// Park.
  Evaluated<const EvaluationResult*> ask(Evaluation evaluation, const Bindings* bindings);

  Instance& instance_;
  TimePoint now_;
  TimePoint program_now_;  ///< the result of jq's `now`
  std::span<const EvaluationResult> results_;
  const Lookup& lookup_;
  const std::vector<Effect>& earlier_;
  const CallPortion portion_;
  const EarlyEvents* const early_;
  const Workflow* const workflow_;
  std::optional<LazyJson> instance_value_;  ///< `$instance`; nullopt: no jq program has named it
  Bindings bindings_;
  size_t results_used_ = 0;
  bool acted_ = false;
  bool changed_data_ = false;
  std::optional<size_t> only_call_;
  uint32_t published_ = 0;
  uint32_t detached_ = 0;
  std::vector<Effect> effects_;
  std::vector<HistoryRecord> history_;
};

}  // namespace millrace
