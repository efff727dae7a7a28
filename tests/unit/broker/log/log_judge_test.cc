// What each message of the stream is to a reader of the log.
#include "broker/log/log_judge.h"

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "broker/log/log_payload.h"
#include "tests/unit/broker/log/log_makers.h"

namespace millrace {
namespace {

using testing::HasSubstr;
using Seen = LogSeen::What;

constexpr uint64_t kFormat = 6;

/// A log as its writers make it. Each function adds a message behind the newest one.
class WrittenLog {
 public:
  LogMessage begin(uint8_t node, std::optional<std::string> base = std::nullopt,
                   uint64_t epochs = 1) {
    const LogBegin body{.node = incarnation_of(node),
                        .address = "http://a:8780",
                        .version = "0.1.0",
                        .behind_epoch = epoch,
                        .behind_incarnation = incarnation,
                        .base = std::move(base)};
    epoch += epochs;
    incarnation = incarnation_of(static_cast<uint8_t>(100 + node));
    commit = 0;
    return add({.kind = LogKind::kBegin, .epoch = epoch, .payload = encode_log_begin(body)});
  }
  LogMessage commit_of(std::string payload, LogPart part = {}, bool is_packed = false) {
    if (part.number == 1) ++commit;
    return add({.epoch = epoch,
                .commit = commit,
                .part = part,
                .is_packed = is_packed,
                .payload = std::move(payload)});
  }
  LogMessage beat() { return add({.kind = LogKind::kBeat, .epoch = epoch, .commit = commit}); }
  LogMessage end() { return add({.kind = LogKind::kEnd, .epoch = epoch, .commit = commit}); }
  LogMessage add(LogMessage message) {
    message.incarnation = incarnation;
    message.format = kFormat;
    message.expected = place.sequence;
    message.previous = place.chain;
    message = chained(std::move(message));
    place = {place.sequence + 1, message.chain};
    return message;
  }

  LogPlace place;
  uint64_t epoch = 0;
  uint64_t commit = 0;
  LogIncarnation incarnation{};
};

class LogJudgeTest : public testing::Test {
 protected:
  /// The judgement of the next message.
  Seen see(const LogMessage& message) {
    seen_ = judge_.see(message.expected + 1, encoded(message));
    EXPECT_TRUE(seen_) << seen_.error().message;
    return seen_ ? seen_->what : Seen::kForeign;
  }
  Seen see_foreign() {
    seen_ = judge_.see(++written_.place.sequence,
                       {.subject = kLogSubject, .headers = {}, .data = "foreign"});
    EXPECT_TRUE(seen_) << seen_.error().message;
    return seen_ ? seen_->what : Seen::kBegin;
  }
  /// The error of the next message.
  std::string error_of(const LogMessage& message) {
    seen_ = judge_.see(message.expected + 1, encoded(message));
    return seen_ ? "it was applied" : seen_.error().code + ": " + seen_.error().message;
  }

