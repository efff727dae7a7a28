// A store whose commits go to the log of a cluster: the log has each commit before the folder, and
// the folder has only commits that the log has.
#include <memory>
#include <optional>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "orchestrator/store/disk/environment.h"
#include "orchestrator/store/disk/log_row.h"
#include "orchestrator/store/transaction.h"
#include "tests/support/file_faults.h"
#include "tests/support/folder.h"
#include "tests/unit/store/recording_log.h"

namespace millrace {
namespace {

using testing::HasSubstr;

class LedStore : public testing::Test {
 protected:
  LedStore() {
    open();
    environment_->lead(log_);
  }
  ~LedStore() override { FileFaults::disarm(); }

  void open(EnvironmentOptions options = {}) {
    tx_.reset();
    environment_.reset();
    options.reserve_bytes = 0;
    auto opened = Environment::open(folder_.path(), options);
    ASSERT_TRUE(opened) << opened.error().message;
    environment_ = *std::move(opened);
    tx_.emplace(*environment_);
  }

  std::string write(std::string_view key, size_t bytes = 5, Limit limit = Limit::kKept) {
    tx_->put(Table::kLive, key, std::string(bytes, 'v'));
    const Status done = tx_->commit(limit);
    if (done) return "ok";
    message_ = done.error().message;
    return done.error().code;
  }

  bool has(std::string_view key) { return tx_->get(Table::kLive, key).has_value(); }

  std::optional<LogPosition> position() {
    const auto row = tx_->get(Table::kMeta, kLogKey);
    if (!row) return std::nullopt;
    return decode_log_position(*row).value();
  }

  Folder folder_;
  RecordingLog log_;
  std::unique_ptr<Environment> environment_;
  std::optional<Transaction> tx_;
  std::string message_;  ///< of the last error
};

TEST_F(LedStore, HasEachCommitInTheLogBeforeTheFolderHasIt) {
  log_.on_append = [this] {
    const auto view = Snapshot::take(*environment_);
    ASSERT_TRUE(view);
    EXPECT_EQ(view->commit(), log_.appended.size());
    EXPECT_FALSE(view->get(Table::kLive, "key " + std::to_string(log_.appended.size())));
  };
  for (int i = 0; i < 3; ++i) {
    tx_->put(Table::kLive, "key " + std::to_string(i), "value");
    tx_->erase(Table::kLive, "gone");
    std::string encoded;
    append_encoded(encoded, tx_->write_set());
    ASSERT_TRUE(tx_->commit());
    EXPECT_EQ(log_.appended.back(), encoded) << "the message has no position";
    EXPECT_EQ(position(), log_.last());
  }
  EXPECT_EQ(log_.appended.size(), 3U);
  ASSERT_TRUE(tx_->commit());
  EXPECT_EQ(log_.asked, 3) << "an empty batch is no commit";
}

TEST_F(LedStore, KnowsItsPositionAfterARestart) {
  EXPECT_EQ(write("a"), "ok");
  for (const bool checkpoints : {false, true, true}) {
    EXPECT_EQ(write("b"), "ok");
    open({.checkpoints_at_close = checkpoints});
    EXPECT_EQ(position(), log_.last());
    environment_->lead(log_);
  }
}

TEST_F(LedStore, WithoutALogHasNoPosition) {
  open();
  EXPECT_FALSE(environment_->is_led());
  EXPECT_EQ(write("a"), "ok");
  EXPECT_EQ(position(), std::nullopt);
  EXPECT_EQ(log_.asked, 0);
}

TEST_F(LedStore, HasNoCommitThatTheLogRefuses) {
  EXPECT_EQ(write("before"), "ok");
  const LogPosition before = log_.last();
  for (const char* const code : {"log.deposed", "log.lost", "log.closed"}) {
    SCOPED_TRACE(code);
    open();
    environment_->lead(log_);
    log_.failure = Error{code, "made to fail"};
    log_.asked = 0;
    EXPECT_EQ(write("refused"), code);
    log_.failure.reset();
    EXPECT_EQ(write("refused"), code) << "no commit follows one that the log may have";
    EXPECT_EQ(log_.asked, 1);
    EXPECT_TRUE(has("before"));
    EXPECT_FALSE(has("refused"));
    EXPECT_EQ(position(), before);
  }
}

TEST_F(LedStore, TakesTheNextCommitAfterOneThatIsTooLargeForTheLog) {
  EXPECT_EQ(write("before"), "ok");
  log_.failure = Error{"log.too_large", "made to fail"};
  EXPECT_EQ(write("large", 100'000), "log.too_large");
  EXPECT_FALSE(has("large"));
  log_.failure.reset();
  EXPECT_EQ(write("after"), "ok");
  EXPECT_EQ(position(), log_.last());
  EXPECT_EQ(log_.appended.size(), 2U);
  open();
  EXPECT_TRUE(has("after"));
  EXPECT_FALSE(has("large"));
}

TEST_F(LedStore, AsksTheLogOnlyIfTheFolderHasTheSpace) {
  EXPECT_EQ(write("before"), "ok");
  const uint64_t used = environment_->used_bytes();
  open({.soft_limit_bytes = used + 50'000});
  environment_->lead(log_);
  EXPECT_EQ(write("large", 1'000'000), "store.full");
  EXPECT_EQ(log_.asked, 1);
  for (const Limit limit : {Limit::kKept, Limit::kPassed}) {
    open();
    environment_->lead(log_);
    FileFaults::arm(FileFault::kFull, 1);
    EXPECT_EQ(write("large", 10'000'000, limit), "store.full");
    EXPECT_TRUE(FileFaults::has_struck());
    EXPECT_EQ(log_.asked, 1);
    FileFaults::disarm();
    EXPECT_FALSE(has("large"));
  }
  EXPECT_EQ(write("large", 10'000'000), "ok");
  EXPECT_EQ(log_.asked, 2);
}

TEST_F(LedStore, WritesNothingMoreBehindACommitThatOnlyTheLogHas) {
  for (const FileFault fault : {FileFault::kNone, FileFault::kError, FileFault::kSync}) {
    open();
    environment_->lead(log_);
    EXPECT_EQ(write("before"), "ok");
    const int asked = log_.asked;
    // The disk fails when the log has the commit.
    log_.on_append = [&] { FileFaults::arm(fault, 1); };
    EXPECT_EQ(write("lost"), "store.sync");
    EXPECT_THAT(message_, HasSubstr("the log of the cluster has a commit at sequence"));
    FileFaults::disarm();
    log_.on_append = nullptr;
    EXPECT_EQ(write("after"), "store.sync");
    EXPECT_EQ(log_.asked, asked + 1);
    EXPECT_TRUE(has("before"));
    EXPECT_FALSE(has("after"));
  }
}

}  // namespace
}  // namespace millrace
