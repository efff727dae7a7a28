// Service: everything that the gateway may request from a running server. Commands go through the
// engine and are answered once they are on disk; reads use the last commit. Any thread.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
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
#include "model/history.h"
#include "model/instance.h"
#include "orchestrator/batch/command.h"
#include "orchestrator/definition/loader.h"
#include "orchestrator/service/event_desk.h"
#include "orchestrator/service/letter_desk.h"
#include "orchestrator/service/live_request.h"
#include "orchestrator/service/live_sink.h"
#include "orchestrator/service/next_filter.h"
#include "orchestrator/service/trials.h"
#include "orchestrator/service/why_desk.h"

namespace millrace {

/// What an instance may have at the moment. Only live instances have one of these.
enum class InstanceTrait : uint8_t {
  kRetrying,  ///< waits for the next attempt of a state, a call or the workflow
  kCalls,     ///< its state has made calls
  kDeadline,  ///< a deadline that does not belong to its calls
};

/// Which instances a list shows. An instance is shown if it matches all members.
struct InstanceFilter {
  std::string workflow;                  ///< empty: all
  std::vector<InstanceStatus> statuses;  ///< the instance has one of these; empty: any
  std::optional<TimePoint> since;        ///< the instance started then or later
  std::optional<TimePoint> until;        ///< the instance started before then
  std::string id;                        ///< the beginning of the id; empty: any
  std::string key;                       ///< the idempotency key; empty: any
  std::string correlation;               ///< `correlationid` of the starting event; empty: any
  std::optional<InstanceId> parent;      ///< the instance whose call started it
  std::string state;                     ///< the id of its state; empty: any
  std::string error;                     ///< a glob that the error code matches; empty: any
  std::vector<InstanceTrait> traits;     ///< the instance has all of these
  bool oldest_first = false;             ///< in the order of the ids; otherwise against it
  size_t limit = 50;
  std::string cursor;  ///< `next` of the page before; empty: the first page
};

/// What instances that are counted together have in common.
enum class CountField : uint8_t { kWorkflow, kRevision, kState, kStatus };

/// Which instances are counted, and together with which others.
struct CountRequest {
  std::vector<CountField> by;            ///< empty: all in one number
  std::string workflow;                  ///< empty: of all workflows
  std::vector<InstanceStatus> statuses;  ///< with one of these; empty: any
  std::string state = {};                ///< in the state of this id; empty: any
};

/// A page of a list in the order of names.
struct PageRequest {
  size_t limit = 1000;
  std::string cursor;  ///< `next` of the page before; empty: the first page
};

/// Which listeners a list shows. A listener is shown if it matches all members.
struct ListenerFilter {
  enum class Kind : uint8_t { kAny, kStart, kInstance };
  Kind kind = Kind::kAny;
  std::string type;                  ///< the type of the events; empty: any
  std::string workflow;              ///< empty: all
  std::string attribute;             ///< it has a condition on this attribute; empty: any
  std::optional<std::string> value;  ///< that holds for this value (UTF-8) of the attribute
  size_t limit = 50;
  std::string cursor;  ///< `next` of the page before; empty: the first page
};

/// How many groups a page of their list looks at.
inline constexpr size_t kMostGroupsLooked = 1'000;

/// Which groups of eventsAnd starts a list shows. A group is shown if it fits all members.
struct GroupFilter {
  std::string id;                                ///< of one group; empty: any
  std::string workflow;                          ///< empty: all
  std::map<std::string, std::string> correlate;  ///< the values of these attributes, as text
};

/// A page of the revisions of a workflow.
struct RevisionsRequest {
  size_t limit = 50;
  std::string cursor;  ///< `next` of the page before; empty: the first page
  bool texts = true;   ///< whether the items have the texts of the definitions
};

/// Which records of a history a page shows.
struct HistoryFilter {
  size_t limit = 1000;
  std::string cursor;              ///< `next` of the page before; empty: the first page
  bool newest_first = false;       ///< otherwise oldest first
  bool data = true;                ///< whether the items have the data of the records
  std::optional<uint64_t> after;   ///< only records with a higher number
  std::optional<uint64_t> before;  ///< only records with a lower number
  std::vector<HistoryKind> kinds;  ///< only records of these kinds; empty: any
};

/// The result of publishing events: how many the stream accepted, and how many of them were
/// duplicates.
struct Accepted {
  size_t accepted = 0;
  size_t duplicates = 0;
};

/// The content of a file, and a name for it.
struct NamedText {
  std::string name;
  std::string text;
};

/// Stands for the connection of a caller: expires when the connection is closed.
using CallerMark = std::weak_ptr<const void>;

class Service {
 public:
  virtual ~Service() = default;
  using Done = std::function<void(Result<Json>)>;  ///< called once, on any thread

