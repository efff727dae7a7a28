#include "app/running_engine.h"

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdlib>
#include <functional>

#include <sodium.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include "app/public_url.h"
#include "app/random_id.h"
#include "base/bytes.h"
#include "base/check.h"
#include "broker/streams.h"
#include "broker/task_consumers.h"
#include "functions/user_namespace.h"
#include "model/request_subjects.h"
#include "orchestrator/backup/restored_file.h"
#include "orchestrator/definition/lint.h"
#include "orchestrator/outgoing/task_files.h"
#include "orchestrator/service/archive_lines.h"
#include "orchestrator/service/callback_body.h"
#include "orchestrator/store/rows/identity.h"
#include "os/host_name.h"

namespace millrace {
namespace {

constexpr Duration kDrainTime{2000};

/// How long start() waits for the broker before it continues without the broker. If the broker is
/// reachable, start() must find out whether this process owns the streams.
constexpr Duration kBrokerPatience{500};

/// Makes ids that increase even within a millisecond, so that instances are listed in the order in
/// which they were started, and one event wakes several instances in that order. Engine thread
/// only.
class InstanceIds {
 public:
  InstanceId operator()(TimePoint now) {
    if (now > last_) {
      last_ = now;
      randombytes_buf(randomness_.data(), randomness_.size());
    } else {
      for (auto byte = randomness_.rbegin(); byte != randomness_.rend() && ++*byte == 0; ++byte) {
      }
    }
    return make_instance_id(last_, randomness_);
  }

