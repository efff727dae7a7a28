// FakeEventDesk: an EventDesk in memory, for tests of the gateway and the command line. Any thread.
#pragma once

#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "orchestrator/service/event_desk.h"

namespace millrace {

class FakeEventDesk : public EventDesk {
 public:
  /// Shows the events 18 and 17, one of which has started an instance. With `after`, the events
  /// after it, and none twice. Of both lists, only those before `before`. With an id, the events
  /// with that id: of "twice", the events 16 and 15; of "deep", one in the fourth page, behind
  /// pages without an event; of "endless", none in any page; for "lost", the broker does not
  /// answer. The namespace "empty" has no events.
  Result<Json> list(std::string_view ns, const EventListFilter& filter) override;
  /// Only event 18 exists, and 79, which waits in the group of FakeService.
  Result<Json> get(std::string_view ns, uint64_t sequence) override;

  /// Event 18, and 79, has the sequence 19 when it is replayed. Its own id is known.
  Result<Json> replay(std::string_view ns, const EventReplay& replay) override;
  /// Event 18 as it is, under the id `replay-1`.
  Result<Event> planned_replay(std::string_view ns, const EventReplay& replay) override;

  /// Begins the replay `r1`, which each call of replay_progress() moves by half. In between, it
  /// waits for the broker.
  void begin_replay(std::string_view ns, const RangeReplay& range, Done done) override;
  Result<Json> replays(std::string_view ns) override;
  Result<Json> replay_progress(std::string_view ns, const std::string& id) override;
  void stop_replay(std::string_view ns, const std::string& id, Done done) override;

  RangeReplay last_range();
  bool is_stopped();

  EventListFilter last_filter();
  /// Of the last call of replay() that succeeded.
  EventReplay last_replay();
  /// Of the last call of planned_replay() that succeeded.
  EventReplay last_plan();

 private:
  std::mutex mutex_;
  EventListFilter filter_;
  EventReplay replay_;
  EventReplay plan_;
  Json shown_replay() const;

  RangeReplay range_;
  int progress_ = 0;  ///< 0 to 2 halves
  bool is_stopped_ = false;
};

}  // namespace millrace
