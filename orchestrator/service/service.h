// Service: everything that the gateway may request from a running server: the reads of the store
// (store_reads.h), and what needs an engine. Commands go through the engine and are answered once
// they are on disk; reads use the last commit. Any thread.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/event.h"
#include "base/ids.h"
#include "base/json.h"
#include "base/result.h"
#include "base/time.h"
#include "cloudevents/headers.h"
#include "model/answered_by.h"
#include "model/instance.h"
#include "model/task.h"
#include "orchestrator/batch/command.h"
#include "orchestrator/definition/loader.h"
#include "orchestrator/ports/call_files.h"
#include "orchestrator/service/event_desk.h"
#include "orchestrator/service/letter_desk.h"
#include "orchestrator/service/live_request.h"
#include "orchestrator/service/live_sink.h"
#include "orchestrator/service/source_desk.h"
#include "orchestrator/service/store_reads.h"
#include "orchestrator/service/trials.h"
#include "orchestrator/service/why_desk.h"

namespace millrace {

/// The result of publishing events: how many the stream accepted, and how many of them were
/// duplicates.
struct Accepted {
  size_t accepted = 0;
  size_t duplicates = 0;
};

/// A request of another service for an inbound webhook of a namespace.
struct InboundRequest {
  std::string ns;
  std::string name;  ///< of the inbound webhook
  Headers headers = {};
  std::map<std::string, std::string, std::less<>> query = {};
  std::string body = {};  ///< the bytes as they came
  std::string peer = {};  ///< the address of the client, for the log
};

/// What an accepted request is answered with.
struct InboundAnswer {
  std::string id;            ///< of the event
  std::string challenge;     ///< if it is not empty: the body of the answer, and there is no event
  bool is_repeated = false;  ///< the event is a duplicate
};

/// What a service says by a callback about a task that it has accepted.
struct CallbackRequest {
  std::string ns;
  std::string key;  ///< AttemptKeys::named_key_of() of the attempt
  std::variant<TaskHeartbeat, TaskEnded> what;
  AnsweredBy by = AnsweredBy::kHttpCallback;
};

/// The content of a file, and a name for it.
struct NamedText {
  std::string name;
  std::string text;
};

/// Stands for the connection of a caller: expires when the connection is closed.
using CallerMark = std::weak_ptr<const void>;

class Service : public StoreReads {
 public:
  using Done = std::function<void(Result<Json>)>;  ///< called once, on any thread

  /// Error codes of commands: `namespace.not_found`, `workflow.not_found`,
  /// `instance.not_found`, `namespace.not_empty`, `workflow.has_instances`,
  /// `workflow.compensating`, `namespace.compensating`, `leftovers.none`,
  /// `leftovers.in_use` (the number is not that of a leftover), `start.conflict` (another input
  /// under the same idempotency key), `busy` (too many inputs wait: try again later),
  /// `instance.ended` (the instance can no longer be changed), `instance.living` (it must end
  /// first), `instance.not_failed`, `instance.deadline_passed`, `instance.no_state`,
  /// `instance.no_data` (the instance cannot be retried, or cannot be started again in the named
  /// state), `direktiv.mutex` (the singular workflow has a live instance), `millrace.quota.*` (the
  /// namespace has no room for an instance or workflow), `schedule.not_found`,
  /// `variable.not_found`, `secret.not_found`, `stopping`, and `store.*`. Answers: ApplyWorkflow
  /// {"id","revision","changed"}, StartInstance {"id","created"}, TriggerSchedule {"id"},
  /// CancelInstance {"id","cancelled","pendingStart"?} (true: the id was that of a start that
  /// `debounce` or `batch` had put off, which was dropped), DropPendingStarts {"dropped":n},
  /// PauseInstance {"id","paused"},
  /// ResumeInstance
  /// {"id","resumed"}, RetryInstance, RestartInstance and RerunInstance {"id","run"},
  /// CompensateInstance {"id","left":n} (compensations; `instance.no_compensation`),
  /// DeleteInstance {"id","deleted"}, DeleteInstances {"deleting"} (false: no ended instance
  /// matches), DeleteWorkflow and DeleteNamespace
  /// {"cancelled":n,"droppedCompensations"?:n,"pendingStarts"?:n} (the last one of a workflow: how
  /// many were dropped, if any), or for leftovers
  /// {"number","kept"} and {"number","erasing"}, CreateNamespace {"name","created","warnings"?,
  /// "removed"?: removed_settings()},
  /// PutVariable {"key","size","contentType"}, DeleteVariable {"key","deleted"}, PutSecret
  /// {"name","created"}, DeleteSecret {"name","deleted"}, DropGroup {"id","dropped":n} (events;
  /// `group.not_found`), PauseInboundWebhook {"name","paused","changed"} and DeleteInboundWebhook
  /// {"name","deleted"} (`hooks.not_found`, `settings.invalid`), RegisterNode and RemoveNode
  /// {"nodes":[{"node","address","firstSeen"}]} (all registered nodes; `cluster.too_many_nodes`,
  /// `cluster.node_not_found`); AnswerTask {"accepted":true} (`callback.ended`,
  /// `call.not_accepted`), which answer_task() sends too; ChangeReplay is a command of the event
  /// desk; ApplySource, PauseSource, DeleteSource, MoveSource, ForgetConsumer and RefuseMessages
  /// are commands of the source desk.
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

