// FakeLetterDesk: a LetterDesk in memory, for tests of the gateway and the command line. Any
// thread.
#pragma once

#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "orchestrator/service/letter_desk.h"

namespace millrace {

/// Has the dead letters 12 and 11, both of the reason `event.time`. The second one cannot be
/// replayed as it is.
class FakeLetterDesk : public LetterDesk {
 public:
  Result<Json> list(std::string_view ns, const LetterFilter& filter) override;
  Result<Json> get(std::string_view ns, uint64_t id) override;
  Result<Json> replay(std::string_view ns, uint64_t id,
                      const std::optional<Event>& corrected) override;
  /// One dead letter in each call.
  Result<Json> replay_all(std::string_view ns, const std::string& reason, uint64_t from) override;
  Result<Json> remove(std::string_view ns, uint64_t id) override;
  Result<Json> remove_all(std::string_view ns, const std::string& reason) override;

  LetterFilter last_filter();
  std::string last_reason();
  std::optional<Event> last_corrected();
  std::set<uint64_t> ids();

 private:
  Status check(std::string_view ns) const;
  Status check(std::string_view ns, uint64_t id) const;

  std::mutex mutex_;
  LetterFilter filter_;
  std::string reason_;
  std::optional<Event> corrected_;
  std::set<uint64_t> ids_ = {11, 12};
};

}  // namespace millrace
