#include "orchestrator/service/early_event_search.h"

#include <algorithm>
#include <iterator>

#include <fmt/format.h>

namespace millrace {
namespace {

/// How many searches one turn answers, and messages it reads for them, until it ends. So many looks
/// at events take as long as one of these.
constexpr size_t kAnsweredAtOnce = 128;
constexpr size_t kLooksOfAnAnswer = 500;

/// The memory of an event that was found besides its data, about.
constexpr size_t kBytesOfAFoundEvent = 512;

/// How long the events of a namespace stay in memory after the latest search.
constexpr Duration kKeptUnused = std::chrono::minutes(10);

}  // namespace

/// Begins to read the window of the search. The searches that wait behind it are served by the same
/// read.
void EarlyEventSearch::Space::begin(const LookBack& first) {
  recent.clear();
  // A window of the same stream that had too many bytes does not get fewer.
  if (created != first.stream_created) cut = TimePoint::min();
  created = first.stream_created;
  since = needed_since(*this);
  read_to = 0;
  checked_to = 0;
  stretch = 0;
  complete = TimePoint::min();
}

void EarlyEventSearch::ask(LookBack asked, Done done) {
  const std::string ns = asked.space;
  const auto space = spaces_.try_emplace(ns, limits_.lookback).first;
  space->second.asked.push_back({std::move(asked), std::move(done)});
  ++waiting_;
}

/// The next namespace with searches, after that of the latest turn; end(): the engine must first
/// take events of all of them.
std::map<std::string, EarlyEventSearch::Space>::iterator EarlyEventSearch::next_space() {
  auto space = stays_for_ > 0 ? spaces_.lower_bound(last_) : spaces_.upper_bound(last_);
  for (size_t left = spaces_.size(); left > 0; --left) {
    if (space == spaces_.end()) space = spaces_.begin();
    if (!space->second.asked.empty() && !is_held_up(space->second)) return space;
    ++space;
  }
  return spaces_.end();
}

/// The bytes of the events that were found for the namespace and that the engine has not taken yet.
size_t EarlyEventSearch::given_bytes(Space& space) {
  std::erase_if(space.given, [](const Given& one) { return one.event.expired(); });
  size_t bytes = 0;
  for (const Given& one : space.given) bytes += one.bytes;
  return bytes;
}

bool EarlyEventSearch::is_held_up(Space& space) const {
  return given_bytes(space) >= limits_.given_bytes;
}

bool EarlyEventSearch::is_held_up() {
  return std::ranges::all_of(
      spaces_, [this](auto& one) { return one.second.asked.empty() || is_held_up(one.second); });
}

Status EarlyEventSearch::turn(Duration now) {
  const auto found = next_space();
  if (found == spaces_.end()) return {};
  const std::string& ns = found->first;
  Space& space = found->second;
  last_ = ns;
  space.used = now;
  const LookBack& first = space.asked.front().look_back;
  const TimePoint since = window_of(first);
  bool is_asked = true;
  if (first.stream_created != 0) {
    FedEvents fed;
    if (first.stream_created == space.created && since >= space.cut) fed = take_fed(ns, space);
    // If all windows begin after what was read, the events in between are not read. Only the
    // longest window counts: what was read for it may all be older than the first one.
    const bool is_apart = since >= space.cut && !space.recent.empty() &&
                          space.read_to < first.until.sequence &&
                          space.recent.newest() < needed_since(space);
    const bool is_covered = space.created == first.stream_created &&
                            (since >= space.since || since < space.cut) && !is_apart &&
                            !space.recent.is_full();
    if (!is_covered) {
      space.begin(first);
      if (feed_ != nullptr) feed_->follow(ns);
      fed = take_fed(ns, space);
    }
    if (space.read_to < first.until.sequence && since >= space.cut) {
      return read_page(ns, space, fed);
    }
    is_asked = !is_checked(space, fed);
    if (is_asked) {
      if (TRY(has_lost_tail(space))) {
        space.created = 0;  // the next turn begins again
        return {};
      }
      if (space.checked_to < space.read_to) TRY(check_stream(space, fed));
      space.stretch = fed.continues ? fed.stretch : 0;
    }
  }
  return answer(space, is_asked);
}

/// The time at which the longest of the windows of the stream begins that searches wait for, except
/// those that have too many bytes.
TimePoint EarlyEventSearch::needed_since(const Space& space) {
  TimePoint needed = TimePoint::max();
  for (const Asked& one : space.asked) {
    if (one.look_back.stream_created != space.created) continue;
    const TimePoint since = window_of(one.look_back);
    if (since >= space.cut) needed = std::min(needed, since);
  }
  return needed;
}

/// The sequence up to which the searches of the stream need events.
uint64_t EarlyEventSearch::needed_until(const Space& space) {
  uint64_t needed = 0;
  for (const Asked& one : space.asked) {
    if (one.look_back.stream_created == space.created) {
      needed = std::max(needed, one.look_back.until.sequence);
    }
  }
  return needed;
}

/// Adds what the reader has delivered since the latest read, if no event is missing in between.
/// Returns what the feed has; without its events.
FedEvents EarlyEventSearch::take_fed(const std::string& ns, Space& space) {
  if (feed_ == nullptr) return {};
  FedEvents fed = feed_->take(ns, space.created, space.read_to);
  if (!fed.continues) return fed;
  const bool was_checked = is_checked(space, fed);
  for (FedEvent& one : std::exchange(fed.events, {})) {
    if (one.stamped < space.since) continue;
    if (space.recent.is_full()) {
      space.created = 0;  // this turn begins again
      return {};
    }
    space.recent.add(one.sequence, one.stamped, std::move(one.attributes));
  }
  if (space.read_to < fed.last) {
    space.read_to = fed.last;
    if (was_checked) {
      space.checked_to = fed.last;
      space.checked_stamp = fed.stamped;
    }
    bound(space);
    drop_others(ns);
  }
  return fed;
}

/// Whether the reader would have noticed if the stream had lost anything since the latest check, so
/// that the broker need not be asked: the same stretch of the stream has all that came since.
bool EarlyEventSearch::is_checked(const Space& space, const FedEvents& fed) {
  return fed.continues && space.stretch == fed.stretch && space.checked_to == space.read_to;
}

/// Reads the next events for the first search of the namespace, and in the same page what the
/// searches behind it need: a page takes several requests to the broker, however few events it has.
/// The pages end where the feed begins.
Status EarlyEventSearch::read_page(const std::string& ns, Space& space, const FedEvents& fed) {
  const bool is_before_feed = fed.created != 0 && fed.first > space.read_to + 1;
  const uint64_t last = is_before_feed ? fed.first - 1 : needed_until(space);
  StoredEvents::Range range{.ns = ns, .first = space.read_to + 1, .last = last};
  if (space.recent.empty()) {
    space.since = std::max(space.since, needed_since(space));
    range.since = space.since;
  }
  StoredEvents::Page page = TRY(events_.read(range));
  for (StoredEvent& event : page.events) {
    if (event.stamped >= space.since) space.recent.add(std::move(event));
  }
  space.read_to = page.next == 0 ? last : page.next - 1;
  bound(space);
  drop_others(ns);
  return {};
}

/// When the stream stored the message with that sequence; nullopt: it does not have the message.
Result<std::optional<TimePoint>> EarlyEventSearch::stamp_of(uint64_t sequence) {
  const Result<StoredEvent> stored = events_.get(sequence);
  if (stored) return std::optional(stored->stamped);
  if (stored.error().code != "event.not_found") return tl::unexpected(stored.error());
  return std::optional<TimePoint>();
}

/// Whether the stream has lost its newest messages since they were read: then later ones get their
/// sequences. It shows at the last message that was checked.
Result<bool> EarlyEventSearch::has_lost_tail(const Space& space) {
  if (space.checked_to == 0) return false;
  const auto stamped = TRY(stamp_of(space.checked_to));
  if (stamped) return stamped != space.checked_stamp;
  return TRY(events_.span()).last < space.checked_to;
}

/// Finds out whether the stream has lost events before they were read.
Status EarlyEventSearch::check_stream(Space& space, const FedEvents& fed) {
  const StreamSpan span = TRY(events_.span());
  // A message that was fed is not asked for: should the stream have lost it by now, its stamp shows
  // that when the reader has opened the stream again.
  const bool is_fed = fed.continues && fed.stamped;
  const auto stamped = is_fed ? fed.stamped : TRY(stamp_of(space.read_to));
  // The window of a stream that was replaced can no longer be read.
  if (span.created != space.created) space.recent.clear();
  // What was read at the first time may lack events that the stream had lost before; what was read
  // since, only those that it has lost meanwhile.
  const bool may_lack = space.checked_to == 0 || span.first > space.checked_to + 1;
  if (may_lack) space.complete = std::max(space.complete, span.complete_since);
  space.checked_to = space.read_to;
  space.checked_stamp = stamped;
  return {};
}

/// Answers the searches at the front whose windows were read, some at once. `is_asked`: the broker
/// was asked in this turn what the stream has lost. Otherwise it is asked before a search fails:
/// the stream may have lost its newest messages, and the reader has not noticed it yet.
Status EarlyEventSearch::answer(Space& space, bool is_asked) {
  size_t used = 0;
  size_t given = given_bytes(space);
  while (used < kAnsweredAtOnce && !space.asked.empty() && given < limits_.given_bytes) {
    const LookBack& asked = space.asked.front().look_back;
    const TimePoint since = window_of(asked);
    EarlyEvents found;
    if (asked.stream_created != 0) {
      // A search in another stream waits for its own read.
      if (asked.stream_created != space.created) return {};
      const bool is_read = asked.until.sequence <= space.read_to && since >= space.since;
      if (since < space.cut) {
        found = tl::unexpected(beyond_lookback(
            fmt::format("the attributes of those of the namespace need more than {} MiB",
                        limits_.window_bytes >> 20)));
      } else if (!is_read) {
        return {};
      } else if (since < space.complete) {
        found = tl::unexpected(beyond_lookback("the event stream no longer has all of them"));
      } else {
        found = TRY(space.recent.find(asked, [&](uint64_t at) {
          ++used;
          return fetch(at);
        }));
        if (!found && !is_asked) {
          space.stretch = 0;
          return {};
        }
      }
    }
    used += 1 + space.recent.take_looks() / kLooksOfAnAnswer;
    if (found && !found->empty()) given += space.given.emplace_back(given_of(*found)).bytes;
    Asked answered = std::move(space.asked.front());
    space.asked.pop_front();
    --waiting_;
    if (stays_for_ > 0) --stays_for_;
    answered.done(std::move(found));
  }
  return {};
}

/// The events of one search have the same life: that of the input of the engine that has them.
EarlyEventSearch::Given EarlyEventSearch::given_of(const std::vector<EarlyEvent>& found) {
  Given given{.event = found.back().event};
  for (const EarlyEvent& one : found) {
    given.bytes += kBytesOfAFoundEvent + (one.event->data ? one.event->data->size() : 0);
  }
  return given;
}

Result<std::optional<Event>> EarlyEventSearch::fetch(uint64_t sequence) {
  const Result<StoredEvent> stored = events_.get(sequence);
  if (!stored && stored.error().code != "event.not_found") return tl::unexpected(stored.error());
  if (!stored) return std::optional<Event>();
  const Result<Event> event = decode_nats(stored->message);
  return event ? std::optional<Event>(*event) : std::nullopt;
}

/// Drops events that no search needs, and the oldest ones if the rest is beyond the limit.
void EarlyEventSearch::bound(Space& space) {
  if (space.recent.bytes() <= limits_.window_bytes) return;
  const TimePoint needed = needed_since(space);
  if (needed > space.since) {
    space.recent.drop_before(needed);
    space.since = needed;
  }
  while (space.recent.bytes() > limits_.window_bytes) {
    space.cut = space.recent.oldest() + Duration(1);
    space.recent.drop_oldest();
  }
  space.since = std::max(space.since, space.cut);
}

/// Drops what other namespaces have in memory if all have too much. Their searches begin again when
/// those are answered that wait now in this namespace.
void EarlyEventSearch::drop_others(const std::string& ns) {
  size_t bytes = 0;
  for (const auto& [name, space] : spaces_) bytes += space.recent.bytes();
  if (bytes <= limits_.all_bytes) return;
  if (stays_for_ == 0) stays_for_ = spaces_.at(ns).asked.size();
  for (auto& [name, space] : spaces_) {
    if (name == ns) continue;
    space.recent.clear();
    space.created = 0;
    if (feed_ != nullptr) feed_->forget(name);
  }
}

void EarlyEventSearch::forget_unused(Duration now) {
  for (auto space = spaces_.begin(); space != spaces_.end();) {
    const bool is_unused = space->second.asked.empty() && now - space->second.used >= kKeptUnused;
    if (is_unused && feed_ != nullptr) feed_->forget(space->first);
    space = is_unused ? spaces_.erase(space) : std::next(space);
  }
}

}  // namespace millrace