  /// Checks the signature of the request, maps it to an event and publishes that as
  /// publish_events() does; a CloudEvent stays what it is. `done` is called when the broker has
  /// acknowledged the event, also if it is a duplicate. Errors: `hooks.refused` (the message says
  /// nothing about the reason), `hooks.paused` (only if the signature is valid), `mapping.failed`,
  /// `mapping.form`, `mapping.invalid`, `event.*`, `jq.unavailable`, and those of publish_events().
  virtual void receive(const InboundRequest& request,
                       std::function<void(Result<InboundAnswer>)> done) = 0;

  /// Answers a task, or notes a heartbeat of it: {"accepted":true}, once it is on disk. Errors:
  /// `callback.refused`, the key is not one of this server; `callback.ended`, the attempt has
  /// ended, not by this answer, and nothing was changed; `namespace.not_found`, `busy`, `stopping`,
  /// `store.*`; `broker.*`, this process has not owned the streams yet, and nothing was changed.
  virtual void answer_task(CallbackRequest request, Done done) = 0;

  // Further reads, for which the rows of a commit are not enough. The JSON forms are those of
  // docs/http.md.

  /// A scenario file that plays what the instance met (orchestrator/made_scenario). Waits for the
  /// broker. Errors: `scenario.*`, and those of StoredEvents.
  virtual Result<NamedText> scenario(std::string_view ns, const InstanceId& id) = 0;
  /// What a text may name: {"items":[{"kind":"instance"|"workflow"|"key"|"group"|"task"|"replay"|
  /// "source"|"webhook"|"service"|"event"|"deadLetter","id","label","instance"?}],"next":null,
  /// "complete","notRead"?:{"code","msg"}}, 20 items at most. Of "instance" and "workflow" the text
  /// is the beginning of `id`, of "key" the idempotency key of the instance `id`, of "event" the
  /// sequence `id` or the id of the event with that sequence, of "deadLetter" its id, its reason or
  /// the id of its event, of the other kinds the whole `id`: of "task" the action id of an attempt
  /// that has not ended, whose call is one of `instance`; of "replay" that of a range of events; of
  /// "source", "webhook" (inbound) and "service" their name. `complete` is false if not all
  /// instances of a key, events or dead letters are listed, or the settings cannot be read. May
  /// wait for the broker for some seconds; if it does not answer, there are no events and no dead
  /// letters, and `notRead` says why.
  virtual Result<Json> find(std::string_view ns, std::string_view text) = 0;
  /// {"counts":[[workflow,status,n]…],"attention":[{"kind",…}],"cut":[{"kind","exactUntil"?,
  /// "detail"?}],"levels","broker":{"reading","waitingFor"?,"losses"},"store"?:{"dataBytes",
  /// "usedBytes"},"asOf"}. Kinds of what asks for attention, 20 of each at most: `failed`,
  /// `timedout` {"workflow","count"}, `pausedWorkflow` {"workflow"}, `pausedService` {"service"},
  /// `pausedSource` {"source"}, `sourceWaits` {"source","detail"} (nothing is read of it now),
  /// `settings` {"detail"}, `retrying` {"at","since","instance","workflow"?,"state"?}, soonest
  /// first, `deadline` (as `retrying`, with add_consequence(): timeouts of states that are due
  /// within 5 minutes), `noWorkers` {"service","global"?,"count","running","since"} (no worker asks
  /// for the tasks of a service, the oldest of which has waited 10 s), `deadLetters` {"count"} or
  /// {"detail"}: their number is not known, `server` {"detail"}. `cut`: the kinds of which items
  /// may be missing, also `counts`: because there are more, or a bound or an error has ended the
  /// look; with `exactUntil` nothing is missing that is due before. `store` is missing if its size
  /// cannot be read. May wait for the broker for some seconds, and for the engine thread for
  /// kIndexPatience.
  virtual Result<Json> overview(std::string_view ns) = 0;
  /// See Series::show().
  virtual Result<Json> series(const std::vector<std::string>& names,
                              std::optional<TimePoint> since) = 0;
  /// Whether the namespace, the workflow and the instance of the request exist.
  virtual Status check_watch(const LiveRequest& request) = 0;
  /// Sends live messages (LiveHub) to the sink until it is closed. The request was checked.
  virtual void watch(LiveRequest request, std::shared_ptr<LiveSink> sink) = 0;
  /// Checks an input, a JSON text, against that schema: {"valid","errors":[{"path","message"}]}.
  /// Errors: also `busy`, `millrace.timeout.task`, and those of the jq workers.
  virtual void check_input(std::string ns, std::string id, std::string input, Done done) = 0;
  /// Evaluates an expression (Trials::evaluate).
  virtual void try_expression(ExpressionTrial trial,
                              std::function<void(Result<LazyJson>)> done) = 0;
  /// The services of a namespace and the tasks for them, by name: {"items":[{"service","global"?,
  /// "target","paused","waiting","running","asking"?,"oldest"?,"scheduleToStart"?:{"p50","p99"},
  /// "lastError"?:{"code","message"?,"at"}}],"next":null,"complete","looked"}. `asking`:
  /// add_asking(). `target`: {"kind":"workers"|"request"|"http"|"container","at"}; `oldest`: since
  /// when the oldest task exists that waits; times in seconds, of the tasks that this process has
  /// seen. `complete` is false if there are more tasks than the query looks at: then the numbers
  /// are too small.
  virtual Result<Json> functions(std::string_view ns) = 0;
  /// The stored events of the event stream.
  virtual EventDesk& event_desk() = 0;
  /// The inbound webhooks of a namespace by name, and what became of their requests since this
  /// process started: {"items":[inbound_json()],"next":null} (inbound_counts.h).
  virtual Result<Json> inbound_webhooks(std::string_view ns) = 0;
  /// One of these, with {"settings"}. Errors `namespace.not_found`, `hooks.not_found`.
  virtual Result<Json> inbound_webhook(std::string_view ns, std::string_view name) = 0;
  /// What a request for an inbound webhook would become and do; nothing is published, stored or
  /// counted: {"name","signature":{"fits","code"?,"msg"?},"paused"?,"challenge"?} and the members
  /// of tried_event(), unless there is a challenge. The event is shown whether the signature fits
  /// or not. Waits for jq workers, and for the engine thread. Errors `namespace.not_found`,
  /// `hooks.not_found`.
  virtual Result<Json> try_inbound(const InboundRequest& request) = 0;
  /// The sources of the namespaces.
  virtual SourceDesk& source_desk() = 0;
  /// The dead letters in the dead-letter queue.
  virtual LetterDesk& letter_desk() = 0;
  /// Why events had an effect, or none.
  virtual WhyDesk& why_desk() = 0;
  /// The files of calls; null: no call of this server has files.
  virtual CallFiles* call_files() { return nullptr; }

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
