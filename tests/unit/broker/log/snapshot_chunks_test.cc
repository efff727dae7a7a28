#include "broker/log/snapshot_chunks.h"

#include <algorithm>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/bytes.h"
#include "tests/unit/broker/log/log_makers.h"

namespace millrace {
namespace {

using testing::ElementsAreArray;
using testing::HasSubstr;

const std::string kSnapshotSeven = to_hex(incarnation_of(7));

SnapshotPart second_chunk() {
  return {.chunk = 2, .part = {1, 3}, .is_packed = true, .payload = "payload"};
}

// The MAC is that of another implementation: Python's hashlib.blake2b.
TEST(SnapshotPart, HasItsPlaceInHeadersWithAMac) {
  const NatsMessage message = encode_snapshot_part(second_chunk(), kSnapshotSeven, kLogKey, "s");
  EXPECT_EQ(message.subject, "s");
  EXPECT_EQ(message.data, "payload");
  EXPECT_EQ(message.headers, Headers({{"Millrace-Chunk", "2"},
                                      {"Millrace-Part", "1/3"},
                                      {"Millrace-Encoding", "zstd"},
                                      {"Millrace-Mac", "3fb37f5cd70608698608865b507dc074"}}));
  EXPECT_EQ(decode_snapshot_part(message, kSnapshotSeven, kLogKey), second_chunk());
  const SnapshotPart plain{.chunk = 1, .payload = "rows"};
  const NatsMessage short_one = encode_snapshot_part(plain, kSnapshotSeven, kLogKey, "s");
  EXPECT_EQ(short_one.headers.size(), 2U);
  EXPECT_EQ(decode_snapshot_part(short_one, kSnapshotSeven, kLogKey), plain);
}

TEST(SnapshotPart, IsForeignIfItIsNotThatMessageOfTheSnapshot) {
  struct Row {
    std::string meaning;
    std::function<void(NatsMessage&)> change;
    const char* expected;
  };
  const auto set = [](size_t header, std::string value) {
    return [header, value](NatsMessage& message) { message.headers[header].second = value; };
  };
  const auto leave_out = [](long header) {
    return
        [header](NatsMessage& message) { message.headers.erase(message.headers.begin() + header); };
  };
  const char* const kWrongMac = "expected the MAC that the key of the cluster gives";
  const std::vector<Row> rows = {
      {"another chunk", set(0, "3"), kWrongMac},
      {"chunk 0", set(0, "0"), "expected a whole number of at least 1"},
      {"no number", set(0, "x"), "expected a whole number of at least 1"},
      {"no chunk", leave_out(0), "the header Millrace-Chunk is missing"},
      {"another part", set(1, "2/3"), kWrongMac},
      {"another number of parts", set(1, "1/2"), kWrongMac},
      {"a part behind the last one", set(1, "4/3"), "expected `i/n`"},
      {"the whole chunk", leave_out(1), kWrongMac},
      {"another encoding", set(2, "lz4"), "expected zstd, or no such header"},
      {"no encoding", leave_out(2), kWrongMac},
      {"another MAC", set(3, std::string(32, '0')), kWrongMac},
      {"no MAC", leave_out(3), "the header Millrace-Mac is missing"},
      {"another payload", [](NatsMessage& message) { message.data += "x"; }, kWrongMac},
  };
  for (const Row& row : rows) {
    NatsMessage message = encode_snapshot_part(second_chunk(), kSnapshotSeven, kLogKey, "s");
    row.change(message);
    const auto read = decode_snapshot_part(message, kSnapshotSeven, kLogKey);
    ASSERT_FALSE(read) << row.meaning;
    EXPECT_EQ(read.error().code, "snapshot.foreign") << row.meaning;
    EXPECT_THAT(read.error().message, HasSubstr(row.expected)) << row.meaning;
  }
  const NatsMessage message = encode_snapshot_part(second_chunk(), kSnapshotSeven, kLogKey, "s");
  EXPECT_FALSE(decode_snapshot_part(message, to_hex(incarnation_of(8)), kLogKey))
      << "a message of another snapshot";
  EXPECT_FALSE(decode_snapshot_part(message, kSnapshotSeven, std::string(32, 'o')))
      << "a message with another key";
}

// The expected hashes are those of Python's hashlib.blake2b(digest_size=32).
TEST(SnapshotHash, IsTheHashOfTheHashesOfTheChunks) {
  SnapshotHash none;
  EXPECT_EQ(none.finish(), "0e5751c026e543b2e8ab2eb06099daa1d1e5df47778f7787faab45cdf12fe3a8");
  SnapshotHash two;
  two.add("abc");
  two.add("");
  EXPECT_EQ(two.finish(), "f8c503bec54f32739db48f2b79f087238544787d4534ee56846ce9943c54128c");
}

std::string hash_of(const std::vector<std::string>& chunks) {
  SnapshotHash hash;
  for (const std::string& chunk : chunks) hash.add(chunk);
  return hash.finish();
}

/// The messages of the chunks, with parts of at most 1 000 bytes.
std::vector<SnapshotPart> parts_of(const std::vector<std::string>& chunks) {
  LogPacker packer;
  std::vector<SnapshotPart> parts;
  for (size_t i = 0; i < chunks.size(); ++i) {
    const Result<LogUnit> unit = packer.pack({}, chunks[i], 1'000);
    EXPECT_TRUE(unit);
    for (size_t j = 0; j < unit->parts.size(); ++j) {
      parts.push_back({.chunk = i + 1,
                       .part = {j + 1, unit->parts.size()},
                       .is_packed = unit->is_packed,
                       .payload = unit->parts[j]});
    }
  }
  return parts;
}

/// Bytes that zstd cannot make shorter.
std::string noise(size_t size) {
  std::string bytes;
  uint64_t x = 7;
  while (bytes.size() < size) {
    x = x * 6364136223846793005u + 1442695040888963407u;
    bytes += static_cast<char>(x >> 56);
  }
  return bytes;
}

// Its messages: chunk 1; chunk 2 in three parts; chunk 3, which is compressed.
const std::vector<std::string> kChunks = {"rows", noise(2'500), std::string(5'000, 'r')};

SnapshotManifest manifest_of(const std::vector<std::string>& chunks) {
  SnapshotManifest manifest{.id = kSnapshotSeven, .chunks = chunks.size()};
  for (const std::string& chunk : chunks) manifest.bytes += chunk.size();
  manifest.hash = hash_of(chunks);
  return manifest;
}

struct JoinedChunks {
  std::vector<std::string> chunks;
  std::string error;  ///< code and message; empty: there was none
  bool is_complete = false;
};

JoinedChunks joined_of(const SnapshotManifest& manifest, const std::vector<SnapshotPart>& parts) {
  SnapshotChunks chunks(manifest);
  JoinedChunks joined;
  for (const SnapshotPart& part : parts) {
    if (chunks.is_complete()) break;
    Result<std::optional<std::string>> chunk = chunks.add(part);
    if (!chunk) {
      joined.error = chunk.error().code + ": " + chunk.error().message;
      return joined;
    }
    if (*chunk) joined.chunks.push_back(**chunk);
  }
  joined.is_complete = chunks.is_complete();
  return joined;
}

TEST(SnapshotChunks, JoinsTheParts) {
  const std::vector<SnapshotPart> parts = parts_of(kChunks);
  ASSERT_EQ(parts.size(), 5U);
  EXPECT_TRUE(parts.back().is_packed);
  const JoinedChunks joined = joined_of(manifest_of(kChunks), parts);
  EXPECT_THAT(joined.chunks, ElementsAreArray(kChunks));
  EXPECT_EQ(joined.error, "");
  EXPECT_TRUE(joined.is_complete);
  EXPECT_TRUE(SnapshotChunks(manifest_of({})).is_complete());
}

TEST(SnapshotChunks, PassOverAPartThatCameBefore) {
  std::vector<SnapshotPart> parts = parts_of(kChunks);
  parts.insert(parts.begin() + 3, parts[0]);
  parts.insert(parts.begin() + 3, parts[2]);
  const JoinedChunks joined = joined_of(manifest_of(kChunks), parts);
  EXPECT_THAT(joined.chunks, ElementsAreArray(kChunks));
  EXPECT_EQ(joined.error, "");
}

TEST(SnapshotChunks, AreDamagedIfOneIsMissingOrOthersThanTheManifestSays) {
  struct Row {
    std::string meaning;
    std::function<void(SnapshotManifest&, std::vector<SnapshotPart>&)> change;
    const char* expected;
  };
  using Parts = std::vector<SnapshotPart>;
  const std::vector<Row> rows = {
      {"the first chunk is missing",
       [](SnapshotManifest&, Parts& parts) { parts.erase(parts.begin()); },
       "part 1 of chunk 2 follows; expected part 1 of chunk 1"},
      {"a part is missing", [](SnapshotManifest&, Parts& parts) { parts.erase(parts.begin() + 2); },
       "part 3 of chunk 2 follows; expected part 2 of chunk 2"},
      {"the last part of a chunk is missing",
       [](SnapshotManifest&, Parts& parts) { parts.erase(parts.begin() + 3); },
       "part 1 of chunk 3 follows; expected part 3 of chunk 2"},
      {"parts of two forms of a chunk",
       [](SnapshotManifest&, Parts& parts) { parts[2].part.count = 4; },
       "part 2 of chunk 2 does not fit to the part before it"},
      {"a chunk that is not of zstd",
       [](SnapshotManifest&, Parts& parts) { parts[4].payload = "rows"; },
       "chunk 3: a payload of 4 bytes is not one frame of zstd"},
      {"another chunk of the same size",
       [](SnapshotManifest&, Parts& parts) { parts[0].payload = "sows"; },
       "its chunks have 7504 bytes and the hash"},
      {"another size", [](SnapshotManifest& manifest, Parts&) { manifest.bytes += 1; },
       "the manifest has 7505 and"},
      {"another hash",
       [](SnapshotManifest& manifest, Parts&) { manifest.hash = std::string(64, '0'); },
       "the manifest has 7504 and 0000"},
  };
  for (const Row& row : rows) {
    SnapshotManifest manifest = manifest_of(kChunks);
    Parts parts = parts_of(kChunks);
    row.change(manifest, parts);
    const JoinedChunks joined = joined_of(manifest, parts);
    EXPECT_THAT(joined.error, HasSubstr("snapshot.damaged: snapshot " + kSnapshotSeven))
        << row.meaning;
    EXPECT_THAT(joined.error, HasSubstr(row.expected)) << row.meaning;
    EXPECT_FALSE(joined.is_complete) << row.meaning;
  }
}

TEST(SnapshotChunks, SayWhichPartIsMissingAtTheEndOfTheStream) {
  const std::vector<SnapshotPart> parts = parts_of(kChunks);
  SnapshotChunks chunks(manifest_of(kChunks));
  ASSERT_TRUE(chunks.add(parts[0]));
  ASSERT_TRUE(chunks.add(parts[1]));
  EXPECT_FALSE(chunks.is_complete());
  const Error missing = chunks.missing();
  EXPECT_EQ(missing.code, "snapshot.damaged");
  EXPECT_THAT(missing.message, HasSubstr("the stream has no part 2 of chunk 2, of 3 chunks"));
}

}  // namespace
}  // namespace millrace
