// Random work under random faults, then peace, then the question whether all of it came out right.
// One seed decides everything: MILLRACE_SEED=… repeats one that was printed, MILLRACE_SEEDS=… runs
// so many, MILLRACE_STEPS=… makes them longer.
#include <algorithm>
#include <array>
#include <cstdlib>
#include <map>
#include <random>
#include <set>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cloudevents/headers.h"
#include "orchestrator/outgoing/messages.h"
#include "tests/simulation/world.h"
#include "tests/support/campaign.h"

namespace millrace {
namespace {

using std::chrono::hours;
using std::chrono::seconds;

/// Waits for the payment of its own order, and tells of it in three events, one of them before.
constexpr const char* kOrder = R"(
id: order
start: {type: event, event: {type: order.placed}}
states:
- id: accept
  type: generateEvent
  event: {type: order.accepted, source: /order, data: 'jq({order: .["order.placed"].order})'}
  transition: wait
- id: wait
  type: consumeEvent
  timeout: PT20S
  event: {type: paid, context: {order: 'jq(.["order.placed"].order)'}}
  catch:
  - {error: direktiv.stateTimeout, transition: give-up}
  transform: jq(think)
  transition: settle
- id: settle
  type: generateEvent
  event: {type: order.settled, source: /order, data: 'jq({order: .["order.placed"].order})'}
  transition: finish
- id: finish
  type: generateEvent
  event: {type: order.done, source: /order, data: 'jq({order: .["order.placed"].order})'}
- id: give-up
  type: generateEvent
  event: {type: order.late, source: /order, data: 'jq({order: .["order.placed"].order})'}
)";

/// Starts once of both events of an order.
constexpr const char* kPair = R"(
id: pair
start:
  type: eventsAnd
  correlate: [order]
  events: [{type: paid}, {type: packed}]
states:
- id: tell
  type: generateEvent
  event: {type: paired, source: /pair, data: 'jq({order: .paid.order})'}
)";

/// The same, but not for ever.
constexpr const char* kShortPair = R"(
id: short-pair
start:
  type: eventsAnd
  lifespan: PT30S
  correlate: [order]
  events: [{type: paid}, {type: packed}]
states:
- {id: done, type: noop}
)";

/// Answers to what an order generates, after a delay and with another.
constexpr const char* kEcho = R"(
id: echo
start: {type: event, event: {type: order.done}}
states:
- {id: pause, type: delay, duration: PT5S, transition: tell}
- id: tell
  type: generateEvent
  delay: PT3S
  event: {type: echoed, source: /echo, data: 'jq({order: .["order.done"].order})'}
)";

/// Takes one tick after the other, thinking between them, and never ends.
constexpr const char* kWatch = R"(
id: watch
states:
- {id: wait, type: consumeEvent, event: {type: tick}, transform: jq(collect), transition: wait}
)";

/// Has the three parts of an order made, two at a time.
constexpr const char* kMake = R"(
id: make
start: {type: event, event: {type: order.placed}}
functions: [{id: part, type: subflow, workflow: part}]
states:
- {id: parts, type: foreach, array: '[1, 2, 3]', concurrency: 2, action: {function: part}}
)";
constexpr const char* kPart = R"(
id: part
states:
- {id: make, type: delay, duration: PT5S}
)";

constexpr const char* kDefinitions[] = {kOrder, kPair, kShortPair, kEcho, kWatch, kMake, kPart};

TimePoint time_of(const Json& record) { return *parse_rfc3339(record["time"].get<std::string>()); }

class Simulation {
 public:
  explicit Simulation(uint64_t seed)
      : world_({.processor = {.batch = batch_limits(seed)}, .seed = seed}), random_(seed) {
    world_.evaluator.define("think", [](const Json& input) -> QueryResult { return input; });
    world_.evaluator.define("collect", [](const Json& input) -> QueryResult {
      Json seen = input.value("seen", Json::array());
      seen.push_back(input["tick"]);
      return Json{{"seen", std::move(seen)}};
    });
    for (const char* definition : kDefinitions) world_.apply(definition);
    first_watch_ = world_.start("watch", Json::object(), "first")["id"];
    world_.evaluator.hold();
  }

  /// Small ones for every other seed, so that an event reaches those who watch in several batches.
  static BatchLimits batch_limits(uint64_t seed) {
    if (seed % 2 == 0) return {};
    return {.woken = 2, .woken_later = 1, .errands = 1};
  }

  void run(int steps) {
    world_.broker.decide_fates([this](const NatsMessage&) { return fate(); });
    for (int i = 0; i < steps; ++i) {
      step();
      look_at_the_stream();
    }
  }

