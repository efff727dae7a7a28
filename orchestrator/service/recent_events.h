// RecentEvents: the attributes of the events of one namespace that were read from the event stream
// for `lookback`, in memory, with an index of their types and of the attributes that searches
// compare for equality. The data of an event is read again when a search has found the event. Not
// thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include <boost/unordered/unordered_flat_map.hpp>

#include "base/attributes.h"
#include "base/event.h"
#include "base/result.h"
#include "base/time.h"
#include "matchers/event_filter.h"
#include "matchers/match_budget.h"
#include "model/early_events.h"
#include "model/effect.h"
#include "orchestrator/ports/stored_events.h"

namespace millrace {

/// Limits of one search; beyond one of them its result is the error kLookbackLimit.
struct LookbackLimits {
  size_t looked_at = 10'000;  ///< events of the types, and with the equal attributes, of a search
  size_t found = 250;         ///< events that a state gets
  size_t found_bytes = size_t{4} << 20;  ///< of the data of these events, except the last
};

/// The error kLookbackLimit. `what` says which limit was reached, and where.
Error beyond_lookback(std::string_view what);

/// The time at which the longest window of the search begins.
TimePoint window_of(const LookBack& asked);

class RecentEvents {
 public:
  /// Reads the whole event with that sequence; nullopt: it is no longer there. Errors: those of
  /// StoredEvents.
  using Fetch = std::function<Result<std::optional<Event>>(uint64_t sequence)>;

  explicit RecentEvents(LookbackLimits limits = {}) : limits_(limits) {}

  /// Adds a message with a higher sequence than all others. A message that is no valid event is
  /// passed over. Precondition: not is_full().
  void add(StoredEvent stored);
  /// The same for an event whose attributes were read.
  void add(uint64_t sequence, TimePoint stamped, Attributes attributes);
  /// Removes the events up to the first one that was stored at that time or later.
  void drop_before(TimePoint since);
  /// Precondition: not empty().
  void drop_oldest();
  void clear();

  bool empty() const { return entries_.empty(); }
  /// Whether no event can be added before clear(): four billion were added since.
  bool is_full() const { return removed_ + entries_.size() >= kMostPlaces; }
  /// The memory that the events take, about.
  size_t bytes() const { return bytes_; }
  /// When the oldest event was stored. Precondition: not empty().
  TimePoint oldest() const { return entries_.front().stamped; }
  /// When the newest event was stored. Precondition: not empty().
  TimePoint newest() const { return entries_.back().stamped; }

  /// Searches for the early events that `asked` asks for. Not const: may add to the index. Errors:
  /// those of `fetch`.
  Result<EarlyEvents> find(const LookBack& asked, const Fetch& fetch);

  /// How many events find() has looked at since the last call; patterns that take long count as
  /// several.
  size_t take_looks() { return std::exchange(looks_, 0); }

 private:
  struct Entry {
    uint64_t sequence = 0;
    TimePoint stamped;  ///< at least that of the entry before, should the broker's clock go back
    Attributes attributes;
  };
  /// The place of an event: its number since clear().
  using Place = uint32_t;
  using Places = std::vector<Place>;
  static constexpr uint64_t kMostPlaces = std::numeric_limits<Place>::max() - 1;

  /// An attribute that is in the index. The events of the type with one value are a list, from the
  /// newest to the oldest; events are named by their numbers among those of the type.
  struct Learned {
    std::string name;
    boost::unordered_flat_map<uint32_t, uint32_t> newest;  ///< by the hash of the value
    std::vector<uint32_t> previous;                        ///< by event, as TypeEvents::places
  };
  /// The events of one type.
  struct TypeEvents {
    Places places;        ///< ascending
    size_t first = 0;     ///< the index of the first place of an event that was not removed
    uint32_t erased = 0;  ///< the number of the event at index 0 of `places`
    std::vector<Learned> learned;

    size_t size() const { return places.size() - first; }
  };
  /// The search of one listener through the events that it may match.
  struct Walk {
    const EarlyListener* listener = nullptr;
    Places own;  ///< the places, if they are not those of the type
    const Place* next = nullptr;
    const Place* end = nullptr;
  };

  /// The events that a listener may take.
  struct Window {
    TimePoint since;     ///< stored at this time or later …
    uint64_t until = 0;  ///< … and up to this sequence
  };

  const Entry& at(Place place) const { return entries_[place - removed_]; }
  void link(Learned& learned, const Attributes& event, uint32_t number);
  Learned* learn(TypeEvents& events, const std::string& name);
  std::optional<Places> equal_to(const TypeEvents& events, const Learned& learned,
                                 std::string_view text, const Window& window) const;
  std::optional<Walk> begin_walk(const EarlyListener& listener, uint64_t until);
  bool has_forgotten(const LookBack& asked) const;
  Result<EarlyEvents> find_within(const LookBack& asked, const Fetch& fetch, MatchBudget& budget,
                                  size_t& looked_at);

  const LookbackLimits limits_;
  std::deque<Entry> entries_;
  uint64_t removed_ = 0;  ///< the place of the first entry
  size_t bytes_ = 0;
  size_t looks_ = 0;
  std::unordered_map<std::string, TypeEvents> types_;
};

}  // namespace millrace
