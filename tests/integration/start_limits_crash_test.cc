// The process dies when it passes a crash point (os/crash_point.h) while the limits of a workflow
// put off, queue, replace or refuse starts, and while calls wait for the limits of their service.
// After the restart each start has happened once, none is forgotten, and never are more active at
// once, or started in a time, than the limit permits. Only lower bounds of times are compared, so a
// slow machine changes nothing. MILLRACE_HITS=3 lets the process also die at later passings.
#include <algorithm>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "base/check.h"
#include "tests/integration/environment_number.h"
#include "tests/support/campaign.h"
#include "tests/support/millrace_server.h"
#include "tests/unit/broker/task_world.h"

namespace millrace {
namespace {

using testing::Each;
using testing::ElementsAre;
using testing::SizeIs;

constexpr int kKilledAtALimit = 128 + SIGKILL;
/// The period of the limits that have one. A test lasts a few of them.
constexpr Duration kLimitPeriod{300};

/// A crash point, and the passings at which the process dies. The first one is passed in any case.
struct PassedPoint {
  std::string name;
  std::vector<int> hits;
};

/// The instance of a start, with the times that its history has.
struct LimitedInstance {
  Json whole;
  TimePoint began;  ///< when its limits permitted it
  TimePoint ended;

  std::string key() const { return whole.at("input").at("begin").at("key"); }
  std::string status() const { return whole.at("status"); }
};

/// Holds the tasks of the service `bank`, and answers one of them at a time with its input.
class HoldingWorker {
 public:
  explicit HoldingWorker(const NatsServer& nats) : worker_(nats, "millrace.tasks.default.bank") {}

  /// Takes all tasks that are in the stream now, and answers the one with the lowest action id.
  void work() {
    worker_.ask(R"({"batch":8,"no_wait":true})");
    while (const auto task = worker_.client->next(Duration(1))) {
      if (task->reply.empty()) continue;  // a status message: the pull request has ended
      const std::string id = Worker::header(*task, "Direktiv-ActionID");
      ids_[task->data].insert(id);
      if (answered_.contains(id)) {
        worker_.answer(*task, task->data);  // the crash came before the first answer was stored
      } else {
        held_[id] = *task;
      }
    }
    most_held_ = std::max(most_held_, held_.size());
    if (held_.empty()) return;
    const auto first = held_.begin();
    worker_.answer(first->second, first->second.data);
    answered_.insert(first->first);
    held_.erase(first);
  }

  /// The action ids of the tasks, by input.
  const std::map<std::string, std::set<std::string>>& ids() const { return ids_; }
  /// How many tasks were handed out at once and not answered.
  size_t most_held() const { return most_held_; }

 private:
  Worker worker_;
  std::map<std::string, std::set<std::string>> ids_;
  std::map<std::string, RawNatsClient::Message> held_;  ///< by action id
  std::set<std::string> answered_;
  size_t most_held_ = 0;
};

/// Runs the program, which dies once, and starts it again.
class LimitedRun {
 public:
  LimitedRun(const NatsServer& nats, RawNatsClient& client, const std::filesystem::path& prepared,
             const std::string& crash)
      : client_(client), worker_(nats), server_(nats.url(), {}, MILLRACE_FAULTS_PROGRAM) {
    delete_streams(client_);
    std::filesystem::copy(prepared, server_.data());
    server_.launch({{"MILLRACE_CRASH", crash}, {"MILLRACE_CHECKPOINT_BYTES", "1"}});
    until("/readyz answers 200", [&] { return server_.ask("GET", "/readyz").status == 200; });
  }

  /// Publishes events that start instances, with the keys e1, e2 and so on.
  void publish_starts(int count) {
    for (int i = 1; i <= count; ++i) publish("begin", fmt::format("e{}", i));
  }

  void publish(const std::string& type, const std::string& key) {
    published_[key] = std::chrono::floor<Duration>(std::chrono::system_clock::now());
    const Json ack = client_.publish_acked(
        "millrace.events.default." + type, "",
        fmt::format(R"({{"specversion":"1.0","id":"{0}-{1}","source":"/limits","type":"{0}",)"
                    R"("data":{{"key":"{1}"}}}})",
                    type, key));
    CHECK(ack.contains("seq"), "{}", ack.dump());
  }
  /// When the event with that key was published, or earlier.
  TimePoint published(const std::string& key) const { return published_.at(key); }

  /// How many instances of the workflow have these statuses, separated by commas.
  size_t count(const std::string& workflow, const std::string& statuses) {
    return list(fmt::format("instances?workflow={}&status={}", workflow, statuses)).size();
  }

