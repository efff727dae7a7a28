// Queries for workflows and their schedules: the newest revision, all revisions, and the next
// ticks.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "orchestrator/service/page.h"
#include "orchestrator/store/rows/index_build.h"
#include "tests/unit/service/query_fixture.h"

namespace millrace {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class WorkflowQueriesTest : public QueryTest {
 protected:
  static constexpr const char* kOrder = R"(
id: order
name: Orders
description: takes orders
version: "7"
start: {type: event, event: {type: ordered}}
states:
- {id: wait, type: consumeEvent, event: {type: paid}, transition: end}
- {id: end, type: noop}
)";
  static constexpr const char* kShorter = "id: order\nstates:\n- {id: end, type: noop}\n";
  static constexpr const char* kTicks = R"(
id: ticks
start: {type: scheduled, cron: "CRON_TZ=Europe/Vienna 0 7 * * *"}
states:
- {id: end, type: noop}
)";
  static constexpr const char* kNeverTicks = R"(
id: never
start: {type: scheduled}
states:
- {id: end, type: noop}
)";

  WorkflowQueriesTest() : order(apply(kOrder)) {}

  /// Applies kTicks with a schedule that ticks from now on.
  WorkflowNumber apply_ticks() {
    const WorkflowNumber ticks = apply(kTicks);
    write_schedule(*tx, ticks, {.from = now, .last = std::nullopt});
    commit();
    return ticks;
  }
  void pause(WorkflowNumber workflow) {
    catalog.pause_workflow(*tx, workflow, true);
    commit_catalog();
  }

  static Result<Json> list(Queries& queries, const View& view) {
    return queries.workflows(view, "default");
  }
  static Result<Json> list_schedules(Queries& queries, const View& view) {
    return queries.schedules(view, "default");
  }
  static Ask one(std::string id, std::string ns = "default") {
    return [=](Queries& queries, const View& view) { return queries.workflow(view, ns, id); };
  }
  static Ask revisions(std::string id, std::string ns = "default") {
    return [=](Queries& queries, const View& view) { return queries.revisions(view, ns, id, {}); };
  }
  static Ask schedule(std::string id, std::string ns = "default") {
    return [=](Queries& queries, const View& view) { return queries.schedule(view, ns, id); };
  }

  const WorkflowNumber order;
};

TEST_F(WorkflowQueriesTest, ListTheWorkflowsOfTheNamespaceSortedById) {
  const NamespaceNumber shop = create_namespace("shop");
  write_workflow(*tx, shop, "hidden", {.number = WorkflowNumber(99), .latest = 1});
  commit();
  now += std::chrono::hours(1);
  pause(apply("id: alone\nstates:\n- {id: end, type: noop}\n"));
  EXPECT_EQ(answer(list), Json::parse(R"({"items": [
    {"id": "alone", "revision": 1, "start": "default", "name": "", "paused": true,
     "updatedAt": "2023-11-14T23:13:20.000Z", "counts": {}},
    {"id": "order", "revision": 1, "start": "event", "name": "Orders", "paused": false,
     "updatedAt": "2023-11-14T22:13:20.000Z", "counts": {}}], "next": null})"));
}

TEST_F(WorkflowQueriesTest, ListTheNumberOfInstancesAndTheNextTickOfEachWorkflow) {
  const WorkflowNumber ticks = apply_ticks();
  store(waiting_instance(order, 1));
  store(waiting_instance(order, 2));
  Instance later = waiting_instance(order, 3);
  later.state = 1;
  store(later);
  store(ended(waiting_instance(order, 4), InstanceStatus::kFailed));
  const auto items = [&] { return answer(list)["items"]; };
  EXPECT_EQ(items()[0]["counts"], (Json{{"waiting", 3}, {"failed", 1}}));
  EXPECT_EQ(items()[1]["counts"], Json::object());
  EXPECT_FALSE(items()[0].contains("nextTick"));
  EXPECT_EQ(items()[1]["nextTick"], answer(schedule("ticks"))["nextTick"]);
  drop(Table::kSchedules, rows::workflow_prefix(ticks));
  EXPECT_FALSE(items()[1].contains("nextTick")) << "its row is missing";
  damage(Table::kCounts,
         count_key(
             {.ns = ns, .revision = {order, 1}, .state = 1, .status = InstanceStatus::kWaiting}));
  EXPECT_FALSE(items()[0].contains("counts"));
  EXPECT_TRUE(items()[1].contains("counts"));
  request_index_build(*tx);
  commit();
  EXPECT_FALSE(items()[1].contains("counts")) << "the index is not complete";
}

