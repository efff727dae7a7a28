// LocalWhyDeskTest: a LocalWhyDesk on a broker in memory and rows that the test writes in the form
// that a batch writes.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "broker/memory_stored_events.h"
#include "cloudevents/nats_binding.h"
#include "cloudevents/subject.h"
#include "orchestrator/memory/dedupe.h"
#include "orchestrator/memory/kept_events.h"
#include "orchestrator/service/local_why_desk.h"
#include "orchestrator/store/rows/effect_rows.h"
#include "orchestrator/store/rows/meta_rows.h"
#include "orchestrator/store/rows/stream_rows.h"
#include "tests/unit/service/fake_stored_letters.h"
#include "tests/unit/service/query_fixture.h"

namespace millrace {

class WhyClock final : public Clock {
 public:
  TimePoint now() const override { return time; }
  Duration elapsed() const override { return Duration(0); }
  TimePoint time = from_millis(1'700'000'000'000);
};

class LocalWhyDeskTest : public QueryTest {
 protected:
  static constexpr const char* kOrder = R"(
id: order
states:
- {id: pay, type: consumeEvent, event: {type: paid}, transition: ship}
- {id: ship, type: noop}
)";
  static constexpr const char* kBoth = R"(
id: both
states:
- {id: collect, type: eventAnd, events: [{type: paid}, {type: packed}]}
)";
  static constexpr const char* kStart = R"(
id: shop
start: {type: event, event: {type: paid, context: {source: '^bank'}}}
states:
- {id: end, type: noop}
)";
  static constexpr const char* kPair = R"(
id: pair
start: {type: eventsAnd, correlate: [orderid], events: [{type: paid}, {type: packed}]}
states:
- {id: end, type: noop}
)";

  /// An instance that waits in the first state of the workflow, since the event `from`, for an
  /// event of the type `paid` with that order.
  Instance waiting(WorkflowNumber workflow, uint8_t number, const std::string& order,
                   uint64_t from = 0) {
    Instance instance = waiting_instance(workflow, number);
    instance.listen_from.event = {stream(), from};
    instance.listeners = {
        {.entry = 0,
         .filter = {.type = "paid", .predicates = {{"orderid", Predicate::Kind::kEquals, order}}}}};
    return instance;
  }
  /// Stores the instance and adds its listeners to the index, as the engine does.
  void add(const Instance& instance) {
    store(instance);
    ASSERT_TRUE(index.update("default", instance));
  }
  uint32_t stream() { return number_stream(*tx, broker.created()).value(); }

  /// Stores an event a second after the one before; `more` are further members of its JSON.
  void send(const std::string& more = "", const std::string& type = "paid",
            const std::string& space = "default") {
    clock.time += std::chrono::seconds(1);
    broker.inject({event_subject(space, type), {}, event_text(more, type)});
  }
  static std::string event_text(const std::string& more, const std::string& type = "paid") {
    return R"({"specversion":"1.0","id":"e","source":"bank.eu","type":")" + type + "\"" + more +
           "}";
  }
  /// The stream is applied up to the event, which had these effects.
  void apply_event(uint64_t sequence, const std::vector<EventEffect>& effects = {}) {
    EffectRow row{.at = {stream(), sequence}, .number = sequence};
    for (const EventEffect& effect : effects) row.effects.push_back({row.at, effect});
    if (!effects.empty()) write_effects(*tx, row);
    write_cursor(*tx,
                 {.stream_created = broker.created(), .sequence = sequence, .stamped = clock.time});
    commit();
  }

  LocalWhyDesk desk(const JudgingBounds& bounds = {}) {
    return LocalWhyDesk({.environment = *environment,
                         .clock = clock,
                         .definitions = definitions,
                         .started = started,
                         .events = events,
                         .letters = letters,
                         .ask_index = [this](const auto& question) -> Status {
                           if (index_is_busy) return fail("busy", "no answer");
                           question(EngineMemory{index, dedupe, kept_events});
                           return {};
                         },
                         .reads_events = [this] { return reads; },
                         .applied = [this] { return applied; },
                         .evaluations = [this] { return evaluations; },
                         .bounds = bounds});
  }
  Json of_event(uint64_t sequence, const WhyFilter& filter = {}) {
    return shown(desk().of_event("default", sequence, filter));
  }
  Json of_test(const std::string& more, const WhyFilter& filter = {}) {
    auto event = decode_nats({.data = event_text(more)});
    EXPECT_TRUE(event) << event.error().message;
    return shown(desk().of_test_event("default", *std::move(event), filter));
  }
  Json of_instance(uint8_t number, std::optional<uint64_t> sequence = std::nullopt,
                   const WhyFilter& filter = {}) {
    return shown(desk().of_instance("default", numbered_id(number), sequence, filter));
  }
  static Json shown(Result<Json> answer) {
    EXPECT_TRUE(answer) << answer.error().code << ": " << answer.error().message;
    return std::move(answer).value_or(Json::object());
  }
  /// Each listener as `instance 7 predicate`, or `start shop woke`.
  static std::vector<std::string> verdicts(const Json& answer) {
    std::vector<std::string> all;
    for (const Json& one : answer["near"]) {
      const std::string id = one.value("instance", "");
      const bool is_start = one["kind"] == "start";
      all.push_back(one["kind"].get<std::string>() + " " +
                    (is_start ? one["workflow"].get<std::string>()
                              : std::to_string(parse_instance_id(id).value().bytes.back())) +
                    " " + one["verdict"].get<std::string>());
    }
    return all;
  }
  static std::string code_of(const Result<Json>& answer) {
    return answer ? "found" : answer.error().code;
  }

  WhyClock clock;
  MemoryBroker broker{clock};
  MemoryStoredEvents events{broker};
  FakeStoredLetters letters;
  WaitIndex index{batches};
  Dedupe dedupe{{}, batches};
  KeptEvents kept_events{damages, batches};
  std::map<NamespaceNumber, EvaluationLevels> evaluations;
  Cursor applied;  ///< the engine's, which may be ahead of the one in the store
  bool index_is_busy = false;
  Status reads;
};

}  // namespace millrace
