// The end of a play of QueuePlayer: everything that waits begins, and everything that runs ends.
#include <algorithm>

#include "tests/simulation/queue_player.h"

namespace millrace::queue_model {

void QueuePlayer::release_all() {
  if (model_.workflow_paused()) resume_workflow();
  for (size_t i = 0; i < model_.instances().size() && !failed(); ++i) {
    if (!model_.instances()[i].active() || !model_.instances()[i].paused) continue;
    step("resume " + model_.instances()[i].start.order);
    ask(ResumeInstance{.ns = "default", .instance = id_of(ids_.at(i))});
    model_.resume(i);
    compare();
  }
}

/// Ends the instances whose runs have started, oldest first, until none is left.
void QueuePlayer::end_orders() {
  while (!failed()) {
    const std::vector<size_t> holders =
        instances_that([](const Instance& one) { return one.runs(); });
    if (holders.empty()) return;
    const std::string order = awaited_order(model_.instances()[holders.front()].start.order);
    step("go " + order);
    publish_order("go", order, nullptr);
    settle(chance(20));
    model_.go(order);
    compare();
  }
}

/// Cancels what is active: the ticks of a schedule may come faster than the throttle lets them
/// begin.
void QueuePlayer::cancel_active() {
  while (!failed()) {
    const std::vector<size_t> active =
        instances_that([](const Instance& one) { return one.active(); });
    if (active.empty()) return;
    step("cancel " + model_.instances()[active.front()].start.order);
    ask(CancelInstance{.ns = "default", .instance = id_of(ids_.at(active.front()))});
    model_.cancel(active.front());
    compare();
  }
}

/// Whether something waits that time alone lets begin.
bool QueuePlayer::has_waiting() const {
  const std::vector<size_t> active =
      instances_that([](const Instance& one) { return one.active(); });
  return !model_.pending().empty() || !active.empty();
}

void QueuePlayer::drain() {
  constexpr int kMost = 200;
  release_all();
  for (int i = 0; i < kMost && !failed(); ++i) {
    end_orders();
    const auto due = model_.next_due();
    if (failed() || !has_waiting() || !due) return;
    // The ticks of a schedule put off its start, and make further ones, again and again.
    if (model_.definition().start == StartType::kScheduled && i > 5) return cancel_active();
    // A little later, so that what the next orders cause is not due at the same time as other
    // things.
    pass(std::max(*due - model_.now(), Duration(1)) + Duration(1 + i % 7));
  }
}

}  // namespace millrace::queue_model
