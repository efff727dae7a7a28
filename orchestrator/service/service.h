// Service: all that the gateway may ask of a running millrace. Commands go through the engine and
// are answered once they are on disk; reads see the last commit. Any thread.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/event.h"
#include "base/ids.h"
#include "base/json.h"
#include "base/result.h"
#include "base/time.h"
#include "model/instance.h"
#include "orchestrator/batch/command.h"
#include "orchestrator/definition/loader.h"

namespace millrace {

/// Which instances a list holds, newest first.
struct InstanceFilter {
  std::string workflow;                  ///< empty: all
  std::vector<InstanceStatus> statuses;  ///< one of these; empty: all
  std::optional<TimePoint> since;        ///< started at or after
  size_t limit = 50;
  std::string cursor;  ///< `next` of the page before; empty: the first page
};

/// What an event's publishing came to: how many the stream took, and how many of them it knew.
struct Accepted {
  size_t accepted = 0;
  size_t duplicates = 0;
};

class Service {
 public:
  virtual ~Service() = default;
  using Done = std::function<void(Result<Json>)>;  ///< called once, on any thread

  /// Error codes of commands and reads: `namespace.not_found`, `workflow.not_found`,
  /// `instance.not_found`, `namespace.not_empty`, `workflow.has_instances`, `leftovers.none`,
  /// `leftovers.in_use` (a number is not that of what a deletion left), `start.conflict` (another
  /// input under the same idempotency key), `busy` (too much is waiting: later again),
  /// `instance.ended` (nothing can be done about it any more), `instance.living` (it has to end
  /// first), `instance.not_failed`, `instance.deadline_passed`, `instance.no_state`,
  /// `instance.no_data` (it cannot be retried, or run again from there), `direktiv.mutex` (an
  /// instance of the singular workflow lives), `schedule.not_found`, `variable.not_found`,
  /// `secret.not_found`, `stopping`, and `store.*`. Answers: ApplyWorkflow
  /// {"id","revision","changed"}, StartInstance {"id","created"}, TriggerSchedule {"id"},
  /// CancelInstance {"id","cancelled"}, PauseInstance {"id","paused"}, ResumeInstance
  /// {"id","resumed"}, RetryInstance, RestartInstance and RerunInstance {"id","run"},
  /// DeleteInstance {"id","deleted"}, DeleteWorkflow and DeleteNamespace {"cancelled":n},
  /// of leftovers {"number","kept"} and {"number","erasing"}, CreateNamespace {"name","created"},
  /// PutVariable {"key","size","contentType"}, DeleteVariable {"key","deleted"}, PutSecret
  /// {"name","created"}, DeleteSecret {"name","deleted"}.
  virtual void command(Command command, Done done) = 0;

  /// `done` is called once on any thread: when the instance has ended, or is not there; with the
  /// error `wait.timeout` after `at_most`.
  virtual void wait_for_end(std::string space, InstanceId id, Duration at_most,
                            std::function<void(Status)> done) = 0;

  /// Loads and lints a definition (YAML or JSON), its jq programs checked too. Lint knows the
  /// settings of the namespace `space`; empty: of none. May take some milliseconds.
  virtual Loaded load_definition(std::string_view text, std::string_view space) = 0;

  /// Publishes into the event stream; `done` comes when the broker has them all, or with the first
  /// error (`broker.*`): then sending all again is safe.
  virtual void publish_events(std::string space, std::vector<Event> events,
                              std::function<void(Result<Accepted>)> done) = 0;

  // Reads. Shapes are those of docs/http.md. Of an instance that is sealed {"sealed":true} is told,
  // and in the places of its data, of texts of errors and of all else that may come from them
  // "(sealed)".

  virtual Result<Json> namespaces() = 0;  ///< {"items":[{"name",…}]}
  /// {"items":[{"id","revision","start": kind,"name","paused","updatedAt"}]}
  virtual Result<Json> workflows(std::string_view space) = 0;
  /// The same of one, with {"description","version","states":[{"id","type"}],"definition": the
  /// text}.
  virtual Result<Json> workflow(std::string_view space, std::string_view id) = 0;
  virtual Result<Json> revisions(std::string_view space, std::string_view id) = 0;
  virtual Result<Json> instances(std::string_view space, const InstanceFilter& filter) = 0;
  virtual Result<Json> instance(std::string_view space, const InstanceId& id) = 0;
  virtual Result<Json> history(std::string_view space, const InstanceId& id) = 0;
  /// {"items":[{"kind":"start"|"instance","workflow","instance","state","type","context"}],"next"}
  virtual Result<Json> listeners(std::string_view space, size_t limit, std::string_view cursor) = 0;
  /// Groups of eventsAnd starts that are not complete:
  /// {"items":[{"workflow","correlate":{attribute: value},"entries":[{"type","waiting"}],
  /// "expiresAt"?}],"next"}. Error `cursor.malformed`.
  virtual Result<Json> groups(std::string_view space, size_t limit, std::string_view cursor) = 0;
  /// {"items":[{"workflow","paused","cron","zone","nextTick","lastTick"?}]}; a workflow that has no
  /// cron has neither zone nor nextTick.
  virtual Result<Json> schedules(std::string_view space) = 0;
  /// One of them, with {"upcoming":[…]}: its next five ticks. Also `schedule.not_found`.
  virtual Result<Json> schedule(std::string_view space, std::string_view workflow) = 0;
  /// {"items":[{"key","size","contentType","sealed"?}],"next"}, by key; the cursor is the last
  /// one's key.
  virtual Result<Json> variables(const VariablePlace& place, size_t limit,
                                 std::string_view cursor) = 0;
  /// Error `variable.sealed`: a sealed instance has set it, and nobody is told it.
  virtual Result<Variable> variable(const VariablePlace& place, std::string_view key) = 0;
  /// {"items":[{"name"}],"next"}, by name; the cursor is the last one's name.
  virtual Result<Json> secrets(std::string_view space, size_t limit, std::string_view cursor) = 0;
  /// {"items":[{"id","reason","detail","time","subject","size","data"}],"next"}; asks the broker.
  /// The namespace need not exist where there are dead letters under its name.
  virtual Result<Json> dead_letters(std::string_view space, size_t limit,
                                    std::string_view cursor) = 0;

  /// Checks every row of the store as the last commit has it: a StoreReport as JSON
  /// (orchestrator/check). Takes about a second for each 100 000 rows; one at a time, else
  /// `busy`.
  virtual void verify(Done done) = 0;

  /// ok when the streams exist and events are taken; else the error says what is waited for.
  virtual Status ready() = 0;
  /// {"version", "limits":{…}, "streams":{…}, "broker":{"reading","waitingFor"?,"losses":[…]}, …}
  virtual Json info() = 0;
  /// Prometheus text format 0.0.4.
  virtual std::string metrics() = 0;
};

}  // namespace millrace
