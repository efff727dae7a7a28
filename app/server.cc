#include "app/server.h"

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstdlib>
#include <mutex>
#include <thread>

#include <fmt/format.h>
#include <sodium.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include "base/bytes.h"
#include "broker/dead_letters.h"
#include "broker/event_stream.h"
#include "broker/publisher.h"
#include "broker/stream_owner.h"
#include "broker/task_queue.h"
#include "cli/token_file.h"
#include "expressions/workers/pool.h"
#include "functions/container.h"
#include "functions/http_service.h"
#include "functions/task_router.h"
#include "gateway/server.h"
#include "http/http_client.h"
#include "http/webhook.h"
#include "language/document.h"
#include "model/hops.h"
#include "orchestrator/definition/lint.h"
#include "orchestrator/loop/processor.h"
#include "orchestrator/service/local_service.h"
#include "orchestrator/store/rows/identity.h"

namespace millrace {
namespace {

constexpr Duration kDrainTime{2000};

/// How long a start waits for a broker before it goes on without: where there is one, the start is
/// to know whether the streams are its own.
constexpr Duration kBrokerPatience{500};

class SystemClock final : public Clock {
 public:
  TimePoint now() const override {
    return std::chrono::time_point_cast<Duration>(std::chrono::system_clock::now());
  }
};

/// Ids in the order of their making, within a millisecond too, so that lists and the order in which
/// one event wakes its instances are that of their starts. Engine thread only.
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

Json describe(const StreamSettings& stream) {
  Json made = {{"name", stream.name},
               {"subjects", stream.subjects},
               {"maxAgeSeconds", stream.max_age.count() / 1000}};
  if (stream.max_bytes) made["maxBytes"] = *stream.max_bytes;
  return made;
}

/// How streams are made that are missing; one that is there may be set otherwise.
Json describe(const StreamOptions& options, const std::string& domain) {
  Json streams = {{"prefix", options.prefix},
                  {"replicas", options.replicas},
                  {"events", describe(events_stream(options))},
                  {"deadLetters", describe(dead_letters_stream(options))},
                  {"lifecycle", describe(lifecycle_stream(options))},
                  {"tasks", describe(tasks_stream(options))},
                  {"results", describe(results_stream(options))}};
  if (!options.cluster.empty()) streams["cluster"] = options.cluster;
  if (!options.tags.empty()) streams["tags"] = options.tags;
  if (!domain.empty()) streams["domain"] = domain;
  return streams;
}

Json describe(const ServerSettings& settings) {
  return {{"version", MILLRACE_VERSION},
          {"data", settings.data.string()},
          {"nats", without_logins(settings.nats.servers)},
          {"streams", describe(settings.streams, settings.nats.js_domain)},
          {"limits",
           {{"eventBytes", kMaxEventBytes},
            {"batchEvents", kMaxBatchEvents},
            {"definitionBytes", kMaxDocumentSize},
            {"variableBytes", kMaxVariableBytes},
            {"secretBytes", kMaxSecretBytes},
            {"jsonDepth", kMaxJsonDepth},
            {"storeBytes", settings.store_limit},
            {"outboxBytes", Marks().outbox_bytes},
            {"dedupeSeconds", settings.dedupe_window.count() / 1000},
            {"dedupeEvents", settings.dedupe_events},
            {"taskMilliseconds", settings.task_timeout.count()},
            {"transitions", EngineLimits().transitions_per_instance},
            {"hops", kMaxHops}}}};
}

/// What the gateway asks callers for; nothing where no file is named.
Result<std::optional<BearerToken>> read_token(const std::string& file) {
  if (file.empty()) return std::nullopt;
  const std::string token = TRY(read_token_file(file));
  if (anybody_may_read(file)) {
    spdlog::warn("the token file {} can be read by every user of this machine; chmod 600 it", file);
  }
  return BearerToken(token);
}

/// By which the containers of a data folder are known: another millrace leaves them alone.
std::string data_id(const std::filesystem::path& data) {
  return to_hex(fingerprint({std::filesystem::absolute(data).string()}));
}

std::array<uint8_t, 16> random_id() {
  std::array<uint8_t, 16> id;
  randombytes_buf(id.data(), id.size());
  return id;
}

/// This process, as the owner of the streams.
Result<OwnerRecord> describe_owner(Environment& environment, const std::string& listen) {
  const StoreIdentity store = TRY(identify(environment, random_id));
  std::array<char, 256> host{};
  ::gethostname(host.data(), host.size() - 1);
  return OwnerRecord{.store = to_hex(store.id),
                     .process = to_hex(random_id()),
                     .folder = store.folder,
                     .host = host.data(),
                     .pid = ::getpid(),
                     .started = format_rfc3339(SystemClock().now()),
                     .address = listen};
}

/// The checkpoint failed. No input is to blame, so there is no note of a crash (InHand).
[[noreturn]] void end_of_disk(const Error& error) {
  spdlog::critical("{}; what is on disk is not known, so this process ends", error.message);
  std::signal(SIGABRT, SIG_DFL);
  std::abort();
}

/// For a program that does nothing else.
Result<std::unique_ptr<JqPool>> pool_for_checks() {
  JqLauncher launcher = TRY(JqLauncher::start());
  const size_t workers = std::clamp(std::thread::hardware_concurrency(), 1U, 4U);
  return JqPool::start(std::move(launcher), {.workers = workers, .checks_at_once = workers});
}

}  // namespace

/// All rooms, in the order in which they need each other.
class Server::Parts {
 public:
  Parts(ServerSettings settings, std::unique_ptr<Environment> environment,
        std::unique_ptr<Connection> connection, std::unique_ptr<Connection> publishing,
        std::unique_ptr<Connection> working, std::unique_ptr<JqPool> pool, OwnerRecord owner)
      : settings_(std::move(settings)),
        environment_(std::move(environment)),
        connection_(std::move(connection)),
        publishing_(std::move(publishing)),
        working_(std::move(working)),
        owner_record_(std::move(owner)),
        events_(std::make_unique<JetStreamEvents>(
            *connection_,
            EventStreamSettings{.stream = events_stream(settings_.streams),
                                .beside = {dead_letters_stream(settings_.streams),
                                           lifecycle_stream(settings_.streams)},
                                .on_loss = [this](const BrokerLoss& loss) { losses_.add(loss); }})),
        publisher_(std::make_unique<JetStreamPublisher>(
            *publishing_, kAckTimeout, [this] { events_->doubt_streams(); },
            settings_.streams.prefix)),
        pool_(std::move(pool)),
        processor_(
            {.environment = *environment_,
             .clock = clock_,
             .publisher = *publisher_,
             .functions = functions_,
             .webhooks = *hooks_,
             .evaluate = evaluator(),
             .loader = load_stored,
             .make_id = InstanceIds(),
             .id_key = environment_->seal().id_key(),
             .begun_tasks = begun_tasks_,
             .metrics = metrics_},
            {.dedupe = {.time = settings_.dedupe_window, .events = settings_.dedupe_events}}),
        service_(
            {.environment = *environment_,
             .processor = processor_,
             .queries = queries_,
             .publisher = *publisher_,
             .metrics = metrics_,
             .losses = losses_,
             .reads_events = [this] { return reads_events(); },
             .sends_events = [this] { return publisher_->health(); },
             .runs_tasks = [this] { return workers_->health(); },
             .evaluates = [this] { return evaluates(); },
             .levels = [this] { return levels(); },
             .check_programs =
                 [this](std::span<const std::string> programs) { return pool_->check(programs); },
             .check_schemas =
                 [this](std::span<const std::string> schemas) {
                   return pool_->check_schemas(schemas);
                 },
             .dead_letters =
                 [this](std::string_view space, const std::optional<NamespaceIdentity>& identity,
                        size_t limit, std::string_view cursor) {
                   return list_dead_letters(*connection_, settings_.streams.prefix, space, identity,
                                            limit, cursor);
                 },
             .info = describe(settings_)}),
        workers_(std::make_unique<TaskQueue>(
            *working_, processor_,
            TaskQueueSettings{.streams = settings_.streams,
                              .process = owner_record_.process,
                              .on_stray = [this] { metrics_.count_stray_answer(); }})),
        services_(http_, processor_),
        containers_({.runtime = settings_.container_runtime,
                     .folder = settings_.data / "tasks",
                     .data_id = data_id(settings_.data)},
                    http_, clock_, processor_),
        owner_(*connection_, OwnerSettings{.streams = settings_.streams,
                                           .self = owner_record_,
                                           .take_over = settings_.take_over,
                                           .guarded = {publishing_.get(), working_.get()},
                                           .on_owned = [this] { begin_reading(); },
                                           .on_lost = settings_.on_lost}) {
    functions_.route<WorkQueue>(*workers_);
    functions_.route<NatsService>(*workers_);
    functions_.route<HttpService>(services_);
    functions_.route<Container>(containers_);
  }

