// FakeEventDesk: an EventDesk in memory, for tests of the gateway and the command line. Any thread.
#pragma once

#include <mutex>
#include <string_view>
#include <vector>

#include "orchestrator/service/event_desk.h"

namespace millrace {

class FakeEventDesk : public EventDesk {
 public:
  /// Shows the events 18 and 17, one of which has started an instance. With `after`, the events
  /// after it, and none twice.
  Result<Json> list(std::string_view ns, const EventListFilter& filter) override;
  /// Only event 18 exists.
  Result<Json> get(std::string_view ns, uint64_t sequence) override;

  /// Event 18 has the sequence 19 when it is replayed. Its own id is known.
  Result<Json> replay(std::string_view ns, const EventReplay& replay) override;

  EventListFilter last_filter();
  EventReplay last_replay();

 private:
  std::mutex mutex_;
  EventListFilter filter_;
  EventReplay replay_;
};

}  // namespace millrace