  /// Error codes of commands and reads: `namespace.not_found`, `workflow.not_found`,
  /// `instance.not_found`, `namespace.not_empty`, `workflow.has_instances`, `leftovers.none`,
  /// `leftovers.in_use` (the number is not that of a leftover), `start.conflict` (another input
  /// under the same idempotency key), `busy` (too many inputs wait: try again later),
  /// `instance.ended` (the instance can no longer be changed), `instance.living` (it must end
  /// first), `instance.not_failed`, `instance.deadline_passed`, `instance.no_state`,
  /// `instance.no_data` (the instance cannot be retried, or cannot be started again in the named
  /// state), `direktiv.mutex` (the singular workflow has a live instance), `millrace.quota.*` (the
  /// namespace has no room for an instance or workflow), `schedule.not_found`,
  /// `variable.not_found`, `secret.not_found`, `stopping`, and `store.*`. Answers: ApplyWorkflow
  /// {"id","revision","changed"}, StartInstance {"id","created"}, TriggerSchedule {"id"},
  /// CancelInstance {"id","cancelled"}, PauseInstance {"id","paused"}, ResumeInstance
  /// {"id","resumed"}, RetryInstance, RestartInstance and RerunInstance {"id","run"},
  /// DeleteInstance {"id","deleted"}, DeleteInstances {"deleting"} (false: no ended instance
  /// matches), DeleteWorkflow and DeleteNamespace {"cancelled":n}, or for leftovers
  /// {"number","kept"} and {"number","erasing"}, CreateNamespace {"name","created","warnings"?},
  /// PutVariable {"key","size","contentType"}, DeleteVariable {"key","deleted"}, PutSecret
  /// {"name","created"}, DeleteSecret {"name","deleted"}, DropGroup {"id","dropped":n} (events;
  /// `group.not_found`); ChangeReplay is a command of the event desk.
  virtual void command(Command command, Done done) = 0;

  /// `done` is called once on any thread: when the instance has ended or does not exist, or with
  /// error `wait.timeout` after `at_most`. It need not be called once the caller has left.
  virtual void wait_for_end(std::string ns, InstanceId id, Duration at_most,
                            const CallerMark& caller, std::function<void(Status)> done) = 0;

  /// Loads and lints a definition (YAML or JSON), including its jq programs. Lint uses the settings
  /// of the namespace `ns`; empty: no settings. May take some milliseconds, and 20 s at most; jq
  /// programs and schemas for which no time is left have errors.
  virtual Loaded load_definition(std::string_view text, std::string_view ns) = 0;

  /// Publishes into the event stream; `done` is called when the broker has acknowledged all events,
  /// or with the first error (`broker.*`). After an error it is safe to send all events again.
  /// Error `millrace.quota.eventsPerSecond`: the namespace gets too many events; none is published.
  virtual void publish_events(std::string ns, std::vector<Event> events,
                              std::function<void(Result<Accepted>)> done) = 0;

  // Reads. The JSON forms are those of docs/http.md. A sealed instance has {"sealed":true}; its
  // data, error texts and everything else that may come from them are masked or hidden
  // (disclosure.h).