  ~Parts() {
    if (gateway_) gateway_->stop();
    processor_.refuse_deliveries();
    {
      const std::lock_guard lock(reading_);
      stops_ = true;
    }
    events_->stop();
    // Where another process owns the streams, nothing can be sent.
    const Status owner = owner_.health();
    const bool drains = runs_ && (owner || owner.error().code != kOwnerError);
    if (drains && !processor_.wait_until_quiet(kDrainTime)) {
      spdlog::warn("some messages are still to be sent; they go out after the next start");
    }
    processor_.stop();
    pool_.reset();       // no result comes any more,
    publisher_.reset();  // nor an acknowledgement,
    hooks_.reset();      // nor what became of a delivery
    workers_.reset();  // before the streams are given back, which would look like a lost connection
  }

  Status start(Descriptor address, std::optional<BearerToken> token) {
    InHand::note_crashes();
    // First, so that /readyz says how far it is; what is asked for waits.
    gateway_ = TRY(HttpServer::start({.listen = settings_.listen, .token = std::move(token)},
                                     std::move(address), service_));
    TRY(processor_.load());
    cursor_ = processor_.cursor();
    // Before anything is done that another owner of the streams may be doing as well. Without a
    // broker instances go on: nothing of theirs leaves by NATS before the streams are ours.
    owner_.start();
    TRY(owner_.wait_until_decided(kBrokerPatience));
    processor_.start();
    runs_ = true;
    return {};
  }

