#include "broker/snapshot_stream.h"

#include <algorithm>
#include <chrono>
#include <set>
#include <utility>
#include <variant>

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include "base/has_code.h"
#include "broker/log_answers.h"
#include "broker/stored_message.h"
#include "os/crash_point.h"

namespace millrace {
namespace {

/// How long a message is sent again while no broker answers, and the pause in between. The stream
/// recognizes a message that it has for longer (StreamSettings::duplicate_window).
constexpr std::chrono::seconds kSentAgainFor{60};
constexpr Duration kPauseOfSnapshot{200};

/// How many foreign messages on the subject of a snapshot are passed over.
constexpr uint64_t kMostForeignParts = 1'024;
constexpr size_t kMostManifests = 1'024;

/// The subject of the chunks or of the manifest of the snapshot `id`, which may be `*`.
std::string snapshot_subject(const StreamSettings& stream, std::string_view id,
                             std::string_view what) {
  const std::string_view root =
      std::string_view(stream.subjects).substr(0, stream.subjects.size() - 1);
  return fmt::format("{}{}.{}", root, id, what);
}

/// Reads a manifest, which must be on the subject of its snapshot.
Result<SnapshotManifest> manifest_in(const StoredMessage& stored, const StreamSettings& stream,
                                     std::string_view key) {
  SnapshotManifest manifest = TRY(decode_snapshot_manifest(stored.message.data, key));
  const std::string subject = snapshot_subject(stream, manifest.id, "manifest");
  if (stored.message.subject == subject) return manifest;
  return fail("snapshot.foreign",
              fmt::format("the manifest of a snapshot is on the subject {}; expected {}",
                          stored.message.subject, subject));
}

}  // namespace

StreamSettings snapshot_stream(std::string_view cluster, const StreamOptions& options) {
  return {.name = stream_name(options.prefix, fmt::format("SNAPSHOTS_{}", cluster)),
          .subjects = fmt::format("{}.snapshots.{}.0.>", options.prefix, cluster),
          .max_age = Duration(0),
          .replicas = options.replicas,
          .cluster = options.cluster,
          .tags = options.tags,
          .is_snapshots = true};
}

SnapshotWriter::SnapshotWriter(Connection& connection, StreamSettings stream, std::string key,
                               std::string id)
    : connection_(connection), stream_(std::move(stream)), key_(std::move(key)) {
  manifest_.id = std::move(id);
}

Status SnapshotWriter::add(std::string_view chunk) {
  if (failed_) return tl::unexpected<Error>(*failed_);
  Status published = publish_chunk(chunk);
  if (!published) failed_ = published.error();
  return published;
}

Status SnapshotWriter::publish_chunk(std::string_view chunk) {
  const size_t part_bytes =
      std::min(kMostSnapshotPartBytes, log_part_bytes(connection_.max_payload()));
  LogUnit unit = TRY(packer_.pack({}, chunk, part_bytes));
  for (size_t i = 0; i < unit.parts.size(); ++i) {
    SnapshotPart part{.chunk = manifest_.chunks + 1,
                      .part = {.number = i + 1, .count = unit.parts.size()},
                      .is_packed = unit.is_packed,
                      .payload = std::move(unit.parts[i])};
    NatsMessage message = encode_snapshot_part(std::move(part), manifest_.id, key_,
                                               snapshot_subject(stream_, manifest_.id, "chunk"));
    const std::string number = fmt::to_string(manifest_.messages + 1);
    const uint64_t sequence = TRY(publish(std::move(message), number));
    if (manifest_.messages == 0) manifest_.first_sequence = sequence;
    ++manifest_.messages;
    crash_point(CrashPoint::kSnapshotPart);
  }
  hash_.add(chunk);
  ++manifest_.chunks;
  manifest_.bytes += chunk.size();
  return {};
}

Result<SnapshotManifest> SnapshotWriter::finish(SnapshotManifest manifest) {
  if (failed_) return tl::unexpected<Error>(*failed_);
  manifest.id = manifest_.id;
  manifest.chunks = manifest_.chunks;
  manifest.messages = manifest_.messages;
  manifest.bytes = manifest_.bytes;
  manifest.first_sequence = manifest_.first_sequence;
  manifest.hash = hash_.finish();
  crash_point(CrashPoint::kSnapshotComplete);
  const Result<uint64_t> published =
      publish({.subject = snapshot_subject(stream_, manifest.id, "manifest"),
               .headers = {},
               .data = encode_snapshot_manifest(manifest, key_)},
              "manifest");
  if (published) return manifest;
  failed_ = published.error();
  return tl::unexpected<Error>(*failed_);
}

/// Returns the sequence of the message in the stream.
Result<uint64_t> SnapshotWriter::publish(NatsMessage message, std::string_view number) {
  message.headers.emplace_back("Nats-Msg-Id", fmt::format("{}-{}", manifest_.id, number));
  const auto until = std::chrono::steady_clock::now() + kSentAgainFor;
  TRY(pause(Duration(0)));
  while (true) {
    Result<NatsMessage> answer = connection_.request(message);
    if (answer) {
      const LogAck ack = read_log_ack(stream_.name, answer->data);
      if (const auto* const stored = std::get_if<LogStored>(&ack)) return stored->sequence;
      if (const auto* const error = std::get_if<Error>(&ack)) return tl::unexpected<Error>(*error);
      return fail("broker.refused",
                  fmt::format("stream {} refused a message because of its sequence, which the "
                              "message does not name",
                              stream_.name));
    }
    if (!has_code(answer.error(), {"broker.timeout", "broker.unreachable"}) ||
        std::chrono::steady_clock::now() >= until) {
      return tl::unexpected(std::move(answer).error());
    }
    TRY(pause(kPauseOfSnapshot));
  }
}

/// Error `snapshot.stopped`: stop() was called, before or meanwhile.
Status SnapshotWriter::pause(Duration time) {
  std::unique_lock lock(mutex_);
  stopped_.wait_for(lock, time, [this] { return is_stopped_; });
  if (!is_stopped_) return {};
  return fail("snapshot.stopped", "the node stopped before the snapshot was complete");
}

void SnapshotWriter::stop() {
  const std::lock_guard lock(mutex_);
  is_stopped_ = true;
  stopped_.notify_all();
}

Result<std::vector<StoredSnapshot>> find_snapshots(Connection& connection,
                                                   const StreamSettings& stream,
                                                   std::string_view key) {
  std::vector<StoredSnapshot> found;
  const Result<StreamInfo> info = find_stream(connection, stream);
  if (!info && info.error().code == "broker.not_found") return found;
  if (!info) return tl::unexpected(info.error());
  const std::string subject = snapshot_subject(stream, "*", "manifest");
  std::set<std::string> ids;
  uint64_t next = std::max<uint64_t>(info->first_sequence, 1);
  for (size_t looked = 0; next <= info->last_sequence; ++looked) {
    const Result<StoredMessage> stored =
        fetch_stored(connection, stream.name, {{"seq", next}, {"next_by_subj", subject}});
    if (!stored && stored.error().code == "broker.not_found") break;
    if (!stored) return tl::unexpected(stored.error());
    if (looked == kMostManifests) {
      return fail(
          "snapshot.too_many",
          fmt::format("stream {} has more than {} messages on {}: remove those that no node "
                      "of the cluster published, with `nats stream purge`",
                      stream.name, kMostManifests, subject));
    }
    next = stored->sequence + 1;
    Result<SnapshotManifest> manifest = manifest_in(*stored, stream, key);
    if (!manifest) {
      spdlog::warn("message {} of stream {} is passed over: {} ({})", stored->sequence, stream.name,
                   manifest.error().message, manifest.error().code);
      continue;
    }
    // Left out: a copy of a manifest, and a snapshot of which the stream no longer has all chunks.
    if (!ids.insert(manifest->id).second) continue;
    if (manifest->chunks > 0 && manifest->first_sequence < info->first_sequence) continue;
    found.push_back({stored->sequence, broker_time(stored->stamped), *std::move(manifest)});
  }
  std::reverse(found.begin(), found.end());
  return found;
}

SnapshotReader::SnapshotReader(Connection& connection, StreamSettings stream, std::string key,
                               SnapshotManifest manifest)
    : connection_(connection),
      stream_(std::move(stream)),
      key_(std::move(key)),
      manifest_(std::move(manifest)),
      chunks_(manifest_),
      next_sequence_(std::max<uint64_t>(manifest_.first_sequence, 1)) {}

Result<std::optional<std::string>> SnapshotReader::next() {
  while (!failed_ && !chunks_.is_complete()) {
    Result<std::optional<std::string>> chunk = read_message();
    if (!chunk && chunk.error().code == "snapshot.damaged") failed_ = chunk.error();
    if (!chunk || *chunk) return chunk;
  }
  if (failed_) return tl::unexpected<Error>(*failed_);
  return std::optional<std::string>();
}

/// Reads one message; returns the chunk if it was its last part.
Result<std::optional<std::string>> SnapshotReader::read_message() {
  const Json query = {{"seq", next_sequence_},
                      {"next_by_subj", snapshot_subject(stream_, manifest_.id, "chunk")}};
  Result<StoredMessage> stored = fetch_stored(connection_, stream_.name, query);
  if (!stored && stored.error().code == "broker.not_found") {
    return tl::unexpected(chunks_.missing());
  }
  if (!stored) return tl::unexpected(std::move(stored).error());
  next_sequence_ = stored->sequence + 1;
  Result<SnapshotPart> part = decode_snapshot_part(std::move(stored->message), manifest_.id, key_);
  if (part) return chunks_.add(*std::move(part));
  if (++foreign_ <= kMostForeignParts) return std::optional<std::string>();
  return fail("snapshot.damaged",
              fmt::format("snapshot {}: more than {} messages on its subject are foreign; the "
                          "latest one: {}",
                          manifest_.id, kMostForeignParts, part.error().message));
}

Status drop_snapshot(Connection& connection, const StreamSettings& stream, std::string_view id) {
  return purge(connection, stream.name, {{"filter", snapshot_subject(stream, id, ">")}});
}

Status drop_snapshots_before(Connection& connection, const StreamSettings& stream,
                             uint64_t first_sequence) {
  const Result<StreamInfo> info = find_stream(connection, stream);
  if (!info && info.error().code == "broker.not_found") return {};
  if (!info) return tl::unexpected(info.error());
  const uint64_t first = std::min(first_sequence, info->last_sequence + 1);
  if (first <= std::max<uint64_t>(info->first_sequence, 1)) return {};
  return purge_before(connection, stream.name, first);
}

}  // namespace millrace
