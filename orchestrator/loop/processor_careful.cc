// The careful mode: after the death of a process, inputs are applied one by one, and each is noted
// before it is applied (orchestrator/batch/crash_note.h).
#include <algorithm>
#include <iterator>

#include <spdlog/spdlog.h>

#include "orchestrator/loop/processor.h"

namespace millrace {
namespace {

/// If the previous process died in a batch: how many turns apply one input each, in addition to one
/// turn for each input of the crash note.
constexpr uint64_t kCarefulTurns = 16;

/// In a cluster: the number of inputs in the batch of a dead active is not known, and other inputs
/// may come before them.
constexpr uint64_t kCarefulTurnsInCluster = 2 * IntakeLimits{}.batch_events;

}  // namespace

/// If the previous process died while it applied a batch, the inputs of that batch are applied one
/// by one, and the crash note records each input before it is applied. If this process dies too,
/// the next process knows which input it died of, and moves an event to the dead-letter queue or
/// abandons an instance.
Status Processor::learn_from_death() {
  const auto& left = engine_.crash_note.left();
  const bool is_led = parts_.engine.environment.is_led();
  if (!left && !is_careful_start_) return {};
  careful_ = unfinished_.size() + (is_led ? kCarefulTurnsInCluster : kCarefulTurns);
  if (left) careful_ += 2 * left->inputs;
  spdlog::warn(
      "{}; this process applies the next {} inputs one by one",
      is_led ? "at least two actives of the cluster have ended without an `end` within ten minutes"
             : "the previous process died while it applied a batch",
      careful_);
  return left && engine_.crash_note.is_poison() ? give_up(left->input) : Status();
}

/// Abandons the instance of which processes died, or makes the event a dead letter when it comes.
Status Processor::give_up(const NotedInput& poison) {
  if (poison.instance) {
    const auto& [ns, id] = *poison.instance;
    const TimePoint now = std::max(time_, engine_.clock.now());
    if (TRY(engine_.batch.abandon_instance(now, ns, id))) {
      spdlog::error(
          "instance {} is abandoned: the process died {} times while it stepped the instance",
          to_string(id), poison.deaths);
      finish({}, TRY(commit(engine_.batch.finish(now), Limit::kPassed)));
      return {};
    }
  }
  applier_.set_poison(poison.sequence);
  spdlog::error(
      "event {} will be moved to the dead-letter queue: the process died {} times while "
      "it applied the event",
      poison.sequence, poison.deaths);
  return {};
}

/// Keeps the first input of `work`, and leaves all further inputs for the next turns.
void Processor::keep_first(Work& work) {
  bool taken = false;
  const auto keep = [&taken](auto& inputs, auto& rest) {
    if (inputs.empty()) return;
    rest.assign(std::make_move_iterator(inputs.begin() + (taken ? 0 : 1)),
                std::make_move_iterator(inputs.end()));
    inputs.resize(taken ? 0 : 1);
    taken = true;
  };
  keep(work.continues, unfinished_);
  keep(work.deliveries, left_.deliveries);
  keep(work.commands, left_.commands);
  keep(work.evaluated, left_.evaluated);
  keep(work.tasks, left_.tasks);
}

}  // namespace millrace
