// The file `restored`: when a store has a record of a restored store, and what the record has.
#include "orchestrator/backup/restored_file.h"

#include <fstream>
#include <limits>

#include "orchestrator/backup/restore.h"
#include "orchestrator/store/rows/leave_cluster.h"
#include "tests/support/file_bytes.h"
#include "tests/unit/backup/backup_fixture.h"
#include "tests/unit/store/recording_log.h"

namespace millrace {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

/// The time of the cursor in the store of make_sound().
const TimePoint kStamped = from_millis(1'630'497'600'000);

class RestoredFileTest : public BackupTest {
 protected:
  RestoredFileTest() { make_sound(); }

  fs::path copy() const { return folder.path() / "copy"; }
  fs::path restored() const { return folder.path() / "restored"; }

  /// What a server finds that starts on the folder, that many days after the backup.
  std::optional<RestoredStreams> start_on(const fs::path& path, int days = 0) const {
    const auto opened = Environment::open(path, {.key_file = key_file()}).value();
    const auto found = find_restored_streams(*opened, kStamped + std::chrono::days(days));
    EXPECT_TRUE(found) << found.error().message;
    EXPECT_TRUE(identify(*opened, [] { return std::array<uint8_t, 16>{5}; }));
    return found.value_or(std::nullopt);
  }
  /// Copies the data folder, as an operator does while the server is stopped.
  void copy_data() {
    tx.reset();
    environment.reset();
    fs::copy(data(), copy(), fs::copy_options::recursive);
  }
};

TEST_F(RestoredFileTest, DoesNotExistInAStoreThatWasNeitherRestoredNorCopied) {
  tx.reset();
  environment.reset();
  EXPECT_EQ(start_on(data()), std::nullopt);
  EXPECT_EQ(start_on(data()), std::nullopt);
  EXPECT_EQ(start_on(folder.path() / "new"), std::nullopt);
  EXPECT_EQ(start_on(folder.path() / "new"), std::nullopt);
  EXPECT_FALSE(fs::exists(data() / "restored"));
}

TEST_F(RestoredFileTest, IsNotCreatedForAFolderOfAnotherNodeOfACluster) {
  copy_data();
  RecordingLog log;
  const auto opened = Environment::open(copy(), {.key_file = key_file()}).value();
  opened->lead(log);
  EXPECT_EQ(find_restored_streams(*opened, kStamped).value(), std::nullopt);
  EXPECT_TRUE(identify(
      *opened, [] { return std::array<uint8_t, 16>{5}; }, cluster_mark("shop")));
  EXPECT_EQ(find_restored_streams(*opened, kStamped).value(), std::nullopt)
      << "also when the store has the position of a commit in the log";
  EXPECT_EQ(log.appended.size(), 1U);
  const RestoredStreams restored_before{.since = kStamped - std::chrono::hours(1)};
  ASSERT_TRUE(write_restored_file(copy(), restored_before));
  EXPECT_EQ(find_restored_streams(*opened, kStamped).value(), restored_before)
      << "a restored store may enter a cluster";
}

TEST_F(RestoredFileTest, IsCreatedForAStoreThatHasLeftItsCluster) {
  tx.reset();
  environment.reset();
  RecordingLog log;
  {
    const auto node = Environment::open(data(), {.key_file = key_file()}).value();
    node->lead(log);
    EXPECT_TRUE(identify(
        *node, [] { return std::array<uint8_t, 16>{5}; }, cluster_mark("shop")));
  }
  ASSERT_TRUE(leave_cluster(*Environment::open(data(), {.key_file = key_file()}).value()));
  const RestoredStreams expected{.since = kStamped - kUnrecordedFor};
  EXPECT_EQ(start_on(data()), expected) << "what an active has sent is not sent again";
  EXPECT_EQ(start_on(data()), expected) << "also at the second start";
}

TEST_F(RestoredFileTest, HasTheTimeOfTheCursorInARestoredStore) {
  const fs::path backup = folder.path() / "backup";
  write_folder(backup);
  for (const bool takes_over : {false, true}) {
    BackupFolderSource source = BackupFolderSource::open(backup).value();
    const auto made = restore_backup(
        source, {.folder = restored(), .key_file = key_file(), .takes_over = takes_over});
    ASSERT_TRUE(made) << made.error().message;
    const RestoredStreams expected{.since = kStamped - kUnrecordedFor};
    EXPECT_EQ(read_restored_file(restored()).value(), expected) << takes_over;
    EXPECT_EQ(start_on(restored()), expected) << takes_over;
    EXPECT_EQ(start_on(restored()), expected) << "also at the second start";
    fs::remove_all(restored());
  }
}

TEST_F(RestoredFileTest, BeginsAtTheEarlierTimeInAStoreRestoredFromABackupOfARestoredStore) {
  const struct {
    Duration before;  // the cursor
    TimePoint expected;
  } cases[] = {{std::chrono::hours(5), kStamped - std::chrono::hours(5)},
               {std::chrono::hours(-5), kStamped - kUnrecordedFor}};
  for (const auto& one : cases) {
    const fs::path backup = folder.path() / "backup";
    ASSERT_TRUE(write_restored_file(
        data(), {.since = kStamped - one.before, .opened = kStamped, .ends = {{"A", {7, 90}}}}));
    write_folder(backup);
    BackupFolderSource source = BackupFolderSource::open(backup).value();
    const auto made = restore_backup(source, {.folder = restored(), .key_file = key_file()});
    ASSERT_TRUE(made) << made.error().message;
    EXPECT_EQ(read_restored_file(restored()).value(), RestoredStreams{.since = one.expected});
    fs::remove_all(restored());
    fs::remove_all(backup);
  }
}

TEST_F(RestoredFileTest, HasNoTimeForABackupWhenMessagesAreNotRecognizedAnyMore) {
  ASSERT_TRUE(write_restored_file(data(), {.since = kStamped, .opened = kStamped}));
  EXPECT_EQ(read_restored_since(data(), kStamped + std::chrono::days(6)).value(), kStamped);
  EXPECT_EQ(read_restored_since(data(), kStamped + std::chrono::days(7)).value(), std::nullopt);
  EXPECT_EQ(read_restored_since(folder.path(), kStamped).value(), std::nullopt);
}

TEST_F(RestoredFileTest, IsWrittenWhenACopyIsOpened) {
  copy_data();
  const auto found = start_on(copy());
  ASSERT_TRUE(found);
  EXPECT_EQ(found->since, kStamped - kUnrecordedFor);
  EXPECT_EQ(found->opened, std::nullopt);
  EXPECT_EQ(start_on(copy()), found);
}

TEST_F(RestoredFileTest, IsWrittenAgainInACopyOfARestoredStore) {
  RestoredStreams earlier{.since = kStamped - std::chrono::hours(5), .opened = kStamped};
  earlier.ends["MILLRACE_EVENTS"] = {.created = 7, .last_sequence = 90};
  ASSERT_TRUE(write_restored_file(data(), earlier));
  copy_data();
  EXPECT_EQ(start_on(data()), earlier);
  const RestoredStreams expected{.since = earlier.since};
  EXPECT_EQ(start_on(copy()), expected) << "the ends of the original are not those of the copy";
  EXPECT_EQ(start_on(copy()), expected) << "also at the second start";
}

TEST_F(RestoredFileTest, BeginsAtTheTimeOfTheCursorInACopyIfTheOriginalBeginsLater) {
  ASSERT_TRUE(write_restored_file(data(), {.since = kStamped + std::chrono::hours(5)}));
  copy_data();
  EXPECT_EQ(start_on(copy()), RestoredStreams{.since = kStamped - kUnrecordedFor});
}

TEST_F(RestoredFileTest, IsRemovedWhenMessagesAreNotRecognizedAnyMore) {
  RestoredStreams streams{.since = kStamped};
  streams.opened = kStamped;
  ASSERT_TRUE(write_restored_file(data(), streams));
  tx.reset();
  environment.reset();
  EXPECT_EQ(start_on(data(), 6), streams);
  EXPECT_EQ(start_on(data(), 7), std::nullopt);
  EXPECT_FALSE(fs::exists(data() / "restored"));
  EXPECT_EQ(start_on(data(), 7), std::nullopt);
}

TEST_F(RestoredFileTest, IsKeptUntilTheStreamsAreOpened) {
  ASSERT_TRUE(write_restored_file(data(), {.since = kStamped}));
  tx.reset();
  environment.reset();
  EXPECT_TRUE(start_on(data(), 1'000));
}

TEST_F(RestoredFileTest, HasAllValuesOfTheRecord) {
  for (RestoredStreams streams : {RestoredStreams(), RestoredStreams{.since = kStamped}}) {
    for (int i = 0; i < 2; ++i) {
      ASSERT_TRUE(write_restored_file(folder.path(), streams));
      EXPECT_EQ(read_restored_file(folder.path()).value(), streams);
      streams.opened = kStamped + Duration(1);
      streams.ends = {{"MILLRACE_EVENTS", {1'630'497'600'123'456'789, 1}},
                      {"ORDERS_DLQ", {1, std::numeric_limits<uint64_t>::max()}}};
    }
  }
}

TEST_F(RestoredFileTest, IsRefusedIfItIsDamaged) {
  for (const char* const text :
       {"", "{", "[]", "{}", R"({"since":"now","ends":{}})", R"({"since":1})",
        R"({"since":1,"ends":[]})", R"({"since":1,"ends":{},"opened":true})",
        R"({"since":1,"ends":{"A":{"created":1}}})", R"({"since":1,"ends":{"A":7}})",
        R"({"since":1,"ends":{"A":{"created":1,"lastSequence":-1}}})",
        R"({"since":-253402300800000,"ends":{}})", R"({"since":253402300800000,"ends":{}})",
        R"({"since":1,"ends":{},"opened":9223372036854775807})",
        R"({"since":1,"ends":{},"opened":18446744073709551615})"}) {
    std::ofstream(folder.path() / "restored", std::ios::binary) << text;
    const auto read = read_restored_file(folder.path());
    ASSERT_FALSE(read) << text;
    EXPECT_EQ(read.error().code, "store.corrupt") << text;
    EXPECT_THAT(read.error().message, HasSubstr("may be sent again")) << text;
  }
}

TEST(RestoredStreams, BeginTwoMinutesBeforeTheCursorOrAtTheEpoch) {
  EXPECT_EQ(restored_at({}).since, TimePoint());
  EXPECT_EQ(restored_at({.stamped = TimePoint() + std::chrono::minutes(1)}).since, TimePoint());
  EXPECT_EQ(restored_at({.stamped = kStamped}).since, kStamped - std::chrono::minutes(2));
}

}  // namespace
}  // namespace millrace