 private:
  TimePoint last_;
  std::array<uint8_t, 10> randomness_{};
};

/// The id that labels the containers of a data folder, so that another millrace process does not
/// touch these containers.
std::string data_id(const std::filesystem::path& data) {
  return to_hex(fingerprint({std::filesystem::absolute(data).string()}));
}

/// The folder in `--container-folder` has a name of its own, because the runner empties it.
ContainerSettings container_settings(const ServerSettings& settings) {
  const ContainerOptions& options = settings.containers;
  const std::string id = data_id(settings.data);
  return {.runtime = options.runtime,
          .folder = options.folder.empty()
                        ? settings.data / "tasks"
                        : std::filesystem::path(options.folder) / ("millrace-" + id),
          .sealed_folder = settings.memory_folder / ("millrace-" + id),
          .data_id = id,
          .network = options.network,
          .pool_network = options.pool_network,
          .maps_users = maps_container_users(),
          .options = options.options,
          .guarded = !settings.cluster.name.empty()};
}

AttemptUrls attempt_urls(ProcessParts& process, const Environment& store) {
  return {.keys = AttemptKeys(store.seal().id_key()), .public_url = [&process] {
            return public_url(process.settings, process.gateway ? process.gateway->port() : 0);
          }};
}

/// The folders are beside those of containers, which are emptied, and have names of their own.
FileCallSettings file_call_settings(const ServerSettings& settings, AttemptUrls urls,
                                    const OwnerRecord& owner, Environment& store) {
  const std::string name = "millrace-" + data_id(settings.data) + "-calls";
  const std::string& folder = settings.containers.folder;
  return {.folder = folder.empty() ? settings.data / "calls" : std::filesystem::path(folder) / name,
          .sealed_folder = settings.memory_folder / name,
          .urls = std::move(urls),
          .process = owner.process.substr(0, 8),
          .awaits_files = [&store](const InstanceId& task) -> Result<bool> {
            const Snapshot view = TRY(Snapshot::take(store));
            return awaits_files(view, task);
          },
          .epoch = owner.epoch};
}

/// The record that names this process as the owner of the streams. `epoch`: as the active of the
/// cluster; 0: in no cluster.
Result<OwnerRecord> describe_owner(Environment& environment, const ServerSettings& settings,
                                   uint64_t epoch, TimePoint now) {
  std::optional<std::string> mark;
  if (!settings.cluster.name.empty()) mark = cluster_mark(settings.cluster.name);
  const StoreIdentity store = TRY(identify(environment, random_id, mark));
  return OwnerRecord{.store = to_hex(store.id),
                     .process = to_hex(random_id()),
                     .folder = store.folder,
                     .host = host_name(),
                     .pid = ::getpid(),
                     .started = format_rfc3339(now),
                     .address = settings.listen,
                     .cluster = settings.cluster.name,
                     .epoch = epoch};
}

RequestSubjects request_subjects(const ServerSettings& settings) {
  return {.prefix = settings.streams.prefix,
          .inbox_prefix = settings.nats.inbox_prefix,
          .allowed = settings.request_subjects};
}

/// Passes a callback that came over NATS to the service.
void answer_callback(Service& service, CallbackMessage message,
                     std::function<void(const Result<Json>&)> done) {
  auto what = read_callback_body(message.verb, std::move(message.data));
  if (!what) return done(tl::unexpected(std::move(what).error()));
  service.answer_task({.ns = std::move(message.ns),
                       .key = fmt::format("{}.{}", to_string(message.task), message.key),
                       .what = *std::move(what),
                       .by = AnsweredBy::kNatsCallback},
                      std::move(done));
}

/// Ends the process because a checkpoint failed. No input caused the failure, so SIGABRT gets its
/// default handler, and the crash note does not record a crash (CrashNoteFile).
[[noreturn]] void end_of_disk(const Error& error) {
  spdlog::critical("{}; the state on disk is unknown, so this process stops", error.message);
  std::signal(SIGABRT, SIG_DFL);
  std::abort();
}

}  // namespace

Result<std::unique_ptr<Environment>> open_store(const ServerSettings& settings) {
  return Environment::open(settings.data, {.soft_limit_bytes = settings.bounds.store_limit,
                                           .key_file = settings.secret_key_file,
                                           .checkpoint_bytes = settings.bounds.checkpoint_bytes,
                                           .on_failure = end_of_disk});
}

Result<std::unique_ptr<RunningEngine>> RunningEngine::make(ProcessParts& process,
                                                           std::unique_ptr<Environment>&& store,
                                                           std::optional<ClusterLead> lead) {
  CHECK(lead.has_value() == !process.settings.cluster.name.empty());
  if (lead) store->lead(lead->log);
  const TimePoint now = process.clock.now();
  const std::optional<RestoredStreams> restored = TRY(find_restored_streams(*store, now));
  OwnerRecord owner = TRY(describe_owner(*store, process.settings, lead ? lead->epoch : 0, now));
  return std::unique_ptr<RunningEngine>(
      new RunningEngine(process, std::move(store), std::move(lead), std::move(owner), restored));
}

RunningEngine::RunningEngine(ProcessParts& process, std::unique_ptr<Environment> store,
                             std::optional<ClusterLead> lead, OwnerRecord owner,
                             const std::optional<RestoredStreams>& restored)
    : process_(process),
      environment_(std::move(store)),
      lead_(std::move(lead)),
      owner_record_(std::move(owner)),
      restored_(restored ? publisher_of(*restored) : nullptr),
      events_(std::make_unique<JetStreamEvents>(*process_.reading, stream_settings())),
      urls_(attempt_urls(process_, *environment_)),
      file_calls_(file_call_settings(process_.settings, urls_, owner_record_, *environment_),
                  functions_, answers_),
      archive_(process_.settings.data / kArchiveFolder, archive_lines(*environment_, queries_)),
      stored_events_(*process_.reading, process_.settings.streams),
      early_events_(stored_events_, process_.clock, &early_event_feed_),
      processor_(processor_parts(), processor_options()),
      stored_letters_(*process_.reading, *process_.working, process_.settings.streams),
      origins_(*process_.reading, process_.settings.streams, process_.settings.nats.inbox_prefix),
      service_(service_parts()),
      workers_(std::make_unique<TaskQueue>(*process_.working, file_calls_, task_settings())),
      services_(process_.http, file_calls_, process_.settings.bounds.call_timeout),
      containers_(container_settings(process_.settings), process_.http, process_.clock, answers_),
      dead_letters_(*process_.working, process_.settings.streams),
      letter_retention_(std::make_unique<DeadLetterRetention>(*environment_, process_.clock,
                                                              dead_letters_, process_.metrics)),
      owner_(*process_.reading, owner_settings()) {
  process_.on_missing_stream = [this] { events_->doubt_streams(); };
  functions_.route<WorkQueue>(*workers_);
  functions_.route<NatsService>(*workers_);
  functions_.route<HttpService>(services_);
  functions_.route<Container>(containers_);
}

RunningEngine::~RunningEngine() {
  service_.end_live();
  stop_reading();
  letter_retention_.reset();
  service_.stop_publishing();
  // If another process owns the streams, nothing can be sent.
  const bool drains = runs_ && !owner_.is_lost() && !is_abandoned_;
  if (drains && !intake_.wait_until_quiet(kDrainTime)) {
    spdlog::warn(
        "some messages to the broker were not sent and acknowledged before the stop; millrace "
        "sends them after its next start");
  }
  processor_.stop();
  answers_.end();
  process_.end_callbacks();
  file_calls_.end();  // its thread uses the runners
  // Must come before owner_ releases the streams: the TaskQueue would take the release for a lost
  // connection.
  workers_.reset();
}

void RunningEngine::stop_reading() {
  intake_.refuse_deliveries();
  {
    const std::lock_guard lock(owning_);
    stops_ = true;
  }
  events_->stop();
}

void RunningEngine::drain() {
  stop_reading();
  intake_.wait_until_quiet(kDrainTime);
}

Status RunningEngine::start(const std::function<bool()>& is_ending) {
  TRY(processor_.load());
  TRY(cut_archives(TRY(Snapshot::take(*environment_)), process_.settings.data / kArchiveFolder));
  cursor_ = processor_.cursor();
  // The ownership is decided before the engine does anything that another owner of the streams may
  // be doing too. Without a broker the instances run, but nothing is sent over NATS before this
  // process owns the streams.
  owner_.start();
  TRY(owner_.wait_until_decided(kBrokerPatience, is_ending));
  processor_.start();
  runs_ = true;
  return {};
}

void RunningEngine::allow_until(Permission::Time until, std::optional<Permission::Time> asked) {
  if (is_abandoned_) return;
  process_.publishing->allow_until(until, asked);
  process_.working->allow_until(until, asked);
  process_.http.allow_until(until, asked);
  containers_.allow_until(until, asked);
  if (is_abandoned_) forbid();  // abandon() was called meanwhile
}

void RunningEngine::forbid() {
  containers_.forbid();
  process_.http.forbid();
  process_.working->forbid();
  process_.publishing->forbid();
}

void RunningEngine::abandon() {
  is_abandoned_ = true;
  forbid();
}

EventStreamSettings RunningEngine::stream_settings() {
  const StreamOptions& streams = process_.settings.streams;
  EventStreamSettings settings{
      .stream = events_stream(streams),
      .beside = {dead_letters_stream(streams), lifecycle_stream(streams)},
      .on_loss = [this](const BrokerLoss& loss) { process_.losses.add(loss); }};
  if (restored_ != nullptr) {
    settings.on_opening = std::bind_front(&RestoredPublisher::note, restored_.get());
  }
  return settings;
}

std::unique_ptr<RestoredPublisher> RunningEngine::publisher_of(const RestoredStreams& restored) {
  return std::make_unique<RestoredPublisher>(
      *process_.reading, *process_.publisher, process_.clock,
      RestoredPublisherSettings{.restored = restored,
                                .keep =
                                    [this](const RestoredStreams& changed) {
                                      return write_restored_file(environment_->folder(), changed);
                                    },
                                .prefix = process_.settings.streams.prefix});
}

ProcessorParts RunningEngine::processor_parts() {
  Publisher* publisher = process_.publisher.get();
  if (restored_ != nullptr) publisher = restored_.get();
  return {.engine = {.environment = *environment_,
                     .clock = process_.clock,
                     .publisher = *publisher,
                     .functions = file_calls_,
                     .webhooks = *process_.webhooks,
                     .definitions = definitions_,
                     .make_id = InstanceIds(),
                     .id_key = environment_->seal().id_key(),
                     .started_tasks = started_tasks_,
                     .watch = &watch_},
          .intake = intake_,
          .evaluate = evaluator(),
          .find_early = std::bind_front(&EarlyEventThread::ask, &early_events_),
          .archive = std::bind_front(&ArchiveThread::write, &archive_),
          .metrics = process_.metrics};
}

ProcessorOptions RunningEngine::processor_options() {
  ProcessorOptions options{.engine = {.dedupe = {.time = process_.settings.bounds.dedupe_window,
                                                 .events = process_.settings.bounds.dedupe_events},
                                      .request_subjects = request_subjects(process_.settings)}};
  if (lead_) {
    options.on_log_error = lead_->on_log_error;
    options.is_careful = lead_->is_careful;
  }
  return options;
}

/// Which tasks are inherited. The store of a node is older than its folder, but the older tasks
/// were sent by an active of the same cluster, under the ids that they still have, and an answer
/// that it received is a row of this store: none is inherited. Only a folder that was restored
/// before the cluster was founded has tasks of another store; no other node has that record.
DataFolder RunningEngine::data_folder() const {
  if (lead_ && restored_ == nullptr) return {};
  return {.mark = owner_record_.folder, .made = environment_->made()};
}

TaskQueueSettings RunningEngine::task_settings() {
  TaskQueueSettings settings{.streams = process_.settings.streams,
                             .process = owner_record_.process,
                             .folder = data_folder(),
                             .request_subjects = request_subjects(process_.settings),
                             .call_timeout = process_.settings.bounds.call_timeout,
                             .on_stray = [this] { process_.metrics.count_stray_answer(); },
                             .on_callback = std::bind_front(answer_callback, std::ref(service_))};
  if (lead_) settings.epoch = lead_->epoch;
  return settings;
}

LocalService::Parts RunningEngine::service_parts() {
  return {
      .environment = *environment_,
      .clock = process_.clock,
      .intake = intake_,
      .processor = processor_,
      .definitions = definitions_,
      .queries = queries_,
      .publisher = *process_.publisher,
      .stored_events = stored_events_,
      .stored_letters = stored_letters_,
      .origins = origins_,
      .stream_prefix = process_.settings.streams.prefix,
      .metrics = process_.metrics,
      .losses = process_.losses,
      .watch = watch_,
      .reads_events = [this] { return reads_events(); },
      .sends_events = [this] { return process_.publisher->health(); },
      .runs_tasks = [this] { return workers_->health(); },
      .evaluates = [this] { return evaluates(); },
      .levels = [this] { return levels(); },
      .evaluate = evaluator(),
      .check_programs = [this](auto programs,
                               Duration at_most) { return process_.jq->check(programs, at_most); },
      .check_schemas =
          [this](auto schemas, Duration at_most) {
            return process_.jq->check_schemas(schemas, at_most);
          },
      .info = describe(process_.settings),
      .boot = owner_record_.process.substr(0, 8),
      .attempt_keys = urls_.keys,
      .dedupe_window = process_.settings.bounds.dedupe_window,
      .count_requests =
          [this](const std::string& subject, Duration at_most) {
            return open_task_requests(*process_.reading, process_.settings.streams.prefix, subject,
                                      at_most);
          },
      .call_files = &file_calls_,
      .answers = &answers_,
      .has_owned = [this] { return has_owned_ ? Status() : owner_.health(); }};
}

OwnerSettings RunningEngine::owner_settings() {
  OwnerSettings settings{.streams = process_.settings.streams,
                         .self = owner_record_,
                         .take_over = process_.settings.take_over,
                         .on_owned = [this] { begin_owning(); },
                         .on_lost = process_.settings.on_lost};
  if (!lead_) {
    settings.guarded = {process_.publishing.get(), process_.working.get()};
    return settings;
  }
  settings.on_lost = [this](const Error& error) {
    const bool is_deposed = error.code == kDeposedError;
    (is_deposed ? lead_->on_log_error : process_.settings.on_lost)(error);
  };
  return settings;
}

void RunningEngine::begin_owning() {
  has_owned_ = true;
  const std::lock_guard lock(owning_);
  if (stops_) return;
  events_->start(cursor_, early_event_feed_);
  letter_retention_->start();
  service_.start_publishing();
}

Status RunningEngine::reads_events() const {
  TRY(owner_.health());
  return events_->health();
}

/// Not ok while evaluations wait and no jq worker can be started. The JqPool tries forever to start
/// a jq worker, and the evaluations wait until it succeeds.
Status RunningEngine::evaluates() const {
  const JqPool::Stats jq = process_.jq->stats();
  if (jq.ready_workers > 0 || jq.waiting == 0 || jq.start_failures == 0) return {};
  return fail("jq.pool", fmt::format("no jq worker can be started: {}", jq.last_problem));
}

PartLevels RunningEngine::levels() const {
  const JetStreamEvents::Counts events = events_->counts();
  const TaskQueue::Counts tasks = workers_->counts();
  const JqPool::Stats jq = process_.jq->stats();
  const RestoredPublisher::Counts restored =
      restored_ == nullptr ? RestoredPublisher::Counts() : restored_->counts();
  const HttpLoad http = process_.http.load();
  const FileCalls::Counts files = file_calls_.counts();
  PartLevels levels = {.consumers = events.opened,
                       .consumer_gaps = events.gaps,
                       .messages_read_directly = events.passed_over,
                       .messages_noted = restored.noted,
                       .messages_recognized = restored.recognized,
                       .messages_unread = restored.unread,
                       .tasks_unsent = tasks.unsent,
                       .answers = tasks.answers,
                       .task_consumers_created_again = tasks.consumers_created_again,
                       .callbacks_busy = tasks.callbacks_busy,
                       .index_questions = intake_.answered_questions(),
                       .http_running = http.total.running,
                       .http_waiting = http.total.waiting,
                       .file_calls_open = files.open,
                       .file_calls_waiting = files.waiting,
                       .file_calls_accepted = files.accepted,
                       .lookbacks_waiting = early_events_.waiting(),
                       .evaluations_waiting = jq.waiting,
                       .evaluations_running = jq.running,
                       .jq_workers = jq.ready_workers,
                       .jq_workers_started = jq.started,
                       .jq_workers_crashed = jq.crashed,
                       .jq_worker_start_failures = jq.start_failures,
                       .evaluations_overran = jq.overran,
                       .evaluations_timed_out = jq.timed_out};
  for (const auto& [ns, load] : jq.spaces) {
    levels.namespace_evaluations[static_cast<NamespaceNumber>(ns)] +=
        {.fast_waiting = load.fast_waiting,
         .fast_running = load.fast_running,
         .slow_waiting = load.slow_waiting,
         .slow_running = load.slow_running};
  }
  for (const auto& [ns, requests] : http.namespaces) {
    levels.namespace_http_running[ns] = requests.running;
    levels.namespace_http_waiting[ns] = requests.waiting;
  }
  return levels;
}

Evaluator RunningEngine::evaluator() {
  return [this](Evaluation evaluation, std::function<void(EvaluationResult)> done) {
    if (!evaluation.timeout) evaluation.timeout = process_.settings.bounds.task_timeout;
    process_.jq->submit(++last_ticket_, std::move(evaluation),
                        [done = std::move(done)](uint64_t, std::vector<QueryResult> results) {
                          done(std::move(results));
                        });
  };
}

}  // namespace millrace
