// What asks for attention and needs the engine thread or the broker: waits in a namespace with more
// instances than one look reads, and services whose tasks no worker takes.
#include "orchestrator/service/attention.h"

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "orchestrator/memory/dedupe.h"
#include "orchestrator/memory/kept_events.h"
#include "orchestrator/memory/wait_index.h"
#include "orchestrator/store/rows/task_rows.h"
#include "tests/unit/service/definitions.h"
#include "tests/unit/service/query_fixture.h"

namespace millrace {
namespace {

using std::chrono::hours;
using std::chrono::seconds;
using testing::ElementsAre;
using testing::IsEmpty;

TEST(Attention, HasTwentyItemsOfEachKind) {
  Json answer{{"asOf", "now"}};
  Attention attention(answer);
  EXPECT_EQ(answer, Json::parse(R"({"asOf": "now", "attention": [], "cut": []})"));
  for (size_t i = 0; i < kMostOfAKind; ++i) attention.add({{"kind", "failed"}, {"count", i}});
  EXPECT_THAT(answer["cut"], IsEmpty());
  attention.add({{"kind", "failed"}, {"count", 99}});
  attention.add({{"kind", "failed"}, {"count", 99}});
  attention.add({{"kind", "settings"}});
  EXPECT_EQ(answer["attention"].size(), kMostOfAKind + 1);
  EXPECT_EQ(answer["attention"].back(), (Json{{"kind", "settings"}}));
  EXPECT_EQ(answer["cut"], Json::parse(R"([{"kind": "failed"}])"));
}

class AttentionTest : public QueryTest {
 protected:
  AttentionTest() : waits(apply(kWaits)) {
    clock.jump(now - clock.now());
    std::vector<TimerInput> due;
    index.advance(now, due);
  }

  /// Stores an instance, and adds its timers to the wheel, as the engine does.
  void add(uint8_t number, std::vector<Timer> timers, const std::vector<Call>& calls = {}) {
    Instance instance = waiting_instance(waits, number);
    instance.timers = std::move(timers);
    instance.calls = calls;
    store(instance);
    EXPECT_TRUE(index.update("default", instance));
  }
  /// Adds 30 instances with timers that are far away.
  void add_far() {
    for (uint8_t number = 1; number <= 30; ++number) {
      add(number, {{TimerKind::kStateTimeout, now + hours(number)}});
    }
  }
  /// A task of a service; `age`: how long ago it was made.
  StartTask task(uint8_t number, NamedService service, seconds age = hours(1)) const {
    return {.ns = ns,
            .task = make_instance_id(now - age, {0, 0, 0, 0, 0, 0, 0, 0, 0, number}),
            .by = numbered_id(200),
            .workflow = WorkflowNumber(1),
            .state = "pay",
            .function = "call",
            .runs = std::move(service),
            .input = Json{{"sum", number}}};
  }

  Json shown(size_t rows = 10'000) {
    DefinitionCache loaded(load_stored);
    Queries queries(loaded, started, clock);
    Json overview = Json::object();
    CountRequests count = nullptr;
    if (asks_broker) {
      count = [this](const std::string& subject, Duration) -> Result<uint64_t> {
        asked.push_back(subject);
        const auto found = requests.find(subject);
        if (found == requests.end()) return fail("broker.timeout", "no answer");
        return found->second;
      };
    }
    add_attention({.environment = *environment,
                   .clock = clock,
                   .queries = queries,
                   .ask = [this](const auto& question) -> Status {
                     if (is_busy) return fail("busy", "no answer");
                     question(EngineMemory{index, dedupe, kept_events});
                     return {};
                   },
                   .count_requests = std::move(count),
                   .rows = rows},
                  "default", overview);
    return overview;
  }
  /// The instances or services of the items, after their kinds.
  static std::vector<std::string> names(const Json& overview) {
    std::vector<std::string> found;
    for (const Json& item : overview["attention"]) {
      const std::string kind = item["kind"];
      const std::string name = item.contains("service") ? item["service"] : item["instance"];
      found.push_back(kind + " " + name.substr(name.size() - 2));
    }
    return found;
  }
  static std::vector<std::string> cut_kinds(const Json& overview) {
    std::vector<std::string> found;
    for (const Json& one : overview["cut"]) found.push_back(one["kind"]);
    return found;
  }

