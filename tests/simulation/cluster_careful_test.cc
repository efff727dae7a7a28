// A cluster whose actives die of one input, on one node after the other: from the second death on,
// inputs are applied one by one, each behind a note in the log, until the input is poison.
#include <algorithm>
#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cloudevents/headers.h"
#include "orchestrator/store/rows/crash_row.h"
#include "orchestrator/store/rows/row.h"
#include "tests/simulation/answer_code.h"
#include "tests/simulation/cluster_world.h"

namespace millrace {
namespace {

using std::chrono::minutes;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

constexpr const char* kTimed = R"(
id: timed
start: {type: event, event: {type: asked}}
states:
- {id: say, type: generateEvent, event: {type: announced, source: /a, data: 'jq({n: .asked.n})'}, transition: wait}
- {id: wait, type: delay, duration: PT1M, transition: say-more}
- {id: say-more, type: generateEvent, event: {type: finished, source: /a, data: 'jq({n: .asked.n})'}}
)";

constexpr const char* kWoken = R"(
id: woken
states:
- {id: wait, type: consumeEvent, event: {type: go}}
)";

/// Thrown in place of a fault that ends the process.
struct ProcessDeath {};

class CarefulCluster : public testing::Test {
 protected:
  CarefulCluster() {
    world_.change_store_options = [this](EnvironmentOptions& options) {
      options.fails_read = [this](Table table, std::string_view key) {
        const bool is_deadly = deadly_ && table == Table::kLive &&
                               key.starts_with(rows::instance_prefix(NamespaceNumber(1), *deadly_));
        if (is_deadly) throw ProcessDeath();
        return false;
      };
    };
    EXPECT_TRUE(node(0).take_over());
    for (const char* const text : {kTimed, kWoken}) {
      const Answered answered = node(0).command(World::application(text));
      node(0).run_until_idle();
      EXPECT_EQ(answer_code(answered), "ok");
    }
  }

  WorldNode& node(size_t index) { return world_.node(index); }
  void ask(int number) {
    world_.publish("asked", fmt::format("asked-{}", number), Json{{"n", number}});
  }
  size_t published(std::string_view type) { return events_in(world_.broker, type).size(); }

  /// The number of the node that is not the active, and which follows the log.
  size_t other() {
    const size_t index = 1 - active_;
    if (!node(index).is_standby()) node(index).recover();
    node(index).follow();
    return index;
  }
  void take_over(bool is_careful) {
    active_ = other();
    ASSERT_TRUE(node(active_).take_over(is_careful));
  }
  /// The active dies as soon as it reads that instance.
  void die_of(const InstanceId& instance) {
    deadly_ = instance;
    EXPECT_THROW(node(active_).run_until_idle(), ProcessDeath);
    deadly_.reset();
    node(active_).crash();
  }
  /// What the log says of the input of which the former active has died.
  std::optional<NotedInput> note() {
    const RowsByKey rows = node(other()).rows();
    const auto row = rows.find({Table::kMeta, std::string(kCrashRowKey)});
    if (row == rows.end()) return std::nullopt;
    return decode_noted_input(row->second).value();
  }
  /// Two actives die before the mode begins, and three in it.
  void die_until_it_is_poison(const InstanceId& instance) {
    die_of(instance);
    EXPECT_EQ(note(), std::nullopt);
    take_over(false);
    die_of(instance);
    EXPECT_EQ(note(), std::nullopt);
    for (uint32_t deaths = 1; deaths <= 3; ++deaths) {
      take_over(true);
      die_of(instance);
      ASSERT_TRUE(note());
      EXPECT_EQ(note()->deaths, deaths);
    }
  }
  /// How many commits of the log write a note.
  size_t notes() {
    const std::string key(AbsoluteKey(Table::kMeta, kCrashRowKey).view());
    size_t found = 0;
    for (const MemoryLog::Message& message : world_.log.messages()) {
      EXPECT_TRUE(each_write(message.write_set, [&](std::string_view written, auto value) {
        if (written == key && value) ++found;
      }));
    }
    return found;
  }
  std::vector<std::string> dead_letters() {
    std::vector<std::string> reasons;
    for (const auto& stored : world_.broker.others()) {
      if (!stored.message.subject.starts_with("millrace.dlq.")) continue;
      const std::string* const reason = find_header(stored.message.headers, "Millrace-Reason");
      reasons.push_back(reason == nullptr ? "" : *reason);
    }
    return reasons;
  }
  Json instance(const InstanceId& id) {
    return node(active_).stage().instance(to_string(id)).value();
  }
  InstanceId id_of(size_t index) {
    const Json found = node(active_).stage().instances().value().at(index);
    return *parse_instance_id(found["id"].get<std::string>());
  }
  void expect_equal_rows_without_a_note() {
    EXPECT_EQ(note(), std::nullopt);
    EXPECT_EQ(node(0).rows(), node(1).rows());
    for (const size_t index : {0, 1}) node(index).expect_rows_of_log();
    world_.expect_sound_log();
  }

