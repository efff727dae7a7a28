// FakeService: a Service in memory for tests of the gateway and the command line. Like
// LocalService it answers on its own thread. The test decides when instances end.
#pragma once

#include <atomic>
#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/json.h"
#include "orchestrator/service/live_sink.h"
#include "orchestrator/service/service.h"
#include "tests/unit/gateway/fake_event_desk.h"
#include "tests/unit/gateway/fake_letter_desk.h"
#include "tests/unit/gateway/fake_source_desk.h"
#include "tests/unit/gateway/fake_why_desk.h"

namespace millrace {

class FakeService : public Service {
 public:
  FakeService() : thread_([this] { run(); }) {}
  ~FakeService() override {
    {
      const std::lock_guard lock(mutex_);
      ended_ = true;
    }
    changed_.notify_all();
    thread_.join();
  }

  /// The immediate outcome of a wait for an instance; none: the wait lasts until end_instances().
  std::optional<Status> wait_outcome;
  std::deque<Status> first_wait_outcomes;  ///< of the next waits, before `wait_outcome` applies
  std::string instance_status = "waiting";
  Json instance_input = Json::object();
  size_t instance_count = 1;
  bool has_further_page = false;  ///< the first page of one instance is followed by another one
  size_t pending_starts = 0;      ///< how many a command that drops them finds
  bool refuses_changes = false;   ///< a cancel and a pause change nothing
  Json instance_cancelling;       ///< the member `cancelling` of the instance; null: none
  size_t group_count = 1;
  std::optional<Error> command_error;
  bool batches_starts = false;  ///< a start takes no key, and begins later
  FakeEventDesk stored_events;
  FakeLetterDesk dead_letters;
  FakeSourceDesk sources;
  FakeWhyDesk whys;
  std::optional<Error> publish_error;
  Status ready_status;
  CallFiles* files = nullptr;
  CallFiles* call_files() override { return files; }

  /// The JSON of a started instance.
  static Json instance_json(const std::string& id, const std::string& status);

  /// The JSON of a waiting instance in a list.
  static Json instance_head(const std::string& id);

  static constexpr const char* kInstance = "0190b5a4-7c1e-7f2a-8000-0123456789ab";
  static constexpr const char* kTask = "0190b5a4-7c1e-7f2a-8000-0123456789ac";

  /// A namespace of this name has no services and timers, the counts of its instances are empty,
  /// and find() finds nothing in it. Tests must create it.
  static constexpr std::string_view kEmptyNamespace = "empty";

  /// From now on each instance has this status, and each wait for its end is answered at once.
  void end_at_once(const std::string& status);

  void end_instances(const std::string& status);

  /// Returns once `count` waits are pending.
  void await_waiters(size_t count);

  /// Holds all answers until release().
  void hold();
  void release();
  /// Returns once an answer is held.
  void await_held();

  /// Holds each check of a definition until release_checks().
  void hold_checks();
  void release_checks();
  /// Returns once `count` checks are held.
  void await_checks(size_t count);

  std::vector<Event> published();
  std::vector<StartInstance> starts();
  std::optional<Duration> last_wait();
  std::vector<Duration> waits();
  InstanceFilter last_filter();
  CountRequest last_count_request();
  ListenerFilter last_listener_filter();
  HistoryFilter last_history_filter();
  NextFilter last_next_filter();
  /// The last deletion by a filter. No instance of the workflow `unused` has ended.
  DeleteInstances last_deletion();
  std::optional<DropPendingStarts> last_drop();
  RetryInstance last_retry();
  RerunInstance last_rerun();
  CompensateInstance last_compensate();
  /// The limit of the last page of listeners or groups.
  size_t last_limit();
  /// The last page of calls or children.
  PageRequest last_page();
  bool has_workflow(const std::string& id);

  /// The result of a store check.
  Json store_report = {{"sound", true},         {"items", Json::array()}, {"codes", Json::object()},
                       {"rows", {{"live", 2}}}, {"unreadable", 0},        {"indexCompared", true}};
  void verify(Done done) override;

  /// The chunks of the backup `backup-1`.
  std::vector<std::string> backup_chunks = {"one", "two"};
  /// The head of a backup, as JSON.
  static Json backup_head();
  void begin_backup(const CallerMark& caller, Done done) override;
  Result<std::optional<std::string>> backup_chunk(std::string_view id, uint64_t number,
                                                  const CallerMark& caller) override;
  Result<Json> end_backup(std::string_view id) override;
  bool has_backup();
  /// The caller of the last call that began a backup or asked for a chunk.
  CallerMark backup_caller();

  void command(Command command, Done done) override;

  void wait_for_end(std::string, InstanceId, Duration at_most, const CallerMark&,
                    std::function<void(Status)> done) override;

  /// A text with `broken` has an error in line 2. `id: NAME` sets the id of the workflow.
  Loaded load_definition(std::string_view text, std::string_view) override;

  void publish_events(std::string ns, std::vector<Event> events,
                      std::function<void(Result<Accepted>)> done) override;

