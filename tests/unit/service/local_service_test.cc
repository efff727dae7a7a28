// LocalService: what the gateway asks goes to the engine, to the last commit or to the broker, and
// what comes of it is told.
#include "orchestrator/service/local_service.h"

#include <atomic>
#include <cstring>
#include <fstream>
#include <future>
#include <iterator>
#include <memory>
#include <thread>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "orchestrator/outgoing/messages.h"
#include "orchestrator/store/rows/row.h"
#include "orchestrator/store/rows/variable_rows.h"
#include "tests/simulation/world.h"

namespace millrace {
namespace {

using std::chrono::seconds;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

/// Keeps what is published; the test says what becomes of it.
class HoldingPublisher final : public Publisher {
 public:
  void publish(NatsMessage message, Done done) override {
    messages.push_back(std::move(message));
    waiting.push_back(std::move(done));
  }

  std::vector<NatsMessage> messages;
  std::vector<Done> waiting;
};

/// Holds a thread until it is opened.
class Gate {
 public:
  void hold() {
    is_reached_ = true;
    is_reached_.notify_all();
    is_open_.wait(false);
  }
  void wait_until_reached() const { is_reached_.wait(false); }
  void open() {
    is_open_ = true;
    is_open_.notify_all();
  }

 private:
  std::atomic<bool> is_reached_ = false;
  std::atomic<bool> is_open_ = false;
};

/// A processor whose store is not read yet.
struct UnreadEngine {
  explicit UnreadEngine(World& world)
      : processor({.engine = {.environment = *environment,
                              .clock = world.clock,
                              .publisher = world.broker,
                              .functions = world.functions,
                              .webhooks = world.receivers,
                              .definitions = definitions,
                              .make_id = [](TimePoint) { return InstanceId(); },
                              .begun_tasks = begun},
                   .intake = intake,
                   .evaluate = nullptr,
                   .metrics = metrics},
                  {}) {}

