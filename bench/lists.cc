// A mode that measures the lists and counts of a million instances: the first page of filters that
// the index has, counts, and the pages of filters that look at instances. It calls the queries in
// this process, so the times are those of the reads, without HTTP. Then it measures what clients
// that read lists cost the lifecycles of a server with as many instances.
#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/check.h"
#include "bench/arguments.h"
#include "bench/harness.h"
#include "bench/http_session.h"
#include "bench/lifecycles.h"
#include "bench/modes.h"
#include "bench/time_summary.h"
#include "bench/workflows.h"
#include "orchestrator/definition/loader.h"
#include "orchestrator/service/queries.h"
#include "orchestrator/store/rows/catalog_rows.h"
#include "orchestrator/store/rows/history_rows.h"
#include "orchestrator/store/rows/idempotency_rows.h"
#include "orchestrator/store/rows/index_rows.h"
#include "orchestrator/store/rows/instance_rows.h"
#include "orchestrator/store/rows/meta_rows.h"
#include "orchestrator/store/transaction.h"

namespace millrace {
namespace {

constexpr uint64_t kFailedInstances = 37;
/// The most requests for pages of a filter without an index: each of them takes long.
constexpr size_t kMostPages = 200;
/// The part of the lifecycles that the readers of lists may cost.
constexpr double kMostCost = 0.03;
constexpr NamespaceNumber kListedNamespace{1};
constexpr WorkflowNumber kListedWorkflow{1};

constexpr const char* kListedDefinition = R"(
id: order
states:
  - {id: wait, type: consumeEvent, event: {type: paid}, transition: ship}
  - {id: ship, type: noop}
)";

/// An instance of this workflow fails at once.
constexpr const char* kRefused = R"(
id: refused
states:
  - {id: refuse, type: error, error: card.declined, message: no funds}
)";

/// How many instances and records the store has, how many requests of each kind are measured, and
/// beside how many readers of lists the lifecycles are.
struct ListPlan {
  size_t instances = 1'000'000;
  size_t records = 100'000;  ///< of the history of one further instance
  size_t requests = 1'000;
  size_t readers = 2;          ///< 0: no lifecycles are measured
  size_t lifecycles = 60'000;  ///< of each load
};

/// Whether the instance with that number has failed.
bool has_failed(const ListPlan& plan, uint64_t number) {
  const uint64_t every = std::max<uint64_t>(plan.instances / kFailedInstances, 1);
  return number % every == 0 && number / every < kFailedInstances;
}

/// The instance with that number: one each millisecond.
Instance listed_instance(const ListPlan& plan, uint64_t number, TimePoint first) {
  const TimePoint start = first + Duration(static_cast<int64_t>(number));
  std::array<uint8_t, 10> rest{};
  for (size_t i = 0; i < 8; ++i) rest[2 + i] = static_cast<uint8_t>(number >> (56 - 8 * i));
  Instance instance{.id = make_instance_id(start, rest),
                    .ns = kListedNamespace,
                    .revision = {kListedWorkflow, 1},
                    .started_at = start};
  instance.execution_from = instance.runs_from = instance.state_from = start;
  instance.status = InstanceStatus::kWaiting;
  instance.phase = Phase::kWaiting;
  instance.correlation = fmt::format("c-{}", number);
  instance.idempotency_key = fmt::format("key-{}", number);
  instance.listeners = {{.entry = 0,
                         .filter = {.type = "paid",
                                    .predicates = {{.attribute = "order",
                                                    .kind = Predicate::Kind::kEquals,
                                                    .text = fmt::format("o-{}", number)}}}}};
  instance.timers = {{TimerKind::kStateTimeout, start + std::chrono::hours(48)}};
  if (has_failed(plan, number)) {
    instance.status = InstanceStatus::kFailed;
    instance.phase = Phase::kEnded;
    instance.ended_at = start + std::chrono::seconds(3);
    instance.error = Error{"card.declined", "no funds"};
    instance.listeners.clear();
    instance.timers.clear();
  }
  instance.input = instance.data = Json{{"order", number}, {"total", 7}};
  return instance;
}

/// Writes an instance with a long history: two records in each row, as two states that pass data on
/// have them.
void write_long_history(Transaction& tx, Instance instance, size_t records) {
  instance.listeners.clear();
  for (uint64_t row = 1; instance.history_count < records; ++row) {
    const TimePoint time = instance.started_at + Duration(static_cast<int64_t>(row));
    const Json data{{"n", row}, {"last", records / 2}};
    const HistoryRow written{
        .ns = instance.ns,
        .instance = instance.id,
        .previous = instance.last_history,
        .records = {{.time = time, .kind = HistoryKind::kEntered, .state = "wait", .data = data},
                    {.time = time, .kind = HistoryKind::kEntered, .state = "ship", .data = data}}};
    instance.history_bytes += write_history(tx, row, written);
    instance.history_count += written.records.size();
    instance.last_history = row;
  }
  const std::vector<Call> none;
  write_instance(tx, instance, {.input = true, .data = true, .calls = &none});
}