  /// {"items":[{"name",…}],"next"}, by name. Pages of this list and the lists below end after about
  /// 1 MiB of settings or definitions that were read for them.
  virtual Result<Json> namespaces(const PageRequest& page) = 0;
  /// A namespace as in namespaces(), with {"quotas": {quota: {"limit": n or "unlimited",
  /// "used"?: n}}}; `used` is missing if the quota is one of each instance or of a time, and while
  /// the index of the store is being built.
  virtual Result<Json> one_namespace(std::string_view ns) = 0;
  /// {"items":[{"id","revision","start": kind,"name","paused","updatedAt","counts"?:{status: n},
  /// "nextTick"?}],"next"}, by id. `counts` is missing while the index is not complete, and for
  /// workflows for which too many rows of counts would be read.
  virtual Result<Json> workflows(std::string_view ns, const PageRequest& page) = 0;
  /// A workflow as in workflows(), with
  /// {"description","version","states":[{"id","type"}],"definition": the text}.
  virtual Result<Json> workflow(std::string_view ns, std::string_view id) = 0;
  /// {"items":[{"revision","createdAt","definition"?: the text}],"next"}, newest first; a page ends
  /// after about 1 MiB of texts. Error `cursor.malformed`.
  virtual Result<Json> revisions(std::string_view ns, std::string_view id,
                                 const RevisionsRequest& request) = 0;
  /// {"workflow","revision","createdAt","definition": the text}. Error `revision.not_found`.
  virtual Result<Json> revision(std::string_view ns, std::string_view id, uint32_t number) = 0;
  /// {"items":[{"id","workflow","revision","status","state","startedAt",…}],"next","complete",
  /// "looked"}. `looked`: the number of instances that were read for the page; `complete` is false
  /// if a bound of this number or of the time ended the page, so that it may lack instances which
  /// the next page has. Error `id.malformed`: no id begins with filter.id, or the cursor is not an
  /// id.
  virtual Result<Json> instances(std::string_view ns, const InstanceFilter& filter) = 0;
  /// {"items":[{"workflow"?,"revision"?,"state"?,"status"?,"count"}],"asOf"}: the exact numbers of
  /// instances, by workflow; `state` is null if its definition is damaged. Errors:
  /// `index.incomplete`, `request.parameter` (the answer would be too large).
  virtual Result<Json> instance_counts(std::string_view ns, const CountRequest& request) = 0;
  /// An instance as in instances(), with {"input","data","output"?,"attempt","damage"?,
  /// "calls"?:[…],"callCounts"?:{status: n},"transitions","key"?,"correlation"?,
  /// "waits"?:[{"type","context","since"}],"timers"?:[{"kind","at","held"?,"then"?}],
  /// "startedBy"?: the detail of the first record of the history, if few rows come after it,
  /// "children"?:{"counts":{status: n},"complete"}: of those that the calls of its state made}.
  virtual Result<Json> instance(std::string_view ns, const InstanceId& id) = 0;
  /// {"items":[{"index","status","attempt",…}],"next"}: the calls of its state, in their order.
  /// Error `cursor.malformed`.
  virtual Result<Json> instance_calls(std::string_view ns, const InstanceId& id, size_t limit,
                                      std::string_view cursor) = 0;
  /// The instances that calls of the instance have started, as in instances(), oldest first. Error
  /// `instance.not_found`.
  virtual Result<Json> instance_children(std::string_view ns, const InstanceId& id, size_t limit,
                                         std::string_view cursor) = 0;
  /// {"items":[{"number","time","kind","state"?,"detail"?,"data"?}],"next"}; a page ends after
  /// about 1 MiB of details and data, or 20 000 records of other kinds. Error `cursor.malformed`.
  virtual Result<Json> history(std::string_view ns, const InstanceId& id,
                               const HistoryFilter& filter) = 0;
  /// A scenario file that plays what the instance met (orchestrator/made_scenario). Waits for the
  /// broker. Errors: `scenario.*`, and those of StoredEvents.
  virtual Result<NamedText> scenario(std::string_view ns, const InstanceId& id) = 0;
  /// What a text may name: {"items":[{"kind":"instance"|"workflow"|"key"|"group"|"event"|
  /// "deadLetter","id","label"}],"complete","notRead"?:{"code","msg"}}, 20 items at most. Of
  /// "instance" and "workflow" the text is the beginning of `id`, of "key" the idempotency key of
  /// the instance `id`, of "group" the whole `id`, of "event" the sequence `id` or the id of the
  /// event with that sequence, of "deadLetter" its id, its reason or the id of its event.
  /// `complete` is false if not all instances of a key, events or dead letters are listed. May wait
  /// for the broker for some seconds; if it does not answer, there are no events and no dead
  /// letters, and `notRead` says why.
  virtual Result<Json> find(std::string_view ns, std::string_view text) = 0;
  /// {"items":[{"kind":"start"|"instance","workflow","instance","state","type","context"}],"next",
  /// "complete","looked"}, of starts, then of live instances, the newest first; `complete` and
  /// `looked` as in instances(). A condition whose text is masked or hidden holds for no value.
  virtual Result<Json> listeners(std::string_view ns, const ListenerFilter& filter) = 0;
  /// Groups of eventsAnd starts that are not complete:
  /// {"items":[{"id","workflow","correlate":{attribute: value},"entries":[{"type","waiting",
  /// "first"?:{"sequence"?,"id"?}}],"expiresAt"?}],"next"}. `first`: the event of the entry that
  /// has waited longest. A page ends after kMostGroupsLooked groups, also if few of them fit.
  /// Errors `workflow.not_found` (of the filter), `cursor.malformed`.
  virtual Result<Json> groups(std::string_view ns, size_t limit, std::string_view cursor,
                              const GroupFilter& filter) = 0;
  /// {"items":[{"workflow","paused","cron","zone","nextTick","lastTick"?}],"next"}, by workflow;
  /// without a cron there is neither zone nor nextTick. `limit`: of workflows, with a schedule or
  /// without.
  virtual Result<Json> schedules(std::string_view ns, const PageRequest& page) = 0;
  /// One schedule as in schedules(), with {"upcoming":[…]}: its next five ticks. Also error
  /// `schedule.not_found`.
  virtual Result<Json> schedule(std::string_view ns, std::string_view workflow) = 0;
  /// The graph of a revision, of the newest one without `revision`: {"id","revision"} and the
  /// members of to_json(WorkflowGraph) (language/graph.h). Error `revision.not_found`.
  virtual Result<Json> graph(std::string_view ns, std::string_view id,
                             std::optional<uint32_t> revision) = 0;
  /// What time will cause, soonest first: {"items":[{"at","kind","instance"?,"workflow"?,"state"?,
  /// "then"?,"paused"?}],"complete","exactUntil"?,"looked"}. `kind` is a name of kFiringKinds.
  /// `then`: the state that follows (after_timer.h). `complete`: nothing that is sooner than the
  /// last item is missing, or nothing up to the end of the filter if there are fewer items than its
  /// limit. If a bound has ended the look before, it is false, and nothing is missing that fires
  /// before `exactUntil`; items after it are true, but others may be missing. `looked`: at how many
  /// instances, events and timers the query has looked. In a namespace with many instances, due
  /// timers that wait to be fired may be missing. May wait for the engine thread for
  /// kIndexPatience.
  virtual Result<Json> next_firings(std::string_view ns, const NextFilter& filter) = 0;
  /// {"counts":[[workflow,status,n]…],"attention":[{"kind",…}],"cut":[{"kind","exactUntil"?,
  /// "detail"?}],"levels","broker":{"reading","waitingFor"?,"losses"},"store"?:{"dataBytes",
  /// "usedBytes"},"asOf"}. Kinds of what asks for attention, 20 of each at most: `failed`,
  /// `timedout` {"workflow","count"}, `pausedWorkflow` {"workflow"}, `pausedService` {"service"},
  /// `settings` {"detail"}, `retrying` {"at","since","instance","workflow"?,"state"?}, soonest
  /// first, `deadline` (as `retrying`, "then"?: timeouts of states that are due within 5 minutes),
  /// `noWorkers` {"service","global"?,"count","running","since"} (no worker asks for the tasks of a
  /// service, the oldest of which has waited 10 s), `deadLetters` {"count"} or {"detail"}: their
  /// number is not known, `server` {"detail"}. `cut`: the kinds of which items may be missing, also
  /// `counts`: because there are more, or a bound or an error has ended the look; with `exactUntil`
  /// nothing is missing that is due before. `store` is missing if its size cannot be read. May wait
  /// for the broker for some seconds, and for the engine thread for kIndexPatience.
  virtual Result<Json> overview(std::string_view ns) = 0;
  /// See Series::show().
  virtual Result<Json> series(const std::vector<std::string>& names,
                              std::optional<TimePoint> since) = 0;
  /// Whether the namespace, the workflow and the instance of the request exist.
  virtual Status check_watch(const LiveRequest& request) = 0;
  /// Sends live messages (LiveHub) to the sink until it is closed. The request was checked.
  virtual void watch(LiveRequest request, std::shared_ptr<LiveSink> sink) = 0;
  /// The schema of a workflow's input (input_schema.h): {"schema","from": id of the state that
  /// checks it,"example"}; without a schema, all but `example` is null.
  virtual Result<Json> input_schema(std::string_view ns, std::string_view id) = 0;
  /// Checks an input, a JSON text, against that schema: {"valid","errors":[{"path","message"}]}.
  /// Errors: also `busy`, `millrace.timeout.task`, and those of the jq workers.
  virtual void check_input(std::string ns, std::string id, std::string input, Done done) = 0;
  /// Evaluates an expression (Trials::evaluate).
  virtual void try_expression(ExpressionTrial trial,
                              std::function<void(Result<LazyJson>)> done) = 0;
  /// The services of a namespace and the tasks for them, by name: {"items":[{"service","global"?,
  /// "target","paused","waiting","running","asking"?,"oldest"?,"scheduleToStart"?:{"p50","p99"},
  /// "lastError"?:{"code","message"?,"at"}}],"complete","looked"}. `asking`: add_asking().
  /// `target`: {"kind":"workers"|"request"|"http"|"container","at"}; `oldest`: since when the
  /// oldest task exists that waits; times in seconds, of the tasks that this process has seen.
  /// `complete` is false if there are more tasks than the query looks at: then the numbers are too
  /// small.
  virtual Result<Json> functions(std::string_view ns) = 0;
  /// {"items":[{"key","size","contentType","sealed"?}],"next"}, by key; the cursor is the key of
  /// the last item.
  virtual Result<Json> variables(const VariablePlace& place, size_t limit,
                                 std::string_view cursor) = 0;
  /// Error `variable.sealed`: a sealed instance has set the variable, so its value is not shown.
  virtual Result<Variable> variable(const VariablePlace& place, std::string_view key) = 0;
  /// {"items":[{"name"}],"next"}, by name; the cursor is the name of the last item.
  virtual Result<Json> secrets(std::string_view ns, size_t limit, std::string_view cursor) = 0;
  /// The stored events of the event stream.
  virtual EventDesk& event_desk() = 0;
  /// The dead letters in the dead-letter queue.
  virtual LetterDesk& letter_desk() = 0;
  /// Why events had an effect, or none.
  virtual WhyDesk& why_desk() = 0;

