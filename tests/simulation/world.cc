#include "tests/simulation/world.h"

#include <algorithm>
#include <array>
#include <fstream>
#include <utility>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <spdlog/spdlog.h>

#include "base/check.h"
#include "cloudevents/headers.h"
#include "expressions/fast_lane.h"
#include "orchestrator/definition/loader.h"
#include "orchestrator/outgoing/messages.h"
#include "tests/support/store_check.h"

namespace millrace {
namespace {

template <class T>
T must_have(Result<T> result) {
  CHECK(result.has_value(), "{}: {}", result.error().code, result.error().message);
  return take_value(std::move(result));
}

}  // namespace

// TestEvaluator.

void TestEvaluator::submit(Evaluation evaluation, std::function<void(EvaluationResult)> done) {
  ++asked_;
  if (held_) {
    waiting_.push_back({std::move(evaluation), std::move(done)});
  } else {
    done(run(evaluation));
  }
}

void TestEvaluator::release() {
  held_ = false;
  while (!waiting_.empty()) answer();
}

void TestEvaluator::answer(size_t which) {
  Pending one = std::move(waiting_[which]);
  waiting_.erase(waiting_.begin() + static_cast<ptrdiff_t>(which));
  one.done(run(one.evaluation));
}

size_t TestEvaluator::stopped() const {
  return static_cast<size_t>(
      std::count_if(waiting_.begin(), waiting_.end(),
                    [](const Pending& one) { return one.evaluation.stop.stop_requested(); }));
}

EvaluationResult TestEvaluator::run(const Evaluation& evaluation) const {
  EvaluationResult results;
  const LazyJson instance =
      evaluation.instance ? LazyJson::of_text(*evaluation.instance) : LazyJson();
  const Bindings bindings{.now = evaluation.now, .instance = &instance};
  for (const Query& query : evaluation.queries) {
    const Json input = must_have(parse_own_json(*query.input));
    const auto program = programs_.find(query.program);
    if (program != programs_.end()) {
      results.push_back(program->second(input));
    } else {
      // A program of the fast lane whose input is large.
      const auto fast = compile_fast(query.program);
      CHECK(fast != nullptr, "the test defines no program {}", query.program);
      Result<Json> value = fast->run(input, bindings);
      results.push_back(value ? QueryResult(LazyJson::of_tree(*std::move(value)))
                              : QueryResult(tl::unexpected(value.error())));
    }
    if (evaluation.stop_at_true && results.back() && is_true(*results.back())) break;
  }
  return results;
}

Event outside_event(std::string type, std::string id, const Json& data,
                    std::map<std::string, AttributeValue> extensions) {
  Event event{.id = std::move(id), .source = "/test", .type = std::move(type)};
  event.extensions = std::move(extensions);
  if (!data.is_null()) {
    event.datacontenttype = "application/json";
    event.data = dump_json(data);
  }
  return event;
}

std::vector<Event> events_in(const MemoryBroker& broker, std::string_view type) {
  std::vector<Event> events;
  for (const auto& stored : broker.events()) {
    Result<Event> event = decode_nats(stored.message);
    if (event && event->type == type) events.push_back(std::move(*event));
  }
  return events;
}

// World.

World::World(WorldOptions options)
    : options_(options), folder_(fast_folder()), random_(options.seed) {
  // Every world has the same secret key, so that the same calls leave the same bytes.
  std::ofstream(folder_.path() / "secret-key") << std::string(64, 'a');
  spdlog::set_level(spdlog::level::off);  // faults here are deliberate
  recover();
}

World::~World() {
  if (alive()) crash();
}

void World::recover() { must_have(try_recover()); }

void World::copy_store_to(const std::filesystem::path& folder) {
  CHECK(!alive());
  std::filesystem::copy(store_, folder);
  copied_ = std::exchange(store_, folder);
}

void World::return_to_copied_store() {
  CHECK(!alive() && !copied_.empty());
  store_ = copied_;
}

void World::continue_with(const std::filesystem::path& folder) {
  CHECK(!alive());
  store_ = folder;
}

Status World::try_recover() {
  CHECK(!alive());
  outlet_ = std::make_unique<ProcessOutlet>(broker);
  options_.store.checkpoints_at_close = false;  // a process that dies makes no checkpoint
  options_.store.waits_for_checkpoints = waits_for_checkpoints;
  const auto make_id = [this](TimePoint now) {
    // Ids that are made in the same millisecond sort in the order in which they were made, and
    // before the ids that follow from events (event_start_id.h).
    std::array<uint8_t, 10> randomness{};
    ++last_id_;
    for (size_t i = 0; i < 4; ++i) {
      randomness[2 + i] = static_cast<uint8_t>(last_id_ >> (24 - 8 * i));
      randomness[6 + i] = static_cast<uint8_t>(random_());
    }
    return make_instance_id(now, randomness);
  };
  const auto evaluate = [this](Evaluation evaluation, std::function<void(EvaluationResult)> done) {
    if (!outlet_->alive()) return;
    evaluator.submit(std::move(evaluation), outlet_->guard<EvaluationResult>(std::move(done)));
  };
  stage_ = TRY(Stage::open({.folder = store_,
                            .clock = clock,
                            .broker = broker,
                            .brokers_clock = brokers_clock,
                            .publisher = *outlet_,
                            .functions = functions,
                            .webhooks = receivers,
                            .evaluate = evaluate,
                            .make_id = make_id,
                            .id_key = options_.id_key,
                            .store = options_.store,
                            .log = options_.log,
                            .intake = options_.intake,
                            .processor = options_.processor,
                            .feeds_searches = options_.feeds_searches}));
  return {};
}

void World::crash() {
  CHECK(alive());
  outlet_->die();
  if (checks_store)
    expect_sound(must_have(Snapshot::take(environment())), "at the end of a process");
  stage_.reset();
  evaluator.forget();
}

void World::crash_after_commit() {
  outlet_->die();
  processor().turn();
  crash();
}

void World::change_store(const std::function<void(Transaction& tx)>& change) {
  CHECK(!alive());
  const auto environment = must_have(Environment::open(store_, options_.store));
  Transaction tx(*environment);
  change(tx);
  must_have(tx.commit());
}

Answered World::command(Command command) {
  auto answered = std::make_shared<std::optional<Result<Json>>>();
  intake().command(std::move(command),
                   outlet_->guard<Result<Json>>(
                       [answered](Result<Json> result) { *answered = std::move(result); }));
  return answered;
}

Answered World::wait_for_end(const std::string& instance, Duration at_most) {
  auto answered = std::make_shared<std::optional<Result<Json>>>();
  intake().wait_for_end({"default", must_have(parse_instance_id(instance)), at_most,
                         outlet_->guard<Status>([this, answered, instance](const Status& ended) {
                           *answered =
                               ended ? stage_->instance(instance) : tl::unexpected(ended.error());
                         })});
  return answered;
}

ApplyWorkflow World::application(const std::string& yaml, std::string ns) {
  Loaded loaded = load_workflow(yaml, nullptr);
  CHECK(loaded.workflow != nullptr, "{}", render_text(loaded.findings, "test"));
  return {.ns = std::move(ns), .text = yaml, .workflow = std::move(loaded.workflow)};
}

Json World::must(Command asked) {
  const Answered answered = command(std::move(asked));
  run_until_idle();
  CHECK(answered->has_value(), "the command was not answered");
  return must_have(std::move(**answered));
}

Error World::refusal(Command asked) {
  const Answered answered = command(std::move(asked));
  run_until_idle();
  CHECK(answered->has_value(), "the command was not answered");
  CHECK(!(**answered).has_value(), "the command was not refused");
  return (**answered).error();
}

Json World::apply(const std::string& yaml, const std::string& ns) {
  return must(application(yaml, ns));
}

Json World::start(const std::string& workflow, Json input, std::string key) {
  return must(StartInstance{.ns = "default",
                            .workflow = workflow,
                            .input = std::move(input),
                            .idempotency_key = std::move(key)});
}

std::string World::start_order(Json input) {
  std::string id = start("order", std::move(input))["id"];
  run_until_idle();
  return id;
}

std::string World::apply_order(const std::string& yaml, Json input) {
  apply(yaml);
  return start_order(std::move(input));
}

void World::publish(const Event& event, std::string_view ns) {
  broker.inject(message_to_publish("the key of another publisher", ns, event));
}

void World::publish(std::string type, std::string id, const Json& data,
                    std::map<std::string, AttributeValue> extensions) {
  publish(outside_event(std::move(type), std::move(id), data, std::move(extensions)));
}

void World::run_until_idle() { must_have(stage_->run_until_idle()); }

void World::answer_publishes() {
  run_until_idle();
  while (const auto deadline = broker.next_deadline()) {
    run_for(std::max(*deadline - brokers_clock.now(), Duration(1)));
  }
}

void World::run_for(Duration time) {
  run_until_idle();
  while (time > Duration(0)) {
    const Duration step = std::min(time, stage_->next_due().value_or(time));
    clock.advance(step);
    time -= step;
    run_until_idle();
  }
}

// State.

std::vector<Json> World::instances() {
  std::vector<Json> all;
  for (const Json& item : must_have(stage_->instances())) {
    all.push_back(instance(item["id"]));
  }
  return all;
}

Json World::instance(const std::string& id) { return must_have(stage_->instance(id)); }

Json World::history_items(const std::string& id) { return must_have(stage_->history(id)); }

std::vector<std::string> World::history(const std::string& id) {
  std::vector<std::string> lines;
  for (const Json& item : history_items(id)) {
    std::string line = item["kind"];
    if (item.contains("state")) line += " " + item["state"].get<std::string>();
    lines.push_back(std::move(line));
  }
  return lines;
}

std::vector<std::string> World::dead_letters() const {
  std::vector<std::string> reasons;
  for (const auto& stored : broker.others()) {
    if (!stored.message.subject.starts_with("millrace.dlq.")) continue;
    const std::string* const reason = find_header(stored.message.headers, "Millrace-Reason");
    reasons.push_back(reason == nullptr ? "" : *reason);
  }
  return reasons;
}

double World::metric(std::string_view name) const {
  const std::string text = stage_->metrics().text();
  const std::string line = fmt::format("\n{} ", name);
  const size_t at = text.find(line);
  CHECK(at != std::string::npos, "there is no series {}", name);
  return std::stod(text.substr(at + line.size()));
}

uint64_t World::stored_bytes() {
  must_have(environment().checkpoint());
  return environment().used_bytes();
}

std::map<std::string, std::string> World::rows() const {
  const Snapshot view = must_have(Snapshot::take(environment()));
  std::map<std::string, std::string> rows;
  for (const auto& [table, name, since] : kTables) {
    view.scan(table, {}, [&, prefix = std::string(name) + "/"](auto key, auto value) {
      rows.emplace(prefix + std::string(key), value);
      return true;
    });
  }
  must_have(view.status());
  return rows;
}

size_t World::rows_of(std::string_view table) const {
  const auto all = rows();
  return static_cast<size_t>(std::count_if(all.begin(), all.end(), [&](const auto& row) {
    return row.first.starts_with(fmt::format("{}/", table));
  }));
}

}  // namespace millrace
