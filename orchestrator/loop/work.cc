#include "orchestrator/loop/work.h"

namespace millrace {

bool Work::empty() const {
  return size() == 0 && acks.empty() && webhook_results.empty() && stream_changes.empty() &&
         archived.empty() && waiters.empty();
}

size_t Work::size() const {
  return deliveries.size() + commands.size() + evaluated.size() + tasks.size() + continues.size();
}

}  // namespace millrace