TEST_F(WorkflowQueriesTest, ShowARevisionWithItsTextAndListTheOthersWithout) {
  now += std::chrono::hours(1);
  apply(kShorter);
  const auto revision = [](uint32_t number, std::string id = "order") -> Ask {
    return [=](Queries& queries, const View& view) {
      return queries.revision(view, "default", id, number);
    };
  };
  EXPECT_EQ(answer(revision(1)), (Json{{"workflow", "order"},
                                       {"revision", 1},
                                       {"createdAt", "2023-11-14T22:13:20.000Z"},
                                       {"definition", kOrder}}));
  EXPECT_EQ(answer(revision(2))["definition"], kShorter);
  EXPECT_EQ(outcome(revision(3)), "revision.not_found");
  EXPECT_EQ(outcome(revision(1, "none")), "workflow.not_found");
  const Json list_of_all = answer([](Queries& queries, const View& view) {
    return queries.revisions(view, "default", "order", {.texts = false});
  });
  EXPECT_EQ(list_of_all["items"],
            (Json{{{"revision", 2}, {"createdAt", "2023-11-14T23:13:20.000Z"}},
                  {{"revision", 1}, {"createdAt", "2023-11-14T22:13:20.000Z"}}}));
  expect_each_read_to_count(revision(1));
}

TEST_F(WorkflowQueriesTest, ListWorkflowsInPages) {
  for (const char* const id : {"a", "b"}) {
    apply(fmt::format("id: {}\nstates:\n- {{id: end, type: noop}}\n", id));
  }
  const auto ids = [&](size_t limit) {
    return pages("id", limit, [](auto& queries, auto& view, size_t most, auto at) {
      return queries.workflows(view, "default", {.limit = most, .cursor = std::string(at)});
    });
  };
  EXPECT_THAT(ids(3), ElementsAre(ElementsAre("a", "b", "order")));
  EXPECT_THAT(ids(2), ElementsAre(ElementsAre("a", "b"), ElementsAre("order")));
  const std::string comment = "#" + std::string(Page::kMostBytes / 2, 'x');
  for (const char* const id : {"a", "b"}) {
    apply(fmt::format("{}\nid: {}\nstates:\n- {{id: end, type: noop}}\n", comment, id));
  }
  EXPECT_THAT(ids(3), ElementsAre(ElementsAre("a", "b"), ElementsAre("order")))
      << "the definitions of the first page have more than a mebibyte";
}

TEST_F(WorkflowQueriesTest, ListSchedulesInPagesOfWorkflows) {
  apply_ticks();
  const auto workflows = [&](size_t limit) {
    return pages("workflow", limit, [](auto& queries, auto& view, size_t most, auto at) {
      return queries.schedules(view, "default", {.limit = most, .cursor = std::string(at)});
    });
  };
  EXPECT_THAT(workflows(2), ElementsAre(ElementsAre("ticks")));
  EXPECT_THAT(workflows(1), ElementsAre(IsEmpty(), ElementsAre("ticks")))
      << "the first page has looked at the workflow without a schedule";
}

TEST_F(WorkflowQueriesTest, NameTheKindOfEachStart) {
  const std::pair<const char*, const char*> rows[] = {
      {"default", "{type: default}"},
      {"event", "{type: event, event: {type: a}}"},
      {"eventsXor", "{type: eventsXor, events: [{type: a}, {type: b}]}"},
      {"eventsAnd", "{type: eventsAnd, events: [{type: a}, {type: b}]}"},
      {"scheduled", "{type: scheduled, cron: '0 7 * * *'}"},
  };
  for (const auto& [kind, start] : rows) {
    apply(std::string("id: started\nstart: ") + start + "\nstates:\n- {id: end, type: noop}\n");
    EXPECT_EQ(answer(one("started"))["start"], kind);
    EXPECT_EQ(answer(list)["items"][1]["start"], kind);
  }
}

TEST_F(WorkflowQueriesTest, ShowAWorkflowWithItsStatesAndItsDefinition) {
  EXPECT_EQ(answer(one("order")),
            (Json{{"id", "order"},
                  {"revision", 1},
                  {"name", "Orders"},
                  {"description", "takes orders"},
                  {"version", "7"},
                  {"start", "event"},
                  {"states", Json::parse(R"([{"id": "wait", "type": "consumeEvent"},
                                             {"id": "end", "type": "noop"}])")},
                  {"paused", false},
                  {"updatedAt", "2023-11-14T22:13:20.000Z"},
                  {"definition", kOrder}}));
}

