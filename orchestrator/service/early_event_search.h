// EarlyEventSearch: finds early events for the states with `lookback`. It reads the window of a
// namespace from the event stream once for all searches, and keeps it for the next ones. What comes
// after the window is fed by the reader of the event stream, and read only if the feed lacks it.
// The work is done in portions, in which the namespaces take turns. For use by one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/event.h"
#include "base/result.h"
#include "base/time.h"
#include "model/early_events.h"
#include "model/effect.h"
#include "orchestrator/ports/stored_events.h"
#include "orchestrator/service/early_event_feed.h"
#include "orchestrator/service/recent_events.h"

namespace millrace {

struct SearchLimits {
  /// The attributes of events that one namespace may have in memory: those of about a million
  /// events of usual size. A window with more is beyond the limit.
  size_t window_bytes = size_t{256} << 20;
  /// The same for all namespaces together.
  size_t all_bytes = size_t{512} << 20;
  /// The bytes of events of one namespace that were found and that the engine has not taken yet,
  /// from which the other searches of the namespace wait.
  size_t given_bytes = size_t{32} << 20;
  LookbackLimits lookback;
};

class EarlyEventSearch {
 public:
  using Done = std::function<void(EarlyEvents)>;

  /// `events` and `feed` outlive the object. Without `feed`, all events are read from `events`.
  explicit EarlyEventSearch(StoredEvents& events, SearchLimits limits = {},
                            EarlyEventFeed* feed = nullptr)
      : events_(events), limits_(limits), feed_(feed) {}

  /// Adds a search. turn() calls `done` once.
  void ask(LookBack asked, Done done);

  /// How many searches turn() has not answered yet.
  size_t waiting() const { return waiting_; }
  /// Whether turn() has something to do.
  bool has_work() const { return waiting_ > 0; }

  /// Whether turn() can do nothing, because the engine must first take events that were found.
  bool is_held_up();

  /// Does one portion: reads one page of the event stream, or answers some searches. `now` is
  /// Clock::elapsed(). Errors: those of StoredEvents; the searches still wait. Precondition:
  /// has_work().
  Status turn(Duration now);

  /// Drops the events of namespaces that were not searched for ten minutes.
  void forget_unused(Duration now);

 private:
  struct Asked {
    LookBack look_back;
    Done done;
  };
  /// Events that were found by one search.
  struct Given {
    std::weak_ptr<const Event> event;  ///< one of them; it lives until the engine has taken all
    size_t bytes = 0;                  ///< of all of them
  };
  /// What was read of one namespace.
  struct Space {
    explicit Space(LookbackLimits limits) : recent(limits) {}

    std::deque<Asked> asked;
    std::vector<Given> given;
    RecentEvents recent;
    int64_t created = 0;   ///< the stream, as Cursor::stream_created; 0: nothing was read
    TimePoint since;       ///< `recent` has the events that were stored from this time on …
    uint64_t read_to = 0;  ///< … up to this sequence
    TimePoint cut = TimePoint::min();       ///< windows that begin earlier have too many bytes
    TimePoint complete = TimePoint::min();  ///< the stream has lost events of earlier windows
    uint64_t checked_to = 0;  ///< the sequence up to which it is known what the stream has lost
    std::optional<TimePoint> checked_stamp;  ///< when that message was stored, if it was there
    uint64_t stretch = 0;  ///< FedEvents::stretch at the latest check; 0: it was not fed
    Duration used{0};      ///< the time of the latest turn

    void begin(const LookBack& first);
  };

  std::map<std::string, Space>::iterator next_space();
  static size_t given_bytes(Space& space);
  bool is_held_up(Space& space) const;
  static Given given_of(const std::vector<EarlyEvent>& found);
  static TimePoint needed_since(const Space& space);
  static uint64_t needed_until(const Space& space);
  FedEvents take_fed(const std::string& ns, Space& space);
  static bool is_checked(const Space& space, const FedEvents& fed);
  Status read_page(const std::string& ns, Space& space, const FedEvents& fed);
  Result<std::optional<Event>> fetch(uint64_t sequence);
  Result<std::optional<TimePoint>> stamp_of(uint64_t sequence);
  Result<bool> has_lost_tail(const Space& space);
  Status check_stream(Space& space, const FedEvents& fed);
  Status answer(Space& space, bool is_asked);
  void bound(Space& space);
  void drop_others(const std::string& ns);

  StoredEvents& events_;
  const SearchLimits limits_;
  EarlyEventFeed* const feed_;  ///< null: there is none
  std::map<std::string, Space> spaces_;
  std::string last_;  ///< the namespace of the latest turn
  /// How many searches are answered before another namespace has a turn, because of all_bytes.
  size_t stays_for_ = 0;
  size_t waiting_ = 0;  ///< the searches of all namespaces
};

}  // namespace millrace