  /// The outcome of each request for an inbound webhook.
  Result<InboundAnswer> inbound_answer = InboundAnswer{.id = "evt-1", .challenge = ""};
  void receive(const InboundRequest& request,
               std::function<void(Result<InboundAnswer>)> done) override;
  std::vector<InboundRequest> received();
  /// Those of the settings; each has accepted 2 requests and refused 1.
  Result<Json> inbound_webhooks(std::string_view ns) override;
  Result<Json> inbound_webhook(std::string_view ns, std::string_view name) override;
  /// An event whose data is the body. The signature fits if the request has a header `x-signature`.
  Result<Json> try_inbound(const InboundRequest& request) override;
  /// The outcome of each callback.
  Result<Json> callback_answer = Json{{"accepted", true}};
  void answer_task(CallbackRequest request, Done done) override;
  std::vector<CallbackRequest> callbacks();
  /// The commands that answer a task, in their order.
  std::vector<AnswerTask> answers();

  Result<Json> namespaces(const PageRequest& page) override;
  Result<Json> one_namespace(std::string_view ns) override;
  Result<Json> workflows(std::string_view ns, const PageRequest& page) override;
  Result<Json> workflow(std::string_view ns, std::string_view id) override;
  Result<Json> revisions(std::string_view ns, std::string_view id,
                         const RevisionsRequest& request) override;
  Result<Json> revision(std::string_view ns, std::string_view id, uint32_t number) override;
  Result<Json> graph(std::string_view ns, std::string_view id,
                     std::optional<uint32_t> revision) override;
  Result<Json> instances(std::string_view ns, const InstanceFilter& filter) override;
  Result<Json> instance_counts(std::string_view ns, const CountRequest& request) override;
  Result<Json> instance(std::string_view, const InstanceId& id) override;
  Result<Json> instance_calls(std::string_view ns, const InstanceId& id, size_t limit,
                              std::string_view cursor) override;
  size_t accepted_calls = 1;
  /// So many tasks `accepted_calls`, of the instance kInstance; each is shown as kTask.
  Result<Json> accepted_tasks(std::string_view ns, const AcceptedFilter& filter) override;
  AcceptedFilter last_accepted_filter();
  Result<Json> instance_children(std::string_view ns, const InstanceId& id, size_t limit,
                                 std::string_view cursor) override;
  Result<Json> history(std::string_view ns, const InstanceId& id,
                       const HistoryFilter& filter) override;
  Result<NamedText> scenario(std::string_view ns, const InstanceId& id) override;
  Result<Json> listeners(std::string_view, const ListenerFilter& filter) override;
  Result<Json> queues(std::string_view, size_t limit, std::string_view cursor,
                      std::string_view workflow) override;
  Result<Json> queue_holders(std::string_view, const HolderFilter& filter) override;
  HolderFilter last_holder_filter();
  /// For another id than that of the one group there is none.
  Result<Json> groups(std::string_view, size_t limit, std::string_view cursor,
                      const GroupFilter& filter) override;
  GroupFilter last_group_filter();
  /// Nothing is found for the text `nothing`, nor for `unread`, because of the broker; and a dead
  /// letter for `event.time`.
  Result<Json> find(std::string_view ns, std::string_view text) override;
  /// Only the workflow `report` has a schedule.
  Result<Json> schedules(std::string_view ns, const PageRequest& page) override;
  Result<Json> schedule(std::string_view ns, std::string_view workflow) override;
  Status check_watch(const LiveRequest& request) override;
  void watch(LiveRequest request, std::shared_ptr<LiveSink> sink) override;
  /// Returns the sink of the next request to watch, once there is one. An exception fails the test
  /// if none comes within kPatience.
  std::shared_ptr<LiveSink> await_watcher();
  LiveRequest last_watch();
  /// From now on, each request to watch ends at once, as that of a namespace that is deleted does.
  void end_watches() { ends_watches_ = true; }
  Result<Json> input_schema(std::string_view ns, std::string_view id) override;
  /// An input with the member `wrong` is not valid.
  void check_input(std::string ns, std::string id, std::string input, Done done) override;
  /// The result is [text, data]. The text `fail` fails.
  void try_expression(ExpressionTrial trial, std::function<void(Result<LazyJson>)> done) override;
  Result<Json> overview(std::string_view ns) override;
  /// The series `events` exists.
  Result<Json> series(const std::vector<std::string>& names,
                      std::optional<TimePoint> since) override;
  Result<Json> functions(std::string_view ns) override;
  Result<Json> next_firings(std::string_view ns, const NextFilter& filter) override;
  Result<Json> variables(const VariablePlace& place, size_t limit,
                         std::string_view cursor) override;
  /// Stores a variable of the namespace `default` without any check.
  void keep(const std::string& key, Variable value);
  Result<Variable> variable(const VariablePlace& place, std::string_view key) override;
  Result<Json> secrets(std::string_view ns, size_t, std::string_view) override;
  std::map<std::string, std::string> known_secrets();
  EventDesk& event_desk() override { return stored_events; }
  SourceDesk& source_desk() override { return sources; }
  LetterDesk& letter_desk() override { return dead_letters; }
  WhyDesk& why_desk() override { return whys; }
  Status ready() override { return ready_status; }
  Json info() override { return {{"version", "test"}}; }
  std::string metrics() override { return "millrace_events_total 3\n"; }