  void read_token_again() {
    auto token = read_token(settings_.token_file);
    if (!token) return spdlog::error("{}; the token stays as it was", token.error().message);
    gateway_->replace_token(**std::move(token));
    spdlog::info("the token was read again");
  }

  uint16_t port() const { return gateway_->port(); }
  Service& service() { return service_; }

 private:
  void begin_reading() {
    const std::lock_guard lock(reading_);
    if (!stops_) events_->start(cursor_, processor_);
  }

  Status reads_events() const {
    TRY(owner_.health());
    return events_->health();
  }

  /// Workers that cannot be started are tried again for ever, and what waits for them waits.
  Status evaluates() {
    const JqPool::Stats jq = pool_->stats();
    if (jq.ready_workers > 0 || jq.waiting == 0 || jq.start_failures == 0) return {};
    return fail("jq.pool", fmt::format("no jq worker can be started: {}", jq.last_problem));
  }

  PartLevels levels() {
    const JetStreamEvents::Counts events = events_->counts();
    const TaskQueue::Counts tasks = workers_->counts();
    const JqPool::Stats jq = pool_->stats();
    return {.consumers = events.opened,
            .consumer_gaps = events.gaps,
            .messages_read_directly = events.passed_over,
            .tasks_unsent = tasks.unsent,
            .answers = tasks.answers,
            .evaluations_waiting = jq.waiting,
            .evaluations_running = jq.running,
            .jq_workers = jq.ready_workers,
            .jq_workers_started = jq.started,
            .jq_workers_crashed = jq.crashed,
            .jq_worker_start_failures = jq.start_failures,
            .evaluations_overran = jq.overran,
            .evaluations_timed_out = jq.timed_out};
  }

  Evaluator evaluator() {
    return [this](Evaluation evaluation, std::function<void(EvaluationResult)> done) {
      if (!evaluation.timeout) evaluation.timeout = settings_.task_timeout;
      pool_->submit(++last_ticket_, evaluation,
                    [done = std::move(done)](uint64_t, std::vector<QueryResult> results) {
                      done(std::move(results));
                    });
    };
  }

