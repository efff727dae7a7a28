// What is predicted of a start is what the engine does: for each combination of limits, each of
// several events is first only tried, on a snapshot, and then sent.
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "broker/memory_stored_events.h"
#include "orchestrator/batch/event_start.h"
#include "orchestrator/definition/loader.h"
#include "orchestrator/memory/catalog.h"
#include "orchestrator/service/start_predictor.h"
#include "orchestrator/store/rows/catalog_rows.h"
#include "orchestrator/store/rows/effect_rows.h"
#include "orchestrator/store/rows/stream_rows.h"
#include "tests/simulation/world.h"

namespace millrace {
namespace {

using std::chrono::seconds;

class PredictedStarts : public testing::Test {
 protected:
  /// The instances of the workflow do not end by themselves.
  void apply(const std::string& limits) {
    const std::string text = "id: one\n" + limits +
                             "\nstart: {type: event, event: {type: begin}}\n"
                             "states:\n- {id: rest, type: delay, duration: P1D}\n";
    world.apply(text);
    workflow_ = load_stored(text).value();
  }
  void set_quotas(const Json& quotas) {
    world.must(CreateNamespace{.name = "default", .settings = Json{{"quotas", quotas}}});
  }
  PredictedStart predict(const Event& event) {
    const Snapshot view = Snapshot::take(world.environment()).value();
    const NamespaceNumber ns = read_namespace(view, kDefaultNamespace).value()->number;
    const WorkflowRecord record = read_workflow(view, ns, "one").value().value();
    const WorkflowEntry entry{.number = record.number,
                              .ns = ns,
                              .id = "one",
                              .latest = record.latest,
                              .paused = record.paused};
    const StartSpec spec =
        start_by_events(*workflow_, record.latest, workflow_->start.events, {&event, 1}, event);
    StartPredictor predictor({.view = view, .ns = ns, .name = std::string(kDefaultNamespace)});
    auto start = predictor.predict(world.clock.now(), entry, *workflow_, spec.data,
                                   !world.instances().empty());
    EXPECT_TRUE(start) << start.error().message;
    return std::move(start).value_or(PredictedStart());
  }
  /// Sends the event; returns its first effect.
  std::optional<EventEffect> send(const Event& event) {
    world.publish(event);
    world.run_until_idle();
    world.run_for(seconds(2));  // effects without other changes wait a second for their commit
    MemoryStoredEvents stored(world.broker);
    const Snapshot view = Snapshot::take(world.environment()).value();
    const uint32_t stream = find_stream(view, world.broker.created()).value();
    const auto effects =
        read_effects(view, {.stream = stream, .sequence = stored.span().value().last}).value();
    return effects.empty() ? std::nullopt : std::optional(effects.front());
  }
  static EventEffect::Kind effect_of(const PredictedStart& start) {
    using enum PredictedStart::Outcome;
    switch (start.outcome) {
      case kStarts:
      case kWaits:
      case kReplaces:
        return EventEffect::Kind::kStarted;
      case kDebounced:
        return EventEffect::Kind::kDebounced;
      case kBatched:
        return EventEffect::Kind::kBatched;
      case kSkipped:
        return start.limit == LimitKind::kRateLimit ? EventEffect::Kind::kRateLimited
                                                    : EventEffect::Kind::kSkipped;
      case kRefused:
        return EventEffect::Kind::kRefused;
    }
    return EventEffect::Kind::kRefused;
  }
  /// Tries the event, sends it, and compares.
  void expect_prediction(const Event& event, const std::string& what) {
    const PredictedStart start = predict(event);
    const size_t letters = world.dead_letters().size();
    const auto effect = send(event);
    ASSERT_TRUE(effect) << what;
    EXPECT_EQ(effect->kind, effect_of(start)) << what;
    if (effect->kind == EventEffect::Kind::kStarted) {
      const bool waits = start.outcome == PredictedStart::Outcome::kWaits;
      EXPECT_EQ(world.status(to_string(effect->instance)) == "pending", waits) << what;
    }
    if (start.outcome == PredictedStart::Outcome::kReplaces) {
      ASSERT_TRUE(start.instance) << what;
      EXPECT_EQ(world.status(to_string(*start.instance)), "cancelled") << what;
    }
    const bool is_refused = start.outcome == PredictedStart::Outcome::kRefused;
    ASSERT_EQ(world.dead_letters().size(), letters + (is_refused ? 1 : 0)) << what;
    if (is_refused) {
      ASSERT_TRUE(start.error) << what;
      EXPECT_EQ(world.dead_letters().back(), start.error->code) << what;
    }
  }

