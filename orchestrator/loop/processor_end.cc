// The end of the engine after a commit behind which nothing may follow.
#include <cstdlib>

#include <spdlog/spdlog.h>

#include "orchestrator/loop/processor.h"

namespace millrace {

void Processor::end(const Work& work, const Error& error) {
  engine_.crash_note.end();  // a fault of the disk or the log ends the engine, not one of an input
  if (error.code == "store.sync" || !on_log_error_) {
    spdlog::critical(
        "{}; nothing is known of the last commit, so this process stops; a restart "
        "recovers",
        error.message);
    std::abort();
  }
  spdlog::error("the engine ends, because its last commit does not count, or may not count: {}",
                error.message);
  has_ended_ = true;
  for (const CommandInput& one : work.commands) intake_.answer(one.request, tl::unexpected(error));
  intake_.set_refusal(error);
  intake_.set_failure(error);
  on_log_error_(error);
}

}  // namespace millrace
