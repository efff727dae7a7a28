#include "broker/restored_publisher.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include "broker/stream_headers.h"

namespace millrace {
namespace {

constexpr const char* kIdHeader = "Nats-Msg-Id";

}  // namespace

RestoredPublisher::RestoredPublisher(Connection& reading, Publisher& publisher, const Clock& clock,
                                     RestoredPublisherSettings settings)
    : reading_(reading),
      publisher_(publisher),
      clock_(clock),
      settings_(std::move(settings)),
      record_(settings_.restored) {}

/// If the broker has lost messages, the noted messages may be among them: what is lost must be sent
/// again.
Status RestoredPublisher::note(const StreamOpening& opening) {
  if (is_over(record_, clock_.now())) return {};
  bool has_read = false;
  for (const FoundStream& stream : opening.streams) {
    const bool is_events = &stream == &opening.streams.front();
    if (is_noted(stream) && !has_lost_messages(opening.loss)) continue;
    const Status done = read(stream, is_events, opening.stops);
    if (!done) {
      return fail_in(fmt::format("reading which messages of millrace stream {} has since the "
                                 "backup; until this is known, the restored store sends nothing",
                                 stream.settings.name),
                     done.error());
    }
    has_read = true;
  }
  TRY(keep_record());  // also if an earlier call could not keep it
  if (!has_read) return {};
  const Counts now = counts();
  spdlog::info(
      "the store was restored or copied: the streams have {} messages of millrace that are newer; "
      "if the store makes one of them again, it is not sent again",
      now.noted);
  return {};
}

bool RestoredPublisher::is_noted(const FoundStream& stream) const {
  const std::lock_guard lock(mutex_);
  const auto found = streams_.find(stream.settings.name);
  return found != streams_.end() && found->second.end.created == stream.info.created &&
         found->second.end.last_sequence <= stream.info.last_sequence;
}

/// Reads one stream. Until this has succeeded, no message of the stream is noted.
Status RestoredPublisher::read(const FoundStream& stream, bool is_events,
                               const std::function<bool()>& stops) {
  const std::string& name = stream.settings.name;
  const size_t room = forget(name);
  NotedStream noted{.end = end_of(stream), .messages = {}, .unread = 0};
  HeaderRange range{.stream = stream.settings,
                    .info = stream.info,
                    .since = std::nullopt,
                    .last = noted.end.last_sequence};
  if (record_.since != TimePoint()) range.since = record_.since;
  TRY(each_header(reading_, range, stops, [&](const StoredHeaders& stored) {
    const std::string* const id = find_header(stored.message.headers, kIdHeader);
    // Only the event stream has messages of other clients.
    if (id == nullptr || (is_events && !is_event_message_id(*id))) return true;
    if (noted.messages.size() >= room) {
      noted.unread = stored.following + 1;
      return false;
    }
    noted.messages.add(stored.message.subject, *id, stored.sequence);
    return true;
  }));
  noted.messages.sort();
  if (noted.unread > 0) {
    spdlog::warn(
        "the streams have more than {} messages of millrace since the backup, so the last {} "
        "messages of stream {} are not read: those that the restored store makes again are sent "
        "again if they are older than the duplicate window of the stream",
        settings_.most, noted.unread, name);
  }
  const std::lock_guard lock(mutex_);
  streams_[name] = std::move(noted);
  return {};
}

/// Drops the noted messages of a stream. Returns how many messages of the stream may be noted.
size_t RestoredPublisher::forget(const std::string& name) {
  const std::lock_guard lock(mutex_);
  streams_.erase(name);
  size_t room = settings_.most;
  for (const auto& [other, noted] : streams_) room -= std::min(room, noted.messages.size());
  return room;
}

/// The messages after the recorded end are those of this store.
RestoredStreams::End RestoredPublisher::end_of(const FoundStream& stream) const {
  RestoredStreams::End end{.created = stream.info.created,
                           .last_sequence = stream.info.last_sequence};
  const auto recorded = record_.ends.find(stream.settings.name);
  if (recorded != record_.ends.end() && recorded->second.created == end.created) {
    end.last_sequence = std::min(end.last_sequence, recorded->second.last_sequence);
  }
  return end;
}

Status RestoredPublisher::keep_record() {
  RestoredStreams record = record_;
  if (!record.opened) record.opened = clock_.now();
  {
    const std::lock_guard lock(mutex_);
    for (const auto& [name, noted] : streams_) record.ends[name] = noted.end;
  }
  if (record == record_) return {};
  TRY(settings_.keep(record));
  const std::lock_guard lock(mutex_);
  record_ = std::move(record);
  return {};
}

void RestoredPublisher::publish(NatsMessage message, Done done) {
  if (const std::optional<uint64_t> sequence = find(message)) {
    ++recognized_;
    done(PublishAck{.sequence = *sequence, .duplicate = true});
    return;
  }
  publisher_.publish(std::move(message), std::move(done));
}

std::vector<Status> RestoredPublisher::publish_unacknowledged(std::vector<NatsMessage> messages) {
  std::vector<Status> outcomes(messages.size());
  std::vector<NatsMessage> sent;
  std::vector<size_t> places;  // of those that are sent
  for (size_t i = 0; i < messages.size(); ++i) {
    if (find(messages[i])) {
      ++recognized_;
      continue;
    }
    sent.push_back(std::move(messages[i]));
    places.push_back(i);
  }
  std::vector<Status> of_sent = publisher_.publish_unacknowledged(std::move(sent));
  for (size_t i = 0; i < places.size(); ++i) outcomes[places[i]] = std::move(of_sent[i]);
  return outcomes;
}

std::optional<uint64_t> RestoredPublisher::find(const NatsMessage& message) {
  const std::string* const id = find_header(message.headers, kIdHeader);
  if (id == nullptr) return std::nullopt;
  const std::string subject = broker_subject(settings_.prefix, message.subject);
  const std::lock_guard lock(mutex_);
  if (is_over(record_, clock_.now())) streams_.clear();
  for (const auto& [name, noted] : streams_) {
    if (const auto sequence = noted.messages.find(subject, *id)) return sequence;
  }
  return std::nullopt;
}

RestoredPublisher::Counts RestoredPublisher::counts() const {
  Counts counts{.noted = 0, .recognized = recognized_, .unread = 0};
  const std::lock_guard lock(mutex_);
  for (const auto& [name, noted] : streams_) {
    counts.noted += noted.messages.size();
    counts.unread += noted.unread;
  }
  return counts;
}

}  // namespace millrace