void fill_store(Environment& environment, const ListPlan& plan, TimePoint first) {
  constexpr uint64_t kInOneCommit = 2'000;
  Transaction tx(environment);
  CHECK(check_format(tx).has_value());
  write_namespace(tx, "default", {.number = kListedNamespace, .created_at = first});
  write_workflow(tx, kListedNamespace, "order", {.number = kListedWorkflow, .latest = 1});
  write_definition(tx, {kListedWorkflow, 1}, {.created_at = first, .text = kListedDefinition});
  const std::vector<Call> none;
  IndexChanges index;
  const auto commit = [&] {
    const Status indexed_all =
        index.write(tx, [](const Error& error) { CHECK(false, "{}", error.message); });
    CHECK(indexed_all.has_value());
    const Status committed = tx.commit();
    CHECK(committed.has_value(), "{}", committed.error().message);
  };
  for (uint64_t number = 0; number < plan.instances; ++number) {
    Instance instance = listed_instance(plan, number, first);
    write_instance(tx, instance, {.input = true, .data = true, .calls = &none});
    index.add(tx, indexed(instance));
    write_idempotency(tx, kListedWorkflow, instance.idempotency_key, {.instance = instance.id});
    if ((number + 1) % kInOneCommit == 0) commit();
  }
  write_long_history(tx, listed_instance(plan, plan.instances, first), plan.records);
  commit();
}

/// Answers a request; the number is that of the request.
using ListRequest = std::function<Result<Json>(Queries& queries, const View& view, size_t number)>;

class ListBench {
 public:
  ListBench(const Environment& environment, const ListPlan& plan)
      : environment_(environment), plan_(plan) {}

  /// Prints the times of many requests, and whether their 99th percentile keeps the aim.
  void measure(const std::string& what, double aim_ms, const ListRequest& request) {
    measure(what, aim_ms, plan_.requests, request);
  }
  void measure(const std::string& what, double aim_ms, size_t requests,
               const ListRequest& request) {
    std::vector<double> times;
    for (size_t number = 0; number < requests; ++number) {
      const Stopwatch watch;
      const auto view = Snapshot::take(environment_);
      CHECK(view.has_value());
      const Result<Json> answer = request(queries_, *view, number);
      CHECK(answer.has_value(), "{}", answer.error().message);
      times.push_back(watch.seconds() * 1e3);
    }
    const TimeSummary summary = *summarize(std::move(times));
    row(what, fmt::format("p50 {:.2f} ms, p99 {:.2f} ms", summary.p50, summary.p99),
        beside_aim(summary, aim_ms));
  }

  /// The first page of a filter.
  void measure_first_page(const std::string& what, const InstanceFilter& filter) {
    constexpr double kAim = 10;
    measure(fmt::format("first page, {}", what), kAim,
            [&](Queries& queries, const View& view, size_t) {
              return queries.instances(view, "default", filter);
            });
  }

  /// The pages of a filter one after the other, from the first one again after the last one.
  void measure_pages(const std::string& what, InstanceFilter filter) {
    constexpr double kAim = 60;
    measure(fmt::format("each page, {}", what), kAim, std::min(plan_.requests, kMostPages),
            [&](Queries& queries, const View& view, size_t) {
              Result<Json> page = queries.instances(view, "default", filter);
              if (!page) return page;
              const Json& next = page->at("next");
              filter.cursor = next.is_string() ? next.get<std::string>() : std::string();
              return page;
            });
  }

 private:
  const Environment& environment_;
  const ListPlan& plan_;
  const SystemClock clock_;
  StartedTasks started_;
  DefinitionCache definitions_{load_stored};
  Queries queries_{definitions_, started_, clock_};
};

/// Threads that ask a server for a list and for counts ten times a second each.
class ListReaders {
 public:
  ListReaders(const std::string& url, size_t count) {
    for (size_t i = 0; i < count; ++i) threads_.emplace_back([this, url] { read(url); });
  }
  ~ListReaders() {
    stops_ = true;
    for (std::thread& thread : threads_) thread.join();
  }
  ListReaders(const ListReaders&) = delete;
  ListReaders& operator=(const ListReaders&) = delete;

