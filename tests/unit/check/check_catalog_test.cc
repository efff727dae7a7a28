#include "base/bytes.h"
#include "orchestrator/definition/namespace_settings.h"
#include "orchestrator/store/rows/catalog_rows.h"
#include "tests/unit/check/check_fixture.h"

namespace millrace {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

constexpr const char* kPlain = "id: plain\nstates: [{id: a, type: noop}]";
constexpr const char* kNightly =
    "id: nightly\nstart: {type: scheduled, cron: '0 0 * * *'}\nstates: [{id: a, type: noop}]";

class CheckCatalogTest : public CheckTest {
 protected:
  CheckCatalogTest() {
    define(kPlain);
    define(kNightly);
  }
  static Change edit_ns(const std::function<void(NamespaceRecord&)>& change) {
    return [=](Transaction& in) {
      edit<NamespaceRecord>(in, Table::kNamespaces, "default", decode_namespace, encode, change);
    };
  }
  Change edit_workflow(const std::string& id, const std::function<void(WorkflowRecord&)>& change) {
    return [=, this](Transaction& in) {
      edit<WorkflowRecord>(in, Table::kWorkflows, rows::ns_prefix(ns).append(id), decode_workflow,
                           encode, change);
    };
  }
  std::string revision_key(const std::string& id, uint32_t revision) {
    Writer key;
    key.raw(rows::workflow_prefix(number_of(id)));
    key.u32(revision);
    return key.take();
  }
  Change edit_schedule(const std::function<void(ScheduleRecord&)>& change) {
    const std::string key = rows::workflow_prefix(number_of("nightly"));
    return [=](Transaction& in) {
      edit<ScheduleRecord>(in, Table::kSchedules, key, decode_schedule, encode, change);
    };
  }
};

TEST_F(CheckCatalogTest, HasNoFindingInAnUndamagedStore) { expect_sound(); }

TEST_F(CheckCatalogTest, ReportsAFailedReadAsTheOnlyFinding) {
  EXPECT_GT(expect_each_failed_read_alone(), 20U);
}

// Namespaces.

TEST_F(CheckCatalogTest, ShowsTheNameOfANamespaceWithADamagedKeyInAscii) {
  tx->put(Table::kNamespaces, "d\xff", std::string(*tx->get(Table::kNamespaces, "default")));
  tx->erase(Table::kNamespaces, "default");
  tx->put(Table::kWorkflows, rows::ns_prefix(ns).append("plain"), "x");
  const auto report = check_store(*tx, options);
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_TRUE(is_utf8(dump_json(to_json(*report))));
  EXPECT_THAT(report->findings, testing::Contains(testing::AllOf(
                                    testing::Field(&StoreFinding::table, "workflows"),
                                    testing::Field(&StoreFinding::ns, "d\\xff"),
                                    testing::Field(&StoreFinding::key, "d\\xff/plain"))));
  tx->drop();
}

TEST_F(CheckCatalogTest, ChecksTheKeyNumberAndCreationTimeOfANamespace) {
  expect_among("row.record namespaces/default",
               [](Transaction& in) { in.put(Table::kNamespaces, "default", "x"); });
  const auto put = [](std::string name, NamespaceRecord record) {
    return [=](Transaction& in) { write_namespace(in, name, record); };
  };
  const auto known = [](Transaction& in) { write_counter(in, Counter::kNamespace, 9); };
  known(*tx);
  commit();
  expect_only("row.key namespaces/no name: the key is not a name",
              put("no name", {.number = NamespaceNumber(2), .created_at = now}));
  expect_only("row.value namespaces/shop: the number of the namespace is 0",
              put("shop", {.number = NamespaceNumber(0), .created_at = now}));
  expect_only(
      "number.twice namespaces/shop: the namespace has the number 1, which namespace default also "
      "has",
      put("shop", {.number = ns, .created_at = now}));
  expect_only("row.time namespaces/shop: the creation of the namespace is at",
              put("shop", {.number = NamespaceNumber(2), .created_at = now + Duration(1)}));
  expect_only("counter.behind namespaces/shop: number 10 was assigned",
              put("shop", {.number = NamespaceNumber(10), .created_at = now}));
  expect_only(
      "row.value namespaces/shop: the namespace is in partition 1, but the only partition is 0",
      put("shop", {.number = NamespaceNumber(2), .created_at = now, .partition = 1}));
  EXPECT_THAT(found_after(put("shop", {.number = NamespaceNumber(2), .created_at = now})),
              IsEmpty());
  EXPECT_THAT(
      found_after(edit_ns([&](NamespaceRecord& record) { record.created_at = now + Duration(1); })),
      IsEmpty())
      << "the namespace `default` is created before the store has an engine time";
}

TEST_F(CheckCatalogTest, RequiresTheDefaultNamespace) {
  expect_among("namespace.missing namespaces/default: the namespace `default` does not exist",
               [](Transaction& in) { erase_namespace(in, "default"); });
}

TEST_F(CheckCatalogTest, ChecksSettingsAsTheServerReadsThem) {
  const auto settings = [&](const char* text) {
    return edit_ns([text](NamespaceRecord& record) { record.settings = text; });
  };
  expect_only("row.json namespaces/default: the text of the settings is not JSON", settings("{"));
  EXPECT_THAT(found_after(settings(R"({"later": 1})")), IsEmpty())
      << "without `options.check_settings` the settings need only be JSON";
  options.check_settings = [](std::string_view text) -> Status {
    const auto read = read_settings(text);
    return read ? Status() : tl::unexpected(read.error());
  };
  EXPECT_THAT(found_after(settings(R"({"lifecycle": true})")), IsEmpty());
  expect_only("namespace.settings namespaces/default: ", settings(R"({"later": 1})"));
}

// Workflows.

TEST_F(CheckCatalogTest, ChecksTheKeyAndTheNumbersOfAWorkflow) {
  const auto put = [](std::string key, std::string value) {
    return [=](Transaction& in) { in.put(Table::kWorkflows, key, value); };
  };
  expect_only("row.key workflows/0x616263: the key is not a namespace and the id of a workflow",
              put("abc", "x"));
  expect_only("the key is not a namespace and the id of a workflow",
              put(rows::ns_prefix(ns) + "no name", "x"));
  expect_among("row.record workflows/default/plain", put(rows::ns_prefix(ns) + "plain", "rubbish"));
  expect_among(
      "row.value workflows/default/plain: the number of the workflow is 0, its newest revision 1",
      edit_workflow("plain", [](WorkflowRecord& one) { one.number = {}; }));
  expect_among("its newest revision 0",
               edit_workflow("plain", [](WorkflowRecord& one) { one.latest = 0; }));
  expect_only("the first revision with its groups 2",
              edit_workflow("plain", [](WorkflowRecord& one) { one.groups_from = 2; }));
  expect_among(
      "number.twice workflows/default/plain: the workflow has the number 2, which workflow nightly",
      edit_workflow("plain", [](WorkflowRecord& one) { one.number = WorkflowNumber(2); }));
  expect_among("namespace.missing workflows/number 9/plain: no namespace has the number 9",
               [&](Transaction& in) {
                 write_workflow(in, NamespaceNumber(9), "plain",
                                *read_workflow(in, ns, "plain").value());
               });
}

TEST_F(CheckCatalogTest, RequiresGroupsThatTheFirstRevisionOfTheGroupsReplaced) {
  const auto begin_at = [&](uint32_t revision) {
    return edit_workflow("plain", [=](WorkflowRecord& one) { one.groups_from = revision; });
  };
  const std::string found =
      "row.value workflows/default/plain: the first revision with the groups of the workflow is ";
  expect_only(found + "1, but no revision before it has groups", begin_at(1));
  define(std::string(kPlain) + "\n# changed");
  expect_only(found + "2, but no revision before it has groups", begin_at(2));
  define(R"(
id: plain
start: {type: eventsAnd, correlate: [key], lifespan: PT1H, events: [{type: left}, {type: right}]}
states: [{id: a, type: noop}]
)");
  expect_only(found + "3, but", begin_at(3));
  define(kPlain);
  EXPECT_EQ(read_workflow(*tx, ns, "plain").value()->groups_from, 4U);
  expect_sound();
  expect_among("the first revision with its groups 5", begin_at(5));
}

// Definitions.

TEST_F(CheckCatalogTest, RequiresADefinitionForEachRevision) {
  const auto erase = [&](uint32_t revision) {
    return [key = revision_key("plain", revision)](Transaction& in) {
      in.erase(Table::kDefinitions, key);
    };
  };
  expect_only(
      "definition.missing definitions/workflow 1 revision 1: revision 1 of workflow 1 does not "
      "exist",
      erase(1));
  define("id: plain\nstates: [{id: b, type: noop}]");
  define("id: plain\nstates: [{id: c, type: noop}]");
  expect_sound();
  for (const uint32_t revision : {1, 2, 3}) {
    expect_only(fmt::format("definition.missing definitions/workflow 1 revision {}", revision),
                erase(revision));
  }
  expect_only(
      "definition.unknown definitions/workflow 1 revision 3: the newest revision of the "
      "workflow is 2",
      edit_workflow("plain", [](WorkflowRecord& one) { one.latest = 2; }));
}

TEST_F(CheckCatalogTest, ChecksTheKeyAndTheTextOfADefinition) {
  const auto put = [](std::string key, std::string value) {
    return [=](Transaction& in) { in.put(Table::kDefinitions, key, value); };
  };
  const auto text = [&](std::string body, TimePoint created) {
    return put(revision_key("plain", 1), encode(DefinitionRecord{created, std::move(body)}));
  };
  expect_only(
      "row.key definitions/0x616263: the key is not a workflow number and a revision number",
      put("abc", "x"));
  expect_only("the key is not a workflow number and a revision number",
              put(std::string(8, '\0'), "x"));
  expect_among("row.record definitions/workflow 1 revision 1",
               put(revision_key("plain", 1), "rubbish"));
  expect_only("row.time definitions/workflow 1 revision 1: the creation of the revision is at",
              text(kPlain, now + Duration(1)));
  expect_only("definition.unloadable definitions/workflow 1 revision 1: ", text("id: plain", now));
  expect_only("the id in the definition is other, but the id of the workflow is plain",
              text("id: other\nstates: [{id: a, type: noop}]", now));
  options.load = nullptr;
  EXPECT_THAT(found_after(text("id: plain", now)), IsEmpty())
      << "without `options.load` the check does not load the definition";
}

TEST_F(CheckCatalogTest, ChecksTheOrderInWhichRevisionsWereCreated) {
  const std::string second = "id: plain\nstates: [{id: b, type: noop}]";
  define(second);
  expect_sound();
  expect_only("row.value definitions/workflow 1 revision 2: the revision was created at",
              [&](Transaction& in) {
                in.put(Table::kDefinitions, revision_key("plain", 2),
                       encode(DefinitionRecord{now - Duration(1), second}));
              });
}

TEST_F(CheckCatalogTest, FindsARevisionThatWasCreatedAfterTheStartOfAnInstance) {
  start("plain");
  const TimePoint first = now;
  now += std::chrono::seconds(1);
  start("plain");
  const auto created = [&](TimePoint time) {
    return [=, key = revision_key("plain", 1)](Transaction& in) {
      in.put(Table::kDefinitions, key, encode(DefinitionRecord{time, kPlain}));
    };
  };
  EXPECT_THAT(found_after(created(first)), IsEmpty());
  expect_only(
      fmt::format("row.value definitions/workflow 1 revision 1: the revision was created at {} ms, "
                  "but an instance of it started at {} ms",
                  to_millis(now), to_millis(first)),
      created(now));
}

TEST_F(CheckCatalogTest, FindsANamespaceThatWasCreatedAfterADefinitionOfItsWorkflows) {
  run_command(CreateNamespace{.name = "shop"});
  const std::string text = "id: sells\nstates: [{id: a, type: noop}]";
  run_command(ApplyWorkflow{.ns = "shop", .text = text, .workflow = load_stored(text).value()});
  const TimePoint applied = now;
  now += std::chrono::seconds(1);
  start("plain");
  const auto created = [](TimePoint time) {
    return [=](Transaction& in) {
      edit<NamespaceRecord>(in, Table::kNamespaces, "shop", decode_namespace, encode,
                            [=](NamespaceRecord& record) { record.created_at = time; });
    };
  };
  EXPECT_THAT(found_after(created(applied)), IsEmpty());
  expect_only(
      fmt::format("row.value namespaces/shop: the namespace was created at {} ms, but a definition "
                  "of one of its workflows at {} ms",
                  to_millis(now), to_millis(applied)),
      created(now));
}

// Schedules.

TEST_F(CheckCatalogTest, ChecksAScheduleAgainstItsWorkflow) {
  const std::string nightly = rows::workflow_prefix(number_of("nightly"));
  const std::string plain = rows::workflow_prefix(number_of("plain"));
  expect_only("schedule.missing schedules/workflow 2: workflow nightly has a schedule, but no row",
              [&](Transaction& in) { in.erase(Table::kSchedules, nightly); });
  const std::string row = encode(ScheduleRecord{.from = now, .last = {}});
  expect_only("schedule.unknown schedules/workflow 1: the newest revision has no schedule",
              [&](Transaction& in) { in.put(Table::kSchedules, plain, row); });
  EXPECT_THAT(found_after([&](Transaction& in) {
                in.put(Table::kSchedules, rows::workflow_prefix(WorkflowNumber(9)), row);
              }),
              UnorderedElementsAre(HasSubstr("counter.behind schedules/workflow 9"),
                                   HasSubstr("workflow.missing schedules/workflow 9: the workflow "
                                             "of the schedule does not exist")));
  expect_only("row.key schedules/0x616263: the key is not the number of a workflow",
              [&](Transaction& in) { in.put(Table::kSchedules, "abc", row); });
  expect_only("row.record schedules/workflow 2",
              [&](Transaction& in) { in.put(Table::kSchedules, nightly, "rubbish"); });
}

TEST_F(CheckCatalogTest, ChecksFromWhenAScheduleWithoutATickCounts) {
  const auto earlier = edit_schedule([](ScheduleRecord& one) { one.from -= Duration(1); });
  expect_only("row.value schedules/workflow 2: the schedule has had no tick and counts from",
              earlier);
  EXPECT_THAT(found_after([&](Transaction& in) {
                earlier(in);
                edit_schedule([](ScheduleRecord& one) { one.last = one.from; })(in);
              }),
              IsEmpty())
      << "a tick may come at any time";
  now += std::chrono::hours(1);
  define("id: nightly\nstart: {type: scheduled, cron: '0 1 * * *'}\nstates: [{id: a, type: noop}]");
  expect_sound();
}

TEST_F(CheckCatalogTest, ChecksTheTicksOfASchedule) {
  const TimePoint later = now + Duration(1);
  expect_only("row.time schedules/workflow 2: the time from which the schedule counts ticks is at",
              edit_schedule([=](ScheduleRecord& one) { one.from = later; }));
  expect_only("the latest tick of the schedule is at",
              edit_schedule([=](ScheduleRecord& one) { one.last = later; }));
  expect_only(
      "row.value schedules/workflow 2: the first tick of the schedule is later than the latest "
      "tick, or there is no latest tick",
      edit_schedule([this](ScheduleRecord& one) { one.first = now; }));
  expect_only(
      "the first tick of the schedule is later than the latest tick, or there is no latest tick",
      edit_schedule([this](ScheduleRecord& one) {
        one.first = now;
        one.last = now - Duration(1);
      }));
  EXPECT_THAT(
      found_after(edit_schedule([this](ScheduleRecord& one) { one.first = one.last = now; })),
      IsEmpty());
  expect_only(
      "row.value schedules/workflow 2: the latest tick of the schedule is later than the time from "
      "which the next tick is counted",
      edit_schedule([this](ScheduleRecord& one) {
        one.from = now - Duration(1);
        one.last = now;
      }));
}

}  // namespace
}  // namespace millrace
