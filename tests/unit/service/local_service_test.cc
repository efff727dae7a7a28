// LocalService: passes the requests of the gateway to the engine, to the last commit or to the
// broker, and returns the answers.
#include "orchestrator/service/local_service.h"

#include <memory>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "orchestrator/outgoing/messages.h"
#include "orchestrator/store/rows/row.h"
#include "tests/unit/service/local_service_fixture.h"

namespace millrace {
namespace {

using std::chrono::seconds;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

/// A processor that has not read its store yet.
struct UnreadEngine {
  explicit UnreadEngine(World& world)
      : processor({.engine = {.environment = *environment,
                              .clock = world.clock,
                              .publisher = world.broker,
                              .functions = world.functions,
                              .webhooks = world.receivers,
                              .definitions = definitions,
                              .make_id = [](TimePoint) { return InstanceId(); },
                              .started_tasks = started},
                   .intake = intake,
                   .evaluate = nullptr,
                   .metrics = metrics},
                  {}) {}

  Folder folder;
  std::unique_ptr<Environment> environment = Environment::open(folder.path()).value();
  DefinitionCache definitions{load_stored};
  StartedTasks started;
  Intake intake;
  Metrics metrics;
  Processor processor;
};

// Commands.

TEST_F(LocalServiceTest, HandsCommandsToTheEngine) {
  std::vector<std::string> answers;
  const auto note = [&](const Result<Json>& answer) {
    answers.push_back(answer ? dump_json(*answer) : answer.error().code);
  };
  service->command(CreateNamespace{.name = "shop"}, note);
  service->command(DeleteNamespace{.name = "none"}, note);
  EXPECT_THAT(answers, IsEmpty());
  world.run_until_idle();
  EXPECT_THAT(answers, ElementsAre(HasSubstr("\"created\":true"), "namespace.not_found"));
}

TEST_F(LocalServiceTest, ShowsTheEffectOfACommandOnlyWhenItIsOnDisk) {
  service->command(CreateNamespace{.name = "shop"}, [](const Result<Json>&) {});
  EXPECT_THAT(service->namespaces({})->at("items"), SizeIs(1));
  world.run_until_idle();
  EXPECT_THAT(service->namespaces({})->at("items"), SizeIs(2));
}

TEST_F(LocalServiceTest, ReportsTheEndOfAnInstanceOrThatTheWaitForItTimedOut) {
  world.apply(kWaits);
  const InstanceId id = *parse_instance_id(world.start("waits")["id"].get<std::string>());
  std::vector<std::string> ends;
  const auto note = [&](const Status& end) { ends.push_back(end ? "ended" : end.error().code); };
  const auto caller = std::make_shared<int>();
  service->wait_for_end("default", id, seconds(1), caller, note);
  service->wait_for_end("default", id, seconds(9), caller, note);
  service->wait_for_end("default", InstanceId(), seconds(9), caller, note);
  world.run_until_idle();
  EXPECT_THAT(ends, ElementsAre("ended"));
  world.run_for(seconds(1));
  EXPECT_THAT(ends, ElementsAre("ended", "wait.timeout"));
  world.publish("paid", "1");
  world.run_until_idle();
  EXPECT_THAT(ends, ElementsAre("ended", "wait.timeout", "ended"));
}

// Definitions.

TEST_F(LocalServiceTest, LoadsADefinitionAndChecksItsJqProgramsAndSchemas) {
  const std::string text =
      "id: a\nstates:\n- {id: one, type: validate, schema: {type: object}, log: jq(keys)}\n";
  const Loaded right = service->load_definition(text, "");
  ASSERT_NE(right.workflow, nullptr) << render_text(right.findings, "a");
  EXPECT_EQ(right.workflow->id, "a");
  EXPECT_THAT(checked, testing::UnorderedElementsAre("keys", R"({"type":"object"})"));
  wrong = Error{"jq.compile", "it is no jq"};
  const Loaded refused = service->load_definition(text, "");
  EXPECT_EQ(refused.workflow, nullptr);
  EXPECT_THAT(render_text(refused.findings, "a"), HasSubstr("it is no jq"));
}

TEST_F(LocalServiceTest, ChecksAnInputAgainstTheSchemaOfTheFirstState) {
  world.apply(
      "id: strict\nstates:\n- {id: check, type: validate, schema: {type: object, required: "
      "[a]}}\n");
  world.apply("id: free\nstates:\n- {id: end, type: noop}\n");
  EXPECT_EQ(service->input_schema("default", "strict").value(), Json::parse(R"({
    "schema": {"type": "object", "required": ["a"]}, "from": "check", "example": {"a": null}})"));
  EXPECT_EQ(service->input_schema("default", "free").value(),
            Json::parse(R"({"schema": null, "from": null, "example": {}})"));
  std::vector<std::string> answers;
  const auto note = [&](const Result<Json>& answer) {
    answers.push_back(answer ? dump_json(*answer) : answer.error().code);
  };
  service->check_input("default", "free", "7", note);
  service->check_input("default", "none", "7", note);
  service->check_input("default", "strict", "{}", note);
  service->check_input("default", "strict", "{}", note);
  ASSERT_THAT(evaluations, SizeIs(2));
  EXPECT_EQ(evaluations[0].queries[0].mode, Query::Mode::kSchema);
  evaluated[0]({fail("direktiv.schema.failed", ".: a is missing")});
  evaluated[1]({LazyJson(Json(true))});
  EXPECT_THAT(answers,
              ElementsAre(R"({"errors":[],"valid":true})", "workflow.not_found",
                          R"({"errors":[{"message":"a is missing","path":"."}],"valid":false})",
                          R"({"errors":[],"valid":true})"));
}

TEST_F(LocalServiceTest, EvaluatesAnExpression) {
  std::vector<std::string> results;
  service->try_expression({.text = ".a", .data = Json{{"a", 7}}},
                          [&](const Result<LazyJson>& result) {
                            results.push_back(result ? result->text() : result.error().code);
                          });
  ASSERT_THAT(evaluations, SizeIs(1));
  evaluated[0]({LazyJson(Json(7))});
  EXPECT_THAT(results, ElementsAre("7"));
}

TEST_F(LocalServiceTest, BoundsTheTimeOfAllChecksOfADefinition) {
  std::string text = "id: a\nstates:\n";
  for (int i = 0; i < 450; ++i) {
    text += fmt::format("- {{id: s{}, type: noop, log: 'jq(keys | length == {})'}}\n", i, i);
  }
  check_takes = seconds(15);
  const Loaded loaded = service->load_definition(text, "");
  EXPECT_THAT(given, ElementsAre(seconds(20), seconds(5)));
  EXPECT_EQ(loaded.workflow, nullptr);
  EXPECT_THAT(render_text(loaded.findings, "a"), HasSubstr("have taken 20 s"));
}

TEST_F(LocalServiceTest, LintsWithTheSettingsOfTheNamespace) {
  /// The severity of the finding for a call without a timeout.
  const auto severity = [&](const std::string& type, const std::string& ns) -> std::string {
    const Loaded loaded = service->load_definition(
        fmt::format("id: a\nfunctions: [{{id: f, type: knative-{}, service: charge}}]\n"
                    "states: [{{id: s, type: action, action: {{function: f}}}}]\n",
                    type),
        ns);
    EXPECT_NE(loaded.workflow, nullptr) << render_text(loaded.findings, "a");
    for (const Finding& finding : loaded.findings.sorted()) {
      if (finding.code != "lint.call_unbounded") continue;
      return finding.severity == Severity::kWarning ? "warning" : "note";
    }
    return "nothing";
  };
  world.must(CreateNamespace{.name = "shop"});
  EXPECT_EQ(severity("namespace", "default"), "warning") << "there are no settings";
  store_settings(R"({"services": {"charge": {"url": "http://charge"}}})");
  EXPECT_EQ(severity("namespace", "default"), "nothing");
  EXPECT_EQ(severity("namespace", "shop"), "warning")
      << "the settings of shop do not name the service";
  EXPECT_EQ(severity("global", "shop"), "nothing")
      << "the settings of the default namespace name the service";
  EXPECT_EQ(severity("namespace", "none"), "warning") << "the namespace does not exist";
  EXPECT_EQ(severity("namespace", ""), "note") << "no namespace is given";
  on_read = [] { return true; };
  EXPECT_EQ(severity("namespace", "default"), "note") << "the settings cannot be read";
  on_read = nullptr;
  store_settings("{");
  EXPECT_EQ(severity("namespace", "default"), "note") << "the settings are not JSON";
  store_settings(R"({"later": true})");
  EXPECT_EQ(severity("namespace", "shop"), "note")
      << "the settings of the default namespace are not valid";
}

// Events.

TEST_F(LocalServiceTest, PublishesTheEventsOfARequestAndAnswersWhenAllAreAcknowledged) {
  publish(3);
  ASSERT_THAT(publisher.waiting, SizeIs(3));
  const Event first{.id = "0", .source = "/s", .type = "paid"};
  const std::string_view key = world.environment().seal().message_key();
  EXPECT_EQ(publisher.messages[0].subject, event_message("default", first).subject);
  EXPECT_EQ(publisher.messages[0].headers, message_to_publish(key, "default", first).headers);
  publisher.waiting[2](PublishAck{.sequence = 3});
  publisher.waiting[0](PublishAck{.sequence = 1, .duplicate = true});
  EXPECT_THAT(published, IsEmpty());
  publisher.waiting[1](PublishAck{.sequence = 2});
  ASSERT_THAT(published, SizeIs(1));
  ASSERT_TRUE(published[0]);
  EXPECT_EQ(published[0]->accepted, 3U);
  EXPECT_EQ(published[0]->duplicates, 1U);
}

TEST_F(LocalServiceTest, AnswersWithTheFirstErrorWhenEachEventIsAcknowledgedOrHasFailed) {
  publish(3);
  ASSERT_THAT(publisher.waiting, SizeIs(3));
  publisher.waiting[1](fail("broker.timeout", "first"));
  publisher.waiting[0](fail("broker.refused", "second"));
  EXPECT_THAT(published, IsEmpty());
  publisher.waiting[2](PublishAck{.sequence = 1});
  ASSERT_THAT(published, SizeIs(1));
  EXPECT_EQ(code_of(published[0]), "broker.timeout");
}

TEST_F(LocalServiceTest, PublishesNoEventIfTheNamespaceIsMissingOrTheStoreIsFull) {
  publish(1, "none");
  publish(0, "none");
  publish(0);
  world.intake().set_refusal(Error{"store.full", "the disk is full"});
  publish(1);
  publish(0);
  EXPECT_THAT(publisher.messages, IsEmpty());
  ASSERT_THAT(published, SizeIs(5));
  EXPECT_EQ(code_of(published[0]), "namespace.not_found");
  EXPECT_EQ(code_of(published[1]), "namespace.not_found");
  for (const size_t none : {2, 4}) {
    ASSERT_TRUE(published[none]);
    EXPECT_EQ(published[none]->accepted, 0U);
  }
  EXPECT_EQ(code_of(published[3]), "store.full");
}

TEST_F(LocalServiceTest, PublishesNoEventOfARequestThatExceedsTheQuotaOfTheNamespace) {
  world.must(
      CreateNamespace{.name = "default", .settings = Json{{"quotas", {{"eventsPerSecond", 2}}}}});
  publish(3);
  EXPECT_THAT(publisher.messages, IsEmpty());
  ASSERT_THAT(published, SizeIs(1));
  EXPECT_EQ(code_of(published[0]), "millrace.quota.eventsPerSecond");
  EXPECT_THAT(metrics.text(),
              HasSubstr("millrace_quota_refusals_total{quota=\"eventsPerSecond\"} 1\n"));
  EXPECT_THAT(metrics.text(), HasSubstr("{namespace=\"default\",quota=\"eventsPerSecond\"} 1\n"));
  publish(2);
  EXPECT_THAT(publisher.messages, SizeIs(2));
}

TEST_F(LocalServiceTest, PublishesNoEventIfTheNamespaceCannotBeRead) {
  on_read = [] { return true; };
  publish(1);
  ASSERT_THAT(published, SizeIs(1));
  EXPECT_EQ(code_of(published[0]), "store.io");
  EXPECT_THAT(publisher.messages, IsEmpty());
}

// Reads.

TEST_F(LocalServiceTest, AnswersQueriesAboutWorkflows) {
  world.apply(kWaits);
  world.apply(kTicks);
  const Snapshot view = *Snapshot::take(world.environment());
  Queries& queries = world.queries();
  expect_answer([&] { return service->namespaces({}); }, queries.namespaces(view));
  expect_answer([&] { return service->workflows("default", {}); },
                queries.workflows(view, "default"));
  expect_answer([&] { return service->workflow("default", "waits"); },
                queries.workflow(view, "default", "waits"));
  expect_answer([&] { return service->revision("default", "waits", 1); },
                queries.revision(view, "default", "waits", 1));
  expect_answer([&] { return service->revisions("default", "waits", {.limit = 9}); },
                queries.revisions(view, "default", "waits", {.limit = 9}));
  expect_answer([&] { return service->schedules("default", {}); },
                queries.schedules(view, "default"));
  expect_answer([&] { return service->schedule("default", "ticks"); },
                queries.schedule(view, "default", "ticks"));
}

TEST_F(LocalServiceTest, AnswersQueriesAboutInstances) {
  world.apply(kWaits);
  const InstanceId id = *parse_instance_id(world.start("waits")["id"].get<std::string>());
  world.start("waits");
  const InstanceFilter filter{.limit = 1};
  const Snapshot view = *Snapshot::take(world.environment());
  Queries& queries = world.queries();
  expect_answer([&] { return service->instances("default", filter); },
                queries.instances(view, "default", filter));
  expect_answer([&] { return service->instance("default", id); },
                queries.instance(view, "default", id));
  expect_answer([&] { return service->find("default", "wai"); },
                queries.find(view, "default", "wai"));
  expect_answer([&] { return service->instance_counts("default", {}); },
                queries.instance_counts(view, "default", {}));
  expect_answer([&] { return service->instance_calls("default", id, 1, ""); },
                queries.instance_calls(view, "default", id, 1, ""));
  expect_answer([&] { return service->accepted_tasks("default", {}); },
                queries.accepted_tasks(view, "default", {}));
  expect_answer([&] { return service->instance_children("default", id, 1, ""); },
                queries.instance_children(view, "default", id, 1, ""));
  expect_answer([&] { return service->history("default", id, {}); },
                queries.history(view, "default", id, {}));
  expect_answer([&] { return service->listeners("default", {.limit = 1}); },
                queries.listeners(view, "default", {.limit = 1}));
  const std::string cursor = service->listeners("default", {.limit = 1})->at("next");
  expect_answer([&] { return service->listeners("default", {.limit = 1, .cursor = cursor}); },
                queries.listeners(view, "default", {.limit = 1, .cursor = cursor}));
}

TEST_F(LocalServiceTest, AnswersQueriesAboutGroupsVariablesAndSecrets) {
  world.apply(kPairs);
  world.publish("left", "1", nullptr, {{"key", "k1"}});
  world.publish("left", "2", nullptr, {{"key", "k2"}});
  const VariablePlace place{.ns = "default"};
  for (const char* const name : {"a", "b"}) {
    world.must(PutVariable{.place = place, .key = name, .value = {.bytes = name}});
    world.must(PutSecret{.ns = "default", .name = name, .value = "t"});
  }
  const auto bytes = [](const Result<Variable>& variable) -> Result<Json> {
    return Json(TRY(variable).bytes);
  };
  const Snapshot view = *Snapshot::take(world.environment());
  Queries& queries = world.queries();
  const std::string group = service->groups("default", 1, "", {})->at("next");
  for (const std::string& cursor : {std::string(), group}) {
    expect_answer([&] { return service->groups("default", 1, cursor, {}); },
                  queries.groups(view, "default", 1, cursor));
  }
  for (const char* const cursor : {"", "a"}) {
    expect_answer([&] { return service->variables(place, 1, cursor); },
                  queries.variables(view, place, 1, cursor));
    expect_answer([&] { return service->secrets("default", 1, cursor); },
                  queries.secrets(view, "default", 1, cursor));
  }
  expect_answer([&] { return bytes(service->variable(place, "b")); },
                bytes(queries.variable(view, place, "b")));
}

// Desks.

TEST_F(LocalServiceTest, ReplaysADeadLetterOnlyWhileEventsAreTaken) {
  const uint64_t id = stored_letters.add("default", R"({"specversion":"1.0","id":"1","type":"t"})");
  const Event event{.id = "1", .source = "/s", .type = "t"};
  world.must(
      CreateNamespace{.name = "default", .settings = Json{{"quotas", {{"eventsPerSecond", 1}}}}});
  publish(1);
  const auto refused = service->letter_desk().replay("default", id, event);
  EXPECT_EQ(code_of(refused), "millrace.quota.eventsPerSecond");
  EXPECT_EQ(stored_letters.letters.size(), 1U);
}

// Readiness, info and metrics.

TEST_F(LocalServiceTest, IsReadyOnlyIfEachPartIsReady) {
  world.run_until_idle();
  EXPECT_TRUE(service->ready());
  for (const char* const part : {"reader", "sender", "tasks", "workers"}) {
    failing = part;
    const Status ready = service->ready();
    ASSERT_FALSE(ready) << part;
    EXPECT_EQ(ready.error().message, std::string("no ") + part);
  }
}

TEST_F(LocalServiceTest, IsNotReadyWhileTheEngineIsNotReady) {
  world.run_until_idle();
  world.intake().set_refusal(Error{"store.full", "the disk is full"});
  EXPECT_EQ(code_of(service->ready()), "store.full");
  world.intake().set_refusal(std::nullopt);
  EXPECT_TRUE(service->ready());
}

TEST_F(LocalServiceTest, IsNotReadyBeforeTheStoreIsRead) {
  UnreadEngine unread(world);
  LocalService starting(parts(unread.processor));
  failing = "reader";
  EXPECT_EQ(code_of(starting.ready()), "starting") << "the reader's error is not reported yet";
}

TEST_F(LocalServiceTest, ShowsInItsInfoWhetherItReadsTheEventStreamAndWhatTheBrokerLost) {
  Json info = service->info();
  info.erase("store");
  info.erase("retention");
  EXPECT_EQ(info,
            (Json{{"version", "1"}, {"broker", {{"reading", true}, {"losses", Json::array()}}}}));
  losses.add({.kind = BrokerLoss::Kind::kDropped, .first = 3, .last = 8});
  failing = "reader";
  const Json broker = service->info()["broker"];
  EXPECT_EQ(broker["reading"], false);
  EXPECT_EQ(broker["waitingFor"], "no reader");
  EXPECT_EQ(broker["losses"], losses.list());
}

TEST_F(LocalServiceTest, ListsUnreadableSettingsAndDamagedRowsInItsInfo) {
  world.apply(kWaits);
  const InstanceId id = *parse_instance_id(world.start("waits")["id"].get<std::string>());
  EXPECT_FALSE(service->info().contains("damagedRows"));
  EXPECT_FALSE(service->info().contains("unreadableSettings"));
  restart_with([&](Transaction& tx) {
    tx.put(Table::kLive, rows::instance_prefix(NamespaceNumber(1), id) + '\0', "damaged");
  });
  store_settings("{");
  const Json info = service->info();
  EXPECT_EQ(info["damagedRows"]["count"], 1) << info;
  EXPECT_EQ(info["damagedRows"]["items"], world.processor().damages().list());
  EXPECT_EQ(info["unreadableSettings"][0]["namespace"], "default");
}

TEST_F(LocalServiceTest, ShowsItsInfoEvenIfTheStoreCannotBeRead) {
  Json whole = service->info();
  on_read = [] { return true; };
  whole.erase("store");
  EXPECT_EQ(service->info(), whole) << "without the figures of the store";
}

TEST_F(LocalServiceTest, ShowsTheLongestUnitOfTheEngineInItsInfo) {
  EXPECT_FALSE(service->info().contains("engine")) << "no unit was measured";
  constexpr auto kTime = std::chrono::microseconds(1'500);
  TurnTimes times;
  times.units[static_cast<size_t>(UnitKind::kPurge)] = {.processor = kTime, .elapsed = kTime};
  metrics.add_turn(times);
  const Json expected{{"longestUnitSeconds", 0.0015}, {"longestUnitKind", "purge"}};
  EXPECT_EQ(service->info()["engine"], expected);
}

TEST_F(LocalServiceTest, ShowsTheFiguresOfTheStoreInItsInfoAndInTheMetrics) {
  world.apply(kWaits);
  world.must(CreateNamespace{.name = "shop"});
  world.start("waits");
  const std::string ended = world.start("waits")["id"];
  world.must(CancelInstance{.ns = "default", .instance = *parse_instance_id(ended)});
  const Json store = service->info()["store"];
  EXPECT_GT(store["dataBytes"], 0);
  EXPECT_GT(store["journalBytes"], 0);
  EXPECT_GT(store["waitingRows"], 0);
  EXPECT_EQ(store["oldestEnded"], world.instance(ended)["startedAt"]);
  ASSERT_THAT(store["namespaces"], SizeIs(2));
  EXPECT_EQ(store["namespaces"][0]["namespace"], "default");
  EXPECT_EQ(store["namespaces"][0]["oldestEnded"], store["oldestEnded"]);
  EXPECT_EQ(store["namespaces"][0]["live"], 1);
  EXPECT_EQ(store["namespaces"][0]["ended"], 1);
  EXPECT_GT(store["namespaces"][0]["rowBytes"], 0);
  EXPECT_GT(store["namespaces"][0]["historyBytes"], 0);
  EXPECT_EQ(store["namespaces"][1]["namespace"], "shop");
  EXPECT_EQ(store["namespaces"][1]["live"], 0);
  const std::string text = service->metrics();
  EXPECT_THAT(text, HasSubstr("\nmillrace_namespace_live_instances{namespace=\"default\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("\nmillrace_namespace_ended_instances{namespace=\"default\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("\nmillrace_namespace_ended_instances{namespace=\"shop\"} 0\n"));
}

TEST_F(LocalServiceTest, CountsPendingStartsInTheMetrics) {
  EXPECT_THAT(service->metrics(), HasSubstr("\nmillrace_pending_starts 0\n"));
  world.apply("id: index\ndebounce: {period: PT1M}\nstates:\n- {id: a, type: noop}\n");
  world.must(StartInstance{.ns = "default", .workflow = "index", .input = Json::object()});
  EXPECT_THAT(service->metrics(), HasSubstr("\nmillrace_pending_starts 1\n"));
}

TEST_F(LocalServiceTest, ShowsTheFiguresOfTheRetentionInItsInfo) {
  metrics.count_retention("shop", {.instances = 3, .bytes = 400});
  metrics.set_passes(PassKind::kInstances, {.is_running = true});
  const Json retention = service->info()["retention"];
  EXPECT_EQ(retention, to_json(metrics.retention()));
  EXPECT_EQ(retention["instances"]["running"], true);
  EXPECT_EQ(retention["namespaces"][0]["deletedInstances"], 3);
  EXPECT_THAT(service->metrics(),
              HasSubstr("\nmillrace_retention_deleted_bytes_total{namespace=\"shop\"} 400\n"));
}

TEST_F(LocalServiceTest, KeepsTheGaugesOfTheStoreWhileItCannotBeRead) {
  world.apply(kWaits);
  world.start("waits");
  constexpr const char* kLive = "\nmillrace_namespace_live_instances{namespace=\"default\"} 1\n";
  EXPECT_THAT(service->metrics(), HasSubstr(kLive));
  on_read = [] { return true; };
  EXPECT_THAT(service->metrics(), HasSubstr(kLive));
}

TEST_F(LocalServiceTest, ShowsTheNumbersAndTheReadinessOfItsPartsInTheMetrics) {
  for (size_t i = 0; i <= WatchRing::kPlaces; ++i) ring.put({});
  ring.take();
  const std::string text = service->metrics();
  for (const char* const line :
       {"\nmillrace_live_changes_lost_total 1\n", "\nmillrace_event_consumers_total 7\n",
        "\nmillrace_jq_workers 3\n", "\nmillrace_reads_events 1\n", "\nmillrace_sends_events 1\n",
        "\nmillrace_runs_tasks 1\n"}) {
    EXPECT_THAT(text, HasSubstr(line));
  }
  const std::pair<const char*, const char*> rows[] = {{"reader", "\nmillrace_reads_events 0\n"},
                                                      {"sender", "\nmillrace_sends_events 0\n"},
                                                      {"tasks", "\nmillrace_runs_tasks 0\n"}};
  for (const auto& [part, line] : rows) {
    failing = part;
    EXPECT_THAT(service->metrics(), HasSubstr(line));
  }
}

}  // namespace
}  // namespace millrace
