// LocalService: the Service of the millrace in this process. Commands go to the processor, reads
// use the last commit, and events go to the publisher. A check of the store and a backup have
// threads of their own. Any thread.
#pragma once

#include <atomic>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>

#include "base/defaults.h"
#include "model/attempt_key.h"
#include "orchestrator/definition/lint_calls.h"
#include "orchestrator/definition/loader.h"
#include "orchestrator/loop/answer_stager.h"
#include "orchestrator/loop/processor.h"
#include "orchestrator/ports/clock.h"
#include "orchestrator/ports/origin_streams.h"
#include "orchestrator/service/asking_workers.h"
#include "orchestrator/service/backups.h"
#include "orchestrator/service/broker_losses.h"
#include "orchestrator/service/definition_deadline.h"
#include "orchestrator/service/event_admission.h"
#include "orchestrator/service/inbound_webhook_desk.h"
#include "orchestrator/service/instance_scenarios.h"
#include "orchestrator/service/live_reader.h"
#include "orchestrator/service/live_thread.h"
#include "orchestrator/service/local_event_desk.h"
#include "orchestrator/service/local_letter_desk.h"
#include "orchestrator/service/local_why_desk.h"
#include "orchestrator/service/queries.h"
#include "orchestrator/service/series.h"
#include "orchestrator/service/service.h"
#include "orchestrator/service/sources.h"

namespace millrace {

/// Of how many listeners a source that is tried shows the effects, for each event.
inline constexpr size_t kMostJudgedOfTried = 100;

class LocalService final : public Service {
 public:
  /// All parts outlive the object.
  struct Parts {
    Environment& environment;
    const Clock& clock;
    Intake& intake;
    Processor& processor;
    DefinitionCache& definitions;
    Queries& queries;
    Publisher& publisher;
    StoredEvents& stored_events;
    StoredLetters& stored_letters;
    OriginStreams& origins;
    std::string stream_prefix;
    Metrics& metrics;
    const BrokerLosses& losses;
    WatchRing& watch;
    std::function<Status()> reads_events;  ///< ok, or why the event stream is not being read
    std::function<Status()> sends_events;  ///< ok, or why events cannot be sent
    std::function<Status()> runs_tasks;    ///< ok, or why tasks are not sent or reports not read
    std::function<Status()> evaluates;     ///< ok, or why no jq worker is ready for evaluations
    std::function<PartLevels()> levels;  ///< does not set reads_events, sends_events and runs_tasks
    Evaluator evaluate;                  ///< for trials and mappings; null: there are no jq workers
    TimedCheck check_programs;
    TimedCheck check_schemas;
    Json info;                 ///< the answer of info(), without the parts that change
    std::string boot;          ///< names this process in the ids of live messages
    AttemptKeys attempt_keys;  ///< those that services get
    Duration dedupe_window = defaults::kDedupeWindow;  ///< how long ids of events are remembered
    CountRequests count_requests = nullptr;  ///< null: the broker is not asked for workers
    CallFiles* call_files = nullptr;         ///< Service::call_files()
    AnswerStager* answers = nullptr;         ///< of callbacks; set if `call_files` is
    /// Ok once this process has owned the streams, or why it has not yet. Null: no other process
    /// can own them.
    std::function<Status()> has_owned = nullptr;
  };

  explicit LocalService(Parts parts);
  /// Stops a running check of the store, and ends a backup.
  ~LocalService() override;

  /// Continues the replays of ranges, and reads the sources. To be called once, when this process
  /// owns the streams.
  void start_publishing() {
    replays_.start_thread();
    sources_.start_threads();
  }
  /// Ends their threads, if they run. To be called while the engine still answers commands.
  void stop_publishing() {
    sources_.stop_threads();
    replays_.stop_thread();
  }
  /// Ends the threads of live messages and series, which use the functions of the parts.
  void end_live() {
    live_.stop();
    live_reader_.stop();
  }

  void command(Command command, Done done) override;
  void wait_for_end(std::string ns, InstanceId id, Duration at_most, const CallerMark& caller,
                    std::function<void(Status)> done) override;
  Loaded load_definition(std::string_view text, std::string_view ns) override;
  void publish_events(std::string ns, std::vector<Event> events,
                      std::function<void(Result<Accepted>)> done) override;
  void receive(const InboundRequest& request,
               std::function<void(Result<InboundAnswer>)> done) override {
    inbound_.receive(request, done);
  }
  Result<Json> inbound_webhooks(std::string_view ns) override { return inbound_.list(ns); }
  Result<Json> inbound_webhook(std::string_view ns, std::string_view name) override {
    return inbound_.get(ns, name);
  }
  Result<Json> try_inbound(const InboundRequest& request) override {
    return inbound_.try_request(request, std::bind_front(&LocalService::judge_tried, this));
  }
  void answer_task(CallbackRequest request, Done done) override;

