// RecentEvents: the events of one namespace that were read from the event stream for `lookback`,
// in memory, with an index of their types and of the attributes that were asked for. Not
// thread-safe; does no input or output.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/time.h"
#include "cloudevents/encoded_event.h"
#include "matchers/event_filter.h"
#include "model/early_events.h"
#include "model/effect.h"
#include "orchestrator/ports/stored_events.h"

namespace millrace {

/// Limits of one search; beyond one of them its result is the error kLookbackLimit.
struct LookbackLimits {
  size_t looked_at = 10'000;  ///< events of the types, and with the equal attributes, of a search
  size_t found = 250;         ///< events that a state gets
  size_t found_bytes = size_t{4} << 20;  ///< of these events, except the first
};

/// The error kLookbackLimit. `what` says which limit was reached, and where.
Error beyond_lookback(std::string_view what);

/// The time at which the longest window of the search begins.
TimePoint window_of(const LookBack& asked);

class RecentEvents {
 public:
  explicit RecentEvents(LookbackLimits limits = {}) : limits_(limits) {}

  /// Adds a message with a higher sequence than all others. A message that is no valid event is
  /// passed over.
  void add(StoredEvent stored);
  /// Removes the events up to the first one that was stored at that time or later.
  void drop_before(TimePoint since);
  void drop_oldest();
  void clear();

  bool empty() const { return entries_.empty(); }
  /// The memory that the events take, about.
  size_t bytes() const { return bytes_; }
  /// When the oldest event was stored. Precondition: not empty().
  TimePoint oldest() const { return entries_.front().latest; }
  /// When the newest event was stored. Precondition: not empty().
  TimePoint newest() const { return entries_.back().latest; }

  /// Searches for the early events that `asked` asks for. Not const: may add to the index.
  EarlyEvents find(const LookBack& asked);

 private:
  struct Entry {
    uint64_t sequence = 0;
    TimePoint stamped;
    TimePoint latest;  ///< the latest time of this event and all before it
    EncodedEvent event;
    size_t bytes = 0;
  };
  /// The places of some events, ascending. The place of an event is its number since clear().
  struct Places {
    std::vector<uint64_t> places;
    size_t first = 0;  ///< the index of the first event that was not removed

    size_t size() const { return places.size() - first; }
  };
  using Key = size_t;

  static Key key_of(std::string_view type, std::string_view name = {}, std::string_view text = {});
  template <class See>
  void each_key(const Attributes& event, const See& see) const;
  const Places* places_of(Key key) const;
  bool learn(const std::string& type, const std::string& name);
  const Places* fewest(const EventFilter& filter);
  bool has_forgotten(const LookBack& asked) const;
  const Entry& at(uint64_t place) const { return entries_[place - removed_]; }

  const LookbackLimits limits_;
  std::deque<Entry> entries_;
  uint64_t removed_ = 0;  ///< the place of the first entry
  size_t bytes_ = 0;
  std::unordered_map<Key, Places> index_;
  /// By type: the attributes that are in the index. The keys of other attributes are not.
  std::map<std::string, std::vector<std::string>, std::less<>> learned_;
};

}  // namespace millrace
