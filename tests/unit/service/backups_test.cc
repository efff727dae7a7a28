// Backups: the backup that a server gives out: one at a time, of one commit, and not for ever.
#include "orchestrator/service/backups.h"

#include <atomic>
#include <cstring>
#include <fstream>
#include <future>
#include <iterator>
#include <memory>

#include <gmock/gmock.h>

#include "orchestrator/backup/manifest.h"
#include "orchestrator/backup/restored_file.h"
#include "orchestrator/store/rows/identity.h"
#include "tests/support/dumped_store.h"
#include "tests/unit/service/local_service_fixture.h"
#include "tests/unit/support/faulty_store.h"

namespace millrace {
namespace {

using std::chrono::seconds;

/// A clock that the test moves while the thread of a backup reads it.
class MovedClock final : public Clock {
 public:
  TimePoint now() const override { return from_millis(1'630'497'600'000); }
  Duration elapsed() const override { return Duration(elapsed_.load()); }
  void advance(Duration by) { elapsed_ += by.count(); }

 private:
  std::atomic<int64_t> elapsed_ = 0;
};

class BackupsTest : public FaultyStoreTest {
 protected:
  BackupsTest() {
    tx.reset();
    EXPECT_TRUE(identify(*environment, [] { return std::array<uint8_t, 16>{1}; }));
    tx.emplace(*environment);
    tx->put(Table::kVariables, "a", "1");
    commit();
  }

  Result<Json> begin() { return begin(connection); }
  Result<Json> begin(const CallerMark& caller) {
    std::promise<Result<Json>> answer;
    backups->begin(caller, [&](Result<Json> made) { answer.set_value(std::move(made)); });
    return answer.get_future().get();
  }
  std::string begin_one() { return begin_one(connection); }
  std::string begin_one(const CallerMark& caller) {
    const Result<Json> opened = begin(caller);
    EXPECT_TRUE(opened) << opened.error().message;
    return opened ? opened->at("id").get<std::string>() : "";
  }
  static std::string code(const auto& result) {
    return result ? std::string() : result.error().code;
  }
  /// The values of a table in a chunk.
  static std::vector<std::string> values_in(const std::string& chunk, Table wanted) {
    std::vector<std::string> values;
    EXPECT_TRUE(each_row_of_chunk(chunk, "", [&](Table table, auto, std::string_view value) {
      if (table == wanted) values.emplace_back(value);
    }));
    return values;
  }

  Result<std::optional<std::string>> chunk(std::string_view id, uint64_t number) {
    return backups->chunk(id, number, connection);
  }