  WrittenLog written_;
  LogJudge judge_{kLogKey, kFormat, {}};
  Result<LogSeen> seen_;
};

TEST_F(LogJudgeTest, AppliesMessagesThatFollowOneAnother) {
  EXPECT_EQ(see(written_.begin(1)), Seen::kBegin);
  EXPECT_EQ(seen_->begin->node, incarnation_of(1));
  EXPECT_EQ(see(written_.commit_of("one")), Seen::kCommit);
  EXPECT_EQ(seen_->write_set, "one");
  EXPECT_EQ(see(written_.beat()), Seen::kBeat);
  EXPECT_EQ(see(written_.commit_of("two")), Seen::kCommit);
  EXPECT_EQ(seen_->write_set, "two");
  EXPECT_EQ(judge_.history(), (LogHistory{.place = written_.place,
                                          .epoch = 1,
                                          .incarnation = incarnation_of(101),
                                          .node = incarnation_of(1),
                                          .commit = 2}));
  EXPECT_EQ(see(written_.end()), Seen::kEnd);
  EXPECT_EQ(see(written_.begin(2)), Seen::kBegin);
  EXPECT_EQ(seen_->begin->behind_epoch, 1U);
  EXPECT_EQ(judge_.history(), (LogHistory{.place = written_.place,
                                          .epoch = 2,
                                          .incarnation = incarnation_of(102),
                                          .node = incarnation_of(2),
                                          .commit = 0}));
  EXPECT_EQ(see(written_.commit_of("three")), Seen::kCommit);
  EXPECT_EQ(judge_.foreign(), 0U);
}

TEST_F(LogJudgeTest, AppliesABeginWithABaseThatLeavesEpochsOut) {
  see(written_.begin(1));
  see(written_.commit_of("one"));
  EXPECT_EQ(see(written_.begin(2, "s1", kLostEpochs)), Seen::kBegin);
  EXPECT_EQ(judge_.history().epoch, 1 + kLostEpochs);
  EXPECT_EQ(see(written_.commit_of("two")), Seen::kCommit);
}

TEST_F(LogJudgeTest, AppliesAFirstBeginOfAnyEpoch) {
  // The number is the time of the founding.
  EXPECT_EQ(see(written_.begin(1, std::nullopt, 1'796'000'000'000)), Seen::kBegin);
  EXPECT_EQ(judge_.history().epoch, 1'796'000'000'000U);
  EXPECT_EQ(see(written_.commit_of("one")), Seen::kCommit);
}

TEST_F(LogJudgeTest, AppliesNoLaterBeginThatLeavesEpochsOutWithoutABase) {
  WrittenLog log;
  LogJudge judge(kLogKey, kFormat, {});
  ASSERT_TRUE(judge.see(1, encoded(log.begin(1))));
  const auto seen = judge.see(2, encoded(log.begin(2, std::nullopt, 2)));
  ASSERT_FALSE(seen);
  EXPECT_EQ(seen.error().code, "log.diverged");
}

TEST_F(LogJudgeTest, HandsOnEachMessageOfTheLogAsItIs) {
  const LogMessage begin = written_.begin(1);
  see(begin);
  EXPECT_EQ(seen_->message, begin);
  see_foreign();
  EXPECT_EQ(seen_->message, std::nullopt);
  for (const LogPart part : {LogPart{1, 2}, LogPart{2, 2}}) {
    const LogMessage message = written_.commit_of("part", part);
    see(message);
    EXPECT_EQ(seen_->message, message);
  }
  const LogMessage end = written_.end();
  see(end);
  EXPECT_EQ(seen_->message, end);
}

TEST_F(LogJudgeTest, ContinuesWhereAnotherJudgeHasEnded) {
  see(written_.begin(1));
  see(written_.commit_of("one"));
  LogJudge next(kLogKey, kFormat, judge_.history());
  const LogMessage two = written_.commit_of("two");
  const auto seen = next.see(two.expected + 1, encoded(two));
  ASSERT_TRUE(seen) << seen.error().message;
  EXPECT_EQ(seen->write_set, "two");
  EXPECT_EQ(next.history().commit, 2U);
}

TEST_F(LogJudgeTest, JoinsPartsToACommit) {
  see(written_.begin(1));
  EXPECT_EQ(see(written_.commit_of("on", {1, 3})), Seen::kPart);
  EXPECT_EQ(judge_.history().commit, 0U);
  EXPECT_EQ(see(written_.commit_of("", {2, 3})), Seen::kPart);
  EXPECT_EQ(see(written_.commit_of("e", {3, 3})), Seen::kCommit);
  EXPECT_EQ(seen_->write_set, "one");
  EXPECT_EQ(judge_.history().commit, 1U);
  EXPECT_EQ(judge_.history().place, written_.place);

  LogPacker packer;
  const std::string write_set = std::string(5'000, 'a') + std::string(5'000, 'b');
  const Result<LogUnit> unit = packer.pack({}, write_set, 10);
  ASSERT_TRUE(unit);
  ASSERT_TRUE(unit->is_packed);
  const uint64_t count = unit->parts.size();
  ASSERT_GT(count, 1U);
  for (uint64_t i = 0; i < count; ++i) {
    see(written_.commit_of(unit->parts[i], {i + 1, count}, true));
  }
  EXPECT_EQ(seen_->what, Seen::kCommit);
  EXPECT_EQ(seen_->write_set, write_set);
}

TEST_F(LogJudgeTest, ForgetsPartsThatAnotherMessageFollows) {
  see(written_.begin(1));
  see(written_.commit_of("lo", {1, 3}));
  see(written_.commit_of("s", {2, 3}));
  EXPECT_EQ(see(written_.begin(2)), Seen::kBegin);
  EXPECT_EQ(judge_.history().commit, 0U);
  EXPECT_EQ(see(written_.commit_of("o", {1, 2})), Seen::kPart);
  EXPECT_EQ(see(written_.commit_of("ne", {2, 2})), Seen::kCommit);
  EXPECT_EQ(seen_->write_set, "one");

  see(written_.commit_of("lost", {1, 2}));
  --written_.commit;  // the commit is not complete, so its number is used again
  EXPECT_EQ(see(written_.commit_of("two")), Seen::kCommit);
  EXPECT_EQ(seen_->write_set, "two");
  EXPECT_EQ(judge_.history().commit, 2U);
}

TEST_F(LogJudgeTest, PassesOverForeignMessages) {
  EXPECT_EQ(see_foreign(), Seen::kForeign);
  EXPECT_EQ(seen_->why, "the header Nats-Expected-Last-Sequence is missing");
  see(written_.begin(1));
  see(written_.commit_of("on", {1, 2}));
  EXPECT_EQ(see_foreign(), Seen::kForeign);
  EXPECT_EQ(see(written_.commit_of("e", {2, 2})), Seen::kCommit);
  EXPECT_EQ(seen_->write_set, "one");

  // A copy of a message of the log, at another place.
  const LogMessage original = written_.beat();
  see(original);
  seen_ = judge_.see(++written_.place.sequence, encoded(original));
  ASSERT_TRUE(seen_);
  EXPECT_EQ(seen_->what, Seen::kForeign);
  EXPECT_THAT(seen_->why, HasSubstr("the message is a copy"));
  EXPECT_EQ(judge_.foreign(), 3U);
  EXPECT_EQ(see(written_.commit_of("two")), Seen::kCommit);
}

TEST_F(LogJudgeTest, PassesOverACommitThatNoHolderOfTheKeyWrote) {
  see(written_.begin(1));
  // All but its chain is that of the next commit: place, history, epoch and number.
  LogMessage forged = WrittenLog(written_).commit_of("forged");
  forged.chain = log_chain(std::string(32, 'l'), forged);
  EXPECT_EQ(see(forged), Seen::kForeign);
  EXPECT_EQ(judge_.foreign(), 1U);
  ++written_.place.sequence;
  EXPECT_EQ(see(written_.commit_of("one")), Seen::kCommit);
  EXPECT_EQ(judge_.history().commit, 1U);
}

TEST_F(LogJudgeTest, PassesOverAPartThatDoesNotFollowThePartBeforeIt) {
  see(written_.begin(1));
  WrittenLog former = written_;
  former.commit_of("a", {1, 2});
  const LogMessage second = former.commit_of("b", {2, 2});
  see(written_.begin(2));  // came instead of the first part
  EXPECT_EQ(see(second), Seen::kForeign);
  EXPECT_THAT(seen_->why, HasSubstr("part 2/2) does not follow the part before it"));
  written_.place.sequence = second.expected + 1;
  EXPECT_EQ(see(written_.commit_of("one")), Seen::kCommit);
  EXPECT_EQ(judge_.foreign(), 1U);
}

TEST_F(LogJudgeTest, ReportsALogWithAnotherHistory) {
  struct Row {
    const char* name;
    std::function<LogMessage(WrittenLog&)> next;
    const char* expected;
  };
  const std::vector<Row> rows = {
      {"messages are missing",
       [](WrittenLog& log) {
         log.beat();
         return log.beat();
       },
       "log.diverged: the next message of the log is 4; expected 3"},
      {"another message in the place of one that this node has",
       [](WrittenLog& log) {
         log.place.chain[0] ^= 1;
         return log.beat();
       },
       "log.diverged: message 3 of the log (a beat, epoch 1, incarnation "
       "00000000000000000000000000000065, commit 1, part 1/1) follows the chain "},
      {"a begin behind another message in the place of one that this node has",
       [](WrittenLog& log) {
         log.place.chain[0] ^= 1;
         return log.begin(2);
       },
       "log.diverged: message 3 of the log (a begin, epoch 2, incarnation "
       "00000000000000000000000000000066, commit 0, part 1/1) follows the chain "},
      {"a commit is missing",
       [](WrittenLog& log) {
         ++log.commit;
         return log.commit_of("x");
       },
       "does not follow: expected epoch 1, commit 2"},
      {"a commit comes twice",
       [](WrittenLog& log) {
         --log.commit;
         return log.commit_of("x");
       },
       "does not follow: expected epoch 1, commit 2"},
      {"a beat behind a commit that is missing",
       [](WrittenLog& log) {
         ++log.commit;
         return log.beat();
       },
       "does not follow: expected epoch 1, commit 1"},
      {"an epoch is missing",
       [](WrittenLog& log) {
         ++log.epoch;
         return log.begin(2);
       },
       "does not follow: expected epoch 2, commit 0"},
      {"no begin",
       [](WrittenLog& log) {
         ++log.epoch;
         return log.beat();
       },
       "does not follow: expected epoch 1, commit 1"},
      {"an incarnation without a begin",
       [](WrittenLog& log) {
         log.incarnation = incarnation_of(9);
         return log.beat();
       },
       "does not follow: expected the incarnation 00000000000000000000000000000065"},
      {"a begin behind another incarnation",
       [](WrittenLog& log) {
         log.incarnation = incarnation_of(9);
         return log.begin(2);
       },
       "names epoch 1 of 00000000000000000000000000000009 as the one before it; expected 1 of "
       "00000000000000000000000000000065"},
      {"a first part is missing",
       [](WrittenLog& log) {
         ++log.commit;
         return log.commit_of("x", {2, 3});
       },
       "does not follow: expected part 1"},
  };
  for (const Row& row : rows) {
    WrittenLog log;
    LogJudge judge(kLogKey, kFormat, {});
    for (const LogMessage& message : {log.begin(1), log.commit_of("one")}) {
      ASSERT_TRUE(judge.see(message.expected + 1, encoded(message)));
    }
    const LogHistory before = judge.history();
    const LogMessage next = row.next(log);
    const auto seen = judge.see(next.expected + 1, encoded(next));
    ASSERT_FALSE(seen) << row.name;
    EXPECT_EQ(seen.error().code, "log.diverged") << row.name;
    EXPECT_THAT(seen.error().code + ": " + seen.error().message, HasSubstr(row.expected))
        << row.name;
    EXPECT_EQ(judge.history(), before) << row.name;
    const auto again = judge.see(3, {});  // the same error from now on
    ASSERT_FALSE(again) << row.name;
    EXPECT_EQ(again.error(), seen.error()) << row.name;
  }
}

TEST_F(LogJudgeTest, ReportsAPartOfAnotherCommit) {
  see(written_.begin(1));
  see(written_.commit_of("a", {1, 3}));
  EXPECT_THAT(error_of(written_.commit_of("b", {3, 3})),
              HasSubstr("part 3/3) does not follow: expected part 2"));
}

TEST_F(LogJudgeTest, ReportsRowsOfANewerFormat) {
  see(written_.begin(1));
  LogMessage newer = written_.commit_of("one");
  newer.format = 7;
  EXPECT_THAT(error_of(chained(newer)),
              HasSubstr("store.version: message 2 of the log (a commit, epoch 1, incarnation "
                        "00000000000000000000000000000065, commit 1, part 1/1) is for stores of "
                        "the format 7; this release reads 6 at most"));
}

TEST_F(LogJudgeTest, ReportsWhatANodeWroteAndThisReleaseCannotRead) {
  see(written_.begin(1));
  EXPECT_THAT(error_of(written_.commit_of("not zstd", {}, true)),
              HasSubstr("log.unreadable: message 2 of the log (a commit, epoch 1, "));
  EXPECT_EQ(judge_.history().place.sequence, 1U);

  LogJudge judge(kLogKey, kFormat, {});
  const LogMessage begin = chained({.kind = LogKind::kBegin, .payload = "{}"});
  const auto seen = judge.see(1, encoded(begin));
  ASSERT_FALSE(seen);
  EXPECT_EQ(seen.error().code, "log.unreadable");
  EXPECT_THAT(seen.error().message, HasSubstr("the body of a begin has no member `node`"));
}

}  // namespace
}  // namespace millrace
