// LocalEventDesk: lists of stored events with their effects, and one event, on a broker in memory.
#include "orchestrator/service/local_event_desk.h"

#include <gtest/gtest.h>

#include "model/event_target.h"
#include "orchestrator/memory/dedupe.h"
#include "orchestrator/store/rows/effect_rows.h"
#include "orchestrator/store/rows/event_rows.h"
#include "orchestrator/store/rows/meta_rows.h"
#include "orchestrator/store/rows/stream_rows.h"
#include "tests/unit/service/event_desk_fixture.h"

namespace millrace {
namespace {

using Sequences = std::vector<uint64_t>;

class LocalEventDeskTest : public EventDeskTest {
 protected:
  /// Writes the effects of the event, as the engine does when it has applied the stream up to it.
  void apply_event(uint64_t sequence, std::vector<EventEffect> effects) {
    const int64_t created = broker.created();
    const uint32_t stream = number_stream(*tx, created).value();
    EffectRow row{.at = {.stream = stream, .sequence = sequence}, .number = sequence};
    for (const EventEffect& effect : effects) row.effects.push_back({row.at, effect});
    if (!effects.empty()) write_effects(*tx, row);
    write_cursor(*tx, {.stream_created = created, .sequence = sequence, .stamped = clock.time});
    commit();
  }
  Json list(const EventListFilter& filter, std::string_view space = "default") {
    const Result<Json> page = desk().list(space, filter);
    EXPECT_TRUE(page) << page.error().message;
    return page.value_or(Json::object());
  }
  static Sequences sequences(const Json& page) {
    Sequences found;
    for (const Json& item : page["items"]) found.push_back(item["sequence"]);
    return found;
  }
};

TEST_F(LocalEventDeskTest, ListsEventsNewestFirstWithTheirEffects) {
  const WorkflowNumber pairs = apply("id: pairs\nstates: [{id: one, type: noop}]\n");
  store("paid", "1", "default", R"(,"subject":"s","time":"2021-09-01T12:00:00Z","orderid":"o-1")");
  store("paid", "2", "other");
  store("packed", "3");
  store("paid", "4");
  apply_event(1, {{.kind = EventEffect::Kind::kStarted, .instance = numbered_id(7)},
                  {.kind = EventEffect::Kind::kGrouped, .workflow = pairs}});
  apply_event(3, {});
  const Json page = list({});
  EXPECT_EQ(sequences(page), (Sequences{4, 3, 1}));
  EXPECT_EQ(page["complete"], true);
  EXPECT_EQ(page["looked"], 3);
  EXPECT_EQ(page["newest"], 4);
  EXPECT_EQ(page["next"], nullptr);
  EXPECT_EQ(page["items"][0]["applied"], false);
  EXPECT_EQ(page["items"][1]["applied"], true);
  EXPECT_EQ(page["items"][1]["effects"], Json::array());
  const Json first = page["items"][2];
  EXPECT_EQ(first["id"], "1");
  EXPECT_EQ(first["type"], "paid");
  EXPECT_EQ(first["source"], "/shop");
  EXPECT_EQ(first["subject"], "s");
  EXPECT_EQ(first["attributes"], (Json{{"time", "2021-09-01T12:00:00Z"}, {"orderid", "o-1"}}));
  EXPECT_EQ(first["time"], format_rfc3339(from_millis(1'700'000'001'000)));
  EXPECT_EQ(first["effectCount"], 2);
  EXPECT_EQ(first["effects"], (Json{{{"what", "started"}, {"instance", to_string(numbered_id(7))}},
                                    {{"what", "grouped"}, {"workflow", "pairs"}}}));
}

TEST_F(LocalEventDeskTest, ShowsSomeOfManyEffectsAndTheirNumber) {
  store("paid", "1");
  apply_event(1, std::vector<EventEffect>(
                     30, {.kind = EventEffect::Kind::kWoken, .instance = numbered_id(1)}));
  const Json item = list({})["items"][0];
  EXPECT_EQ(item["effects"].size(), kMostEffectsShown);
  EXPECT_EQ(item["effectCount"], 30);
}

TEST_F(LocalEventDeskTest, AppliesEachFilter) {
  store("paid", "1");
  store("packed", "2");
  store("paid", "3");
  store("shipped", "4");
  apply_event(2, {{.kind = EventEffect::Kind::kWoken, .instance = numbered_id(1)}});
  apply_event(3, {{.kind = EventEffect::Kind::kDuplicate}});
  apply_event(4, {});
  const TimePoint second = from_millis(1'700'000'002'000);
  const TimePoint fourth = from_millis(1'700'000'004'000);
  EXPECT_EQ(sequences(list({.type = "pa*"})), (Sequences{3, 2, 1}));
  EXPECT_EQ(sequences(list({.source = "/other"})), Sequences());
  EXPECT_EQ(sequences(list({.source = "/s*"})), (Sequences{4, 3, 2, 1}));
  EXPECT_EQ(sequences(list({.id = "3"})), (Sequences{3}));
  EXPECT_EQ(sequences(list({.since = second})), (Sequences{4, 3, 2}));
  EXPECT_EQ(list({.since = second})["next"], nullptr);
  EXPECT_EQ(sequences(list({.until = fourth})), (Sequences{3, 2, 1}));
  EXPECT_EQ(sequences(list({.since = second, .until = fourth})), (Sequences{3, 2}));
  EXPECT_EQ(sequences(list({.effect = true})), (Sequences{2}));
  EXPECT_EQ(sequences(list({.effect = false})), (Sequences{4, 3, 1}));
  EXPECT_EQ(sequences(list({.before = 3})), (Sequences{2, 1}));
}

TEST_F(LocalEventDeskTest, ListsEventsByTheirAttributes) {
  store("paid", "1", "default", R"(,"orderid":"o-1","count":7,"urgent":true)");
  store("paid", "2", "default", R"(,"orderid":"o-1","subject":"s")");
  store("paid", "3", "default", R"(,"orderid":"O-1")");
  broker.inject({"millrace.events.default.t", {}, "no event"});
  using Attributes = std::vector<std::pair<std::string, std::string>>;
  const auto with = [&](Attributes attributes) {
    return sequences(list({.attributes = std::move(attributes)}));
  };
  EXPECT_EQ(with({{"orderid", "o-1"}}), (Sequences{2, 1}));
  EXPECT_EQ(with({{"orderid", "o-1"}, {"count", "7"}}), (Sequences{1}));
  EXPECT_EQ(with({{"urgent", "true"}}), (Sequences{1}));
  EXPECT_EQ(with({{"subject", "s"}, {"type", "paid"}}), (Sequences{2}));
  EXPECT_EQ(with({{"region", ""}}), Sequences()) << "an attribute that is missing has no value";
  EXPECT_EQ(with({}), (Sequences{4, 3, 2, 1}));
}

TEST_F(LocalEventDeskTest, SaysThatAnEventDiffersInCaseOnly) {
  store("paid", "1", "default", R"(,"orderid":"o-1","region":"EU")");
  store("packed", "2", "default", R"(,"orderid":"O-1","region":"eu")");
  store("paid", "3", "default", R"(,"orderid":"o-12","region":"eu")");
  store("paid", "4", "other", R"(,"orderid":"O-1","region":"EU")");
  apply_event(2, {{.kind = EventEffect::Kind::kWoken, .instance = numbered_id(1)}});
  struct Row {
    EventListFilter filter;
    Json in_other_case;  ///< null: there is none
  };
  const Json second = {{"sequence", 2}, {"attributes", {{"orderid", "O-1"}}}};
  const Row rows[] = {
      {{.attributes = {{"orderid", "o-1"}, {"region", "eu"}}}, second},
      {{.effect = false, .attributes = {{"orderid", "o-1"}, {"region", "eu"}}}, second},
      {{.type = "paid", .attributes = {{"orderid", "O-1"}, {"region", "eu"}}},
       {{"sequence", 1}, {"attributes", {{"orderid", "o-1"}, {"region", "EU"}}}}},
      {{.attributes = {{"type", "PACKED"}}},
       {{"sequence", 2}, {"attributes", {{"type", "packed"}}}}},
      {{.type = "shipped", .attributes = {{"orderid", "o-1"}, {"region", "eu"}}}, nullptr},
      {{.before = 2, .attributes = {{"orderid", "o-1"}, {"region", "us"}}}, nullptr},
      {{.attributes = {{"orderid", "O-12"}, {"customer", ""}}}, nullptr},
      {{.attributes = {{"orderid", "o-1"}}}, nullptr},  // event 1 fits
      {{.type = "shipped"}, nullptr},
  };
  for (const Row& row : rows) {
    const Json page = list(row.filter);
    EXPECT_EQ(page.value("inOtherCase", Json()), row.in_other_case) << page;
  }
  const Json after = list({.after = 0, .attributes = {{"orderid", "o-1"}, {"region", "eu"}}});
  EXPECT_EQ(after["inOtherCase"]["sequence"], 1) << "the oldest comes first";
}

TEST_F(LocalEventDeskTest, ContinuesAListInPages) {
  for (int i = 1; i <= 5; ++i) store("paid", std::to_string(i));
  const Json first = list({.limit = 2});
  EXPECT_EQ(sequences(first), (Sequences{5, 4}));
  EXPECT_EQ(first["complete"], true) << "the next page goes on";
  EXPECT_EQ(first["next"], "4");
  EXPECT_EQ(sequences(list({.limit = 2, .before = 4})), (Sequences{3, 2}));
  EXPECT_EQ(list({.limit = 2, .before = 2})["next"], nullptr);
}

TEST_F(LocalEventDeskTest, LooksAtABoundedNumberOfEvents) {
  for (size_t i = 0; i < kMostEventsLooked + 5; ++i) store("paid", "1");
  const Json page = list({.type = "none"});
  EXPECT_EQ(page["looked"], kMostEventsLooked);
  EXPECT_EQ(page["complete"], true) << "the next page goes on";
  EXPECT_EQ(page["next"], "6");
  EXPECT_EQ(list({.before = 6, .type = "none"})["next"], nullptr);
}

TEST_F(LocalEventDeskTest, ListsWhatCameAfterAnEvent) {
  for (int i = 1; i <= 4; ++i) store(i % 2 == 0 ? "even" : "odd", std::to_string(i));
  const Json two = list({.limit = 2, .after = 1});
  EXPECT_EQ(sequences(two), (Sequences{2, 3}));
  EXPECT_EQ(two["complete"], true) << "the next page goes on";
  EXPECT_EQ(two["next"], "3");
  EXPECT_EQ(two["newest"], 4);
  const Json even = list({.after = 0, .type = "even"});
  EXPECT_EQ(sequences(even), (Sequences{2, 4}));
  EXPECT_EQ(even["complete"], true);
  EXPECT_EQ(even["next"], "4") << "`newest`: the end";
  EXPECT_EQ(list({.after = 4})["next"], "4");
  EXPECT_EQ(list({.after = 90})["next"], "4") << "the stream was created again";
}

TEST_F(LocalEventDeskTest, ShowsTheOnlyWorkflowOrInstanceThatMayTakeAnEvent) {
  const WorkflowNumber pairs = apply("id: pairs\nstates: [{id: one, type: noop}]\n");
  const std::string targets[] = {workflow_target(pairs), workflow_target(WorkflowNumber(4711)),
                                 instance_target(numbered_id(7)), "workflow/01", "someone"};
  for (const std::string& target : targets) {
    store("paid", target, "default", R"(,"millraceonly":")" + target + "\"");
  }
  store("paid", "to all");
  const Json items = list({})["items"];
  ASSERT_EQ(items.size(), 6U);
  EXPECT_FALSE(items[0].contains("to"));
  EXPECT_FALSE(items[1].contains("to")) << "nothing has this target";
  EXPECT_FALSE(items[2].contains("to")) << "it is another spelling";
  EXPECT_EQ(items[3]["to"], (Json{{"instance", to_string(numbered_id(7))}}));
  EXPECT_EQ(items[4]["to"], (Json{{"workflow", "4711"}, {"deleted", true}}));
  EXPECT_EQ(items[5]["to"], (Json{{"workflow", "pairs"}}));
  const Result<Json> one = desk().get("default", 1);
  ASSERT_TRUE(one) << one.error().message;
  EXPECT_EQ((*one)["to"], (Json{{"workflow", "pairs"}}));
}

TEST_F(LocalEventDeskTest, ShowsOneEvent) {
  store("paid", "1", "default", R"(,"replayof":"0","data":{"total":7})");
  apply_event(1, {{.kind = EventEffect::Kind::kStarted, .instance = numbered_id(7)}});
  const Result<Json> event = desk().get("default", 1);
  ASSERT_TRUE(event) << event.error().message;
  EXPECT_EQ((*event)["event"]["data"], (Json{{"total", 7}}));
  EXPECT_EQ((*event)["event"]["id"], "1");
  EXPECT_EQ((*event)["replayof"], "0");
  EXPECT_EQ((*event)["position"], (Json{{"stream", 1}, {"sequence", 1}}));
  EXPECT_EQ((*event)["effects"][0]["what"], "started");
  EXPECT_EQ(desk().get("default", 2).error().code, "event.not_found");
}

TEST_F(LocalEventDeskTest, ShowsAMessageThatIsNotAnEvent) {
  broker.inject({"millrace.events.default.t", {{"a", "b"}}, "\xff"});
  const Result<Json> event = desk().get("default", 1);
  ASSERT_TRUE(event) << event.error().message;
  EXPECT_TRUE((*event)["error"]["code"].get<std::string>().starts_with("event.")) << *event;
  EXPECT_EQ((*event)["headers"], Json::array({Json::array({"a", "b"})}));
  EXPECT_EQ((*event)["data"], "/w==");
  EXPECT_EQ((*event)["encoding"], "base64");
  EXPECT_EQ(sequences(list({})), (Sequences{1}));
  EXPECT_EQ(sequences(list({.type = "*"})), Sequences());
}

TEST_F(LocalEventDeskTest, ShowsNoEventsOfOtherNamespaces) {
  store("paid", "1", "other");
  EXPECT_EQ(desk().get("default", 1).error().code, "event.not_found");
  EXPECT_EQ(desk().get("other", 1).error().code, "namespace.not_found");
  EXPECT_EQ(desk().list("other", {}).error().code, "namespace.not_found");
  // The namespace was created at `now`: what is older belongs to an earlier one with its name.
  clock.time = now - std::chrono::seconds(10);
  store("paid", "2");
  clock.time = now;
  store("paid", "3");
  EXPECT_EQ(sequences(list({})), (Sequences{3}));
  EXPECT_EQ(desk().get("default", 2).error().code, "event.not_found");
}

TEST_F(LocalEventDeskTest, ReplaysAnEventUnderANewId) {
  store("paid", "1", "default", R"(,"orderid":"o-1","data":{"total":7})");
  const Result<Json> first = desk().replay("default", {.sequence = 1});
  ASSERT_TRUE(first) << first.error().message;
  EXPECT_EQ((*first)["sequence"], 2);
  const Event event = event_at(2);
  EXPECT_EQ(event.id, (*first)["id"].get<std::string>());
  EXPECT_TRUE(event.id.starts_with("replay-")) << event.id;
  EXPECT_EQ(event.type, "paid");
  EXPECT_EQ(event.source, "/shop");
  EXPECT_EQ(event.data, R"({"total":7})");
  EXPECT_EQ(event.extensions,
            (std::map<std::string, AttributeValue>{{"orderid", "o-1"}, {"replayof", "1"}}));
  const Result<Json> second = desk().replay("default", {.sequence = 1});
  ASSERT_TRUE(second);
  EXPECT_EQ((*second)["sequence"], 3) << "each replay has an id of its own";
}

TEST_F(LocalEventDeskTest, ReplaysAnEventUnderItsIdUnlessTheIdIsKnown) {
  store("paid", "1");
  store("paid", "2");
  write_dedupe(*tx, clock.time, 2, {fingerprint_of("default", event_at(2))});
  commit();
  EXPECT_EQ(code(desk().replay("default", {.sequence = 2, .same_id = true})), "event.id_known");
  const Result<Json> done = desk().replay("default", {.sequence = 1, .same_id = true});
  ASSERT_TRUE(done) << done.error().message;
  EXPECT_EQ((*done)["id"], "1");
  EXPECT_TRUE(event_at(3).extensions.empty());
  EXPECT_EQ(code(desk().replay("default", {.sequence = 1, .same_id = true})), "event.id_known")
      << "the duplicate window of the stream has the id";
}

TEST_F(LocalEventDeskTest, PlansAReplayAndPublishesNothing) {
  store("paid", "1", "default", R"(,"orderid":"o-1","data":{"total":7})");
  const Result<Event> plan = desk().planned_replay("default", {.sequence = 1});
  ASSERT_TRUE(plan) << plan.error().message;
  EXPECT_TRUE(plan->id.starts_with("replay-")) << plan->id;
  EXPECT_EQ(plan->type, "paid");
  EXPECT_EQ(plan->extensions,
            (std::map<std::string, AttributeValue>{{"orderid", "o-1"}, {"replayof", "1"}}));
  EXPECT_EQ(desk().planned_replay("default", {.sequence = 2}).error().code, "event.not_found");
  EXPECT_EQ(desk().planned_replay("default", {.sequence = 1, .same_id = true}).value().id, "1");
  over_quota = true;
  EXPECT_TRUE(desk().planned_replay("default", {.sequence = 1})) << "it needs no quota";
  EXPECT_EQ(broker.events().size(), 1U) << "nothing was published";
}

TEST_F(LocalEventDeskTest, ReplaysACorrectedEventUnderANewId) {
  store("paid", "1", "default", R"(,"orderid":"O-1","shop":"s","subject":"x","data":{"total":7})");
  const Result<Json> done = desk().replay(
      "default", {.sequence = 1,
                  .same_id = true,
                  .attributes = {{"orderid", "o-1"}, {"count", 7}, {"type", "payed"}}});
  ASSERT_TRUE(done) << done.error().message;
  const Event event = event_at(2);
  EXPECT_TRUE(event.id.starts_with("replay-")) << event.id;
  EXPECT_EQ(event.type, "payed");
  EXPECT_EQ(event.source, "/shop");
  EXPECT_EQ(event.subject, "x");
  EXPECT_EQ(event.data, R"({"total":7})");
  EXPECT_EQ(event.extensions,
            (std::map<std::string, AttributeValue>{
                {"orderid", "o-1"}, {"shop", "s"}, {"count", 7}, {"replayof", "1"}}));
  EXPECT_EQ(event_at(1).extensions.at("orderid"), AttributeValue("O-1")) << "the stored one stays";

  struct Wrong {
    std::string name;
    AttributeValue value;
    std::string code;
  };
  const Wrong rows[] = {
      {"orderId", "o-1", "event.attribute_name"},
      {"data", "{}", "event.attribute_name"},
      {"id", "2", "event.attribute_name"},
      {"time", "2026-01-01T00:00:00Z", "event.attribute_name"},
      {"datacontenttype", "text/plain", "event.attribute_name"},
      {std::string(kTargetAttribute), "workflow/1", "event.attribute_name"},
      {"replayof", "2", "event.attribute_name"},
      {"source", 7, "event.attribute_value"},
      {"type", "", "event.empty_attribute"},
      {"orderid", "o\n1", "event.attribute_value"},
  };
  for (const Wrong& row : rows) {
    EXPECT_EQ(
        code(desk().replay("default", {.sequence = 1, .attributes = {{row.name, row.value}}})),
        row.code)
        << row.name;
  }
  EXPECT_EQ(broker.events().size(), 2U);
}

TEST_F(LocalEventDeskTest, ReplaysAnEventToAnotherNamespace) {
  apply("id: pairs\nstates: [{id: one, type: noop}]\n");
  store("paid", "1");
  EXPECT_EQ(code(desk().replay("default", {.sequence = 1, .to_ns = "stock"})),
            "namespace.not_found");
  create_namespace("stock");
  const Result<Json> done = desk().replay("default", {.sequence = 1, .to_ns = "stock"});
  ASSERT_TRUE(done) << done.error().message;
  EXPECT_EQ(events.get(2).value().ns, "stock");
  EXPECT_EQ(event_at(2).extensions, (std::map<std::string, AttributeValue>{{"replayof", "1"}}));
  EXPECT_EQ(code(desk().replay("default",
                               {.sequence = 1, .target = {.workflow = "pairs"}, .to_ns = "stock"})),
            "workflow.not_found")
      << "the target is looked up where the event is sent";
}

TEST_F(LocalEventDeskTest, ReplaysForOneWorkflowOrInstanceOnly) {
  const WorkflowNumber pairs = apply("id: pairs\nstates: [{id: one, type: noop}]\n");
  const InstanceId live = store_instance(pairs, 1, InstanceStatus::kWaiting);
  const InstanceId ended = store_instance(pairs, 2, InstanceStatus::kComplete);
  store("paid", "1");
  const auto replay = [&](const ReplayTarget& target) {
    return code(desk().replay("default", {.sequence = 1, .target = target}));
  };
  const auto target_at = [&](uint64_t sequence) {
    return attribute(event_at(sequence), kTargetAttribute).value_or("none");
  };
  EXPECT_EQ(replay({.workflow = "pairs"}), "ok");
  EXPECT_EQ(target_at(2), workflow_target(pairs));
  EXPECT_EQ(replay({.instance = live}), "ok");
  EXPECT_EQ(target_at(3), instance_target(live));
  EXPECT_EQ(replay({.workflow = "none"}), "workflow.not_found");
  EXPECT_EQ(replay({.instance = numbered_id(9)}), "instance.not_found");
  EXPECT_EQ(replay({.instance = ended}), "instance.ended");
  EXPECT_EQ(replay({.workflow = "pairs", .instance = live}), "event.target");
  ASSERT_TRUE(desk().replay("default", {.sequence = 3}));
  EXPECT_EQ(target_at(4), "none") << "a replay of a replay has its own target";
}

TEST_F(LocalEventDeskTest, SelectsGeneratedEventsOrOthers) {
  store("paid", "1");
  store("paid", "2", "default", R"(,"millracehops":1)");
  broker.inject({"millrace.events.default.t", {}, "no event"});
  EXPECT_EQ(sequences(list({.generated = true})), (Sequences{2}));
  EXPECT_EQ(sequences(list({.generated = false})), (Sequences{3, 1}));
  EXPECT_EQ(sequences(list({})), (Sequences{3, 2, 1}));
}

TEST_F(LocalEventDeskTest, RefusesAReplay) {
  store("paid", "1", "other");
  broker.inject({"millrace.events.default.t", {}, "no event"});
  store("paid", "3", "default", R"(,"data":")" + std::string(kMaxEventBytes - 100, 'x') + "\"");
  store("paid", "4");
  EXPECT_EQ(code(desk().replay("default", {.sequence = 1})), "event.not_found");
  EXPECT_EQ(code(desk().replay("default", {.sequence = 2})), "event.unreadable");
  EXPECT_EQ(code(desk().replay("default", {.sequence = 3})), "event.too_large");
  EXPECT_EQ(code(desk().replay("other", {.sequence = 1})), "namespace.not_found");
  over_quota = true;
  EXPECT_EQ(code(desk().replay("default", {.sequence = 4})), "millrace.quota.eventsPerSecond");
  EXPECT_EQ(broker.events().size(), 4U) << "nothing was published";
}

TEST_F(LocalEventDeskTest, FailsWithoutTheBroker) {
  broker.disconnect();
  EXPECT_EQ(desk().list("default", {}).error().code, "broker.unreachable");
  EXPECT_EQ(desk().get("default", 1).error().code, "broker.unreachable");
}

}  // namespace
}  // namespace millrace
