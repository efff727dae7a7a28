// The kills and takeovers of QueuePlayer. Half of the plays are in a cluster of two nodes: the
// store of the active is led by a log, which a standby follows. When the active dies, it starts
// again, or the standby takes over with what the log holds, and the former active becomes the
// standby.
#include <fmt/format.h>

#include "tests/simulation/queue_player.h"

namespace millrace::queue_model {

/// The process dies, and the next one, of this node or of the other one, continues.
void QueuePlayer::die() {
  if (is_clustered_ && chance(50)) return take_over();
  step("kill");
  world_.restart_at(kills_++);
}

void QueuePlayer::take_over() {
  step("takeover");
  if (kills_++ % 2 == 0) {
    world_.crash();
  } else {
    world_.crash_after_commit();
  }
  if (follow(SIZE_MAX)) {
    standby_.reset();
    lead_ = next_epoch();
    world_.options().log = lead_.get();
    const std::filesystem::path former = world_.folder();
    world_.continue_with(standby_folder_);
    standby_folder_ = former;
  }
  world_.recover();
}

/// Starts an epoch of a node that has read the log to its end.
std::unique_ptr<CommitLog> QueuePlayer::next_epoch() {
  constexpr int kNodes = 2;
  ++epochs_;
  const RandomName node{static_cast<uint8_t>(1 + epochs_ % kNodes)};
  const RandomName incarnation{static_cast<uint8_t>(epochs_ / 256),
                               static_cast<uint8_t>(epochs_ % 256)};
  return log_.start_epoch(node, incarnation, log_.last_sequence()).value();
}

/// The standby applies the next commits of the log. Returns false if it cannot, which is a
/// difference.
bool QueuePlayer::follow(size_t most) {
  const auto followed = [&]() -> Status {
    if (!standby_) standby_ = TRY(QueueStandby::open(log_, standby_folder_));
    return standby_->follow(most);
  }();
  if (!followed) {
    differ(fmt::format("the standby does not follow the log: {}: {}", followed.error().code,
                       followed.error().message));
  }
  return followed.has_value();
}

}  // namespace millrace::queue_model
