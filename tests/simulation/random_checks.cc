// The checks of the random simulation.
#include <algorithm>
#include <optional>
#include <set>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "cloudevents/headers.h"
#include "tests/simulation/random_simulation.h"

namespace millrace {
namespace {

using std::chrono::seconds;

TimePoint time_of(const Json& record) { return *parse_rfc3339(record["time"].get<std::string>()); }

}  // namespace

void Simulation::check() {
  const auto before = world_.rows();
  check_caches();
  EXPECT_EQ(world_.rows(), before) << "a restart changed rows";
  check_the_end_of_the_stream();
  check_starts();
  check_instances();
  check_parts();
  check_ticks();
}

void Simulation::read_stream() {
  const auto& events = world_.broker.events();
  for (; read_events_ < events.size(); ++read_events_) {
    const Result<Event> event = decode_nats(events[read_events_].message);
    if (!event || event->source == "/outside") continue;
    if (!appeared_.emplace(event->id, appeared_.size()).second) continue;
    if (event->type != "echoed") continue;
    EXPECT_GE(engine_time_, *parse_rfc3339(*event->time) + seconds(3)) << "early: " << event->id;
  }
  if (world_.alive()) engine_time_ = std::max(engine_time_, world_.clock.now());
}

std::vector<Event> Simulation::distinct(std::string_view type) {
  std::vector<Event> events;
  std::set<std::string> ids;
  for (Event& event : world_.events(type)) {
    if (ids.insert(event.id).second) events.push_back(std::move(event));
  }
  return events;
}

std::vector<Json> Simulation::instances_of(std::string_view workflow) {
  std::vector<Json> instances;
  for (Json& instance : world_.instances()) {
    if (instance["workflow"] == workflow) instances.push_back(std::move(instance));
  }
  return instances;
}

void Simulation::check_the_end_of_the_stream() {
  EXPECT_EQ(world_.processor().cursor().sequence, world_.broker.events().back().sequence);
  EXPECT_EQ(world_.metric("millrace_outbox_in_flight"), 0);
  std::set<std::string> letters;
  for (const auto& stored : world_.broker.others()) {
    letters.insert(*find_header(stored.message.headers, "Millrace-Sequence"));
  }
  EXPECT_EQ(letters.size(), dead_) << "dead letters";
  for (const auto& [key, value] : world_.rows()) {
    EXPECT_FALSE(key.starts_with("outbox/")) << "a message was not sent";
    EXPECT_FALSE(key.starts_with("delayed/")) << "a message was not sent";
    EXPECT_FALSE(key.starts_with("recent/")) << "a kept event is left";
    EXPECT_FALSE(key.starts_with("inbox/")) << "an instance message is left";
  }
}

void Simulation::check_starts() {
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

void Simulation::check_instances() {
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
    EXPECT_TRUE(generated.contains(id)) << "no instance generated it: " << id;
  }
}

void Simulation::check_order(const Json& instance, const std::vector<std::string>& story,
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

void Simulation::check_parts() {
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

void Simulation::check_ticks() {
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
      EXPECT_EQ(seen.size(), all.size()) << "from the first tick on";
    }
    EXPECT_EQ(watch["status"], "waiting");
  }
}

void Simulation::check_caches() {
  const double listeners = world_.metric("millrace_listeners");
  const double timers = world_.metric("millrace_timers");
  world_.restart();
  world_.run_until_idle();
  EXPECT_EQ(world_.metric("millrace_listeners"), listeners);
  EXPECT_EQ(world_.metric("millrace_timers"), timers);
}

}  // namespace millrace