TEST_F(WorkflowQueriesTest, ShowTheNewestRevision) {
  now += std::chrono::hours(1);
  apply(kShorter);
  for (const Json& shown : {answer(one("order")), answer(list)["items"][0]}) {
    EXPECT_EQ(shown["revision"], 2);
    EXPECT_EQ(shown["start"], "default");
    EXPECT_EQ(shown["updatedAt"], "2023-11-14T23:13:20.000Z");
  }
  EXPECT_EQ(answer(one("order"))["definition"], kShorter);
}

TEST_F(WorkflowQueriesTest, ListRevisionsNewestFirst) {
  now += std::chrono::hours(1);
  apply(kShorter);
  const auto item = [](int number, const char* time, const char* text) {
    return Json{{"revision", number}, {"createdAt", time}, {"definition", text}};
  };
  EXPECT_EQ(answer(revisions("order")), (Json{{"items",
                                               {item(2, "2023-11-14T23:13:20.000Z", kShorter),
                                                item(1, "2023-11-14T22:13:20.000Z", kOrder)}},
                                              {"next", nullptr}}));
}

TEST_F(WorkflowQueriesTest, ListRevisionsInPages) {
  apply(kShorter);
  apply(kOrder);
  const auto page = [&](size_t limit, const std::string& cursor) {
    const Json found = answer([&](Queries& queries, const View& view) {
      return queries.revisions(view, "default", "order", {.limit = limit, .cursor = cursor});
    });
    std::string text;
    for (const Json& shown : found["items"]) text += shown["revision"].dump() + " ";
    return text + found["next"].dump();
  };
  EXPECT_EQ(page(2, ""), "3 2 \"2\"");
  EXPECT_EQ(page(2, "2"), "1 null");
  EXPECT_EQ(page(3, ""), "3 2 1 null");
  for (const char* const wrong : {"x", "0", "4294967296"}) {
    EXPECT_EQ(outcome([&](Queries& queries, const View& view) {
                return queries.revisions(view, "default", "order", {.limit = 2, .cursor = wrong});
              }),
              "cursor.malformed");
  }
}

TEST_F(WorkflowQueriesTest, SkipADamagedRevision) {
  apply(kShorter);
  damage(Table::kDefinitions, definition_key({order, 2}));
  const Json items = answer(revisions("order"))["items"];
  ASSERT_EQ(items.size(), 1U);
  EXPECT_EQ(items[0]["revision"], 1);
}

TEST_F(WorkflowQueriesTest, ListSchedulesWithTheirNextTick) {
  apply_ticks();
  pause(apply(kNeverTicks));
  EXPECT_EQ(answer(list_schedules), Json::parse(R"({"items": [
    {"workflow": "never", "paused": true},
    {"workflow": "ticks", "paused": false, "cron": "CRON_TZ=Europe/Vienna 0 7 * * *",
     "zone": "Europe/Vienna", "nextTick": "2023-11-15T06:00:00.000Z"}], "next": null})"));
  EXPECT_EQ(answer(schedule("never")), (Json{{"workflow", "never"}, {"paused", true}}));
}

TEST_F(WorkflowQueriesTest, ShowAScheduleWithItsNextFiveTicks) {
  const WorkflowNumber ticks = apply_ticks();
  Json expected = answer(list_schedules)["items"][0];
  expected["upcoming"] = {"2023-11-15T06:00:00.000Z", "2023-11-16T06:00:00.000Z",
                          "2023-11-17T06:00:00.000Z", "2023-11-18T06:00:00.000Z",
                          "2023-11-19T06:00:00.000Z"};
  EXPECT_EQ(answer(schedule("ticks")), expected);
  const TimePoint tick = now + std::chrono::hours(24);
  write_schedule(*tx, ticks, {.from = tick, .last = tick});
  commit();
  const Json later = answer(schedule("ticks"));
  EXPECT_EQ(later["lastTick"], "2023-11-15T22:13:20.000Z");
  EXPECT_EQ(later["nextTick"], "2023-11-16T06:00:00.000Z");
  EXPECT_EQ(later["upcoming"][0], later["nextTick"]);
}

TEST_F(WorkflowQueriesTest, FailForNamesThatDoNotExist) {
  EXPECT_EQ(outcome(one("none")), "workflow.not_found");
  EXPECT_EQ(outcome(one("order", "none")), "namespace.not_found");
  EXPECT_EQ(outcome(revisions("none")), "workflow.not_found");
  EXPECT_EQ(outcome(revisions("order", "none")), "namespace.not_found");
  EXPECT_EQ(outcome(schedule("none")), "workflow.not_found");
  EXPECT_EQ(outcome(schedule("order", "none")), "namespace.not_found");
  EXPECT_EQ(outcome(schedule("order")), "schedule.not_found");
  for (const auto method : {&Queries::workflows, &Queries::schedules}) {
    EXPECT_EQ(outcome([&](Queries& queries, const View& view) {
                return (queries.*method)(view, "none", {});
              }),
              "namespace.not_found");
  }
}