  ServerSettings settings_;
  SystemClock clock_;
  Metrics metrics_;
  BrokerLosses losses_{clock_, metrics_};
  std::unique_ptr<Environment> environment_;
  std::unique_ptr<Connection> connection_;
  std::unique_ptr<Connection> publishing_;
  std::unique_ptr<Connection> working_;
  const OwnerRecord owner_record_;
  std::unique_ptr<JetStreamEvents> events_;
  std::unique_ptr<JetStreamPublisher> publisher_;
  std::unique_ptr<JqPool> pool_;
  std::atomic<uint64_t> last_ticket_ = 0;
  BegunTasks begun_tasks_;
  Queries queries_{load_stored, begun_tasks_};
  HttpClient http_;
  std::unique_ptr<Webhooks> hooks_ =
      std::make_unique<Webhooks>(http_, WebhookSettings{.origin = "millrace"});
  TaskRouter functions_;
  Processor processor_;
  LocalService service_;
  std::unique_ptr<TaskQueue> workers_;
  HttpServices services_;
  ContainerRunner containers_;
  std::unique_ptr<HttpServer> gateway_;
  bool runs_ = false;
  std::mutex reading_;
  bool stops_ = false;
  Cursor cursor_;      ///< where reading begins
  StreamOwner owner_;  ///< the first to go: it calls the others
};

Result<Descriptor> Server::bind(const ServerSettings& settings) {
  return HttpServer::bind(settings.listen, !settings.token_file.empty());
}

Result<std::unique_ptr<Server>> Server::start(ServerSettings settings, JqLauncher launcher) {
  Descriptor address = TRY(bind(settings));
  return start(std::move(settings), std::move(address), std::move(launcher));
}

Result<std::unique_ptr<Server>> Server::start(ServerSettings settings, Descriptor address,
                                              JqLauncher launcher) {
  TRY(check_stream_options(settings.streams));
  auto token = TRY(read_token(settings.token_file));
  auto environment =
      TRY(Environment::open(settings.data, {.soft_limit_bytes = settings.store_limit,
                                            .key_file = settings.secret_key_file,
                                            .checkpoint_bytes = settings.checkpoint_bytes,
                                            .on_failure = end_of_disk}));
  auto pool = TRY(JqPool::start(std::move(launcher), {}));
  OwnerRecord owner = TRY(describe_owner(*environment, settings.listen));
  auto connection = TRY(Connection::open(settings.nats));
  ConnectionSettings for_publishing = settings.nats;
  for_publishing.name += " publishing";
  for_publishing.send_at_once = false;
  for_publishing.guarded = true;
  auto publishing = TRY(Connection::open(std::move(for_publishing)));
  ConnectionSettings for_working = settings.nats;
  for_working.name += " tasks";
  for_working.guarded = true;
  auto working = TRY(Connection::open(std::move(for_working)));
  auto parts = std::make_unique<Parts>(std::move(settings), std::move(environment),
                                       std::move(connection), std::move(publishing),
                                       std::move(working), std::move(pool), std::move(owner));
  TRY(parts->start(std::move(address), std::move(token)));
  return std::unique_ptr<Server>(new Server(std::move(parts)));
}

Server::Server(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}
Server::~Server() = default;

uint16_t Server::port() const { return parts_->port(); }
void Server::read_token_again() { parts_->read_token_again(); }
Service& Server::service() { return parts_->service(); }

Result<JqPool*> own_jq_worker() {
  static const Result<std::unique_ptr<JqPool>> pool = pool_for_checks();
  if (!pool) return tl::unexpected(pool.error());
  return pool->get();
}

Loaded lint_definition(std::string_view text) {
  using Texts = std::span<const std::string>;
  const Result<JqPool*> worker = own_jq_worker();
  const auto without_worker = [&](Texts texts) {
    return std::vector<std::optional<Error>>(texts.size(), worker.error());
  };
  const auto check = [&](Texts programs) {
    return worker ? (*worker)->check(programs) : without_worker(programs);
  };
  const auto check_schemas = [&](Texts schemas) {
    return worker ? (*worker)->check_schemas(schemas) : without_worker(schemas);
  };
  const auto now = std::chrono::time_point_cast<Duration>(std::chrono::system_clock::now());
  return load_and_lint(text, check, check_schemas, {.now = now});
}

}  // namespace millrace