  /// Waits until at least so many instances have started and all have ended. Returns them.
  std::vector<LimitedInstance> ended(size_t least) {
    std::vector<Json> items;
    until("all instances have ended", [&] {
      const HttpReply reply = server_.ask("GET", "instances?workflow=work");
      if (reply.status != 200) return false;
      items = reply.json().at("items").get<std::vector<Json>>();
      return items.size() >= least && std::all_of(items.begin(), items.end(), [](const Json& one) {
               return one.at("status") == "complete" || one.at("status") == "cancelled";
             });
    });
    std::vector<LimitedInstance> all;
    for (const Json& item : items) all.push_back(read(item.at("id")));
    return all;
  }

  template <class Condition>
  void until(std::string_view what, const Condition& condition) {
    const bool came = eventually([&] {
      restart_after_a_death();
      worker_.work();
      return condition();
    });
    CHECK(came, "not true in time: {}\n{}", what, server_.process().errors());
  }

  const HoldingWorker& worker() const { return worker_; }

  /// Waits until the process has died at its point. The checkpoints are made by a thread of their
  /// own, so they may come after all else.
  void await_death() {
    until("the point is passed", [&] { return !deaths_.empty(); });
  }

  /// Ends the run: the store is checked. Returns the exit codes of the processes that died before.
  std::vector<int> finish() {
    server_.kill();
    return deaths_;
  }

 private:
  LimitedInstance read(const std::string& id) {
    LimitedInstance one{.whole = body("instances/" + id), .began = {}, .ended = {}};
    size_t starts = 0;
    size_t ends = 0;
    for (const Json& record : list("instances/" + id + "/history")) {
      const std::string kind = record.at("kind");
      const TimePoint time = parse_rfc3339(record.at("time").get<std::string>()).value();
      if (kind == "started") ++starts;
      if (kind == "started" || kind == "admitted" || kind == "released") one.began = time;
      if (kind != "ended") continue;
      ++ends;
      one.ended = time;
    }
    EXPECT_EQ(starts, 1U) << id;
    EXPECT_EQ(ends, 1U) << id;
    return one;
  }

  Json body(const std::string& path) {
    HttpReply reply;
    until(path, [&] { return (reply = server_.ask("GET", path)).status == 200; });
    return reply.json();
  }
  std::vector<Json> list(const std::string& path) {
    return body(path).at("items").get<std::vector<Json>>();
  }

  void restart_after_a_death() {
    if (server_.is_running() && listens_) return;
    if (!server_.is_running()) {
      deaths_.push_back(server_.end().code);
      server_.launch();
    }
    listens_ = server_.listens();
  }

  RawNatsClient& client_;
  HoldingWorker worker_;
  MillraceServer server_;
  bool listens_ = false;
  std::vector<int> deaths_;
  std::map<std::string, TimePoint> published_;  ///< by key
};

std::vector<std::string> keys_of(const std::vector<LimitedInstance>& all) {
  std::vector<std::string> keys;
  for (const LimitedInstance& one : all) keys.push_back(one.key());
  std::sort(keys.begin(), keys.end());
  return keys;
}

/// Expects that at no time more than `limit` of the instances had started and not ended.
void expect_active_at_most(const std::vector<LimitedInstance>& all, int limit) {
  for (const LimitedInstance& one : all) {
    const auto active = std::count_if(all.begin(), all.end(), [&](const LimitedInstance& other) {
      return other.began <= one.began && one.began < other.ended;
    });
    EXPECT_LE(active, limit) << "when " << one.key() << " began";
  }
}

/// Expects that in no time of kLimitPeriod more than `limit` of the instances began.
void expect_started_at_most(const std::vector<LimitedInstance>& all, size_t limit) {
  std::vector<TimePoint> times;
  for (const LimitedInstance& one : all) times.push_back(one.began);
  std::sort(times.begin(), times.end());
  for (size_t i = limit; i < times.size(); ++i)
    EXPECT_GE(times[i] - times[i - limit], kLimitPeriod);
}

class StartLimitCrash : public testing::Test {
 protected:
  /// Makes a data folder with the workflows, lets the process die at each point, and calls `play`
  /// for each run.
  void die_at_each_point(const std::string& name, const std::vector<std::string>& definitions,
                         const std::vector<PassedPoint>& points,
                         const std::function<void(LimitedRun&)>& play) {
    prepare(definitions);
    Campaign campaign("crash points: limits, " + name,
                      "each start once, none forgotten, never more than the limit");
    const auto more = static_cast<int>(number_from("MILLRACE_HITS", 1));
    for (const PassedPoint& one : points) {
      for (const int first : one.hits) {
        for (int hit = first; hit < first + more; ++hit) {
          const std::string crash = fmt::format("{}:{}", one.name, hit);
          campaign.run(crash, [&] {
            LimitedRun run(nats_, *client_, folder_.path() / "prepared", crash);
            play(run);
            if (hit == one.hits.front()) run.await_death();
            const std::vector<int> deaths = run.finish();
            EXPECT_LE(deaths.size(), 1U);
            EXPECT_THAT(deaths, Each(kKilledAtALimit));
          });
        }
      }
    }
  }