  const WorkflowNumber waits;
  WaitIndex index{batches};
  Dedupe dedupe{{}, batches};
  KeptEvents kept_events{damages, batches};
  bool is_busy = false;
  bool asks_broker = true;
  std::map<std::string, uint64_t> requests;  ///< the broker's answers; missing: an error
  std::vector<std::string> asked;
};

TEST_F(AttentionTest, HasTheWaitsOfANamespaceWithManyInstances) {
  add_far();
  add(0x40, {{TimerKind::kStateTimeout, now + seconds(9)}});
  add(0x41, {{TimerKind::kRetry, now + seconds(8)}});
  add(0x42, {{TimerKind::kCalls, now + seconds(1)}}, {Call{.status = Call::Status::kRunning}});
  add(0x43, {{TimerKind::kCalls, now + seconds(2)}},
      {Call{.status = Call::Status::kBetween, .attempt = 1, .retry_at = now + seconds(5)}});
  const auto waiting = ElementsAre("retrying 43", "retrying 41", "deadline 40");
  EXPECT_THAT(names(shown()), waiting) << "their heads are read";
  EXPECT_THAT(cut_kinds(shown()), IsEmpty());
  const Json cut = shown(10);
  EXPECT_THAT(names(cut), waiting) << "the timers of the wheel are asked";
  EXPECT_THAT(cut_kinds(cut), ElementsAre("retrying"))
      << "not all timers were looked at, but those of the next five minutes";
  const auto until = parse_rfc3339(cut["cut"][0]["exactUntil"].get<std::string>());
  ASSERT_TRUE(until);
  EXPECT_GT(*until, now + std::chrono::minutes(5));
}

TEST_F(AttentionTest, SaysWhatMayBeMissingIfTheEngineThreadDoesNotAnswer) {
  add_far();
  is_busy = true;
  const Json busy = shown(10);
  EXPECT_THAT(cut_kinds(busy), ElementsAre("retrying", "deadline"));
  EXPECT_EQ(busy["cut"][0]["exactUntil"], format_rfc3339(now));
}

TEST_F(AttentionTest, HasTheServicesWhoseTasksNoWorkerTakes) {
  set_settings(Json::parse(R"({
    "services": {"web": {"url": "http://web"},
                 "s-busy": {"queue": "millrace.tasks.q.busy"},
                 "s-free": {"queue": "millrace.tasks.q.free"},
                 "s-held": {"queue": "millrace.tasks.q.held"},
                 "s-idle": {"queue": "millrace.tasks.q.idle"},
                 "s-new": {"queue": "millrace.tasks.q.new"},
                 "s-none": {"queue": "millrace.tasks.q.none"}},
    "paused": ["s-held"]})"));
  write_task(*tx, task(1, {.name = "web"}));
  write_task(*tx, task(2, {.name = "s-busy"}));
  write_task(*tx, task(3, {.name = "s-busy"}));
  write_task(*tx, task(4, {.name = "s-free"}));
  write_task(*tx, task(5, {.name = "s-held"}));
  write_task(*tx, task(6, {.name = "s-new"}, seconds(9)));
  write_task(*tx, task(7, {.name = "s-none"}, seconds(10)));
  write_task(*tx, task(8, {.name = "s-none"}, seconds(1)));
  commit();
  started.add(task(2, {}).task);
  requests = {
      {"millrace.tasks.q.busy", 0}, {"millrace.tasks.q.free", 2}, {"millrace.tasks.q.none", 0}};
  const Json all = shown();
  const auto item = [&](const char* service, int count, int running, seconds age) {
    return Json{{"kind", "noWorkers"},
                {"service", service},
                {"count", count},
                {"running", running},
                {"since", format_rfc3339(now - age)}};
  };
  EXPECT_EQ(all["attention"],
            Json::array({item("s-busy", 1, 1, hours(1)), item("s-none", 2, 0, seconds(10))}));
  EXPECT_THAT(all["cut"], IsEmpty());
  EXPECT_THAT(
      asked, ElementsAre("millrace.tasks.q.busy", "millrace.tasks.q.free", "millrace.tasks.q.none"))
      << "the broker is asked only about queues in which tasks wait for long";
}

TEST_F(AttentionTest, SaysThatTheBrokerHasNotAnswered) {
  write_task(*tx, task(1, {.name = "aa"}));
  write_task(*tx, task(2, {.name = "bb"}));
  commit();
  requests = {{"millrace.tasks.default.aa", 0}};
  const Json half = shown();
  EXPECT_THAT(names(half), ElementsAre("noWorkers aa"));
  EXPECT_THAT(cut_kinds(half), ElementsAre("noWorkers"));
  EXPECT_TRUE(half["cut"][0].contains("detail"));
  asks_broker = false;
  EXPECT_THAT(cut_kinds(shown()), ElementsAre("noWorkers"));
  EXPECT_THAT(names(shown()), IsEmpty());
}

TEST_F(AttentionTest, SaysThatNotAllTasksWereLookedAt) {
  write_task(*tx, task(1, {.name = "aa"}));
  write_task(*tx, task(2, {.name = "bb"}));
  commit();
  requests = {{"millrace.tasks.default.aa", 1}};
  clock.let_looks_take(kAttentionTime);
  EXPECT_THAT(cut_kinds(shown()), ElementsAre("noWorkers"));
}

TEST_F(AttentionTest, HasTheWaitsEvenIfTheSettingsCannotBeRead) {
  add(0x41, {{TimerKind::kRetry, now + seconds(8)}});
  damage_settings();
  const Json all = shown();
  EXPECT_THAT(names(all), ElementsAre("retrying 41"));
  EXPECT_THAT(cut_kinds(all), ElementsAre("noWorkers"));
}

TEST_F(AttentionTest, IsCutIfTheNamespaceIsGone) {
  DefinitionCache loaded(load_stored);
  Queries queries(loaded, started, clock);
  Json overview = Json::object();
  add_attention({.environment = *environment,
                 .clock = clock,
                 .queries = queries,
                 .ask = [](const auto&) -> Status { return fail("busy", "no answer"); },
                 .count_requests = nullptr},
                "none", overview);
  EXPECT_THAT(cut_kinds(overview), ElementsAre("retrying", "deadline", "noWorkers"));
}

TEST(IdleSources, AskForAttentionIfTheyArePausedOrWait) {
  Json overview = Json::object();
  add_idle_sources(Json::parse(R"({"items": [
    {"name": "a", "paused": false},
    {"name": "b", "paused": true},
    {"name": "c", "paused": false, "waits": {"code": "source.no_stream", "msg": "no stream"}}]})"),
                   overview);
  EXPECT_EQ(overview["attention"], Json::parse(R"([
    {"kind": "pausedSource", "source": "b"},
    {"kind": "sourceWaits", "source": "c", "detail": "no stream"}])"));
  EXPECT_EQ(overview["cut"], Json::array());
  add_idle_sources(fail("store.read", "a broken disk"), overview);
  EXPECT_EQ(overview["cut"], Json::parse(R"([
    {"kind": "pausedSource", "detail": "a broken disk"},
    {"kind": "sourceWaits", "detail": "a broken disk"}])"));
}

}  // namespace
}  // namespace millrace