  /// Nothing goes wrong any more, until nothing moves any more.
  void come_to_rest() {
    world_.broker.decide_fates({});
    world_.broker.reconnect();
    world_.crash();
    world_.options().store = {};
    world_.recover();
    world_.evaluator.release();
    for (const Event& event : due_) world_.publish(event);
    due_.clear();
    world_.settle();
    check_caches();
    world_.run_for(hours(1) + jumped_back_);
    // What is kept of messages is erased by the batches that come after its time.
    for (int i = 0; i < 8; ++i) world_.must(CreateNamespace{.name = fmt::format("after-{}", i)});
    engine_time_ = std::max(engine_time_, world_.clock.now());
    look_at_the_stream();
  }

  std::map<std::string, std::string> rows() { return world_.rows(); }

  // What must hold.

  void check() {
    const auto before = world_.rows();
    check_caches();
    EXPECT_EQ(world_.rows(), before) << "to start again changes nothing";
    check_the_end_of_the_stream();
    check_starts();
    check_instances();
    check_parts();
    check_ticks();
  }

 private:
  // What happens.

  uint64_t below(uint64_t bound) { return random_() % bound; }
  bool one_in(uint64_t number) { return below(number) == 0; }

  void step() {
    switch (below(32)) {
      case 0:
      case 1:
      case 2:
        return publish_order();
      case 3:
      case 4:
      case 5:
      case 6:
        return publish_due();
      case 7:
      case 8:
        return publish_tick();
      case 9:
        return publish_again();
      case 10:
      case 11:
      case 12:
      case 13:
        world_.broker.pump(1 + below(8));
        return;
      case 14:
      case 15:
      case 16:
      case 17:
      case 18:
        return turn();
      case 19:
      case 20:
      case 21:
        if (world_.evaluator.waiting() > 0) {
          world_.evaluator.answer(below(world_.evaluator.waiting()));
        }
        return;
      case 22:
      case 23:
      case 24:
        world_.clock.advance(Duration(below(one_in(8) ? 6'000 : 300)));
        return;
      case 25:
        return command();
      default:
        if (one_in(3)) return something_goes_wrong();
        world_.step(1 + below(64));
        engine_time_ = std::max(engine_time_, world_.clock.now());
    }
  }

  void turn() {
    engine_time_ = std::max(engine_time_, world_.clock.now());
    world_.processor().turn();
  }

  void something_goes_wrong() {
    switch (below(10)) {
      case 0:
        world_.broker.disconnect();
        return;
      case 1:
      case 2:
        world_.broker.reconnect();
        return;
      case 3:
        world_.broker.lose_consumer();
        return;
      case 4:
      case 5:
        return crash(false);
      case 6:
        return crash(true);
      case 7:
        world_.clock.jump(Duration(below(10'000)));
        return;
      case 8: {
        const Duration back(below(10'000));
        jumped_back_ += back;
        world_.clock.jump(-back);
        return;
      }
      default:
        return publish_nonsense();
    }
  }

  void crash(bool after_commit) {
    engine_time_ = std::max(engine_time_, world_.clock.now());
    EnvironmentOptions store;
    // Sometimes there is no room until the next time. Sometimes what is committed comes into LMDB
    // at once, or a little of it.
    if (one_in(6)) store.soft_limit_bytes = world_.stored_bytes() - 1 + below(3) * 8'192;
    if (one_in(2)) store.checkpoint_bytes = below(100'000);
    after_commit ? world_.crash_after_commit() : world_.crash();
    world_.options().store = store;
    world_.recover();
  }

  PublishFate fate() {
    PublishFate fate;
    if (!one_in(4)) return fate;
    fate.arrives = !one_in(4);
    fate.acked = !one_in(4);
    fate.twice = one_in(4);
    fate.delay = static_cast<int>(below(5));
    fate.ack_delay = static_cast<int>(below(5));
    if (one_in(8)) fate.refused = Error{"broker.refused", "not now"};
    return fate;
  }

  static Event make(std::string type, std::string id, Json data) {
    Event event{.id = std::move(id), .source = "/outside", .type = std::move(type)};
    if (data.contains("order")) event.extensions["order"] = data["order"].get<std::string>();
    event.data = dump_json(data);
    return event;
  }

  void publish(const Event& event) {
    world_.publish(event);
    published_.push_back(event);
  }

  void publish_order() {
    const std::string order = fmt::format("o{}", ++orders_);
    publish(make("order.placed", order, {{"order", order}}));
    if (!one_in(5)) due_.push_back(make("paid", "paid-" + order, {{"order", order}}));
    if (!one_in(5)) due_.push_back(make("packed", "packed-" + order, {{"order", order}}));
  }

  void publish_due() {
    if (due_.empty()) return;
    const size_t which = below(due_.size());
    publish(due_[which]);
    due_.erase(due_.begin() + static_cast<ptrdiff_t>(which));
  }

  void publish_tick() {
    ++ticks_;
    publish(make("tick", fmt::format("tick-{}", ticks_), Json{{"n", ticks_}}));
  }

  /// A producer that does not trust its first sending, and gives the broker no id to know it by.
  void publish_again() {
    if (published_.empty()) return;
    const size_t back = 1 + below(std::min<size_t>(published_.size(), 8));
    NatsMessage message = event_message("default", published_[published_.size() - back]);
    std::erase_if(message.headers,
                  [](const auto& header) { return header.first == "Nats-Msg-Id"; });
    world_.broker.inject(std::move(message));
  }

  void publish_nonsense() {
    if (one_in(2)) {
      ++dead_;
      world_.broker.inject({.subject = "millrace.events.default.t", .data = "nonsense"});
    } else {
      ++dead_;
      world_.publish(make("tick", fmt::format("nowhere-{}", dead_), {}), "nowhere");
    }
  }

  void command() {
    switch (below(4)) {
      case 0:
        world_.command(StartInstance{.space = "default", .workflow = "watch"});
        return;
      case 1:
        // Asked for again by who did not hear the answer.
        world_.command(StartInstance{.space = "default",
                                     .workflow = "watch",
                                     .input = Json::object(),
                                     .idempotency_key = "first"});
        return;
      case 2: {
        // A new revision that starts as the one before did.
        const std::string text = kDefinitions[below(std::size(kDefinitions))];
        world_.command(World::application(text + fmt::format("# revision {}\n", ++revisions_)));
        return;
      }
      default:
        if (first_watch_.empty()) return;
        world_.wait_for_end(first_watch_, Duration(below(10'000)));
    }
  }

  /// Generated events, as they first appear.
  void look_at_the_stream() {
    const auto& events = world_.broker.events();
    for (; looked_at_ < events.size(); ++looked_at_) {
      const Result<Event> event = decode_nats(events[looked_at_].message);
      if (!event || event->source == "/outside") continue;
      if (!appeared_.emplace(event->id, appeared_.size()).second) continue;
      if (event->type != "echoed") continue;
      EXPECT_GE(engine_time_, *parse_rfc3339(*event->time) + seconds(3)) << "early: " << event->id;
    }
    if (world_.alive()) engine_time_ = std::max(engine_time_, world_.clock.now());
  }

  // What must hold.

  /// Distinct events of that type in the order of the stream.
  std::vector<Event> distinct(std::string_view type) {
    std::vector<Event> events;
    std::set<std::string> ids;
    for (Event& event : world_.events(type)) {
      if (ids.insert(event.id).second) events.push_back(std::move(event));
    }
    return events;
  }

  std::vector<Json> instances_of(std::string_view workflow) {
    std::vector<Json> instances;
    for (Json& instance : world_.instances()) {
      if (instance["workflow"] == workflow) instances.push_back(std::move(instance));
    }
    return instances;
  }

  void check_the_end_of_the_stream() {
    EXPECT_EQ(world_.processor().cursor().sequence, world_.broker.events().back().sequence);
    EXPECT_EQ(world_.metric("millrace_outbox_in_flight"), 0);
    std::set<std::string> letters;
    for (const auto& stored : world_.broker.others()) {
      letters.insert(*find_header(stored.message.headers, "Millrace-Sequence"));
    }
    EXPECT_EQ(letters.size(), dead_) << "dead letters";
    for (const auto& [key, value] : world_.rows()) {
      EXPECT_FALSE(key.starts_with("outbox/")) << "something was never sent";
      EXPECT_FALSE(key.starts_with("delayed/")) << "something was never sent";
      EXPECT_FALSE(key.starts_with("recent/")) << "something is kept for nobody";
      EXPECT_FALSE(key.starts_with("inbox/")) << "an errand is left";
    }
  }

  /// One instance for each event that starts one.
  void check_starts() {
    const struct {
      const char* workflow;
      const char* type;
    } rows[] = {{"order", "order.placed"}, {"echo", "order.done"}, {"make", "order.placed"}};
    for (const auto& row : rows) {
      std::multiset<std::string> wanted;
      for (const Event& event : distinct(row.type)) wanted.insert(payload(event)["order"]);
      std::multiset<std::string> started;
      for (const Json& instance : instances_of(row.workflow)) {
        started.insert(instance["input"][row.type]["order"]);
      }
      EXPECT_EQ(started, wanted) << row.workflow;
    }

    std::map<std::string, int> halves;
    for (const char* type : {"paid", "packed"}) {
      for (const Event& event : distinct(type)) ++halves[payload(event)["order"]];
    }
    std::multiset<std::string> wanted;
    for (const auto& [order, count] : halves) {
      if (count == 2) wanted.insert(order);
    }
    std::multiset<std::string> paired;
    for (const Json& instance : instances_of("pair")) {
      EXPECT_EQ(instance["input"]["paid"]["order"], instance["input"]["packed"]["order"]);
      paired.insert(instance["input"]["paid"]["order"]);
    }
    EXPECT_EQ(paired, wanted);
    std::set<std::string> in_time;
    for (const Json& instance : instances_of("short-pair")) {
      EXPECT_TRUE(in_time.insert(instance["input"]["paid"]["order"]).second) << instance;
    }
    EXPECT_TRUE(std::includes(wanted.begin(), wanted.end(), in_time.begin(), in_time.end()));
  }

  void check_instances() {
    std::set<std::string> generated;
    for (const Json& instance : world_.instances()) {
      const Json history = world_.history_items(instance["id"]);
      const std::string name = instance["workflow"].get<std::string>() + " " + history.dump();
      TimePoint before;
      TimePoint entered;
      std::optional<size_t> place;
      std::vector<std::string> story;
      for (const Json& record : history) {
        const TimePoint time = time_of(record);
        EXPECT_LE(before, time) << "time went back: " << name;
        before = time;
        const std::string kind = record["kind"];
        story.push_back(kind);
        if (kind == "entered") entered = time;
        if (kind == "elapsed") {
          EXPECT_GE(time, entered + seconds(5)) << "early: " << name;
        }
        if (kind == "raised") {
          EXPECT_GE(time, entered + seconds(20)) << "early: " << name;
        }
        if (kind != "published") continue;
        const std::string id = record["detail"]["id"];
        EXPECT_TRUE(generated.insert(id).second) << "one id for two events: " << id;
        const auto found = appeared_.find(id);
        if (found == appeared_.end()) {
          ADD_FAILURE() << "never sent: " << id;
          continue;
        }
        if (place) {
          EXPECT_LT(*place, found->second) << "out of order: " << name;
        }
        place = found->second;
      }
      if (instance["workflow"] == "watch") continue;
      EXPECT_EQ(instance["status"], "complete") << name;
      EXPECT_EQ(story.front(), "started") << name;
      EXPECT_EQ(story.back(), "ended") << name;
      EXPECT_LE(std::count(story.begin(), story.end(), "woken"), 1) << name;
      if (instance["workflow"] == "order") check_order(instance, story, history);
    }
    for (const auto& [id, place] : appeared_) {
      EXPECT_TRUE(generated.contains(id)) << "sent by nobody: " << id;
    }
  }

  /// Paid in time or given up: one of both, and what it tells fits.
  static void check_order(const Json& instance, const std::vector<std::string>& story,
                          const Json& history) {
    const auto has = [&](const char* kind) {
      return std::find(story.begin(), story.end(), kind) != story.end();
    };
    EXPECT_NE(has("woken"), has("raised")) << history;
    EXPECT_EQ(std::count(story.begin(), story.end(), "published"), has("woken") ? 3 : 2) << history;
    if (!has("woken")) return;
    for (const Json& record : history) {
      if (record["kind"] != "woken") continue;
      EXPECT_EQ(record["detail"]["id"],
                "paid-" + instance["input"]["order.placed"]["order"].get<std::string>());
    }
  }

  /// Each order has three parts, each made once, and gets them in their places.
  void check_parts() {
    std::map<std::string, std::multiset<int>> parts;
    for (const Json& part : instances_of("part")) {
      parts[part.value("parent", "nobody")].insert(part["input"]["input"].get<int>());
    }
    const std::vector<Json> orders = instances_of("make");
    for (const Json& order : orders) {
      EXPECT_EQ(parts[order["id"]], (std::multiset<int>{1, 2, 3})) << order;
      EXPECT_EQ(order["output"]["return"],
                (Json::array({{{"input", 1}}, {{"input", 2}}, {{"input", 3}}})));
    }
    EXPECT_EQ(parts.size(), orders.size());
  }

  /// Whoever watches has seen all ticks since it began to, in order, each once.
  void check_ticks() {
    std::vector<Json> all;
    for (const Event& event : distinct("tick")) {
      if (event.source == "/outside" && !event.id.starts_with("nowhere")) {
        all.push_back(payload(event));
      }
    }
    for (const Json& watch : instances_of("watch")) {
      const auto seen = watch["data"].value("seen", std::vector<Json>());
      ASSERT_LE(seen.size(), all.size());
      EXPECT_TRUE(std::equal(seen.rbegin(), seen.rend(), all.rbegin()))
          << Json(seen).dump() << "\nof\n"
          << Json(all).dump();
      if (watch["id"] == first_watch_) {
        EXPECT_EQ(seen.size(), all.size()) << "from the first on";
      }
      EXPECT_EQ(watch["status"], "waiting");
    }
  }

  /// What is in memory is what a restart makes of the store.
  void check_caches() {
    const double listeners = world_.metric("millrace_listeners");
    const double timers = world_.metric("millrace_timers");
    world_.restart();
    world_.settle();
    EXPECT_EQ(world_.metric("millrace_listeners"), listeners);
    EXPECT_EQ(world_.metric("millrace_timers"), timers);
  }

  World world_;
  std::mt19937_64 random_;
  std::string first_watch_;

  int orders_ = 0;
  int ticks_ = 0;
  int revisions_ = 0;
  size_t dead_ = 0;               ///< messages that must have become dead letters
  std::vector<Event> due_;        ///< payments and packings that are still to come
  std::vector<Event> published_;  ///< from outside, in order
  Duration jumped_back_{0};
  TimePoint engine_time_ = world_.clock.now();  ///< the latest that a turn may have seen
  size_t looked_at_ = 0;
  std::map<std::string, size_t> appeared_;  ///< ids of generated events, in the order of the stream
};

uint64_t from_environment(const char* name, uint64_t otherwise) {
  const char* const text = std::getenv(name);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

const uint64_t kSteps = from_environment("MILLRACE_STEPS", 3'000);

/// The seed that was asked for, or so many from 1 on.
std::vector<uint64_t> seeds(uint64_t count) {
  if (const uint64_t seed = from_environment("MILLRACE_SEED", 0); seed != 0) return {seed};
  std::vector<uint64_t> all(from_environment("MILLRACE_SEEDS", count));
  std::iota(all.begin(), all.end(), 1);
  return all;
}

TEST(RandomFaults, LoseNothingAndRepeatNothing) {
  Campaign campaign("random faults in simulation", "all events applied once, in order and in time");
  for (const uint64_t seed : seeds(10)) {
    campaign.run(fmt::format("MILLRACE_SEED={}", seed), [&] {
      Simulation simulation(seed);
      simulation.run(static_cast<int>(kSteps));
      simulation.come_to_rest();
      simulation.check();
    });
    if (testing::Test::HasFailure()) return;
  }
}

using Rows = std::map<std::string, std::string>;

/// The first rows in which the two differ, cut to what can be read: all of them would be megabytes.
std::string first_differences(const Rows& first, const Rows& second) {
  constexpr size_t kMost = 5;
  std::vector<std::string> keys;
  for (const auto& row : first) {
    const auto other = second.find(row.first);
    if (other == second.end() || other->second != row.second) keys.push_back(row.first);
  }
  for (const auto& row : second) {
    if (!first.contains(row.first)) keys.push_back(row.first);
  }
  std::sort(keys.begin(), keys.end());
  const auto shown = [](const Rows& rows, const std::string& key) {
    constexpr size_t kBytes = 300;
    const auto found = rows.find(key);
    return found == rows.end() ? "none" : testing::PrintToString(found->second.substr(0, kBytes));
  };
  std::string text;
  for (size_t i = 0; i < std::min(keys.size(), kMost); ++i) {
    text += fmt::format("{}\n  first run:  {}\n  second run: {}\n", testing::PrintToString(keys[i]),
                        shown(first, keys[i]), shown(second, keys[i]));
  }
  if (keys.size() > kMost) text += fmt::format("and {} more rows\n", keys.size() - kMost);
  return text;
}

TEST(RandomFaults, LeaveTheSameBytesForTheSameSeed) {
  for (const uint64_t seed : seeds(2)) {
    SCOPED_TRACE(fmt::format("MILLRACE_SEED={}", seed));
    std::array<Rows, 2> rows;
    for (auto& one : rows) {
      Simulation simulation(seed);
      simulation.run(static_cast<int>(kSteps));
      one = simulation.rows();
    }
    EXPECT_GT(rows[0].size(), 100U);
    EXPECT_EQ(first_differences(rows[0], rows[1]), "");
  }
}

}  // namespace
}  // namespace millrace