 private:
  void prepare(const std::vector<std::string>& definitions) {
    MillraceServer server("nats://127.0.0.1:1");  // no server listens there
    server.start();
    for (const std::string& definition : definitions) server.apply(definition);
    server.stop();
    std::filesystem::copy(server.data(), folder_.path() / "prepared");
  }

  NatsServer nats_;
  std::unique_ptr<RawNatsClient> client_ = nats_.client();
  Folder folder_;
};

/// A workflow `work` with that limit; the event `begin` starts it.
std::string limited(const std::string& limit, const std::string& states) {
  return fmt::format("id: work\n{}\nstart: {{type: event, event: {{type: begin}}}}\nstates:\n{}",
                     limit, states);
}
constexpr const char* kOnlyNoop = "- {id: a, type: noop}\n";

TEST_F(StartLimitCrash, GivesEachQueuedStartASlotOnce) {
  die_at_each_point(
      "queued starts",
      {limited("concurrency: {limit: 2}", "- {id: a, type: delay, duration: PT0.1S}\n")},
      {{"event-applied", {3}},
       {"timer-applied", {1, 3}},
       {"finished", {2}},
       {"written", {2, 3}},
       {"committed", {2, 3}},
       {"checkpoint-step", {1}}},
      [](LimitedRun& run) {
        run.publish_starts(6);
        const auto all = run.ended(6);
        EXPECT_THAT(keys_of(all), ElementsAre("e1", "e2", "e3", "e4", "e5", "e6"));
        for (const LimitedInstance& one : all) EXPECT_EQ(one.status(), "complete") << one.key();
        expect_active_at_most(all, 2);
      });
}

TEST_F(StartLimitCrash, ReplacesEachOlderInstanceOnce) {
  die_at_each_point("replaced instances",
                    {limited("concurrency: {limit: 1, onLimit: replace}",
                             "- {id: a, type: consumeEvent, event: {type: go}}\n")},
                    {{"event-applied", {2, 4, 5}},
                     {"finished", {2}},
                     {"written", {1, 2}},
                     {"committed", {1, 2}},
                     {"checkpoint-step", {1}}},
                    [](LimitedRun& run) {
                      run.publish_starts(4);
                      run.until("the last one is left", [&] {
                        return run.count("work", "cancelled") == 3 &&
                               run.count("work", "waiting") == 1;
                      });
                      run.publish("go", "go");
                      const auto all = run.ended(4);
                      EXPECT_THAT(keys_of(all), ElementsAre("e1", "e2", "e3", "e4"));
                      for (const LimitedInstance& one : all) {
                        const bool is_last = one.key() == "e4";
                        EXPECT_EQ(one.status(), is_last ? "complete" : "cancelled") << one.key();
                        EXPECT_EQ(one.whole.value(Json::json_pointer("/error/code"), ""),
                                  is_last ? "" : "millrace.concurrency.replaced")
                            << one.key();
                      }
                      expect_active_at_most(all, 1);
                    });
}

TEST_F(StartLimitCrash, LetsEachThrottledStartBeginOnce) {
  die_at_each_point("throttled starts",
                    {limited("throttle: {limit: 2, period: PT0.3S}", kOnlyNoop)},
                    {{"event-applied", {1, 4}},
                     {"finished", {2, 3}},
                     {"written", {2, 3}},
                     {"committed", {2, 3}},
                     {"checkpoint-step", {1}}},
                    [](LimitedRun& run) {
                      run.publish_starts(5);
                      const auto all = run.ended(5);
                      EXPECT_THAT(keys_of(all), ElementsAre("e1", "e2", "e3", "e4", "e5"));
                      expect_started_at_most(all, 2);
                    });
}

TEST_F(StartLimitCrash, CountsEachStartOfARateLimitOnce) {
  die_at_each_point("rate limit",
                    {limited("rateLimit: {limit: 2, period: PT1H}", kOnlyNoop),
                     "id: last\nstart: {type: event, event: {type: last}}\nstates:\n"
                     "- {id: a, type: noop}\n"},
                    {{"event-applied", {1, 2, 3, 6}},
                     {"finished", {1, 2}},
                     {"written", {1, 2}},
                     {"committed", {1, 2}},
                     {"checkpoint-step", {1}}},
                    [](LimitedRun& run) {
                      run.publish_starts(5);
                      run.publish("last", "last");
                      run.until("all events are applied",
                                [&] { return run.count("last", "complete") == 1; });
                      EXPECT_THAT(keys_of(run.ended(2)), ElementsAre("e1", "e2"));
                    });
}

TEST_F(StartLimitCrash, StartsOnceWithTheNewestDebouncedInput) {
  die_at_each_point(
      "debounced starts", {limited("debounce: {period: PT0.3S}", kOnlyNoop)},
      {{"event-applied", {1, 3}},
       {"finished", {2}},
       {"written", {2, 3}},
       {"committed", {1, 2}},
       {"checkpoint-step", {1}}},
      [](LimitedRun& run) {
        run.publish_starts(4);
        std::vector<LimitedInstance> all;
        run.until("the newest input has started", [&] {
          all = run.ended(1);
          return std::any_of(all.begin(), all.end(),
                             [](const LimitedInstance& one) { return one.key() == "e4"; });
        });
        const std::vector<std::string> keys = keys_of(all);
        EXPECT_THAT(std::set<std::string>(keys.begin(), keys.end()), SizeIs(keys.size()))
            << "an input has started twice";
        for (const LimitedInstance& one : all) {
          EXPECT_GE(one.began - run.published(one.key()), kLimitPeriod) << one.key();
        }
      });
}

TEST_F(StartLimitCrash, StartsOnceWithEachInputOfABatch) {
  constexpr size_t kInputs = 7;
  die_at_each_point("batched starts", {limited("batch: {maxSize: 3, timeout: PT0.3S}", kOnlyNoop)},
                    {{"event-applied", {1, 3, 6}},
                     {"finished", {2}},
                     {"written", {2, 3}},
                     {"committed", {1, 2}},
                     {"checkpoint-step", {1}}},
                    [](LimitedRun& run) {
                      run.publish_starts(kInputs);
                      std::vector<std::string> keys;
                      run.until("all inputs have started", [&] {
                        keys.clear();
                        for (const LimitedInstance& one : run.ended(1)) {
                          const Json& events = one.whole.at("input").at("events");
                          EXPECT_LE(events.size(), 3U);
                          for (const Json& event : events) {
                            keys.push_back(event.at("begin").at("key"));
                          }
                        }
                        return keys.size() >= kInputs;
                      });
                      std::sort(keys.begin(), keys.end());
                      EXPECT_THAT(keys, ElementsAre("e1", "e2", "e3", "e4", "e5", "e6", "e7"));
                    });
}

/// A workflow whose only state calls the service `bank`, with that limit of its calls.
std::string calls_with(const std::string& limit) {
  return fmt::format("functions: [{{id: f, type: service, service: bank, {}}}]\n", limit) +
         limited("name: calls",
                 "- {id: a, type: action, action: {function: f, input: "
                 "jq(.begin.key)}}\n");
}

const std::vector<PassedPoint> kPointsOfCalls = {
    {"handing-out", {1, 3}},  {"task-sent", {2}},      {"reported", {2}},
    {"report-stored", {2}},   {"result-applied", {1}}, {"written", {2, 4}},
    {"committed", {2, 3, 4}}, {"checkpoint-step", {1}}};

/// Expects one task of each of five calls.
void expect_each_called_once(const LimitedRun& run) {
  EXPECT_THAT(run.worker().ids(), SizeIs(5));
  for (const auto& [input, ids] : run.worker().ids()) EXPECT_THAT(ids, SizeIs(1)) << input;
}

TEST_F(StartLimitCrash, HandsOutEachCallThatWaitsForASlotOnce) {
  die_at_each_point("slots of calls", {calls_with("concurrency: {limit: 2}")}, kPointsOfCalls,
                    [](LimitedRun& run) {
                      run.publish_starts(5);
                      EXPECT_THAT(run.ended(5), SizeIs(5));
                      expect_each_called_once(run);
                      EXPECT_LE(run.worker().most_held(), 2U);
                    });
}

TEST_F(StartLimitCrash, HandsOutEachThrottledCallOnceAndNoneEarly) {
  die_at_each_point("throttled calls", {calls_with("throttle: {limit: 2, period: PT0.3S}")},
                    kPointsOfCalls, [](LimitedRun& run) {
                      run.publish_starts(5);
                      const auto all = run.ended(5);
                      EXPECT_THAT(all, SizeIs(5));
                      expect_each_called_once(run);
                      TimePoint last{};
                      for (const LimitedInstance& one : all) last = std::max(last, one.ended);
                      EXPECT_GE(last - run.published("e1"), 2 * kLimitPeriod)
                          << "the fifth call is two periods after the first";
                    });
}

}  // namespace
}  // namespace millrace
