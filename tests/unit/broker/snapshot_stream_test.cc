#include "broker/snapshot_stream.h"

#include <future>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/bytes.h"
#include "tests/support/judged_log.h"
#include "tests/support/nats_fixture.h"

namespace millrace {
namespace {

using testing::ElementsAre;
using testing::ElementsAreArray;
using testing::HasSubstr;
using testing::IsEmpty;

std::string snapshot_id(uint8_t number) { return to_hex(random_name_of(number)); }

// Chunk 2 has two messages, chunk 3 is compressed.
const std::vector<std::string>& three_chunks() {
  static const std::vector<std::string> chunks = {"rows", random_bytes(600'000, 1),
                                                  std::string(5'000, 'r')};
  return chunks;
}

SnapshotManifest taken_between(uint64_t from, uint64_t to) {
  return {.from = {.sequence = from, .name = {.epoch = 1, .commit = from}},
          .to = {.sequence = to, .name = {.epoch = 1, .commit = to}},
          .rows = {{"meta", 2}},
          .format = kTestLogFormat,
          .node = snapshot_id(99),
          .version = "1"};
}

class SnapshotStreamTest : public NatsFixture {
 protected:
  SnapshotStreamTest() {
    const Result<StreamInfo> made = ensure_stream(*connection_, stream_);
    EXPECT_TRUE(made) << made.error().message;
    EXPECT_EQ(made.value_or(StreamInfo()).notes, std::vector<std::string>())
        << "the server took all settings";
  }

  std::unique_ptr<SnapshotWriter> writer(uint8_t number, std::string key = kTestLogKey) {
    return std::make_unique<SnapshotWriter>(*connection_, stream_, std::move(key),
                                            snapshot_id(number));
  }
  /// Publishes a snapshot of these chunks.
  SnapshotManifest publish(uint8_t number, const std::vector<std::string>& chunks,
                           const std::string& key = kTestLogKey) {
    const std::unique_ptr<SnapshotWriter> writing = writer(number, key);
    for (const std::string& chunk : chunks) {
      const Status added = writing->add(chunk);
      EXPECT_TRUE(added) << added.error().message;
    }
    const Result<SnapshotManifest> manifest = writing->finish(taken_between(5, 9));
    EXPECT_TRUE(manifest) << manifest.error().message;
    return manifest.value_or(SnapshotManifest());
  }
  /// The ids of the snapshots that are found.
  std::vector<std::string> found() {
    const auto snapshots = find_snapshots(*connection_, stream_, kTestLogKey);
    EXPECT_TRUE(snapshots) << snapshots.error().message;
    std::vector<std::string> ids;
    if (!snapshots) return ids;
    for (const StoredSnapshot& one : *snapshots) {
      EXPECT_GT(one.stamped, TimePoint());
      ids.push_back(one.manifest.id);
    }
    return ids;
  }
  /// The chunks; at an error, it is the last text.
  std::vector<std::string> read(const SnapshotManifest& manifest) {
    SnapshotReader reader(*connection_, stream_, kTestLogKey, manifest);
    std::vector<std::string> chunks;
    while (true) {
      const Result<std::optional<std::string>> chunk = reader.next();
      if (!chunk) {
        EXPECT_EQ(reader.next(), chunk) << "the error stays";
        chunks.push_back(chunk.error().code + ": " + chunk.error().message);
        return chunks;
      }
      if (!*chunk) return chunks;
      chunks.push_back(**chunk);
    }
  }
  void remove_message(uint64_t sequence) {
    const Json answer = client_->api("STREAM.MSG.DELETE." + stream_.name, {{"seq", sequence}});
    EXPECT_FALSE(answer.contains("error")) << answer;
  }

  std::unique_ptr<Connection> connection_ = server_.connect();
  std::unique_ptr<RawNatsClient> client_ = server_.client();
  const StreamSettings stream_ = snapshot_stream("shop");
};

TEST_F(SnapshotStreamTest, ReadsBackWhatWasPublished) {
  EXPECT_THAT(found(), IsEmpty());
  const SnapshotManifest manifest = publish(1, three_chunks());
  EXPECT_EQ(manifest.id, snapshot_id(1));
  EXPECT_EQ(manifest.chunks, 3u);
  EXPECT_EQ(manifest.messages, 4u);
  EXPECT_EQ(manifest.bytes, 605'004u);
  EXPECT_EQ(manifest.first_sequence, 1u);
  EXPECT_EQ(manifest.from, taken_between(5, 9).from);
  EXPECT_EQ(manifest.rows, taken_between(5, 9).rows);

  const auto snapshots = find_snapshots(*connection_, stream_, kTestLogKey);
  ASSERT_TRUE(snapshots) << snapshots.error().message;
  ASSERT_EQ(snapshots->size(), 1u);
  EXPECT_EQ(snapshots->front().sequence, 5u) << "behind the four messages of the chunks";
  EXPECT_EQ(snapshots->front().manifest, manifest);
  EXPECT_THAT(read(manifest), ElementsAreArray(three_chunks()));

  const Result<StreamInfo> info = find_stream(*connection_, stream_);
  ASSERT_TRUE(info) << info.error().message;
  EXPECT_GT(info->bytes, 600'000u);
}

TEST_F(SnapshotStreamTest, MayBeOfAnEmptyStore) {
  const SnapshotManifest manifest = publish(1, {});
  EXPECT_EQ(manifest.first_sequence, 0u);
  EXPECT_THAT(found(), ElementsAre(snapshot_id(1)));
  EXPECT_THAT(read(manifest), IsEmpty());
}

TEST_F(SnapshotStreamTest, FindsTheCompleteOnesAndTheNewestFirst) {
  const std::unique_ptr<SnapshotWriter> unfinished = writer(1);
  ASSERT_TRUE(unfinished->add("a"));
  publish(2, {"b"});
  const std::unique_ptr<SnapshotWriter> late = writer(3);
  ASSERT_TRUE(late->add("c"));
  publish(4, {"d"});
  ASSERT_TRUE(unfinished->add("e"));
  EXPECT_THAT(found(), ElementsAre(snapshot_id(4), snapshot_id(2)));
  const Result<SnapshotManifest> manifest = late->finish(taken_between(7, 7));
  ASSERT_TRUE(manifest);
  EXPECT_THAT(found(), ElementsAre(snapshot_id(3), snapshot_id(4), snapshot_id(2)));
  EXPECT_THAT(read(*manifest), ElementsAre("c"));
}

TEST_F(SnapshotStreamTest, FindsNoneWithoutAStream) {
  client_->api("STREAM.DELETE." + stream_.name);
  EXPECT_THAT(found(), IsEmpty());
  EXPECT_TRUE(drop_snapshots_before(*connection_, stream_, 5));
}

TEST_F(SnapshotStreamTest, PassesOverWhatNoNodeOfTheClusterPublished) {
  const std::string subject = "millrace.snapshots.shop.0." + snapshot_id(1);
  client_->publish_acked(subject + ".chunk", "", "foreign");
  client_->publish_acked(subject + ".manifest", "", "{}");
  publish(2, {"other key"}, std::string(32, 'o'));
  const SnapshotManifest manifest = publish(1, {"a", "b"});
  const std::string body = encode_snapshot_manifest(manifest, kTestLogKey);
  client_->publish_acked(subject + ".manifest", "", body);  // a copy
  client_->publish_acked("millrace.snapshots.shop.0." + snapshot_id(3) + ".manifest", "", body);
  EXPECT_THAT(found(), ElementsAre(snapshot_id(1)));

  SnapshotManifest from_the_beginning = manifest;
  from_the_beginning.first_sequence = 1;
  EXPECT_THAT(read(from_the_beginning), ElementsAre("a", "b"));
}

TEST_F(SnapshotStreamTest, SaysThatAChunkIsMissingOrAnother) {
  const SnapshotManifest first = publish(1, {"a", "b"});   // at 1 and 2
  const SnapshotManifest second = publish(2, {"c", "d"});  // at 4 and 5
  remove_message(1);
  EXPECT_THAT(read(first), ElementsAre(HasSubstr("snapshot.damaged: snapshot ")));
  remove_message(5);
  EXPECT_THAT(read(second),
              ElementsAre("c", HasSubstr("the stream has no part 1 of chunk 2, of 2 chunks")));
  SnapshotManifest other = publish(3, {"e"});
  other.hash = first.hash;
  EXPECT_THAT(read(other), ElementsAre(HasSubstr("snapshot.damaged: snapshot ")));
}

TEST_F(SnapshotStreamTest, DropsWhatComesBeforeASequence) {
  const std::unique_ptr<SnapshotWriter> early = writer(1);
  ASSERT_TRUE(early->add("a"));                       // at 1
  const SnapshotManifest second = publish(2, {"b"});  // at 2 and 3
  ASSERT_TRUE(early->finish(taken_between(1, 2)));    // at 4
  const SnapshotManifest third = publish(3, {"c"});   // at 5 and 6
  for (const uint64_t nothing : {0, 1}) {
    ASSERT_TRUE(drop_snapshots_before(*connection_, stream_, nothing));
    EXPECT_THAT(found(), ElementsAre(snapshot_id(3), snapshot_id(1), snapshot_id(2)));
  }
  ASSERT_TRUE(drop_snapshots_before(*connection_, stream_, second.first_sequence));
  EXPECT_THAT(found(), ElementsAre(snapshot_id(3), snapshot_id(2)))
      << "the stream has the manifest of the first one, but not its chunk";
  ASSERT_TRUE(drop_snapshots_before(*connection_, stream_, third.first_sequence));
  EXPECT_THAT(found(), ElementsAre(snapshot_id(3)));
  EXPECT_THAT(read(third), ElementsAre("c"));
  ASSERT_TRUE(drop_snapshots_before(*connection_, stream_, 1'000));
  EXPECT_THAT(found(), IsEmpty());
  const SnapshotManifest fourth = publish(4, {"d"});
  EXPECT_EQ(fourth.first_sequence, 7u) << "the sequences go on behind the latest message";
}

TEST_F(SnapshotStreamTest, RefusesTooManyManifests) {
  for (int i = 0; i < 1'025; ++i) {
    client_->publish(fmt::format("millrace.snapshots.shop.0.{}.manifest", i), "x");
  }
  client_->flush();
  client_->publish_acked("millrace.snapshots.shop.0.last.manifest", "", "x");
  const auto snapshots = find_snapshots(*connection_, stream_, kTestLogKey);
  ASSERT_FALSE(snapshots);
  EXPECT_EQ(snapshots.error().code, "snapshot.too_many");
}

TEST_F(SnapshotStreamTest, SendsAgainUntilTheStreamAnswers) {
  client_->api("STREAM.DELETE." + stream_.name);
  const std::unique_ptr<SnapshotWriter> writing = writer(1);
  std::future<Status> added =
      std::async(std::launch::async, [&writing] { return writing->add("a"); });
  ASSERT_TRUE(ensure_stream(*connection_, stream_));
  const Status result = added.get();
  ASSERT_TRUE(result) << result.error().message;
  ASSERT_TRUE(writing->finish(taken_between(5, 9)));
  EXPECT_THAT(found(), ElementsAre(snapshot_id(1)));
}

TEST_F(SnapshotStreamTest, EndsWhenTheNodeStops) {
  client_->api("STREAM.DELETE." + stream_.name);
  const std::unique_ptr<SnapshotWriter> writing = writer(1);
  std::future<Status> added =
      std::async(std::launch::async, [&writing] { return writing->add("a"); });
  writing->stop();
  const Status stopped = added.get();
  ASSERT_FALSE(stopped);
  EXPECT_EQ(stopped.error().code, "snapshot.stopped");
  const Result<SnapshotManifest> finished = writing->finish(taken_between(5, 9));
  ASSERT_FALSE(finished);
  EXPECT_EQ(finished.error().code, "snapshot.stopped");
}

TEST(SnapshotStream, DividesARowThatIsLargerThanTheBrokerTakes) {
  // 3 616 bytes in a part.
  const NatsServer server("max_payload: 20000\n");
  const std::unique_ptr<Connection> connection = server.connect();
  const StreamSettings stream = snapshot_stream("shop");
  ASSERT_TRUE(ensure_stream(*connection, stream));
  SnapshotWriter writer(*connection, stream, kTestLogKey, snapshot_id(1));
  const std::string row = random_bytes(50'000, 2);
  ASSERT_TRUE(writer.add(row));
  const Result<SnapshotManifest> manifest = writer.finish(taken_between(5, 9));
  ASSERT_TRUE(manifest) << manifest.error().message;
  EXPECT_EQ(manifest->messages, 14u);
  SnapshotReader reader(*connection, stream, kTestLogKey, *manifest);
  const Result<std::optional<std::string>> chunk = reader.next();
  ASSERT_TRUE(chunk) << chunk.error().message;
  EXPECT_TRUE(*chunk == row);
  EXPECT_EQ(reader.next(), Result<std::optional<std::string>>(std::nullopt));
}

TEST(SnapshotStream, AbandonsASnapshotWithAChunkThatIsTooLarge) {
  const NatsServer server("max_payload: 20000\n");
  const std::unique_ptr<Connection> connection = server.connect();
  const StreamSettings stream = snapshot_stream("shop");
  ASSERT_TRUE(ensure_stream(*connection, stream));
  SnapshotWriter writer(*connection, stream, kTestLogKey, snapshot_id(1));
  for (const std::string& chunk : {random_bytes(15'000'000, 1), std::string("a")}) {
    const Status added = writer.add(chunk);
    ASSERT_FALSE(added);
    EXPECT_EQ(added.error().code, "log.too_large");
  }
}

}  // namespace
}  // namespace millrace
