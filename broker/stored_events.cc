#include "broker/stored_events.h"

#include <algorithm>
#include <chrono>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "broker/stored_message.h"
#include "broker/stream_headers.h"
#include "cloudevents/subject.h"
#include "orchestrator/ports/clock.h"

namespace millrace {
namespace {

/// How long one read of a range may take. A range that takes longer is read in several pages.
constexpr std::chrono::seconds kReadTime(4);
/// How many messages one request to the broker asks for.
constexpr size_t kReadBatch = 256;
/// How long the broker keeps the consumer of a range whose reader has ended without deleting it.
constexpr Duration kConsumerKept{10'000};

size_t bytes_of(const NatsMessage& message) {
  size_t bytes = message.subject.size() + message.data.size();
  for (const auto& [name, value] : message.headers) bytes += name.size() + value.size();
  return bytes;
}

/// Whether the first message from range.first on was stored at range.since or later, so that the
/// sequence and not the time says where the range begins.
Result<bool> begins_at_sequence(Connection& connection, const StreamSettings& stream,
                                const std::string& subjects, const StoredEvents::Range& range) {
  if (!range.since) return true;
  if (range.first <= 1) return false;
  const Result<StoredMessage> found =
      fetch_stored(connection, stream.name, {{"seq", range.first}, {"next_by_subj", subjects}});
  if (found) return broker_time(found->stamped) >= *range.since;
  if (found.error().code == "broker.not_found") return true;  // the range is empty
  return tl::unexpected(found.error());
}

}  // namespace

Result<StoredEvents::Page> read_range(Connection& connection, const StreamSettings& stream,
                                      const std::string& subjects,
                                      const StoredEvents::Range& range) {
  StoredEvents::Page page;
  const size_t limit =
      range.limit == 0 ? kMostStoredEvents : std::min(range.limit, kMostStoredEvents);
  HeaderRange read{.stream = stream, .info = TRY(find_stream(connection, stream)), .since = {}};
  read.stream.subjects = subjects;
  read.last =
      range.last == 0 ? read.info.last_sequence : std::min(range.last, read.info.last_sequence);
  read.first = std::max({range.first, read.info.first_sequence, uint64_t{1}});
  if (read.first > read.last) return page;
  if (!TRY(begins_at_sequence(connection, stream, subjects, range))) read.since = range.since;
  read.whole = true;
  read.pull = {
      .requests = 1, .batch = std::min(limit, kReadBatch), .inactive_threshold = kConsumerKept};

  const auto until = std::chrono::steady_clock::now() + kReadTime;
  const auto is_late = [&] { return std::chrono::steady_clock::now() >= until; };
  size_t bytes = 0;
  const Status done = each_header(connection, read, is_late, [&](StoredHeaders stored) {
    // Should the broker begin earlier, these messages are still not in the range.
    if (range.since && broker_time(stored.stamped) < *range.since) return true;
    bytes += bytes_of(stored.message);
    page.events.push_back({.ns = {},
                           .sequence = stored.sequence,
                           .stamped = broker_time(stored.stamped),
                           .message = std::move(stored.message)});
    const bool is_full = page.events.size() >= limit || bytes >= kMostStoredBytes;
    if (is_full && stored.sequence < read.last) page.next = stored.sequence + 1;
    return !is_full;
  });
  if (done) return page;
  if (!is_late()) return tl::unexpected(done.error());
  if (page.events.empty()) {
    return fail("broker.timeout",
                fmt::format("stream {} was not read within {} s from message {} on", stream.name,
                            kReadTime.count(), read.first));
  }
  page.next = page.events.back().sequence + 1;
  return page;
}

JetStreamStoredEvents::JetStreamStoredEvents(Connection& connection, const StreamOptions& streams)
    : connection_(connection),
      stream_(events_stream(streams)),
      prefix_(broker_subject(streams.prefix, kEventSubjectPrefix)) {}

Result<StreamSpan> JetStreamStoredEvents::span() {
  const StreamInfo info = TRY(find_stream(connection_, stream_));
  return StreamSpan{.created = info.created,
                    .first = info.first_sequence,
                    .last = info.last_sequence,
                    .complete_since = complete_since(info, SystemClock().now())};
}

Result<StoredEvent> JetStreamStoredEvents::get(uint64_t sequence) {
  // To JetStream, the sequence 0 is no sequence.
  Result<StoredMessage> stored = sequence == 0
                                     ? fail("broker.not_found", "")
                                     : fetch_stored(connection_, stream_.name, {{"seq", sequence}});
  if (!stored && stored.error().code == "broker.not_found") {
    return fail("event.not_found",
                fmt::format("the event stream has no message {}: it was removed, or was not stored "
                            "yet; the list of events has the messages that are there",
                            sequence));
  }
  if (!stored) return tl::unexpected(std::move(stored).error());
  return StoredEvent{.ns = namespace_of(stored->message),
                     .sequence = stored->sequence,
                     .stamped = broker_time(stored->stamped),
                     .message = std::move(stored->message)};
}

Result<StoredEvents::Page> JetStreamStoredEvents::read(const Range& range) {
  Page page = TRY(read_range(connection_, stream_,
                             fmt::format("{}{}.>", prefix_, subject_token(range.ns)), range));
  for (StoredEvent& event : page.events) event.ns = range.ns;
  return page;
}

std::string JetStreamStoredEvents::namespace_of(const NatsMessage& message) const {
  return subject_namespace(message.subject, prefix_).value_or("");
}

}  // namespace millrace
