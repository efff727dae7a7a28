// A damaged row of a compensation: only the compensation itself is given up. Its instance shows the
// others, and is retried, restarted, cancelled and deleted as if the row were whole.
#include <functional>
#include <optional>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/codec.h"
#include "orchestrator/store/rows/compensation_rows.h"
#include "tests/simulation/compensated_order.h"
#include "tests/simulation/damaged_fixture.h"
#include "tests/simulation/operator_order.h"

namespace millrace {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::SizeIs;

constexpr const char* kOfDamagedStore = "millrace.store.damaged";

/// What the store has in place of the row of a compensation; nullopt: no row.
struct NoteDamage {
  const char* name;
  std::optional<std::string> row;
};

std::vector<NoteDamage> note_damages() {
  return {{"no row", std::nullopt},
          {"cut short", std::string(1, '\1')},
          {"not JSON", encode_compensation({.state = 0, .input = LazyJson::of_text("{")})},
          {"of a state that the workflow does not have",
           encode_compensation({.state = 99, .input = Json(1)})}};
}

class DamagedCompensation : public Damaged {
 protected:
  /// Damages the row of the compensation with that number, counted from 0.
  void damage_note(const std::string& id, uint32_t number, const std::optional<std::string>& row) {
    Writer key;
    key.raw(part_of(id, Part::kCompensation));
    key.u32(number);
    damage([&](Transaction& tx) {
      ASSERT_TRUE(tx.get(Table::kEnded, key.view()));
      if (row) {
        tx.put(Table::kEnded, key.view(), *row);
      } else {
        tx.erase(Table::kEnded, key.view());
      }
    });
  }

  /// Starts an instance of three states that fails in the third one with the compensations of the
  /// others left: no key of its workflow asks for them.
  std::string fail_with_notes() {
    const std::string id = world.apply_order(compensated_steps(3, "name: x"));
    answer_newest_task(world, "a");
    answer_newest_task(world, "b");
    fail_newest_task(world);
    EXPECT_EQ(world.instance(id)["compensation"]["left"], 2);
    return id;
  }

  /// Starts an instance of three states that asks for its compensations, and ends two states.
  std::string begin_third_step() {
    const std::string id = world.apply_order(compensated_steps(3));
    answer_newest_task(world, "a");
    answer_newest_task(world, "b");
    return id;
  }

  /// Makes the next process compare all rows: none of the damage is left.
  void expect_sound_store() {
    world.checks_store = true;
    world.restart();
    world.run_until_idle();
  }

  std::string code_of_failed(const std::string& id) {
    return world.instance(id)["compensation"]["error"]["code"];
  }
};

TEST_F(DamagedCompensation, IsNamedBesideTheOthersOfItsInstance) {
  for (const NoteDamage& one : note_damages()) {
    SCOPED_TRACE(one.name);
    const std::string id = fail_with_notes();
    damage_note(id, 1, one.row);
    const Json instance = world.instance(id);
    EXPECT_EQ(instance["status"], "failed");
    ASSERT_THAT(instance["compensations"], SizeIs(2));
    EXPECT_EQ(instance["compensations"][0]["number"], 2);
    EXPECT_FALSE(instance["compensations"][0]["damage"].get<std::string>().empty());
    EXPECT_FALSE(instance["compensations"][0].contains("input"));
    EXPECT_EQ(instance["compensations"][1], Json::parse(R"({"number": 1, "state": "step1",
        "function": "undo", "input": {"step": 1, "done": "a"}})"));
  }
}

TEST_F(DamagedCompensation, PreventsNeitherARetryNorARestart) {
  for (const NoteDamage& one : note_damages()) {
    SCOPED_TRACE(one.name);
    const std::string id = fail_with_notes();
    damage_note(id, 1, one.row);
    world.must(RetryInstance{"default", key(id)});
    EXPECT_EQ(world.status(id), "waiting");
    EXPECT_EQ(world.instance(id)["compensation"]["left"], 2) << "a retry keeps them";
    EXPECT_EQ(world.functions.tasks().back().input, "3");
    fail_newest_task(world);
    world.must(RerunInstance{.ns = "default", .instance = key(id), .state = "step3"});
    EXPECT_EQ(world.instance(id)["compensation"]["left"], 2) << "and so does a rerun";
    fail_newest_task(world);
    world.must(RestartInstance{"default", key(id)});
    EXPECT_FALSE(world.instance(id).contains("compensation")) << "a restart drops them";
    answer_newest_task(world, "c");
    fail_newest_task(world);
    EXPECT_EQ(world.instance(id)["compensations"], Json::parse(R"([{"number": 1, "state": "step1",
        "function": "undo", "input": {"step": 1, "done": "c"}}])"));
    expect_sound_store();
  }
}

