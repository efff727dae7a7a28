// Engine: for random workflows and random stimuli, the invariants that InstanceRun checks hold,
// nothing crashes, and the same seed gives the same bytes.
#include <random>

#include <gtest/gtest.h>

#include "cloudevents/json_format.h"
#include "tests/tables/instance_run.h"

namespace millrace {
namespace {

/// Generates a random workflow, its events and its results from a seed.
class Generator {
 public:
  explicit Generator(uint32_t seed) : random_(seed) {}

  uint32_t below(uint32_t bound) { return random_() % bound; }
  bool one_in(uint32_t count) { return below(count) == 0; }

  template <class T>
  T pick(std::initializer_list<T> values) {
    return *(values.begin() + below(static_cast<uint32_t>(values.size())));
  }

  /// A definition as JSON, which is YAML. It uses few names, so that events match listeners and
  /// programs find their data.
  Json workflow() {
    states_ = 2 + below(5);
    Json states = Json::array();
    for (uint32_t i = 0; i < states_; ++i) states.push_back(state(i));
    return {{"id", "random"}, {"states", std::move(states)}};
  }

  Json value() {
    return pick<Json>({nullptr, true, 0, 7, "", "x", Json::array(), {{"a", 1}}, {{"n", 2}}});
  }

  Event event() {
    Event event{.id = "e", .source = "test", .type = pick<const char*>({"t", "u", "v"})};
    if (!one_in(3)) event.subject = pick<const char*>({"x", "y", "7"});
    if (!one_in(4)) event.data = one_in(4) ? "no json" : dump_json(value());
    return event;
  }

  /// The reply of a jq worker: a result for each query, or results that end with an error.
  EvaluationResult answer(const Evaluation& evaluation) {
    EvaluationResult results;
    for (size_t i = 0; i < evaluation.queries.size(); ++i) {
      if (one_in(8)) {
        results.emplace_back(fail(std::string(kJqBadCommand), "no"));
        break;
      }
      results.emplace_back(one_in(3) ? Json{{"a", below(3)}, {"n", below(3)}} : value());
      if (evaluation.stop_at_true && is_true(*results.back())) break;
    }
    return results;
  }

 private:
  std::string state_name(uint32_t index) { return "s" + std::to_string(index); }

  void add_exit(Json& at, const char* transform, const char* transition) {
    if (one_in(3)) {
      at[transform] = pick<Json>({".",
                                  ".a",
                                  ".a.b",
                                  "first(.n + 1)",
                                  {{"a", "jq(.a)"}},
                                  "{n: .n}",
                                  {{"n", "jq(.n | tostring)"}}});
    }
    if (!one_in(5)) at[transition] = state_name(below(states_));
  }

  Json pattern() {
    Json pattern = {{"type", pick<const char*>({"t", "u", "v"})}};
    if (one_in(3)) {
      pattern["context"] = {{"subject", pick<Json>({"x", "[xy]", "jq(.a)", "jq(first(.n + 1))", 7,
                                                    "^jq(.a)$", "(?<jq(.a)>x)", "jq(.a.b)"})}};
    }
    if (one_in(4)) pattern["capture"] = "event";
    return pattern;
  }

  Json state(uint32_t index) {
    Json state = {{"id", state_name(index)}};
    if (one_in(4))
      state["log"] = pick<const char*>({"text", "jq(.n)", "jq(first(.n + 1))", "jq(.a.b)"});
    while (one_in(2)) {
      Json entry = {{"error", pick<const char*>({"*", "direktiv.*", "millrace.*", "other"})}};
      if (!one_in(4)) entry["transition"] = state_name(below(states_));
      state["catch"].push_back(std::move(entry));
    }
    switch (below(8)) {
      case 0:
        state["type"] = "noop";
        break;
      case 1:
        state["type"] = "delay";
        state["duration"] = pick<const char*>({"1s", "2s", "P1M"});
        break;
      case 2:
        state["type"] = "error";
        state["error"] = pick<const char*>({"one", "two"});
        state["message"] = "%s";
        state["args"] = {pick<const char*>({".", "jq(.a)", "jq(first(.n + 1))"})};
        break;
      case 3:
        state["type"] = "generateEvent";
        state["event"] = {{"type", pick<const char*>({"t", "jq(.a)"})}, {"source", "s"}};
        if (one_in(2)) state["event"]["data"] = pick<const char*>({".", "jq(first(.n + 1))"});
        if (one_in(3)) state["delay"] = "1s";
        break;
      case 4:
        state["type"] = "switch";
        do {
          Json entry = {
              {"condition", pick<Json>({".a", ".n > 1", "first(.n + 1) == 2", ".a[]", false})}};
          add_exit(entry, "transform", "transition");
          state["conditions"].push_back(std::move(entry));
        } while (one_in(2));
        add_exit(state, "defaultTransform", "defaultTransition");
        return state;
      case 5:
        state["type"] = "consumeEvent";
        state["event"] = pattern();
        break;
      case 6:
        state["type"] = "eventAnd";
        do {
          state["events"].push_back(pattern());
        } while (!one_in(3));
        break;
      default:
        state["type"] = "eventXor";
        do {
          Json entry = pattern();
          add_exit(entry, "transform", "transition");
          state["events"].push_back(std::move(entry));
        } while (!one_in(3));
        if (one_in(2)) state["timeout"] = "3s";
        return state;
    }
    if (state.contains("events") || state["type"] == "consumeEvent") {
      if (one_in(2)) state["timeout"] = "3s";
    }
    add_exit(state, "transform", "transition");
    return state;
  }

