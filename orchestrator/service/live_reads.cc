#include "orchestrator/service/live_reads.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "orchestrator/service/event_item.h"
#include "orchestrator/service/letter_json.h"
#include "orchestrator/service/walk_back.h"

namespace millrace {
namespace {

/// After this time a read of dead letters reads no further window of the queue.
constexpr Duration kLiveLettersTime{500};

/// Collects the dead letters of a walk that begins with the newest one.
class NewLetters {
 public:
  /// `after`: only dead letters with higher ids are new.
  NewLetters(LiveLetters& found, const NamespaceIdentity& identity, uint64_t after)
      : found_(found), identity_(identity), after_(after) {}

  /// Returns whether the walk must continue.
  bool see(const StoredEvent& letter) {
    if (!is_letter_of(letter, identity_)) return true;
    if (found_.now.newest == 0) found_.now.newest = letter.sequence;
    is_done_ = letter.sequence <= after_;
    if (is_done_) return false;
    if (found_.letters.size() == kMostLiveItems) return note_unread(letter.sequence);
    found_.letters.push_back(letter_head(letter));
    return true;
  }

  /// The walk has ended; it would have continued below `before`, 0: nowhere.
  void end(uint64_t before) {
    if (!is_done_ && before > 0) note_unread(before - 1);
  }

 private:
  bool note_unread(uint64_t last) {
    found_.unread = last > after_ ? last - after_ : 0;
    is_done_ = true;
    return false;
  }

  LiveLetters& found_;
  const NamespaceIdentity& identity_;
  const uint64_t after_;
  bool is_done_ = false;
};

}  // namespace

Result<LiveEvents> read_live_events(StoredEvents& events, const LiveEventsQuestion& asked) {
  const StreamSpan span = TRY(events.span());
  if (span.created != asked.last.stream_created) {
    return fail("broker.protocol", "the event stream was created again");
  }
  StoredEvents::Page page = TRY(events.read(
      {.ns = asked.ns, .first = asked.first, .since = std::nullopt, .last = asked.last.sequence}));
  LiveEvents found;
  if (page.next != 0 && page.next <= asked.last.sequence) {
    found.unread = asked.last.sequence - page.next + 1;
  }
  found.events.reserve(page.events.size());
  for (StoredEvent& stored : page.events) {
    if (stored.stamped < asked.identity.created_at) continue;
    const size_t size = stored.message.data.size();
    const Result<Event> event = read_attributes(stored.message);
    found.events.push_back({.sequence = stored.sequence,
                            .type = event ? event->type : std::string(),
                            .item = event_item(stored, size, event)});
  }
  return found;
}

Result<LiveLetters> read_live_letters(StoredLetters& letters, const Clock& clock,
                                      const LiveLettersQuestion& asked) {
  const StreamSpan span = TRY(letters.span());
  LiveLetters found{.now = {.created = span.created, .last = span.last}, .letters = {}};
  for (const auto& [reason, count] : TRY(letters.count(asked.ns))) found.now.count += count;
  if (asked.before) {
    found.now.newest = asked.before->newest;
    if (found.now == *asked.before) return found;
    found.now.newest = 0;
  }
  // All dead letters of a queue that was created again are new.
  const bool is_same = asked.before && asked.before->created == span.created;
  const uint64_t after = !asked.before ? span.last : is_same ? asked.before->last : 0;
  NewLetters fresh(found, asked.identity, after);
  const TimePoint began = clock.now();
  const BackwardRange range{.first = span.first, .last = span.last, .is_late = [&] {
                              return clock.now() - began >= kLiveLettersTime;
                            }};
  const BackwardEnd end = TRY(walk_back(
      range,
      [&](uint64_t first, uint64_t last) {
        return letters.read({.ns = asked.ns, .reason = {}, .first = first, .last = last});
      },
      [&](StoredEvent& letter) { return fresh.see(letter); }));
  fresh.end(end.before);
  return found;
}

}  // namespace millrace