TEST_F(DamagedCompensation, DoesNotPreventTheDeleteOfItsInstance) {
  for (const NoteDamage& one : note_damages()) {
    SCOPED_TRACE(one.name);
    const std::string id = fail_with_notes();
    damage_note(id, 0, one.row);
    EXPECT_EQ(world.must(DeleteInstance{.ns = "default", .instance = key(id)})["deleted"], true);
    world.run_until_idle();
    EXPECT_EQ(world.rows_of("ended"), 0U);
    expect_sound_store();
  }
}

TEST_F(DamagedCompensation, EndsThoseThatAreLeftAfterACancel) {
  for (const NoteDamage& one : note_damages()) {
    SCOPED_TRACE(one.name);
    const std::string id = begin_third_step();
    const size_t undone = inputs_of(world, "undo").size();
    damage_note(id, 1, one.row);
    world.must(CancelInstance{.ns = "default", .instance = key(id), .now = true});
    EXPECT_EQ(world.status(id), "cancelled");
    EXPECT_EQ(world.instance(id)["error"]["code"], "direktiv.cancels.api");
    EXPECT_EQ(code_of_failed(id), kOfDamagedStore);
    EXPECT_EQ(world.instance(id)["compensation"]["left"], 2);
    EXPECT_THAT(inputs_of(world, "undo"), SizeIs(undone)) << "each begins after the newer one";
    world.must(CompensateInstance{.ns = "default", .instance = key(id), .past = true});
    EXPECT_EQ(inputs_of(world, "undo").back(), R"({"done":"a","step":1})");
    answer_newest_task(world, nullptr);
    EXPECT_EQ(world.status(id), "cancelled");
    EXPECT_FALSE(world.instance(id).contains("compensation"));
    expect_sound_store();
  }
}

TEST_F(DamagedCompensation, IsReachedAfterTheNewerOnesAndPassedOverByAnOperator) {
  const std::string id = begin_third_step();
  fail_newest_task(world, "cause");
  EXPECT_THAT(inputs_of(world, "undo"), ElementsAre(R"({"done":"b","step":2})"));
  damage_note(id, 0, std::string(1, '\1'));
  answer_newest_task(world, nullptr);
  const Json stopped = world.instance(id);
  EXPECT_EQ(stopped["status"], "failed");
  EXPECT_EQ(stopped["error"]["code"], "cause");
  EXPECT_EQ(stopped["compensation"]["left"], 1);
  EXPECT_EQ(stopped["compensation"]["error"]["code"], kOfDamagedStore);
  EXPECT_THAT(stopped["compensation"]["error"]["msg"].get<std::string>(),
              HasSubstr("compensation 0"));
  EXPECT_THAT(world.history(id).back(), HasSubstr("ended"));
  EXPECT_EQ(world.must(CompensateInstance{"default", key(id)})["left"], 1) << "it is still damaged";
  EXPECT_EQ(world.status(id), "failed");
  EXPECT_EQ(code_of_failed(id), kOfDamagedStore);
  EXPECT_EQ(
      world.must(CompensateInstance{.ns = "default", .instance = key(id), .past = true})["left"],
      0);
  EXPECT_EQ(world.status(id), "failed");
  EXPECT_EQ(world.instance(id)["error"]["code"], "cause");
  EXPECT_FALSE(world.instance(id).contains("compensation"));
  EXPECT_THAT(inputs_of(world, "undo"), SizeIs(1));
  expect_sound_store();
}

}  // namespace
}  // namespace millrace