  MovedClock clock;
  std::shared_ptr<int> connection = std::make_shared<int>();  ///< of the caller
  std::unique_ptr<Backups> backups = std::make_unique<Backups>(*environment, clock, "0.1.0");
};

TEST_F(BackupsTest, HaveTheHeadOfTheLatestCommit) {
  const uint64_t last = Snapshot::take(*environment).value().commit();
  const Json opened = begin().value();
  const auto head = decode_backup_head(opened);
  ASSERT_TRUE(head) << head.error().message;
  EXPECT_EQ(head->commit, last);
  EXPECT_EQ(head->store, "01000000000000000000000000000000");
  EXPECT_EQ(head->release, "0.1.0");
  EXPECT_EQ(head->time, clock.now());
  EXPECT_EQ(head->since, std::nullopt) << "the store was neither restored nor copied";
  EXPECT_TRUE(opened.contains("aboutRows"));
}

TEST_F(BackupsTest, SayInTheHeadSinceWhenARestoredStoreMakesMessagesAgain) {
  const RestoredStreams restored{.since = from_millis(1'630'497'600'000)};
  ASSERT_TRUE(write_restored_file(environment->folder(), restored));
  const auto head = decode_backup_head(begin().value());
  ASSERT_TRUE(head) << head.error().message;
  EXPECT_EQ(head->since, restored.since);
}

TEST_F(BackupsTest, GiveOutTheRowsAsTheyWereWhenTheBackupBegan) {
  const std::string id = begin_one();
  tx->put(Table::kVariables, "a", "2");
  tx->put(Table::kVariables, "b", "3");
  commit();
  ASSERT_TRUE(environment->checkpoint());
  const auto first = chunk(id, 1).value();
  ASSERT_TRUE(first);
  EXPECT_THAT(values_in(*first, Table::kVariables), testing::ElementsAre("1"));
  EXPECT_EQ(chunk(id, 2).value(), std::nullopt);
  EXPECT_EQ(chunk(id, 2).value(), std::nullopt) << "the end is answered again";
}

TEST_F(BackupsTest, GiveAChunkAgainIfItsAnswerWasLost) {
  for (int i = 0; i < 3; ++i) {
    tx->put(Table::kVariables, fmt::format("large {}", i), std::string(kBackupChunkBytes, 'v'));
  }
  commit();
  const std::string id = begin_one();
  const auto first = chunk(id, 1).value();
  EXPECT_EQ(chunk(id, 1).value(), first);
  const auto second = chunk(id, 2).value();
  EXPECT_NE(second, first);
  EXPECT_EQ(chunk(id, 2).value(), second);
  for (const uint64_t number : {0, 1, 4}) EXPECT_EQ(code(chunk(id, number)), "backup.chunk");
  EXPECT_TRUE(chunk(id, 3).value());
}

TEST_F(BackupsTest, ExistOneAtATime) {
  const std::string first = begin_one();
  EXPECT_EQ(code(begin()), "busy");
  EXPECT_EQ(code(backups->end("other")), "backup.not_found");
  EXPECT_EQ(backups->end(first).value(), (Json{{"id", first}, {"ended", true}}));
  EXPECT_EQ(code(chunk(first, 1)), "backup.not_found");
  EXPECT_EQ(code(backups->end(first)), "backup.not_found");
  const std::string second = begin_one();
  EXPECT_NE(second, first);
  EXPECT_EQ(code(chunk(first, 1)), "backup.not_found");
  EXPECT_TRUE(chunk(second, 1));
}

TEST_F(BackupsTest, EndIfNoChunkIsAskedForInAMinute) {
  const std::string id = begin_one();
  clock.advance(seconds(59));
  EXPECT_TRUE(chunk(id, 1));
  clock.advance(seconds(59));
  EXPECT_TRUE(chunk(id, 1));
  EXPECT_EQ(code(begin()), "busy");
  clock.advance(seconds(60));
  EXPECT_EQ(code(chunk(id, 1)), "backup.not_found");
  clock.advance(seconds(60));
  const std::string other = begin_one();
  clock.advance(seconds(60));
  EXPECT_NE(begin_one(), other) << "an idle backup does not make another one wait";
}

TEST_F(BackupsTest, NameTheBackupThatRefusesAnotherOne) {
  const Json opened = begin().value();
  const std::string id = opened.at("id");
  clock.advance(seconds(20));
  const Result<Json> second = begin();
  EXPECT_EQ(code(second), "busy");
  EXPECT_EQ(second.error().message,
            fmt::format("a backup is running: {} of commit {}, which began at "
                        "2021-09-01T12:00:00.000Z; try again when it has ended (in 40 s, if no "
                        "chunk is asked for), or end it by `DELETE /v1/backups/{}`",
                        id, opened.at("commit").get<uint64_t>(), id));
}

TEST_F(BackupsTest, EndWhenAnotherOneBeginsIfTheirCallerHasClosedTheConnection) {
  auto caller = std::make_shared<int>();
  const std::string id = begin_one(caller);
  caller.reset();
  const Result<Json> second = begin();
  EXPECT_EQ(code(second), "backup.ending") << "the caller may connect again";
  EXPECT_THAT(second.error().message,
              testing::HasSubstr("its caller has closed the connection, so try again in 10 s"));
  clock.advance(seconds(10));
  const std::string other = begin_one();
  EXPECT_NE(other, id);
  EXPECT_EQ(code(chunk(id, 1)), "backup.not_found");
  clock.advance(seconds(59));
  EXPECT_EQ(code(begin()), "busy") << "this caller is connected";
}

TEST_F(BackupsTest, StayWithACallerThatConnectsAgain) {
  auto caller = std::make_shared<int>();
  const std::string id = begin_one(caller);
  caller.reset();
  clock.advance(seconds(30));
  EXPECT_TRUE(chunk(id, 1)) << "no other backup was started";
  clock.advance(seconds(30));
  EXPECT_EQ(code(begin()), "busy");
  EXPECT_TRUE(chunk(id, 1));
}

TEST_F(BackupsTest, DoNotBeginForACallerThatHasClosedTheConnection) {
  EXPECT_EQ(code(begin(CallerMark())), "backup.abandoned");
  EXPECT_TRUE(begin()) << "the abandoned begin left nothing";
}

TEST_F(BackupsTest, EndWithTheServer) {
  begin_one();
  backups.reset();
  EXPECT_TRUE(environment->checkpoint()) << "the snapshot was released before its store is closed";
}

TEST_F(BackupsTest, DoNotBeginIfAReadFails) {
  fail_reads_of(Table::kMeta);
  EXPECT_EQ(code(begin()), "store.io");
  heal();
  EXPECT_TRUE(begin()) << "the failed begin left nothing";
}

TEST_F(BackupsTest, DoNotBeginIfAPageIsDamaged) {
  ASSERT_TRUE(environment->checkpoint());
  const auto path = environment->folder() / "data.mdb";
  std::ifstream in(path, std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(in), {}};
  std::fstream file(path, std::ios::binary | std::ios::in | std::ios::out);
  constexpr size_t kPage = 4'096;
  for (uint64_t page = 2; (page + 1) * kPage <= bytes.size(); ++page) {
    uint64_t number = 0;  // a page that was written begins with its number
    std::memcpy(&number, bytes.data() + page * kPage, sizeof number);
    if (number == page) file.seekp(static_cast<std::streamoff>(page * kPage)).put('\x7f');
  }
  file.close();
  const Result<Json> opened = begin();
  EXPECT_EQ(code(opened), "store.corrupt");
  EXPECT_THAT(opened.error().message, testing::HasSubstr("page "));
}

TEST_F(BackupsTest, DoNotBeginIfTheStoreHasATreeThatTheyWouldLack) {
  backups.reset();
  tx.reset();
  ASSERT_TRUE(environment->checkpoint());
  environment.reset();
  add_tree(folder.path(), "extra");
  environment = Environment::open(folder.path()).value();
  backups = std::make_unique<Backups>(*environment, clock, "0.1.0");
  const Result<Json> opened = begin();
  EXPECT_EQ(code(opened), "tree.unknown");
  EXPECT_THAT(opened.error().message, testing::HasSubstr("data.mdb has the tree \"extra\""));
}

TEST_F(LocalServiceTest, GivesOutABackupOfItsStore) {
  world.apply(kWaits);
  world.start("waits");
  std::promise<Result<Json>> answer;
  const auto caller = std::make_shared<int>();
  service->begin_backup(caller, [&](Result<Json> made) { answer.set_value(std::move(made)); });
  const Result<Json> opened = answer.get_future().get();
  ASSERT_TRUE(opened) << opened.error().message;
  const std::string id = opened->at("id");
  RowCounts rows;
  std::string last;
  for (uint64_t number = 1;; ++number) {
    const auto chunk = service->backup_chunk(id, number, caller).value();
    if (!chunk) break;
    last = each_row_of_chunk(*chunk, last, [&](Table table, auto, auto) {
             ++rows[table_name(table)];
           }).value();
  }
  EXPECT_GT(rows["live"], 0U);
  EXPECT_EQ(sum_of(rows), world.rows().size());
  EXPECT_TRUE(service->end_backup(id));
}

}  // namespace
}  // namespace millrace