TEST_F(WorkflowQueriesTest, ListNothingInANamespaceWithoutWorkflows) {
  create_namespace("shop");
  for (const auto method : {&Queries::workflows, &Queries::schedules}) {
    const Json found = answer(
        [&](Queries& queries, const View& view) { return (queries.*method)(view, "shop", {}); });
    EXPECT_EQ(found, (Json{{"items", Json::array()}, {"next", nullptr}}));
  }
}

TEST_F(WorkflowQueriesTest, FailOnAMissingOrDamagedSchedule) {
  const WorkflowNumber ticks = apply(kTicks);
  EXPECT_EQ(outcome(schedule("ticks")), kDamagedRow);
  EXPECT_EQ(outcome(list_schedules), kDamagedRow);
  damage(Table::kSchedules, rows::workflow_prefix(ticks));
  EXPECT_EQ(outcome(schedule("ticks")), kDamagedRow);
}

TEST_F(WorkflowQueriesTest, FailOnAMissingOrDamagedDefinition) {
  const auto expect_damage = [&](const char* what) {
    EXPECT_EQ(outcome(one("order")), kDamagedRow) << what;
    EXPECT_EQ(outcome(list), kDamagedRow) << what;
    EXPECT_EQ(outcome(schedule("order")), kDamagedRow) << what;
    EXPECT_EQ(outcome(list_schedules), kDamagedRow) << what;
  };
  const Revision revision{order, 1};
  damage(Table::kDefinitions, definition_key(revision));
  expect_damage("the definition does not decode");
  write_definition(*tx, revision, {.created_at = now, .text = "id: order\n"});
  commit();
  expect_damage("the definition does not load");
  drop(Table::kDefinitions, definition_key(revision));
  expect_damage("the definition is missing");
  EXPECT_THAT(answer(revisions("order"))["items"], IsEmpty());
}

TEST_F(WorkflowQueriesTest, FailOnAMissingRowOfALoadedDefinition) {
  // With the engine's cache, which has loaded the definition.
  Queries with_loaded(definitions, started, clock);
  drop(Table::kDefinitions, definition_key({order, 1}));
  const Snapshot view = *Snapshot::take(*environment);
  for (const Result<Json>& found :
       {with_loaded.workflow(view, "default", "order"), with_loaded.workflows(view, "default")}) {
    ASSERT_FALSE(found) << *found;
    EXPECT_EQ(found.error().code, kDamagedRow);
  }
}

TEST_F(WorkflowQueriesTest, FailOnADamagedRowOfAWorkflow) {
  damage(Table::kWorkflows, rows::ns_prefix(ns) + "order");
  for (const Ask& query :
       {Ask(list), Ask(list_schedules), one("order"), revisions("order"), schedule("order")}) {
    EXPECT_EQ(outcome(query), kDamagedRow);
  }
}

TEST_F(WorkflowQueriesTest, FailWhenAReadFails) {
  apply_ticks();
  for (const Ask& query :
       {Ask(list), Ask(list_schedules), one("order"), revisions("order"), schedule("ticks")}) {
    expect_each_read_to_count(query);
  }
}

TEST_F(WorkflowQueriesTest, ShowTheGraphOfARevision) {
  apply(kShorter);
  const auto graph = [](std::optional<uint32_t> revision) -> Ask {
    return [=](Queries& queries, const View& view) {
      return queries.graph(view, "default", "order", revision);
    };
  };
  EXPECT_EQ(answer(graph(1)), Json::parse(R"({
    "id": "order", "revision": 1, "start": {"state": "wait", "label": "ordered"},
    "states": [
      {"id": "wait", "type": "consumeEvent", "line": 8, "waits": ["paid"], "calls": []},
      {"id": "end", "type": "noop", "line": 9, "waits": [], "calls": []}],
    "ways": [
      {"from": "wait", "to": "end", "kind": "transition", "label": "", "line": 8},
      {"from": "end", "to": null, "kind": "transition", "label": "", "line": 9}]})"));
  const Json newest = answer(graph(std::nullopt));
  EXPECT_EQ(newest["revision"], 2);
  EXPECT_EQ(newest["states"].size(), 1U);
  EXPECT_EQ(outcome(graph(3)), "revision.not_found");
  expect_each_read_to_count(graph(1));
}

}  // namespace
}  // namespace millrace