 private:
  /// The caller must hold the lock.
  Result<Json> find_instance(const InstanceId& id) const;

  Status check(std::string_view ns) const;
  static Result<Json> no_workflow(std::string_view id);

  static Result<Json> no_schedule(std::string_view id);

  /// The id of the group in the list.
  static constexpr const char* kGroup = "ship:6f1ed002ab5595859014ebf0951522d9";

  Result<Json> take(TriggerSchedule& trigger);
  Result<Json> take(CancelInstance& cancel);
  Result<Json> take(DropPendingStarts& drop);
  /// Answers a command of an operator with the id of the instance and `answer`.
  Result<Json> act(const InstanceId& id, Json answer);
  Result<Json> take(PauseInstance& one) {
    return act(one.instance, {{"paused", !refuses_changes}});
  }
  Result<Json> take(ResumeInstance& one) { return act(one.instance, {{"resumed", true}}); }
  Result<Json> take(RetryInstance& one);
  Result<Json> take(RestartInstance& one) { return act(one.instance, {{"run", 2}}); }
  Result<Json> take(RerunInstance& one);
  Result<Json> take(CompensateInstance& one);
  Result<Json> take(PauseWorkflow& pause);
  Result<Json> take(PauseService& pause);
  /// The inbound webhooks are those of the settings.
  Result<Json> take(PauseInboundWebhook& pause);
  /// An inbound webhook in the settings of the namespace.
  Result<Json*> find_webhook(const std::string& ns, std::string_view name);
  Result<Json> take(DeleteInboundWebhook& remove);
  Result<Json> take(DeleteInstance& remove);
  Result<Json> take(DeleteInstances& remove);
  Result<Json> take(CreateNamespace& create);
  Result<Json> take(DeleteNamespace& remove);
  Result<Json> take(ApplyWorkflow& apply);
  Result<Json> take(DeleteWorkflow& remove);
  static std::string owner_of(const VariablePlace& place);
  Result<Json> take(PutVariable& put);
  Result<Json> take(DeleteVariable& remove);
  Result<Json> take(PutSecret& put);
  Result<Json> take(DeleteSecret& remove);
  Result<Json> take(StartInstance& start);
  Result<Json> take(ChangeReplay&) { return Json::object(); }
  Result<Json> take(ApplySource&) { return Json::object(); }
  Result<Json> take(PauseSource&) { return Json::object(); }
  Result<Json> take(DeleteSource&) { return Json::object(); }
  Result<Json> take(MoveSource&) { return Json::object(); }
  Result<Json> take(ForgetConsumer&) { return Json::object(); }
  Result<Json> take(RefuseMessages&) { return Json::object(); }
  /// One group exists.
  Result<Json> take(DropGroup& drop);
  Result<Json> take(AnswerTask& answer);
  Result<Json> take(RegisterNode&) { return Json{{"nodes", Json::array()}}; }
  /// One node is registered.
  Result<Json> take(RemoveNode& remove);

  void answer_later(std::function<void()> answer);

  void run();

  std::mutex mutex_;
  std::condition_variable changed_;
  bool ended_ = false;
  bool held_ = false;
  bool has_backup_ = false;
  CallerMark backup_caller_;
  bool holds_checks_ = false;
  size_t checks_ = 0;  ///< held checks
  std::deque<std::function<void()>> answers_;
  std::vector<std::function<void(Status)>> waiters_;
  std::vector<Duration> waits_;
  InstanceFilter filter_;
  CountRequest count_request_;
  ListenerFilter listener_filter_;
  HistoryFilter history_filter_;
  GroupFilter group_filter_;
  HolderFilter holder_filter_;
  AcceptedFilter accepted_filter_;
  NextFilter next_filter_;
  LiveRequest live_request_;
  std::deque<std::shared_ptr<LiveSink>> watchers_;
  std::atomic<bool> ends_watches_ = false;
  DeleteInstances deletion_;
  std::optional<DropPendingStarts> dropped_;
  RetryInstance retry_;
  RerunInstance rerun_;
  CompensateInstance compensate_;
  size_t limit_ = 0;
  PageRequest page_;
  std::set<std::string, std::less<>> spaces_ = {"default"};
  std::map<std::string, Json, std::less<>> settings_;  ///< by namespace
  std::map<std::string, std::vector<std::string>, std::less<>> workflows_;
  std::set<std::string, std::less<>> paused_;
  std::map<std::string, LazyJson> keys_;
  std::map<std::string, Variable> variables_;
  std::map<std::string, std::string> secrets_;
  std::vector<StartInstance> starts_;
  std::set<std::string> seen_;
  std::vector<Event> published_;
  std::vector<InboundRequest> received_;
  std::vector<CallbackRequest> callbacks_;
  std::vector<AnswerTask> task_answers_;
  std::thread thread_;
};

}  // namespace millrace
