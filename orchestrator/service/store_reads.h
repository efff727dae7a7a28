// StoreReads: the reads that need nothing but the rows of a commit. So a standby of a cluster can
// answer them from its own folder, without an engine (view_reads.h). Any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "base/json.h"
#include "base/result.h"
#include "base/time.h"
#include "model/history.h"
#include "model/instance.h"
#include "model/variable.h"
#include "orchestrator/batch/command.h"
#include "orchestrator/service/next_filter.h"

namespace millrace {

/// What an instance may have at the moment. Only live instances have one of the first three.
enum class InstanceTrait : uint8_t {
  kRetrying,       ///< waits for the next attempt of a state, a call or the workflow
  kCalls,          ///< its state has made calls
  kDeadline,       ///< a deadline that does not belong to its calls
  kCompensations,  ///< compensations that are noted; of an ended instance: that are left
};

/// Which instances a list shows. An instance is shown if it matches all members.
struct InstanceFilter {
  std::string workflow;                  ///< empty: all
  std::vector<InstanceStatus> statuses;  ///< the instance has one of these; empty: any
  std::optional<TimePoint> since;        ///< the instance started then or later
  std::optional<TimePoint> until;        ///< the instance started before then
  std::optional<TimePoint> ended_since;  ///< the instance has ended, then or later
  std::optional<TimePoint> ended_until;  ///< the instance has ended, before then
  std::string id;                        ///< the beginning of the id; empty: any
  std::string key;                       ///< the idempotency key; empty: any
  std::string correlation;               ///< `correlationid` of the starting event; empty: any
  std::optional<InstanceId> parent;      ///< the instance whose call started it
  std::string state;                     ///< the id of its state; empty: any
  std::string error;                     ///< a glob that the error code matches; empty: any
  std::vector<InstanceTrait> traits;     ///< the instance has all of these
  std::string waits_for;                 ///< a type of events for which it waits; empty: any
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
  std::string type;       ///< the type of the events; empty: any
  std::string workflow;   ///< empty: all
  std::string attribute;  ///< it has a condition on this attribute; empty: any
  /// That holds for this value (UTF-8) of the attribute; without `attribute`: that asks for exactly
  /// this value.
  std::optional<std::string> value;
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

/// How many keys a page of the holders of slots looks at.
inline constexpr size_t kMostHeldKeysLooked = 10'000;

/// The holders of which slots a list shows: those of a workflow, or those of the calls of a service
/// or of an image. One of the first three members is not empty.
struct HolderFilter {
  std::string workflow;
  std::string service;  ///< of the namespace or of the namespace `default`
  std::string image;
  std::optional<Json> key;  ///< only those of this key; nullopt: of all
  size_t limit = 50;
  std::string cursor;  ///< `next` of the page before; empty: the first page
};

/// Which accepted tasks a list shows.
struct AcceptedFilter {
  std::optional<InstanceId> instance;  ///< only those of the calls of its state; nullopt: any
  size_t limit = 50;
  std::string cursor;  ///< `next` of the page before; empty: the first page
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

/// The JSON forms are those of docs/http.md. A sealed instance has {"sealed":true}; its data, error
/// texts and everything else that may come from them are masked or hidden (disclosure.h). Error
/// codes of each read: `namespace.not_found`, `workflow.not_found`, `instance.not_found`, and
/// `store.*`; further ones are named below.
///
/// In all lists `next` is the cursor of the next page, or null, and `complete` is false if a bound
/// has left something out that no page has. A list without `complete` has no such bound. `looked`
/// is how much was read for the page.
class StoreReads {
 public:
  virtual ~StoreReads() = default;

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
  /// The graph of a revision, of the newest one without `revision`: {"id","revision"} and the
  /// members of to_json(WorkflowGraph) (language/graph.h). Error `revision.not_found`.
  virtual Result<Json> graph(std::string_view ns, std::string_view id,
                             std::optional<uint32_t> revision) = 0;
  /// The schema of a workflow's input (input_schema.h): {"schema","from": id of the state that
  /// checks it,"example"}; without a schema, all but `example` is null.
  virtual Result<Json> input_schema(std::string_view ns, std::string_view id) = 0;
  /// {"items":[{"id","workflow","revision","status","state","startedAt",…}],"next","complete",
  /// "looked"}. `looked`: the number of instances that were read for the page; a bound of it or of
  /// the time may end the page before its limit. `complete` is false if a key was not looked up in
  /// all workflows. Error `id.malformed`: no id begins with filter.id, or the cursor is not an id.
  virtual Result<Json> instances(std::string_view ns, const InstanceFilter& filter) = 0;
  /// {"items":[{"workflow"?,"revision"?,"state"?,"status"?,"count"}],"next":null,"asOf"}: the exact
  /// numbers of instances, by workflow; `state` is null if its definition is damaged. Errors:
  /// `index.incomplete`, `request.parameter` (the answer would be too large).
  virtual Result<Json> instance_counts(std::string_view ns, const CountRequest& request) = 0;
  /// An instance as in instances(), with {"input","data","output"?,"attempt","damage"?,
  /// "calls"?:[…],"callCounts"?:{status: n},"transitions","key"?,"correlation"?,
  /// "waits"?:[{"type","context","since"}, or an item of work_waits.h],"moreWaits"?,
  /// "timers"?:[{"kind","at","held"?} with what it causes (TimerItems)],
  /// "startedBy"?: the detail of the first record of the history, if few rows come after it,
  /// "children"?:{"counts":{status: n},"complete"}: of those that the calls of its state made}.
  virtual Result<Json> instance(std::string_view ns, const InstanceId& id) = 0;
  /// {"items":[{"index","function"?,"status","attempt",…}],"next"}: the calls of its state, in
  /// their order. `function`: its id in the workflow, unless the definition is damaged.
  /// Error `cursor.malformed`.
  virtual Result<Json> instance_calls(std::string_view ns, const InstanceId& id, size_t limit,
                                      std::string_view cursor) = 0;
  /// Tasks that a service has accepted, and for whose answer an instance waits, oldest first:
  /// {"items":[{"task","namespace","instance","state","function","attempt","since","deadline"?,
  /// "progress"?,"progressAt"?,"detached"?}],"next","complete","looked"}. `since`: when the attempt
  /// was made; `deadline`: its earliest one; `detached`: no call waits for the answer. `complete`
  /// is always true; `looked` as in instances(), of tasks. Errors `instance.not_found` (of the
  /// filter), `cursor.malformed`.
  virtual Result<Json> accepted_tasks(std::string_view ns, const AcceptedFilter& filter) = 0;
  /// The instances that calls of the instance have started, as in instances(), oldest first. Error
  /// `instance.not_found`.
  virtual Result<Json> instance_children(std::string_view ns, const InstanceId& id, size_t limit,
                                         std::string_view cursor) = 0;
  /// {"items":[{"number","time","kind","state"?,"detail"?,"data"?}],"next"}; a page ends after
  /// about 1 MiB of details and data, or 20 000 records of other kinds. Error `cursor.malformed`.
  virtual Result<Json> history(std::string_view ns, const InstanceId& id,
                               const HistoryFilter& filter) = 0;
  /// {"items":[{"kind":"start"|"instance","workflow","instance","state","type","context"}],"next",
  /// "complete","looked"}, of starts, then of live instances, the newest first; `complete` is
  /// always true; `looked` as in instances(). A condition whose text is masked or hidden holds for
  /// no value. Also error `cursor.malformed`.
  virtual Result<Json> listeners(std::string_view ns, const ListenerFilter& filter) = 0;
  /// The keys of workflows with `concurrency` for whose slots starts wait, by workflow:
  /// {"items":[{"workflow","key"?,"limit"?,"held","queued","next"?:{"instance","since","priority"},
  /// "holder"?:{"instance","since"}}],"next"}. `key`: "(sealed)" if it may contain data of a
  /// secret. `limit`: of the newest revision, if it has one. `next`: the start that gets the next
  /// slot; `holder`: the instance that has held a slot longest. After the keys of each workflow
  /// come its pending starts, each an item of its own (pending_start_item.h), and after all
  /// workflows the keys of calls. A page ends after kMostQueuesLooked keys and pending starts, also
  /// if starts wait for few of them, and after some MiB of the inputs of pending starts.
  /// `workflow`: only of this one; empty: of all. Errors `workflow.not_found`, `cursor.malformed`.
  virtual Result<Json> queues(std::string_view ns, size_t limit, std::string_view cursor,
                              std::string_view workflow) = 0;
  /// The instances or calls that hold slots, by key, and those of a key from the oldest on:
  /// {"items":[{"key"?,"global"?,"instance"?,"task"?,"since"}],"next"}. `key`: "(sealed)" if it may
  /// contain data of a secret; a list of one key has no such holder. `global`: true for a service
  /// of the namespace `default`. `task`: of a call; its `instance` is missing if the task cannot be
  /// read. A page ends after kMostHeldKeysLooked keys, also if few of them have holders. Errors
  /// `workflow.not_found`, `cursor.malformed`, and that of damaged counts of the asked key.
  virtual Result<Json> queue_holders(std::string_view ns, const HolderFilter& filter) = 0;
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
  /// What time will cause, soonest first: {"items":[{"at","kind","instance"?,"workflow"?,"state"?,
  /// "paused"?,"causes",…}],"next":null,"complete","exactUntil"?,"cutBy"?,"looked"}. `kind` is a
  /// name of kFiringKinds; of a `pendingStart` the instance is not there yet. `causes`: "event",
  /// "expiry", "start", or of a timer of an instance what follows, with further members
  /// (TimerItems). `complete`: nothing up to the end of the filter is missing. Otherwise nothing is
  /// missing that fires before `exactUntil`, and `cutBy` says what has cut the list: "limit", that
  /// of the filter, or "look", a bound of the query; then items after `exactUntil` are true, but
  /// others may be missing. `looked`: at how many instances, events and timers the query has
  /// looked. In a namespace with many instances, due timers that wait to be fired may be missing.
  /// May wait for the engine thread for kIndexPatience.
  virtual Result<Json> next_firings(std::string_view ns, const NextFilter& filter) = 0;
  /// {"items":[{"key","size","contentType","sealed"?}],"next"}, by key; the cursor is the key of
  /// the last item.
  virtual Result<Json> variables(const VariablePlace& place, size_t limit,
                                 std::string_view cursor) = 0;
  /// Error `variable.sealed`: a sealed instance has set the variable, so its value is not shown.
  virtual Result<Variable> variable(const VariablePlace& place, std::string_view key) = 0;
  /// {"items":[{"name"}],"next"}, by name; the cursor is the name of the last item.
  virtual Result<Json> secrets(std::string_view ns, size_t limit, std::string_view cursor) = 0;
};

}  // namespace millrace