  Folder folder;
  std::unique_ptr<Environment> environment = Environment::open(folder.path()).value();
  DefinitionCache definitions{load_stored};
  BegunTasks begun;
  Intake intake;
  Metrics metrics;
  Processor processor;
};

class LocalServiceTest : public testing::Test {
 protected:
  static constexpr const char* kWaits = R"(
id: waits
states:
- {id: wait, type: consumeEvent, event: {type: paid}}
)";
  static constexpr const char* kTicks = R"(
id: ticks
start: {type: scheduled, cron: "0 7 * * *"}
states:
- {id: end, type: noop}
)";
  static constexpr const char* kPairs = R"(
id: pairs
start: {type: eventsAnd, correlate: [key], events: [{type: left}, {type: right}]}
states:
- {id: end, type: noop}
)";

  LocalServiceTest() : world(options()) { renew(); }
  ~LocalServiceTest() override {
    service.reset();
    on_read = nullptr;
  }

  WorldOptions options() {
    WorldOptions made;
    made.store.fails_read = [this](Table, std::string_view) { return on_read && on_read(); };
    return made;
  }
  LocalService::Parts parts(Processor& processor) {
    const auto state = [this](const char* part) {
      return [this, part]() -> Status {
        if (failing != part) return {};
        return fail("broker.unreachable", std::string("no ") + part);
      };
    };
    return {.environment = world.environment(),
            .intake = world.intake(),
            .processor = processor,
            .queries = world.queries(),
            .publisher = publisher,
            .metrics = metrics,
            .losses = losses,
            .reads_events = state("reader"),
            .sends_events = state("sender"),
            .runs_tasks = state("tasks"),
            .evaluates = state("workers"),
            .levels = [] { return PartLevels{.consumers = 7, .jq_workers = 3}; },
            .check_programs =
                [this](std::span<const std::string> programs) {
                  checked.insert(checked.end(), programs.begin(), programs.end());
                  return std::vector<std::optional<Error>>(programs.size(), wrong);
                },
            .check_schemas =
                [this](std::span<const std::string> schemas) {
                  checked.insert(checked.end(), schemas.begin(), schemas.end());
                  return std::vector<std::optional<Error>>(schemas.size());
                },
            .dead_letters =
                [this](std::string_view, const std::optional<NamespaceIdentity>& identity, size_t,
                       std::string_view) {
                  asked_for = identity;
                  return letters;
                },
            .info = {{"version", "1"}}};
  }
  void renew() { service = std::make_unique<LocalService>(parts(world.processor())); }
  /// The process dies and another begins, with a store that was changed meanwhile.
  void restart_with(const std::function<void(Transaction& tx)>& change) {
    service.reset();
    world.checks_store = false;
    world.crash();
    world.change_store(change);
    world.recover();
    renew();
  }
  void store_settings(const std::string& text) {
    restart_with([&](Transaction& tx) {
      auto record = read_namespace(tx, "default").value().value();
      record.settings = text;
      write_namespace(tx, "default", record);
    });
  }

  /// Publishes so many events; what is told of it comes into `published`.
  void publish(size_t count, const std::string& ns = "default") {
    std::vector<Event> events;
    for (size_t i = 0; i < count; ++i) {
      events.push_back({.id = std::to_string(i), .source = "/s", .type = "paid"});
    }
    service->publish_events(ns, std::move(events), [this](Result<Accepted> accepted) {
      published.push_back(std::move(accepted));
    });
  }
  std::future<Result<Json>> verify() {
    const auto report = std::make_shared<std::promise<Result<Json>>>();
    service->verify([report](Result<Json> answer) { report->set_value(std::move(answer)); });
    return report->get_future();
  }
  /// A read answers so, and fails where the store cannot be read.
  void expect_answer(const std::function<Result<Json>()>& ask, const Result<Json>& expected) {
    ASSERT_TRUE(expected) << expected.error().message;
    EXPECT_EQ(ask(), expected);
    on_read = [] { return true; };
    EXPECT_EQ(code_of(ask()), "store.io") << *expected;
    on_read = nullptr;
  }
  static std::string code_of(const auto& result) {
    return result ? std::string() : result.error().code;
  }

  std::function<bool()> on_read;  ///< at each read of the store, on its thread; true: it fails
  World world;
  HoldingPublisher publisher;
  Metrics metrics;
  BrokerLosses losses{world.clock, metrics};
  std::string_view failing;  ///< the part that does not work
  std::vector<std::string> checked;
  std::optional<Error> wrong;  ///< with each program
  Result<Json> letters = Json{{"items", Json::array()}};
  std::optional<NamespaceIdentity> asked_for;
  std::vector<Result<Accepted>> published;
  std::unique_ptr<LocalService> service;
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
  world.settle();
  EXPECT_THAT(answers, ElementsAre(HasSubstr("\"created\":true"), "namespace.not_found"));
}

TEST_F(LocalServiceTest, SeesWhatACommandHasDoneOnceItIsOnDisk) {
  service->command(CreateNamespace{.name = "shop"}, [](const Result<Json>&) {});
  EXPECT_THAT(service->namespaces()->at("items"), SizeIs(1));
  world.settle();
  EXPECT_THAT(service->namespaces()->at("items"), SizeIs(2));
}

TEST_F(LocalServiceTest, TellsTheEndOfAnInstance) {
  world.apply(kWaits);
  const InstanceId id = *parse_instance_id(world.start("waits")["id"].get<std::string>());
  std::vector<std::string> ends;
  const auto note = [&](const Status& end) { ends.push_back(end ? "ended" : end.error().code); };
  service->wait_for_end("default", id, seconds(1), note);
  service->wait_for_end("default", id, seconds(9), note);
  service->wait_for_end("default", InstanceId(), seconds(9), note);
  world.settle();
  EXPECT_THAT(ends, ElementsAre("ended"));
  world.run_for(seconds(1));
  EXPECT_THAT(ends, ElementsAre("ended", "wait.timeout"));
  world.publish("paid", "1");
  world.settle();
  EXPECT_THAT(ends, ElementsAre("ended", "wait.timeout", "ended"));
}

// Definitions.

