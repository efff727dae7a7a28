// A workflow whose states note compensations, and the tasks that make them.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "tests/simulation/charge_order.h"
#include "tests/simulation/world.h"

namespace millrace {

/// A workflow with the states `step1`, `step2`, …, each of which calls `do` and notes a call of
/// `undo` with its number and its result. `more`: further keys of the workflow; `undo`: further
/// keys of each `compensate`.
inline std::string compensated_steps(int count, const std::string& more = "compensate: true",
                                     const std::string& undo = "") {
  std::string text = fmt::format(R"(
id: order
{}
functions:
- {{id: do, type: knative-namespace, service: do}}
- {{id: undo, type: knative-namespace, service: undo}}
states:
)",
                                 more);
  for (int i = 1; i <= count; ++i) {
    text += fmt::format(R"(- id: step{0}
  type: action
  action: {{function: do, input: {0}}}
  compensate: {{function: undo, input: {{step: {0}, done: jq(.return)}}{1}}}
  transform: "{{}}"
)",
                        i, undo);
    if (i < count) text += fmt::format("  transition: step{}\n", i + 1);
  }
  return text;
}

/// The tasks of a function in the order of their start.
inline std::vector<Task> tasks_of(World& world, std::string_view function) {
  std::vector<Task> found;
  for (const Task& task : world.functions.tasks()) {
    const auto is_same = [&](const Task& one) { return one.id == task.id; };
    const bool is_again = std::any_of(found.begin(), found.end(), is_same);
    if (task.function == function && !is_again) found.push_back(task);
  }
  return found;
}

/// The inputs of these tasks.
inline std::vector<std::string> inputs_of(World& world, std::string_view function) {
  std::vector<std::string> inputs;
  for (const Task& task : tasks_of(world, function)) inputs.push_back(task.input);
  return inputs;
}

/// Answers the newest task; its result is `result`.
inline void answer_newest_task(World& world, const Json& result) {
  world.functions.answer(world.functions.tasks().back().id, result);
  world.run_until_idle();
}

inline void fail_newest_task(World& world, const std::string& code = "no") {
  fail(world, world.functions.tasks().back().id, code);
}

}  // namespace millrace