  Result<Json> namespaces(const PageRequest& page) override;
  Result<Json> one_namespace(std::string_view ns) override;
  Result<Json> workflows(std::string_view ns, const PageRequest& page) override;
  Result<Json> schedules(std::string_view ns, const PageRequest& page) override;
  Result<Json> schedule(std::string_view ns, std::string_view workflow) override;
  Result<Json> workflow(std::string_view ns, std::string_view id) override;
  Result<Json> revisions(std::string_view ns, std::string_view id,
                         const RevisionsRequest& request) override;
  Result<Json> revision(std::string_view ns, std::string_view id, uint32_t number) override;
  Result<Json> graph(std::string_view ns, std::string_view id,
                     std::optional<uint32_t> revision) override;
  Result<Json> instances(std::string_view ns, const InstanceFilter& filter) override;
  Result<Json> instance_counts(std::string_view ns, const CountRequest& request) override;
  Result<Json> instance(std::string_view ns, const InstanceId& id) override;
  Result<Json> instance_calls(std::string_view ns, const InstanceId& id, size_t limit,
                              std::string_view cursor) override;
  Result<Json> accepted_tasks(std::string_view ns, const AcceptedFilter& filter) override;
  Result<Json> instance_children(std::string_view ns, const InstanceId& id, size_t limit,
                                 std::string_view cursor) override;
  Result<Json> history(std::string_view ns, const InstanceId& id,
                       const HistoryFilter& filter) override;
  Result<NamedText> scenario(std::string_view ns, const InstanceId& id) override;
  Result<Json> listeners(std::string_view ns, const ListenerFilter& filter) override;
  Result<Json> queues(std::string_view ns, size_t limit, std::string_view cursor,
                      std::string_view workflow) override;
  Result<Json> queue_holders(std::string_view ns, const HolderFilter& filter) override;
  Result<Json> groups(std::string_view ns, size_t limit, std::string_view cursor,
                      const GroupFilter& filter) override;
  Result<Json> find(std::string_view ns, std::string_view text) override;
  Status check_watch(const LiveRequest& request) override;
  void watch(LiveRequest request, std::shared_ptr<LiveSink> sink) override;
  Result<Json> input_schema(std::string_view ns, std::string_view id) override;
  void check_input(std::string ns, std::string id, std::string input, Done done) override;
  void try_expression(ExpressionTrial trial, std::function<void(Result<LazyJson>)> done) override;
  Result<Json> overview(std::string_view ns) override;
  Result<Json> series(const std::vector<std::string>& names,
                      std::optional<TimePoint> since) override;
  Result<Json> functions(std::string_view ns) override;
  Result<Json> next_firings(std::string_view ns, const NextFilter& filter) override;
  Result<Json> variables(const VariablePlace& place, size_t limit,
                         std::string_view cursor) override;
  Result<Variable> variable(const VariablePlace& place, std::string_view key) override;
  Result<Json> secrets(std::string_view ns, size_t limit, std::string_view cursor) override;

  EventDesk& event_desk() override { return event_desk_; }
  SourceDesk& source_desk() override { return sources_; }
  LetterDesk& letter_desk() override { return letter_desk_; }
  WhyDesk& why_desk() override { return why_desk_; }
  CallFiles* call_files() override { return parts_.call_files; }

  void verify(Done done) override;
  void begin_backup(const CallerMark& caller, Done done) override;
  Result<std::optional<std::string>> backup_chunk(std::string_view id, uint64_t number,
                                                  const CallerMark& caller) override;
  Result<Json> end_backup(std::string_view id) override;
  Status ready() override;
  Json info() override;
  std::string metrics() override;

 private:
  void end_task(AnswerTask command, Result<CollectedAnswer> answer, Done done);
  /// Runs a query on the last commit.
  Result<Json> read(const std::function<Result<Json>(const View& view)>& query);

  Status check_namespace(std::string_view ns);
  void add_pending_start(CancelInstance& cancel) const;
  /// What an event that is only tried would do.
  Result<Json> judge_tried(std::string_view ns, Event event) {
    return why_desk_.of_test_event(ns, std::move(event), {.limit = kMostJudgedOfTried});
  }
  /// Whether `count` events of the namespace may be published now: the engine takes new work, and
  /// the quota of the namespace permits it.
  Status admit_events(std::string_view ns, size_t count);
  /// The same for the events of a source.
  Status admit_of_source(std::string_view ns, size_t count);
  Status admit(std::string_view ns, size_t count, WithoutQuota without);

  Result<Json> check_rows();
  /// The gauges of the server, for live messages.
  Json shown_levels() const;
  void sample_series();

  Parts parts_;
  Backups backups_;
  EventAdmission admission_;
  EventReplays replays_;
  Sources sources_{{.environment = parts_.environment,
                    .clock = parts_.clock,
                    .origins = parts_.origins,
                    .publisher = parts_.publisher,
                    .events = parts_.stored_events,
                    .admit = std::bind_front(&LocalService::admit_of_source, this),
                    .command = std::bind_front(&LocalService::command, this),
                    .evaluate = parts_.evaluate,
                    .check_programs = parts_.check_programs,
                    .definitions = &parts_.definitions},
                   std::bind_front(&LocalService::judge_tried, this)};
  LocalEventDesk event_desk_;
  LocalLetterDesk letter_desk_;
  LocalWhyDesk why_desk_;
  InstanceScenarios scenarios_;
  Trials trials_;
  InboundWebhookDesk inbound_{{.environment = parts_.environment,
                               .clock = parts_.clock,
                               .metrics = parts_.metrics,
                               .evaluate = parts_.evaluate,
                               .publish = std::bind_front(&LocalService::publish_events, this),
                               .known_for = parts_.dedupe_window}};
  Series series_;
  LiveReader live_reader_;
  LiveThread live_;
  std::mutex verify_lock_;
  std::thread verifying_;  ///< guarded by verify_lock_; a check may take minutes
  std::atomic<bool> verifies_ = false;
  std::atomic<bool> stopping_ = false;
};

}  // namespace millrace