  World world;

 private:
  std::shared_ptr<const Workflow> workflow_;
};

struct LimitsOfStarts {
  const char* name;
  const char* limits;
};

class PredictedStartsOf : public PredictedStarts,
                          public testing::WithParamInterface<LimitsOfStarts> {};

TEST_P(PredictedStartsOf, AreWhatTheEngineDoes) {
  apply(GetParam().limits);
  int number = 0;
  for (const char* const key : {"a", "a", "b", "a", "b"}) {
    ++number;
    const Event event = outside_event("begin", fmt::format("e-{}", number), {{"k", key}}, {});
    expect_prediction(event, fmt::format("event {} with the key {}", number, key));
    if (HasFatalFailure()) return;
  }
}

INSTANTIATE_TEST_SUITE_P(
    All, PredictedStartsOf,
    testing::Values(
        LimitsOfStarts{"none", ""}, LimitsOfStarts{"singular", "singular: true"},
        LimitsOfStarts{"rate", "rateLimit: {limit: 1, period: PT1H, key: jq(.begin.k)}"},
        LimitsOfStarts{"debounce", "debounce: {period: PT1H, key: jq(.begin.k)}"},
        LimitsOfStarts{"rateAndDebounce",
                       "rateLimit: {limit: 1, period: PT1H}\ndebounce: {period: PT1S}"},
        LimitsOfStarts{"batch", "batch: {maxSize: 2, timeout: PT1H, key: jq(.begin.k)}"},
        LimitsOfStarts{"rateAndBatch",
                       "rateLimit: {limit: 2, period: PT1H}\nbatch: {maxSize: 4, timeout: PT1H}"},
        LimitsOfStarts{"queue", "concurrency: {limit: 1, key: jq(.begin.k)}"},
        LimitsOfStarts{"reject", "concurrency: {limit: 1, key: jq(.begin.k), onLimit: reject}"},
        LimitsOfStarts{"skip", "concurrency: {limit: 1, key: jq(.begin.k), onLimit: skip}"},
        LimitsOfStarts{"replace", "concurrency: {limit: 1, key: jq(.begin.k), onLimit: replace}"},
        LimitsOfStarts{"throttle", "throttle: {limit: 1, period: PT1H, key: jq(.begin.k)}"},
        LimitsOfStarts{"slotsAndThrottle",
                       "concurrency: {limit: 1, key: jq(.begin.k)}\n"
                       "throttle: {limit: 1, period: PT1H}"},
        LimitsOfStarts{"rateAndSlots",
                       "rateLimit: {limit: 2, period: PT1H}\n"
                       "concurrency: {limit: 1, key: jq(.begin.k), onLimit: reject}"},
        LimitsOfStarts{"noKey", "concurrency: {limit: 1, key: jq(.begin.k.x)}"}),
    [](const auto& one) { return std::string(one.param.name); });

TEST_F(PredictedStarts, KnowTheQuotas) {
  struct Row {
    const char* quota;
    const char* limits;
  };
  const Row rows[] = {
      {"instances", ""},
      {"queuedStarts", "concurrency: {limit: 1}"},
      {"startKeys", "rateLimit: {limit: 9, period: PT1H, key: jq(.begin.k)}"},
      {"startKeys", "throttle: {limit: 9, period: PT1H, key: jq(.begin.k)}"},
      {"startKeys", "debounce: {period: PT1H, key: jq(.begin.k)}"},
      {"startKeys", "batch: {maxSize: 9, timeout: PT1H, key: jq(.begin.k)}"},
  };
  int number = 0;
  for (const Row& row : rows) {
    apply(row.limits);
    for (const char* const key : {"a", "b", "c"}) {
      ++number;
      const Event event = outside_event("begin", fmt::format("e-{}", number), {{"k", key}}, {});
      expect_prediction(event, fmt::format("{} of {}, key {}", row.quota, row.limits, key));
      if (HasFatalFailure()) return;
      set_quotas({{row.quota, 1}});
    }
    set_quotas(Json::object());
  }
}

}  // namespace
}  // namespace millrace