TEST_F(LocalServiceTest, LoadsADefinitionAndHasItsProgramsAndSchemasChecked) {
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

TEST_F(LocalServiceTest, LintsWithTheSettingsOfTheNamespace) {
  /// What lint says of a call that nothing ends.
  const auto said = [&](const std::string& type, const std::string& ns) -> std::string {
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
  EXPECT_EQ(said("namespace", "default"), "warning") << "there are no settings";
  store_settings(R"({"services": {"charge": {"url": "http://charge"}}})");
  EXPECT_EQ(said("namespace", "default"), "nothing");
  EXPECT_EQ(said("namespace", "shop"), "warning") << "its own settings do not name it";
  EXPECT_EQ(said("global", "shop"), "nothing") << "those of the default namespace do";
  EXPECT_EQ(said("namespace", "none"), "warning") << "there is no such namespace";
  EXPECT_EQ(said("namespace", ""), "note") << "it is of no namespace";
  on_read = [] { return true; };
  EXPECT_EQ(said("namespace", "default"), "note") << "they cannot be read";
  on_read = nullptr;
  store_settings("{");
  EXPECT_EQ(said("namespace", "default"), "note") << "they are no JSON";
  store_settings(R"({"later": true})");
  EXPECT_EQ(said("namespace", "shop"), "note") << "those that global services stand in are wrong";
}

// Events.

TEST_F(LocalServiceTest, PublishesEachEventAndAnswersWhenTheBrokerHasThemAll) {
  publish(3);
  ASSERT_THAT(publisher.waiting, SizeIs(3));
  const Event first{.id = "0", .source = "/s", .type = "paid"};
  EXPECT_EQ(publisher.messages[0].subject, event_message("default", first).subject);
  EXPECT_EQ(publisher.messages[0].headers, event_message("default", first).headers);
  publisher.waiting[2](PublishAck{.sequence = 3});
  publisher.waiting[0](PublishAck{.sequence = 1, .duplicate = true});
  EXPECT_THAT(published, IsEmpty());
  publisher.waiting[1](PublishAck{.sequence = 2});
  ASSERT_THAT(published, SizeIs(1));
  ASSERT_TRUE(published[0]);
  EXPECT_EQ(published[0]->accepted, 3U);
  EXPECT_EQ(published[0]->duplicates, 1U);
}

TEST_F(LocalServiceTest, AnswersWithTheFirstErrorOnceAllAreDone) {
  publish(3);
  ASSERT_THAT(publisher.waiting, SizeIs(3));
  publisher.waiting[1](fail("broker.timeout", "first"));
  publisher.waiting[0](fail("broker.refused", "second"));
  EXPECT_THAT(published, IsEmpty());
  publisher.waiting[2](PublishAck{.sequence = 1});
  ASSERT_THAT(published, SizeIs(1));
  EXPECT_EQ(code_of(published[0]), "broker.timeout");
}

TEST_F(LocalServiceTest, PublishesNothingThatIsOfNoUse) {
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

TEST_F(LocalServiceTest, PublishesNothingWhereTheNamespaceCannotBeRead) {
  on_read = [] { return true; };
  publish(1);
  ASSERT_THAT(published, SizeIs(1));
  EXPECT_EQ(code_of(published[0]), "store.io");
  EXPECT_THAT(publisher.messages, IsEmpty());
}

// Reads.

TEST_F(LocalServiceTest, AnswersAsQueriesAboutWorkflows) {
  world.apply(kWaits);
  world.apply(kTicks);
  const Snapshot view = *Snapshot::take(world.environment());
  Queries& queries = world.queries();
  expect_answer([&] { return service->namespaces(); }, queries.namespaces(view));
  expect_answer([&] { return service->workflows("default"); }, queries.workflows(view, "default"));
  expect_answer([&] { return service->workflow("default", "waits"); },
                queries.workflow(view, "default", "waits"));
  expect_answer([&] { return service->revisions("default", "waits"); },
                queries.revisions(view, "default", "waits"));
  expect_answer([&] { return service->schedules("default"); }, queries.schedules(view, "default"));
  expect_answer([&] { return service->schedule("default", "ticks"); },
                queries.schedule(view, "default", "ticks"));
}

TEST_F(LocalServiceTest, AnswersAsQueriesAboutInstances) {
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
  expect_answer([&] { return service->history("default", id); },
                queries.history(view, "default", id));
  expect_answer([&] { return service->listeners("default", 1, ""); },
                queries.listeners(view, "default", 1, ""));
  const std::string cursor = service->listeners("default", 1, "")->at("next");
  expect_answer([&] { return service->listeners("default", 1, cursor); },
                queries.listeners(view, "default", 1, cursor));
}

TEST_F(LocalServiceTest, AnswersAsQueriesAboutWhatIsKept) {
  world.apply(kPairs);
  world.publish("left", "1", nullptr, {{"key", "k1"}});
  world.publish("left", "2", nullptr, {{"key", "k2"}});
  const VariablePlace place{.space = "default"};
  for (const char* const name : {"a", "b"}) {
    world.must(PutVariable{.place = place, .key = name, .value = {.bytes = name}});
    world.must(PutSecret{.space = "default", .name = name, .value = "t"});
  }
  const auto bytes = [](const Result<Variable>& variable) -> Result<Json> {
    return Json(TRY(variable).bytes);
  };
  const Snapshot view = *Snapshot::take(world.environment());
  Queries& queries = world.queries();
  const std::string group = service->groups("default", 1, "")->at("next");
  for (const std::string& cursor : {std::string(), group}) {
    expect_answer([&] { return service->groups("default", 1, cursor); },
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

// Dead letters.

TEST_F(LocalServiceTest, AsksForTheDeadLettersOfTheNamespaceThatHasTheNameNow) {
  letters = Json{{"items", {{{"id", 1}}}}};
  EXPECT_EQ(service->dead_letters("default", 9, ""), letters);
  ASSERT_TRUE(asked_for);
  EXPECT_EQ(asked_for->number, NamespaceNumber(1));
  for (const char* const other : {"none", "no identifier"}) {
    EXPECT_EQ(service->dead_letters(other, 9, ""), letters) << "an event was sent to that name";
    EXPECT_FALSE(asked_for) << other;
  }
}

TEST_F(LocalServiceTest, SaysThatANamespaceWithoutDeadLettersIsNotThere) {
  EXPECT_EQ(service->dead_letters("default", 9, ""), letters);
  EXPECT_EQ(code_of(service->dead_letters("none", 9, "")), "namespace.not_found");
  EXPECT_EQ(service->dead_letters("none", 9, "17"), letters) << "there were some on the first page";
}

TEST_F(LocalServiceTest, HandsOnWhyDeadLettersCannotBeRead) {
  letters = fail("broker.unreachable", "no connection");
  EXPECT_EQ(code_of(service->dead_letters("none", 9, "")), "broker.unreachable");
  on_read = [] { return true; };
  EXPECT_EQ(code_of(service->dead_letters("default", 9, "")), "store.io");
}

// The check of the store.

TEST_F(LocalServiceTest, ChecksTheStoreAsTheLastCommitHasIt) {
  world.apply(kWaits);
  world.start("waits");
  const Result<Json> report = verify().get();
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_EQ(report->at("sound"), true);
  EXPECT_GT(report->at("rows").at("live"), 0);
}

TEST_F(LocalServiceTest, ReportsWhatDoesNotFitInTheStore) {
  restart_with([](Transaction& tx) { tx.put(Table::kVariables, "damaged", "damaged"); });
  const Result<Json> report = verify().get();
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_EQ(report->at("sound"), false);
  EXPECT_EQ(report->at("items")[0]["table"], "variables");
}

TEST_F(LocalServiceTest, ReportsAStoreThatCannotBeRead) {
  on_read = [] { return true; };
  const Result<Json> report = verify().get();
  on_read = nullptr;
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_TRUE(report->at("codes").contains("store.damaged")) << *report;
}

TEST_F(LocalServiceTest, ReadsNoRowWhereAPageIsDamaged) {
  world.stored_bytes();  // all rows are in the file now
  world.checks_store = false;
  const auto path = world.environment().folder() / "data.mdb";
  std::ifstream in(path, std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(in), {}};
  std::fstream file(path, std::ios::binary | std::ios::in | std::ios::out);
  constexpr size_t kPage = 4'096;
  for (uint64_t page = 2; (page + 1) * kPage <= bytes.size(); ++page) {
    uint64_t number = 0;  // a page that was ever written begins with its number
    std::memcpy(&number, bytes.data() + page * kPage, sizeof number);
    if (number == page) file.seekp(static_cast<std::streamoff>(page * kPage)).put('\x7f');
  }
  file.close();
  bool has_read = false;
  on_read = [&] { return has_read = true; };
  const Result<Json> report = verify().get();
  on_read = nullptr;
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_EQ(report->at("sound"), false);
  EXPECT_GT(report->at("codes").at("store.damaged"), 0);
  EXPECT_FALSE(has_read);
}

TEST_F(LocalServiceTest, ChecksTheStoreOnceAtATime) {
  Gate gate;
  on_read = [&] {
    gate.hold();
    return false;
  };
  auto first = verify();
  gate.wait_until_reached();
  EXPECT_EQ(code_of(verify().get()), "busy");
  gate.open();
  EXPECT_TRUE(first.get());
  EXPECT_TRUE(verify().get()) << "it may be asked again";
}

/// Waits until that thread of this process sleeps, or has ended.
void wait_until_asleep(pid_t thread) {
  const std::string path = fmt::format("/proc/self/task/{}/stat", thread);
  while (true) {
    std::ifstream file(path);
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    const size_t name_end = text.rfind(") ");
    if (name_end == std::string::npos || text[name_end + 2] == 'S') return;
    std::this_thread::yield();
  }
}

TEST_F(LocalServiceTest, StopsACheckOfTheStoreAtItsEnd) {
  constexpr int kMoreThanOneStep = 5'000;  // rows, of which the check is asked to go on
  restart_with([](Transaction& tx) {
    const VariableOwner owner{.scope = VariableScope::kNamespace, .space = NamespaceNumber(1)};
    for (int i = 0; i < kMoreThanOneStep; ++i)
      write_variable(tx, {owner, fmt::format("k{}", i)}, {});
  });
  Gate gate;
  on_read = [&] {
    gate.hold();
    return false;
  };
  auto report = verify();
  gate.wait_until_reached();
  std::atomic<pid_t> ending = 0;
  std::thread end([&] {
    ending = ::gettid();
    ending.notify_all();
    service.reset();
  });
  ending.wait(0);
  wait_until_asleep(ending);  // for the check
  EXPECT_NE(report.wait_for(seconds(0)), std::future_status::ready);
  gate.open();
  end.join();
  EXPECT_EQ(report.wait_for(seconds(0)), std::future_status::ready);
  EXPECT_EQ(code_of(report.get()), "stopping");
}

// How it stands.

TEST_F(LocalServiceTest, IsReadyWhereEachPartIs) {
  world.settle();
  EXPECT_TRUE(service->ready());
  for (const char* const part : {"reader", "sender", "tasks", "workers"}) {
    failing = part;
    const Status ready = service->ready();
    ASSERT_FALSE(ready) << part;
    EXPECT_EQ(ready.error().message, std::string("no ") + part);
  }
}

TEST_F(LocalServiceTest, IsNotReadyWhileTheEngineIsNot) {
  world.settle();
  world.intake().set_refusal(Error{"store.full", "the disk is full"});
  EXPECT_EQ(code_of(service->ready()), "store.full");
  world.intake().set_refusal(std::nullopt);
  EXPECT_TRUE(service->ready());
}

TEST_F(LocalServiceTest, IsNotReadyBeforeTheStoreIsRead) {
  UnreadEngine unread(world);
  LocalService starting(parts(unread.processor));
  failing = "reader";
  EXPECT_EQ(code_of(starting.ready()), "starting") << "whatever else is missing";
}

TEST_F(LocalServiceTest, TellsWhatItWasGivenAndHowTheBrokerStands) {
  EXPECT_EQ(service->info(),
            (Json{{"version", "1"}, {"broker", {{"reading", true}, {"losses", Json::array()}}}}));
  losses.add({.kind = BrokerLoss::Kind::kDropped, .first = 3, .last = 8});
  failing = "reader";
  const Json broker = service->info()["broker"];
  EXPECT_EQ(broker["reading"], false);
  EXPECT_EQ(broker["waitingFor"], "no reader");
  EXPECT_EQ(broker["losses"], losses.list());
}

TEST_F(LocalServiceTest, TellsWhichSettingsCannotBeReadAndWhichRowsAreDamaged) {
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

TEST_F(LocalServiceTest, TellsTheRestWhereTheStoreCannotBeRead) {
  const Json whole = service->info();
  on_read = [] { return true; };
  EXPECT_EQ(service->info(), whole);
}

TEST_F(LocalServiceTest, SetsTheLevelsOfThePartsWhenMetricsAreAsked) {
  const std::string text = service->metrics();
  for (const char* const line : {"\nmillrace_event_consumers_total 7\n",
                                 "\nmillrace_jq_workers 3\n", "\nmillrace_reads_events 1\n",
                                 "\nmillrace_sends_events 1\n", "\nmillrace_runs_tasks 1\n"}) {
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