  /// Checks every row of the store at the last commit; returns a StoreReport as JSON
  /// (orchestrator/check). Takes about a second for each 100 000 rows. Error `busy` if a check is
  /// running already.
  virtual void verify(Done done) = 0;

  /// Begins a backup of the store at the last commit (backups.h): {"id","aboutRows"} and the
  /// members of its head (orchestrator/backup/manifest.h). First the pages of the store are
  /// checked. Errors: `busy` if there is a backup already; `backup.ending` in place of `busy` if
  /// its caller has closed the connection, and no error if it has asked for no chunk since
  /// kBackupAbandoned; `store.corrupt`.
  virtual void begin_backup(const CallerMark& caller, Done done) = 0;
  /// The bytes of a chunk, counted from 1; nullopt after the last chunk. `caller` becomes the
  /// caller of the backup. Errors: `backup.not_found`, `backup.chunk` (neither the chunk that was
  /// given last nor the next one).
  virtual Result<std::optional<std::string>> backup_chunk(std::string_view id, uint64_t number,
                                                          const CallerMark& caller) = 0;
  /// {"id","ended"}. Error `backup.not_found`.
  virtual Result<Json> end_backup(std::string_view id) = 0;

  /// ok if the streams exist and events are accepted; otherwise the error says what is missing.
  virtual Status ready() = 0;
  /// {"version", "limits":{…}, "streams":{…}, "broker":{"reading","waitingFor"?,"losses":[…]},
  /// "retention":{…}, "store"?:{…}, …}; `retention` has the members of to_json(RetentionFigures),
  /// `store` those of to_json(StoreFigures), and is missing if the store cannot be read.
  virtual Json info() = 0;
  /// Prometheus text format 0.0.4.
  virtual std::string metrics() = 0;
};

}  // namespace millrace