 private:
  void read(const std::string& url) {
    HttpSession session(url);
    while (!stops_) {
      for (const char* const path : {"/v1/ns/default/instances?status=failed,waiting",
                                     "/v1/ns/default/instances/count?by=workflow,status"}) {
        const SessionAnswer answer = session.send("GET", path);
        CHECK(answer.is_ok(), "{}: status {}", path, answer.status);
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
    }
  }

  std::atomic<bool> stops_ = false;
  std::vector<std::thread> threads_;
};

/// Measures lifecycles alone and beside readers, in turns, on a server with waiting instances.
void measure_beside(const ListPlan& plan) {
  constexpr size_t kPairs = 5;
  const Site site;
  MillraceProcess server(site.folder() / "data", site.broker->url());
  server.start();
  server.apply(kLifecycle, "life");
  server.apply(kRefused, "refused");
  for (uint64_t i = 0; i < kFailedInstances; ++i) {
    server.ask("POST", "/v1/ns/default/workflows/refused/start", "{}");
  }
  run_lifecycles(site, server.pid(),
                 {.run = "fill", .in_flight = 512, .count = 20'000, .waiting = plan.instances});
  const RatesInTurns rates = rates_in_turns(site, server.pid(), kPairs, plan.lifecycles, [&] {
    return std::make_unique<ListReaders>(server.url(), plan.readers);
  });
  const double cost = 1 - rates.ratio;
  row(fmt::format("lifecycles beside {} readers of lists, {} instances", plan.readers,
                  plan.instances),
      fmt::format("{:.0f}/s", rates.beside),
      fmt::format("without readers {:.0f}/s; cost {:.1f} % (median of {} pairs), aim {:.0f} %: {}",
                  rates.alone, 100 * cost, kPairs, 100 * kMostCost,
                  cost <= kMostCost ? "kept" : "missed"));
}

/// Measures the queries on a store of its own.
void measure_queries(const ListPlan& plan) {
  using enum InstanceStatus;
  const ScratchFolder folder = make_run_folder();
  auto environment = Environment::open(folder.path() / "data");
  CHECK(environment.has_value(), "{}", environment.error().message);
  const TimePoint first = from_millis(1'700'000'000'000);
  const TimePoint middle = first + Duration(static_cast<int64_t>(plan.instances / 2));
  fill_store(**environment, plan, first);
  ListBench bench(**environment, plan);
  bench.measure_first_page("all", {});
  bench.measure_first_page("status=failed", {.statuses = {kFailed}});
  bench.measure_first_page("status=failed, oldest first",
                           {.statuses = {kFailed}, .oldest_first = true});
  bench.measure_first_page("status=waiting and workflow",
                           {.workflow = "order", .statuses = {kWaiting}});
  bench.measure_first_page("since and until",
                           {.since = middle, .until = middle + std::chrono::seconds(1)});
  const std::string id = to_string(listed_instance(plan, plan.instances / 2, first).id);
  bench.measure_first_page("id", {.id = id.substr(0, 10)});
  bench.measure_first_page("key", {.key = "key-4711"});
  constexpr double kCountAim = 2;
  bench.measure("counts by workflow and status", kCountAim,
                [](Queries& queries, const View& view, size_t) {
                  return queries.instance_counts(
                      view, "default", {.by = {CountField::kWorkflow, CountField::kStatus}});
                });
  bench.measure("counts by revision, state and status", kCountAim,
                [](Queries& queries, const View& view, size_t) {
                  return queries.instance_counts(
                      view, "default",
                      {.by = {CountField::kRevision, CountField::kState, CountField::kStatus}});
                });
  bench.measure("find an id", kCountAim, [&](Queries& queries, const View& view, size_t) {
    return queries.find(view, "default", id);
  });
  const InstanceId with_history = listed_instance(plan, plan.instances, first).id;
  constexpr double kHistoryAim = 20;
  for (const bool newest_first : {true, false}) {
    bench.measure(fmt::format("first page of a history of {} records, {} first", plan.records,
                              newest_first ? "newest" : "oldest"),
                  kHistoryAim, [&](Queries& queries, const View& view, size_t) {
                    return queries.history(view, "default", with_history,
                                           {.limit = 200, .newest_first = newest_first});
                  });
  }
  bench.measure_pages("correlation", {.correlation = "c-4711"});
  bench.measure_pages("status=waiting and error", {.statuses = {kWaiting}, .error = "card.*"});
  bench.measure_pages("has=retrying", {.traits = {InstanceTrait::kRetrying}});
}

}  // namespace

Result<int> lists(const ModeArguments& arguments) {
  ListPlan plan;
  TRY(read_arguments(arguments, {{"INSTANCES", &plan.instances},
                                 {"--records", &plan.records},
                                 {"--requests", &plan.requests},
                                 {"--beside", &plan.readers},
                                 {"--lifecycles", &plan.lifecycles}}));
  if (plan.lifecycles == 0) return fail("bench.argument", "--lifecycles: 0; expected 1 or more");
  row("what", "figure", "aim of the 99th percentile, or comparison");
  row("---", "---:", "---");
  if (plan.requests > 0) measure_queries(plan);
  if (plan.readers > 0) measure_beside(plan);
  return 0;
}

}  // namespace millrace
