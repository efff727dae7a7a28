// Compensations while processes die: ten steps that fail at each step, a compensation that fails
// for good, which an operator repeats and passes over, and a second cancel. The
// process dies at each answer and at each command: before the commit, between the commit and its
// actions, or after both.
#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/simulation/compensated_order.h"
#include "tests/simulation/operator_order.h"

namespace millrace {
namespace {

constexpr int kSteps = 10;

/// What happens to the instance: the answer to its newest task, or a command.
enum class Blow : uint8_t { kSucceeds, kFails, kCancel, kCompensate, kPassOver };

/// When the process dies.
enum class Death : uint8_t { kBeforeCommit, kAfterCommit, kAfterActions };
constexpr Death kDeaths[] = {Death::kBeforeCommit, Death::kAfterCommit, Death::kAfterActions};

const char* name_of(Death death) {
  if (death == Death::kBeforeCommit) return "before the commit";
  return death == Death::kAfterCommit ? "after the commit" : "after the actions";
}

/// `count` times the same blow.
std::vector<Blow> times(int count, Blow blow) {
  return std::vector<Blow>(static_cast<size_t>(count), blow);
}

void add_blows(std::vector<Blow>& to, const std::vector<Blow>& more) {
  to.insert(to.end(), more.begin(), more.end());
}

/// The numbers from `first` down to `last`; none if `first` is lower.
std::vector<int> down(int first, int last) {
  std::vector<int> numbers;
  for (int number = first; number >= last; --number) numbers.push_back(number);
  return numbers;
}

std::vector<int> joined(std::vector<int> numbers, const std::vector<int>& more) {
  numbers.insert(numbers.end(), more.begin(), more.end());
  return numbers;
}

/// An instance of ten steps, to which the blows of a list happen.
class StruckOrder {
 public:
  /// Lets all blows happen; the process dies at the one with the index `dies_at`.
  void suffer(const std::vector<Blow>& blows, size_t dies_at, Death death) {
    for (size_t i = 0; i < blows.size(); ++i) {
      strike(blows[i], i == dies_at ? std::optional(death) : std::nullopt);
    }
  }

  Json instance() { return world_.instance(id_); }

  /// Expects that the compensations of the steps in `started` began, each attempt by an operator
  /// counted, in this order, and that those in `undone` succeeded, in this order, each once.
  void expect_order(const std::vector<int>& started, const std::vector<int>& undone) {
    std::vector<std::string> inputs;
    for (const int step : started)
      inputs.push_back(fmt::format(R"({{"done":null,"step":{}}})", step));
    EXPECT_EQ(inputs_of(world_, "undo"), inputs);
    std::vector<std::string> expected;
    for (const int step : undone) expected.push_back(fmt::format("undone step{}", step));
    std::vector<std::string> records;
    for (const std::string& record : world_.history(id_)) {
      if (record.starts_with("undone ")) records.push_back(record);
    }
    EXPECT_EQ(records, expected);
  }

 private:
  void strike(Blow blow, std::optional<Death> death) {
    const size_t records = world_.history(id_).size();
    const size_t started = tasks_of(world_, "undo").size();
    begin(blow);
    if (death == Death::kBeforeCommit) world_.restart();
    if (death == Death::kAfterCommit) {
      world_.crash_after_commit();
      world_.recover();
    }
    world_.run_until_idle();
    if (death == Death::kAfterActions) {
      world_.restart();
      world_.run_until_idle();
    }
    const bool is_lost = world_.history(id_).size() == records;
    EXPECT_EQ(is_lost, death == Death::kBeforeCommit);
    if (is_lost) {
      begin(blow);
      world_.run_until_idle();
    }
    EXPECT_GT(world_.history(id_).size(), records);
    EXPECT_LE(tasks_of(world_, "undo").size(), started + 1) << "each begins after the newer one";
  }

  /// Gives the blow to the engine, which has not taken it yet.
  void begin(Blow blow) {
    const InstanceId instance = key(id_);
    switch (blow) {
      case Blow::kSucceeds:
        return report(TaskEnded{.result = "null"});
      case Blow::kFails:
        return report(TaskEnded{.result = tl::unexpected(Error{failure(), "no"})});
      case Blow::kCancel:
        world_.command(CancelInstance{.ns = "default", .instance = instance, .now = true});
        return;
      case Blow::kCompensate:
        world_.command(CompensateInstance{.ns = "default", .instance = instance});
        return;
      case Blow::kPassOver:
        world_.command(CompensateInstance{.ns = "default", .instance = instance, .past = true});
        return;
    }
  }

  void report(TaskEnded end) {
    world_.functions.report({world_.functions.tasks().back().id, std::move(end)});
    world_.functions.pump(world_.intake());
  }

