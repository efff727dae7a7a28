// Each answer of the broker while the log is restored, and what follows.
// log_restore_schedules_test.cc plays them at random.
#include "broker/log/log_restore.h"

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/broker/log/log_makers.h"

namespace millrace {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using Ending = LogRestored::What;

constexpr LogChain kBefore{7, 7};

/// A commit behind that place.
LogMessage commit_behind(LogPlace place, std::string payload, LogPart part = {}) {
  return chained({.epoch = 3,
                  .incarnation = incarnation_of(1),
                  .commit = 1,
                  .part = part,
                  .expected = place.sequence,
                  .previous = place.chain,
                  .payload = std::move(payload)});
}

/// A node whose tail has the commits a (101), b (102), a foreign message (103) and c (104).
class LogRestoreTest : public testing::Test {
 protected:
  using Words = std::vector<std::string>;

  LogRestoreTest() {
    LogPlace place{100, kBefore};
    for (const char* payload : {"a", "b", "", "c"}) {
      std::optional<LogMessage> message;
      if (*payload != '\0') message = commit_behind(place, payload);
      place = {place.sequence + 1, message ? message->chain : place.chain};
      tail_.add(place.sequence, message, now_);
    }
    restore_.emplace(LogTimes{}, kLogKey, kLogSubject, tail_, now_ + Duration(60'000), 10);
  }

  /// What has to be done now: "<token>: <payload> behind <expected sequence>", "read <sequence>",
  /// "ask".
  Words actions() {
    Words words;
    for (const LogAction& action : restore_->take_actions(now_)) {
      if (const auto* const send = std::get_if<LogResend>(&action)) {
        sent_ = send->message;
        const std::string* const expected =
            find_header(sent_.headers, "Nats-Expected-Last-Sequence");
        words.push_back(fmt::format("{}: {} behind {}", send->token, sent_.data,
                                    expected != nullptr ? *expected : "anything"));
      } else if (const auto* const read = std::get_if<LogRead>(&action)) {
        words.push_back(fmt::format("read {}", read->sequence));
      } else {
        words.emplace_back("ask");
      }
    }
    return words;
  }
  Words actions_after(Duration time) {
    EXPECT_EQ(restore_->next_time(), now_ + time);
    now_ += time - Duration(1);
    EXPECT_THAT(actions(), IsEmpty());
    now_ += Duration(1);
    return actions();
  }
  void found(uint64_t sequence, LogMessage message) {
    restore_->found(sequence, encoded(std::move(message)), now_);
  }
  void found_foreign(uint64_t sequence) {
    restore_->found(sequence, {.subject = kLogSubject, .headers = {}, .data = "x"}, now_);
  }
  void acknowledged(uint64_t token, uint64_t sequence) {
    restore_->acknowledged(token, sequence, now_);
  }
  /// Lets the stream end there, and expects that the message there is read.
  void ends_at(uint64_t last) {
    EXPECT_THAT(actions(), ElementsAre("ask"));
    restore_->stream_ends(last, now_);
    EXPECT_THAT(actions(), ElementsAre(fmt::format("read {}", last)));
  }
  std::optional<Ending> ending() const {
    return restore_->outcome() ? std::optional(restore_->outcome()->what) : std::nullopt;
  }

  static constexpr Duration kAnswerTime{1'000};
  static constexpr Duration kShortPause{100};

  LogRestore::Time now_{};
  LogTail tail_{{100, kBefore}};
  std::optional<LogRestore> restore_;
  NatsMessage sent_;
};

TEST_F(LogRestoreTest, AppendsWhatIsMissingAsItWas) {
  ends_at(101);
  found(101, *tail_.at(101));
  EXPECT_THAT(actions(), ElementsAre("11: b behind 101"));
  EXPECT_EQ(sent_.headers, encoded(*tail_.at(102)).headers);
  EXPECT_EQ(sent_.subject, kLogSubject);
  EXPECT_THAT(actions(), IsEmpty());
  acknowledged(11, 102);
  // A foreign message only takes its place.
  EXPECT_THAT(actions(), ElementsAre("12:  behind 102"));
  EXPECT_FALSE(read_log_message(kLogKey, 103, sent_));
  acknowledged(12, 103);
  EXPECT_THAT(actions(), ElementsAre("13: c behind 103"));
  EXPECT_EQ(ending(), std::nullopt);
  acknowledged(13, 104);
  EXPECT_EQ(ending(), Ending::kWhole);
  EXPECT_EQ(restore_->outcome()->count, 3U);
  EXPECT_EQ(restore_->outcome()->why, "");
  EXPECT_EQ(restore_->latest_token(), 13U);
  EXPECT_THAT(actions(), IsEmpty());
  EXPECT_EQ(restore_->next_time(), std::nullopt);
}

TEST_F(LogRestoreTest, AppendsNothingToALogThatIsWhole) {
  for (const uint64_t last : {104, 200}) {
    restore_.emplace(LogTimes{}, kLogKey, kLogSubject, tail_, now_ + kAnswerTime);
    EXPECT_THAT(actions(), ElementsAre("ask"));
    restore_->stream_ends(last, now_);
    EXPECT_EQ(ending(), Ending::kWhole);
    EXPECT_EQ(restore_->outcome()->count, 0U);
    EXPECT_THAT(actions(), IsEmpty());
  }
}

TEST_F(LogRestoreTest, BeginsBehindTheBaseOfTheTail) {
  ends_at(100);
  found(100, chained({.epoch = 3, .commit = 9, .expected = 99, .payload = "another"}));
  EXPECT_EQ(ending(), Ending::kForked);
  // The chain of the base is one of the log.
  const LogMessage base = commit_behind({99, kBefore}, "base");
  LogTail tail({100, base.chain});
  tail.add(101, commit_behind({100, base.chain}, "a"), now_);
  restore_.emplace(LogTimes{}, kLogKey, kLogSubject, tail, now_ + kAnswerTime);
  ends_at(100);
  found(100, base);
  EXPECT_THAT(actions(), ElementsAre("1: a behind 100"));
}

TEST_F(LogRestoreTest, RestoresAnEmptyStreamFromTheFirstMessage) {
  LogTail tail{LogPlace{}};
  tail.add(1, commit_behind({}, "a"), now_);
  restore_.emplace(LogTimes{}, kLogKey, kLogSubject, tail, now_ + kAnswerTime);
  EXPECT_THAT(actions(), ElementsAre("ask"));
  restore_->stream_ends(0, now_);
  EXPECT_THAT(actions(), ElementsAre("1: a behind 0"));
  acknowledged(1, 1);
  EXPECT_EQ(ending(), Ending::kWhole);
}

TEST_F(LogRestoreTest, ComparesTheMessageBeforeAForeignOne) {
  ends_at(103);
  found_foreign(103);
  EXPECT_THAT(actions(), ElementsAre("read 102"));
  found(102, *tail_.at(102));
  EXPECT_THAT(actions(), ElementsAre("11: c behind 103"));

  restore_.emplace(LogTimes{}, kLogKey, kLogSubject, tail_, now_ + kAnswerTime);
  ends_at(103);
  found(103, commit_behind({102, LogChain{9}}, "part", {2, 2}));  // it follows nothing
  EXPECT_THAT(actions(), ElementsAre("read 102"));
  found(102, commit_behind({101, kBefore}, "another"));
  EXPECT_EQ(ending(), Ending::kForked);
}

TEST_F(LogRestoreTest, PutsNothingBehindAnotherHistory) {
  ends_at(102);
  found(102, commit_behind({101, tail_.at(101)->chain}, "another"));
  EXPECT_EQ(ending(), Ending::kForked);
  EXPECT_THAT(restore_->outcome()->why, HasSubstr("lost message 102"));
  EXPECT_THAT(actions(), IsEmpty());

  restore_.emplace(LogTimes{}, kLogKey, kLogSubject, tail_, now_ + kAnswerTime);
  ends_at(102);
  found_foreign(102);  // so b cannot have its place again
  EXPECT_EQ(ending(), Ending::kForked);

  restore_.emplace(LogTimes{}, kLogKey, kLogSubject, tail_, now_ + kAnswerTime);
  ends_at(103);
  found(103, commit_behind({102, tail_.at(102)->chain}, "another"));  // it was foreign
  EXPECT_EQ(ending(), Ending::kForked);
}

TEST_F(LogRestoreTest, SaysThatItDoesNotHaveWhatIsMissing) {
  EXPECT_THAT(actions(), ElementsAre("ask"));
  restore_->stream_ends(99, now_);
  EXPECT_EQ(ending(), Ending::kGone);
  EXPECT_THAT(restore_->outcome()->why, HasSubstr("ends at 99, and this node has its messages "
                                                  "from 101 on only"));
  restore_.emplace(LogTimes{}, kLogKey, kLogSubject, tail_, now_ + kAnswerTime);
  ends_at(100);
  found_foreign(100);  // what was there is not known
  EXPECT_EQ(ending(), Ending::kGone);
}

TEST_F(LogRestoreTest, AsksAgainWhenAMessageIsRefusedOrNotAnswered) {
  ends_at(103);
  found_foreign(103);
  actions();
  found(102, *tail_.at(102));
  EXPECT_THAT(actions(), ElementsAre("11: c behind 103"));
  restore_->wrong_sequence(11, 101, now_);
  EXPECT_THAT(actions_after(kShortPause), ElementsAre("ask"));
  EXPECT_THAT(actions_after(kAnswerTime), ElementsAre("ask"));
  restore_->stream_ends(102, now_);
  EXPECT_THAT(actions(), ElementsAre("read 102"));
  restore_->not_found(102, now_);
  EXPECT_THAT(actions_after(kShortPause), ElementsAre("ask"));
  restore_->question_failed({"broker.refused", "no"}, now_);
  EXPECT_THAT(actions_after(kAnswerTime), ElementsAre("ask"));
  restore_->stream_ends(102, now_);
  actions();
  EXPECT_THAT(actions_after(kAnswerTime), ElementsAre("ask"));
  restore_->stream_ends(102, now_);
  actions();
  found(102, *tail_.at(102));
  EXPECT_THAT(actions(), ElementsAre("12:  behind 102"));
  restore_->send_failed(12, {"broker.refused", "no room"}, now_);
  acknowledged(12, 103);  // it is asked anyway
  EXPECT_THAT(actions_after(kAnswerTime), ElementsAre("ask"));
  restore_->link_lost(now_);
  EXPECT_THAT(actions_after(kShortPause), ElementsAre("ask"));
  restore_->stream_ends(104, now_);
  EXPECT_EQ(ending(), Ending::kWhole);
}

TEST_F(LogRestoreTest, IgnoresAnswersToEarlierSendings) {
  ends_at(101);
  found(101, *tail_.at(101));
  EXPECT_THAT(actions(), ElementsAre("11: b behind 101"));
  acknowledged(10, 102);
  restore_->wrong_sequence(10, 99, now_);
  restore_->send_failed(10, {"broker.refused", "no"}, now_);
  found(101, *tail_.at(101));
  restore_->stream_ends(200, now_);
  EXPECT_THAT(actions(), IsEmpty());
  EXPECT_EQ(ending(), std::nullopt);
  acknowledged(11, 110);  // of another stream
  EXPECT_THAT(actions_after(kShortPause), ElementsAre("ask"));
}

TEST_F(LogRestoreTest, SendsNothingBehindItsTime) {
  restore_.emplace(LogTimes{}, kLogKey, kLogSubject, tail_, now_ + Duration(300));
  ends_at(101);
  found(101, *tail_.at(101));
  EXPECT_THAT(actions(), ElementsAre("1: b behind 101"));
  EXPECT_EQ(restore_->next_time(), now_ + Duration(300));
  now_ += Duration(300);
  acknowledged(1, 102);
  EXPECT_THAT(actions(), IsEmpty());
  EXPECT_EQ(ending(), Ending::kExpired);
  EXPECT_EQ(restore_->outcome()->count, 1U);
}

}  // namespace
}  // namespace millrace
