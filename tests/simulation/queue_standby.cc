#include "tests/simulation/queue_standby.h"

#include <utility>
#include <vector>

namespace millrace::queue_model {

Result<std::unique_ptr<QueueStandby>> QueueStandby::open(const MemoryLog& log,
                                                         const std::filesystem::path& folder) {
  std::unique_ptr<QueueStandby> standby(new QueueStandby(log));
  EnvironmentOptions options;
  options.checkpoints_at_close = false;  // a process that dies makes no checkpoint
  options.waits_for_checkpoints = true;
  standby->environment_ = TRY(Environment::open(folder, options));
  standby->follower_ = TRY(LogFollower::open(*standby->environment_));
  return standby;
}

Status QueueStandby::follow(size_t most) {
  const std::vector<LogCommit> commits = TRY(log_.read(follower_->position(), most));
  return follower_->apply(commits);
}

}  // namespace millrace::queue_model