  std::mt19937 random_;
  uint32_t states_ = 0;
};

/// Applies one random stimulus.
void apply_random_stimulus(InstanceRun& run, Generator& generator) {
  const Instance& instance = run.instance();
  if (generator.one_in(3)) {
    run.set_time(run.now() + Duration(generator.below(1500)));
  }
  switch (generator.below(instance.parked ? 16 : 12)) {
    case 0:
      run.proceed("restart");
      break;
    case 1:
      run.fire(generator.pick({TimerKind::kDelay, TimerKind::kStateTimeout}),
               run_start() + Duration(1000 * generator.below(5)));
      break;
    case 2:
      run.give("results of some step",
               EvaluationDone{.step = instance.step - generator.below(3) + 1, .results = {}});
      break;
    case 3:
      if (generator.one_in(10)) {
        run.cancel({"direktiv.cancels.api", "stopped"});
      } else {
        run.proceed("go on");
      }
      break;
    case 4:
    case 5:
    case 6:
      run.tick();
      break;
    case 7:
    case 8:
    case 9:
    case 10:
      run.event(generator.event());
      break;
    case 11:
      // A delay of P1M needs more than a month to pass.
      if (generator.one_in(4)) run.set_time(run.now() + std::chrono::days(31));
      run.tick();
      break;
    default:
      run.evaluated(generator.answer(run.asked()->evaluation));
  }
}

/// An instance after random stimuli. The seed determines the workflow and the stimuli. The instance
/// need not have ended.
InstanceRun random_run(uint32_t seed) {
  Generator generator(seed);
  const auto workflow = load_right_workflow(generator.workflow().dump());
  InstanceRun run(workflow, generator.value(),
                  {.transitions_per_step = 4, .transitions_per_instance = 40});
  run.proceed();
  for (int i = 0; i < 60; ++i) apply_random_stimulus(run, generator);
  return run;
}

std::string effects_of(const InstanceRun& run) {
  std::string text;
  for (const Effect& effect : run.effects()) {
    if (const auto* publish = std::get_if<Publish>(&effect)) {
      text += encode_json_event(publish->event) + "\n";
    }
  }
  return text;
}

TEST(Engine, KeepsItsInvariantsUnderRandomStimuli) {
  std::map<std::string, size_t> statuses;
  std::map<std::string, size_t> recorded;
  size_t listens = 0;
  size_t evaluates = 0;
  for (uint32_t seed = 1; seed <= 1'500; ++seed) {
    const InstanceRun run = random_run(seed);
    ++statuses[run.rows().back().status];
    for (const TraceRow& row : run.rows()) {
      for (const std::string& line : row.does) {
        listens += line.starts_with("listens") ? 1 : 0;
        evaluates += line.starts_with("evaluates") ? 1 : 0;
        ASSERT_FALSE(line.starts_with("BROKEN")) << "seed " << seed << "\n"
                                                 << Generator(seed).workflow().dump(1) << "\n"
                                                 << print_trace(run.rows());
      }
    }
    for (const HistoryRecord& record : run.history())
      ++recorded[std::string(to_string(record.kind))];
  }
  // The random instances must reach each status and each kind of record.
  for (const char* status : {"waiting", "running", "complete", "failed", "cancelled"}) {
    EXPECT_GT(statuses[status], 20u) << status;
  }
  for (const char* kind : {"entered", "woken", "elapsed", "published", "log", "raised", "caught",
                           "fixed", "cancelled", "ended"}) {
    EXPECT_GT(recorded[kind], 20u) << kind;
  }
  EXPECT_GT(listens, 1'000u);
  EXPECT_GT(evaluates, 1'000u);
}

TEST(Engine, GivesTheSameBytesForTheSameRandomStimuli) {
  for (uint32_t seed = 1; seed <= 300; ++seed) {
    const InstanceRun first = random_run(seed);
    const InstanceRun second = random_run(seed);
    ASSERT_EQ(print_trace(first.rows()), print_trace(second.rows())) << "seed " << seed;
    ASSERT_EQ(print_history(first.history()), print_history(second.history())) << "seed " << seed;
    ASSERT_EQ(effects_of(first), effects_of(second)) << "seed " << seed;
  }
}

}  // namespace
}  // namespace millrace
