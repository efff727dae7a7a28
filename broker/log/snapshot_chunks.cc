#include "broker/log/snapshot_chunks.h"

#include <array>

#include <fmt/format.h>
#include <sodium.h>

#include "base/bytes.h"
#include "base/check.h"
#include "base/codec.h"
#include "base/excerpt.h"
#include "base/whole_number.h"

namespace millrace {
namespace {

constexpr std::string_view kChunkHeader = "Millrace-Chunk";
constexpr std::string_view kChunkPartHeader = "Millrace-Part";
constexpr std::string_view kChunkEncodingHeader = "Millrace-Encoding";
constexpr std::string_view kChunkMacHeader = "Millrace-Mac";
constexpr std::string_view kChunkPacked = "zstd";

const unsigned char* unsigned_bytes(std::string_view text) {
  return reinterpret_cast<const unsigned char*>(text.data());
}

Fingerprint mac_of_part(const SnapshotPart& part, std::string_view id, std::string_view key) {
  Writer head;
  head.u64(part.chunk);
  head.u64(part.part.number);
  head.u64(part.part.count);
  head.boolean(part.is_packed);
  return keyed_fingerprint(key, {"millrace snapshot chunk", id, head.view(), part.payload});
}

tl::unexpected<Error> foreign_part(std::string why) {
  return fail("snapshot.foreign", "a message of a snapshot: " + std::move(why));
}

tl::unexpected<Error> wrong_part_header(std::string_view header, std::string_view text,
                                        std::string_view expected) {
  return foreign_part(
      fmt::format("the header {} is {}; expected {}", header, excerpt(text, 64), expected));
}

tl::unexpected<Error> damaged(const SnapshotManifest& manifest, std::string_view why) {
  return fail("snapshot.damaged", fmt::format("snapshot {}: {}", manifest.id, why));
}

}  // namespace

NatsMessage encode_snapshot_part(SnapshotPart part, std::string_view id, std::string_view key,
                                 std::string_view subject) {
  NatsMessage message{.subject = std::string(subject), .headers = {}, .data = {}};
  message.headers.emplace_back(kChunkHeader, fmt::to_string(part.chunk));
  if (part.part.count > 1) {
    message.headers.emplace_back(kChunkPartHeader,
                                 fmt::format("{}/{}", part.part.number, part.part.count));
  }
  if (part.is_packed) message.headers.emplace_back(kChunkEncodingHeader, kChunkPacked);
  message.headers.emplace_back(kChunkMacHeader, to_hex(mac_of_part(part, id, key)));
  message.data = std::move(part.payload);
  return message;
}

Result<SnapshotPart> decode_snapshot_part(NatsMessage message, std::string_view id,
                                          std::string_view key) {
  SnapshotPart part;
  const std::string* const chunk = find_header(message.headers, kChunkHeader);
  if (chunk == nullptr) return foreign_part("the header Millrace-Chunk is missing");
  const std::optional<uint64_t> number = whole_number(*chunk);
  if (!number || *number == 0) {
    return wrong_part_header(kChunkHeader, *chunk, "a whole number of at least 1");
  }
  part.chunk = *number;
  if (const auto* const text = find_header(message.headers, kChunkPartHeader); text != nullptr) {
    const std::optional<LogPart> read = read_log_part(*text);
    if (!read) {
      return wrong_part_header(kChunkPartHeader, *text,
                               fmt::format("`i/n` with 1 ≤ i ≤ n and 2 ≤ n ≤ {}", kMostLogParts));
    }
    part.part = *read;
  }
  if (const auto* const text = find_header(message.headers, kChunkEncodingHeader);
      text != nullptr) {
    if (*text != kChunkPacked) {
      return wrong_part_header(kChunkEncodingHeader, *text, "zstd, or no such header");
    }
    part.is_packed = true;
  }
  part.payload = std::move(message.data);
  const std::string* const mac = find_header(message.headers, kChunkMacHeader);
  if (mac == nullptr) return foreign_part("the header Millrace-Mac is missing");
  if (*mac != to_hex(mac_of_part(part, id, key))) {
    return wrong_part_header(kChunkMacHeader, *mac, "the MAC that the key of the cluster gives");
  }
  return part;
}

struct SnapshotHash::State {
  crypto_generichash_state hash;
};

namespace {

using WideHash = std::array<unsigned char, crypto_generichash_BYTES>;
static_assert(crypto_generichash_BYTES == 32);

}  // namespace

SnapshotHash::SnapshotHash() : state_(std::make_unique<State>()) {
  CHECK(crypto_generichash_init(&state_->hash, nullptr, 0, WideHash().size()) == 0);
}

SnapshotHash::~SnapshotHash() = default;

void SnapshotHash::add(std::string_view chunk) {
  WideHash hash{};
  CHECK(crypto_generichash(hash.data(), hash.size(), unsigned_bytes(chunk), chunk.size(), nullptr,
                           0) == 0);
  const std::string digits = to_hex(hash);
  crypto_generichash_update(&state_->hash, unsigned_bytes(digits), digits.size());
}

std::string SnapshotHash::finish() {
  WideHash hash{};
  CHECK(crypto_generichash_final(&state_->hash, hash.data(), hash.size()) == 0);
  return to_hex(hash);
}

Result<std::optional<std::string>> SnapshotChunks::add(SnapshotPart part) {
  CHECK(!is_complete(), "a snapshot has no more chunks than its manifest says");
  const uint64_t expected = complete_ + 1;
  const bool was_added =
      part.chunk < expected || (part.chunk == expected && part.part.number <= part_);
  if (was_added) return std::optional<std::string>();
  if (part.chunk != expected || part.part.number != part_ + 1) {
    return damaged(manifest_, fmt::format("part {} of chunk {} follows; expected part {} of chunk "
                                          "{}, which is missing",
                                          part.part.number, part.chunk, part_ + 1, expected));
  }
  if (part_ > 0 && (part.part.count != part_count_ || part.is_packed != is_packed_)) {
    return damaged(manifest_, fmt::format("part {} of chunk {} does not fit to the part before it",
                                          part.part.number, part.chunk));
  }
  if (part.payload.size() > kMostLogCommitBytes - joined_.size()) {
    return damaged(manifest_, fmt::format("chunk {} has more than {} bytes; expected fewer",
                                          part.chunk, kMostLogCommitBytes));
  }
  part_ = part.part.number;
  part_count_ = part.part.count;
  is_packed_ = part.is_packed;
  joined_ += part.payload;
  if (part_ < part_count_) return std::optional<std::string>();
  Result<std::string> chunk = unpack_log_payload(is_packed_, std::exchange(joined_, std::string()));
  if (!chunk) {
    return damaged(manifest_, fmt::format("chunk {}: {}", part.chunk, chunk.error().message));
  }
  part_ = 0;
  ++complete_;
  bytes_ += chunk->size();
  hash_.add(*chunk);
  if (is_complete()) TRY(check_whole());
  return std::optional<std::string>(*std::move(chunk));
}

Status SnapshotChunks::check_whole() {
  const std::string hash = hash_.finish();
  if (bytes_ == manifest_.bytes && hash == manifest_.hash) return {};
  return damaged(manifest_,
                 fmt::format("its chunks have {} bytes and the hash {}; the manifest has {} and {}",
                             bytes_, hash, manifest_.bytes, manifest_.hash));
}

Error SnapshotChunks::missing() const {
  return damaged(manifest_, fmt::format("the stream has no part {} of chunk {}, of {} chunks",
                                        part_ + 1, complete_ + 1, manifest_.chunks))
      .value();
}

}  // namespace millrace