  std::optional<InstanceId> deadly_;
  ClusterWorld world_{{Duration(0), Duration(0)}};
  size_t active_ = 0;
};

TEST_F(CarefulCluster, MovesAnEventOfWhichEachActiveDiesToTheDeadLetterQueue) {
  node(0).start("woken", Json::object());
  node(0).run_until_idle();
  const InstanceId woken = id_of(0);
  ask(1);
  world_.publish("go", "deadly", Json::object());
  ask(2);
  die_until_it_is_poison(woken);
  EXPECT_NE(note()->sequence, 0U);

  take_over(true);
  deadly_ = woken;  // a further attempt would end this process, too
  node(active_).run_until_idle();
  deadly_.reset();
  EXPECT_THAT(dead_letters(), ElementsAre("millrace.poison"));
  EXPECT_EQ(instance(woken)["status"], "waiting");
  world_.run_for(node(active_), minutes(2));
  EXPECT_EQ(published("announced"), 2U);
  EXPECT_EQ(published("finished"), 2U);
  world_.publish("go", "harmless", Json::object());
  node(active_).run_until_idle();
  EXPECT_EQ(instance(woken)["status"], "complete");
  EXPECT_THAT(dead_letters(), SizeIs(1));
  expect_equal_rows_without_a_note();
}

TEST_F(CarefulCluster, FailsAnInstanceOfWhichEachActiveDies) {
  ask(1);
  ask(2);
  node(0).run_until_idle();
  const InstanceId deadly = id_of(0);
  world_.advance(minutes(1));
  die_until_it_is_poison(deadly);
  EXPECT_EQ(note()->instance, (NotedInstance{NamespaceNumber(1), deadly}));

  take_over(true);
  EXPECT_EQ(note(), std::nullopt) << "it is removed with the instance";
  world_.run_for(node(active_), minutes(2));
  EXPECT_EQ(instance(deadly)["status"], "failed");
  EXPECT_EQ(instance(deadly)["error"]["code"], "millrace.poison");
  EXPECT_EQ(instance(id_of(1))["status"], "complete");
  EXPECT_EQ(published("announced"), 2U);
  EXPECT_EQ(published("finished"), 1U);
  EXPECT_THAT(dead_letters(), IsEmpty());
  expect_equal_rows_without_a_note();
}

TEST_F(CarefulCluster, IsCarefulAfterALongTimeIfTheLogHasANote) {
  ask(1);
  node(0).run_until_idle();
  const InstanceId deadly = id_of(0);
  world_.advance(minutes(1));
  die_of(deadly);
  take_over(true);
  die_of(deadly);
  EXPECT_EQ(note()->deaths, 1U);
  take_over(false);
  die_of(deadly);
  EXPECT_EQ(note()->deaths, 2U);
  take_over(false);
  node(active_).run_until_idle();
  EXPECT_EQ(instance(deadly)["status"], "complete");
  expect_equal_rows_without_a_note();
}

TEST_F(CarefulCluster, NotesNothingWhileItsActivesEndWell) {
  ask(1);
  world_.run_for(node(0), minutes(2));
  node(0).crash();
  take_over(false);
  ask(2);
  world_.run_for(node(active_), minutes(2));
  EXPECT_EQ(published("finished"), 2U);
  EXPECT_EQ(notes(), 0U);
  expect_equal_rows_without_a_note();
}

TEST_F(CarefulCluster, EndsTheModeAfterSoManyInputs) {
  constexpr size_t kEvents = 2'200;
  node(0).crash();
  take_over(true);
  for (size_t i = 0; i < kEvents; ++i) {
    world_.publish("unheard", fmt::format("unheard-{}", i), Json::object());
  }
  node(active_).run_until_idle();
  const size_t noted = notes();
  EXPECT_GE(noted, kEvents / 2);
  EXPECT_LT(noted, kEvents);
  ask(1);
  world_.run_for(node(active_), minutes(2));
  EXPECT_EQ(published("finished"), 1U);
  EXPECT_EQ(notes(), noted);
  expect_equal_rows_without_a_note();
}

}  // namespace
}  // namespace millrace
