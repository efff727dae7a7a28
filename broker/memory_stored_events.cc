#include "broker/memory_stored_events.h"

#include <algorithm>
#include <string>

#include <fmt/format.h>

#include "cloudevents/subject.h"

namespace millrace {
namespace {

StoredEvent stored_event(const MemoryBroker::Stored& stored) {
  return {.ns = subject_namespace(stored.message.subject).value_or(""),
          .sequence = stored.sequence,
          .stamped = stored.stamped,
          .message = stored.message};
}

size_t bytes_in(const NatsMessage& message) {
  size_t bytes = message.subject.size() + message.data.size();
  for (const auto& [name, value] : message.headers) bytes += name.size() + value.size();
  return bytes;
}

}  // namespace

Status MemoryStoredEvents::check_connected() const {
  if (broker_.connected()) return {};
  return fail("broker.unreachable", "not connected");
}

Result<StreamSpan> MemoryStoredEvents::span() {
  TRY(check_connected());
  StreamSpan span{.created = broker_.created(),
                  .first = broker_.first_sequence(),
                  .last = broker_.last_sequence()};
  if (span.first > 1) {
    const auto& events = broker_.events();
    span.complete_since = events.empty() ? TimePoint::max() : events.front().stamped + Duration(1);
  }
  return span;
}

Result<StoredEvent> MemoryStoredEvents::get(uint64_t sequence) {
  TRY(check_connected());
  for (const MemoryBroker::Stored& stored : broker_.events()) {
    if (stored.sequence == sequence) return stored_event(stored);
  }
  return fail("event.not_found", fmt::format("the event stream has no message {}", sequence));
}

Result<StoredEvents::Page> MemoryStoredEvents::read(const Range& range) {
  TRY(check_connected());
  const size_t limit =
      range.limit == 0 ? kMostStoredEvents : std::min(range.limit, kMostStoredEvents);
  Page page;
  size_t bytes = 0;
  for (const MemoryBroker::Stored& stored : broker_.events()) {
    if (stored.sequence < range.first) continue;
    if (range.last != 0 && stored.sequence > range.last) break;
    if (range.since && stored.stamped < *range.since) continue;
    if (subject_namespace(stored.message.subject) != range.ns) continue;
    if (page.events.size() >= limit || bytes >= kMostStoredBytes) {
      page.next = stored.sequence;
      break;
    }
    bytes += bytes_in(stored.message);
    page.events.push_back(stored_event(stored));
  }
  return page;
}

}  // namespace millrace