  std::string failure() {
    return world_.functions.tasks().back().function == "undo" ? "not.undone" : "cause";
  }

  World world_;
  std::string id_ = world_.apply_order(compensated_steps(kSteps));
};

/// Lets the process die at each blow from `first` on, with each kind of death in turn, or with each
/// of them if `with_each`. Expects the status and the error of the end, and calls `expect`.
template <class Expect>
void die_at_each(const std::vector<Blow>& blows, size_t first, bool with_each,
                 const std::string& status, const std::string& code, const Expect& expect) {
  for (size_t dies_at = first; dies_at < blows.size(); ++dies_at) {
    for (const Death death : kDeaths) {
      if (!with_each && dies_at % std::size(kDeaths) != static_cast<size_t>(death)) continue;
      SCOPED_TRACE(fmt::format("dies at blow {} of {}, {}", dies_at, blows.size(), name_of(death)));
      StruckOrder order;
      order.suffer(blows, dies_at, death);
      const Json ended = order.instance();
      EXPECT_EQ(ended["status"], status);
      EXPECT_EQ(ended["error"]["code"], code);
      EXPECT_FALSE(ended.contains("compensation")) << "none is forgotten";
      expect(order);
    }
  }
}

TEST(CompensationCrashes, OfEachFailingStepUndoTheStepsBeforeIt) {
  for (int failing = 1; failing <= kSteps; ++failing) {
    SCOPED_TRACE(fmt::format("step {} fails", failing));
    std::vector<Blow> blows = times(failing - 1, Blow::kSucceeds);
    blows.push_back(Blow::kFails);
    add_blows(blows, times(failing - 1, Blow::kSucceeds));
    const std::vector<int> undone = down(failing - 1, 1);
    die_at_each(blows, static_cast<size_t>(failing - 1), failing == kSteps, "failed", "cause",
                [&](StruckOrder& order) { order.expect_order(undone, undone); });
  }
}

TEST(CompensationCrashes, OfOneThatFailsForGoodKeepTheOthersForTheOperator) {
  for (const int stuck : {9, 5, 1}) {
    SCOPED_TRACE(fmt::format("the compensation of step {} fails", stuck));
    std::vector<Blow> blows = times(kSteps - 1, Blow::kSucceeds);
    blows.push_back(Blow::kFails);
    const size_t first = blows.size();
    add_blows(blows, times(kSteps - 1 - stuck, Blow::kSucceeds));
    add_blows(blows, {Blow::kFails, Blow::kCompensate, Blow::kFails, Blow::kPassOver});
    add_blows(blows, times(stuck - 1, Blow::kSucceeds));
    const std::vector<int> started = joined(down(kSteps - 1, stuck), down(stuck, 1));
    const std::vector<int> undone = joined(down(kSteps - 1, stuck + 1), down(stuck - 1, 1));
    die_at_each(blows, first, false, "failed", "cause",
                [&](StruckOrder& order) { order.expect_order(started, undone); });
  }
}

TEST(CompensationCrashes, OfASecondCancelKeepTheOthersForTheOperator) {
  for (const int stopped : {9, 5, 1}) {
    SCOPED_TRACE(fmt::format("the compensation of step {} is stopped", stopped));
    std::vector<Blow> blows = times(kSteps - 1, Blow::kSucceeds);
    const size_t first = blows.size();
    blows.push_back(Blow::kCancel);
    add_blows(blows, times(kSteps - 1 - stopped, Blow::kSucceeds));
    add_blows(blows, {Blow::kCancel, Blow::kCompensate});
    add_blows(blows, times(stopped, Blow::kSucceeds));
    const std::vector<int> started = joined(down(kSteps - 1, stopped), down(stopped, 1));
    die_at_each(blows, first, false, "cancelled", "direktiv.cancels.api",
                [&](StruckOrder& order) { order.expect_order(started, down(kSteps - 1, 1)); });
  }
}

TEST(CompensationCrashes, LeaveAStoppedInstanceWithWhatItHasNotUndone) {
  for (const Death death : kDeaths) {
    SCOPED_TRACE(name_of(death));
    StruckOrder order;
    std::vector<Blow> blows = times(kSteps - 1, Blow::kSucceeds);
    add_blows(blows, {Blow::kCancel, Blow::kSucceeds, Blow::kCancel});
    order.suffer(blows, blows.size() - 1, death);
    const Json stopped = order.instance();
    EXPECT_EQ(stopped["status"], "cancelled");
    const Json error{{"code", "direktiv.cancels.api"}, {"msg", "cancelled by a call"}};
    EXPECT_EQ(stopped["compensation"], (Json{{"left", 8}, {"making", false}, {"error", error}}));
    order.expect_order({9, 8}, {9});
  }
}

}  // namespace
}  // namespace millrace
