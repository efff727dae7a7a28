// Each answer of the broker, and what the log book concludes from it. log_schedules_test.cc plays
// them at random.
#include "broker/log/log_book.h"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/broker/log/log_book_fixture.h"
#include "tests/unit/broker/log/log_makers.h"

namespace millrace {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

TEST_F(LogBookTest, AnAcknowledgedMessageIsCertain) {
  now_ += Duration(5);
  append({"a"});
  EXPECT_THAT(actions(), ElementsAre("1: a behind 100"));
  EXPECT_THAT(actions(), IsEmpty());
  const LogMessage first = sent_[1];
  EXPECT_EQ(first, chained({.epoch = 3,
                            .incarnation = incarnation_of(1),
                            .commit = 1,
                            .format = 6,
                            .expected = 100,
                            .previous = kChain,
                            .payload = "a"}));
  EXPECT_EQ(outcome(), std::nullopt);
  now_ += Duration(5);
  acknowledged(1, 101);
  EXPECT_EQ(outcome(), Ended::kCertain);
  EXPECT_EQ(last_->sent, LogBook::Time{} + Duration(5));
  EXPECT_EQ(outcome(), std::nullopt);
  EXPECT_EQ(book_.place(), (LogPlace{101, first.chain}));
  EXPECT_EQ(book_.next_time(), std::nullopt);
  EXPECT_THAT(actions(), IsEmpty());

  append({"b"});
  EXPECT_THAT(actions(), ElementsAre("2: b behind 101"));
  EXPECT_EQ(sent_[2].previous, first.chain);
  acknowledged(1, 101);  // once more
  EXPECT_EQ(outcome(), std::nullopt);
  acknowledged(2, 102);
  EXPECT_EQ(outcome(), Ended::kCertain);
}

TEST_F(LogBookTest, PartsAreSentWithoutWaitingAndTheLastOneMakesTheCommit) {
  append({"a", "b", "c", "d"});
  EXPECT_THAT(actions(), ElementsAre("1: a behind 100", "2: b behind 101", "3: c behind 102"));
  EXPECT_EQ(sent_[2].previous, sent_[1].chain);
  EXPECT_EQ(sent_[3].previous, sent_[2].chain);
  EXPECT_EQ(sent_[2].part, (LogPart{2, 4}));
  acknowledged(2, 102);  // proves nothing before part 1 is certain
  EXPECT_THAT(actions(), IsEmpty());
  EXPECT_EQ(book_.place().sequence, 100U);
  acknowledged(1, 101);
  EXPECT_EQ(book_.place(), (LogPlace{102, sent_[2].chain}));
  EXPECT_THAT(actions(), ElementsAre("4: d behind 103"));
  acknowledged(4, 104);
  EXPECT_EQ(outcome(), std::nullopt);
  acknowledged(3, 103);
  EXPECT_EQ(outcome(), Ended::kCertain);
  EXPECT_EQ(book_.place(), (LogPlace{104, sent_[4].chain}));
}

TEST_F(LogBookTest, NamesWhatTheLogHasTaken) {
  const auto taken = [&] {
    Words words;
    for (const LogKept& one : book_.take_certain()) {
      words.push_back(fmt::format("{} {}", one.sequence,
                                  one.message ? one.message->payload : std::string("foreign")));
      if (one.message) {
        EXPECT_EQ(*one.message, chained(*one.message));
        EXPECT_EQ(one.message->expected + 1, one.sequence);
      }
    }
    return words;
  };
  append({"a", "b"});
  actions();
  acknowledged(2, 102);
  EXPECT_THAT(taken(), IsEmpty());
  acknowledged(1, 101);
  EXPECT_THAT(taken(), ElementsAre("101 a", "102 b"));
  EXPECT_THAT(taken(), IsEmpty());
  EXPECT_EQ(outcome(), Ended::kCertain);

  append({"c"});
  actions();
  refused(3, 103);
  actions();
  found_foreign(103);
  EXPECT_THAT(taken(), ElementsAre("103 foreign"));
  EXPECT_THAT(actions(), ElementsAre("4: c behind 103"));
  acknowledged(4, 104);
  EXPECT_EQ(outcome(), Ended::kCertain);
  append({"d"});
  EXPECT_THAT(taken(), IsEmpty()) << "what was not taken is dropped";
}

TEST_F(LogBookTest, ARefusedMessageThatTheLogHasIsCertain) {
  append({"a", "b"});
  actions();
  refused(1, 102);
  EXPECT_THAT(actions(), ElementsAre("read 101"));
  found(101, sent_[1]);
  EXPECT_THAT(actions(), ElementsAre("read 102"));
  found(101, sent_[1]);  // an answer that came twice
  EXPECT_THAT(actions(), IsEmpty());
  found(102, sent_[2]);
  EXPECT_EQ(outcome(), Ended::kCertain);
  EXPECT_EQ(book_.place().sequence, 102U);
  EXPECT_EQ(book_.passed_over(), 0U);
}

TEST_F(LogBookTest, OnlyTheMissingPartsAreSentAgain) {
  append({"a", "b", "c"});
  actions();
  refused(1, 101);
  EXPECT_THAT(actions(), ElementsAre("read 101"));
  found(101, sent_[1]);
  EXPECT_THAT(actions(), ElementsAre("4: b behind 101", "5: c behind 102"));
  acknowledged(2, 102);  // the first sending of b
  EXPECT_EQ(book_.place().sequence, 102U);
  acknowledged(5, 103);
  EXPECT_EQ(outcome(), Ended::kCertain);
}

TEST_F(LogBookTest, AMessageOfAnotherNodeBehindTheOwnHistoryDeposes) {
  append({"a"});
  actions();
  refused(1, 101);
  EXPECT_THAT(actions(), ElementsAre("read 101"));
  found(101, others(100, kChain));
  EXPECT_EQ(outcome(), Ended::kDeposed);
  EXPECT_EQ(last_->why, "message 101 of the log begins epoch 4 of another node");
  EXPECT_THAT(actions(), IsEmpty());
  acknowledged(1, 101);
  EXPECT_EQ(outcome(), std::nullopt);
}

TEST_F(LogBookTest, AMessageBehindAnotherHistoryShowsThatTheLogIsAnotherOne) {
  append({"a"});
  actions();
  refused(1, 101);
  actions();
  found(101, others(100, LogChain{9}));
  EXPECT_EQ(outcome(), Ended::kLost);
  EXPECT_THAT(last_->why, HasSubstr("expected one behind the chain 0102030000"));
}

TEST_F(LogBookTest, AnOwnMessageThatThisAppendHasNotSentShowsThatTheLogIsAnotherOne) {
  append({"a"});
  actions();
  LogMessage own = sent_[1];
  own.commit = 9;
  refused(1, 101);
  actions();
  found(101, chained(own));
  EXPECT_EQ(outcome(), Ended::kLost);
}

TEST_F(LogBookTest, AForeignMessageIsPassedOver) {
  append({"a"});
  actions();
  refused(1, 103);
  EXPECT_THAT(actions(), ElementsAre("read 101"));
  found_foreign(101);
  EXPECT_THAT(actions(), ElementsAre("read 102"));
  found(102, others(100, kChain));  // a copy: it was written for 101
  EXPECT_THAT(actions(), ElementsAre("read 103"));
  found(103, others(102, LogChain{9}, {2, 3}));  // a part of another node, behind another message
  EXPECT_EQ(book_.passed_over(), 3U);
  EXPECT_THAT(actions(), ElementsAre("2: a behind 103"));
  EXPECT_EQ(sent_[2].previous, kChain);
  acknowledged(1, 101);  // of the message that expected 100: it says nothing about this one
  EXPECT_EQ(outcome(), std::nullopt);
  acknowledged(2, 104);
  EXPECT_EQ(outcome(), Ended::kCertain);
  EXPECT_EQ(book_.place(), (LogPlace{104, sent_[2].chain}));
}

TEST_F(LogBookTest, PartsBehindAForeignMessageDoNotCount) {
  append({"a", "b"});
  actions();
  refused(1, 101);       // by a foreign message at 101
  acknowledged(2, 102);  // so b stands behind the foreign message
  EXPECT_EQ(outcome(), std::nullopt);
  EXPECT_THAT(actions(), ElementsAre("read 101"));
  found_foreign(101);
  // If b were sent now, it would stand behind the first b, and so on.
  EXPECT_THAT(actions(), ElementsAre("3: a behind 101"));
  refused(3, 102);
  EXPECT_THAT(actions(), ElementsAre("read 102"));
  found(102, sent_[2]);  // b of the first time
  EXPECT_THAT(actions(), ElementsAre("4: a behind 102"));
  acknowledged(4, 103);
  EXPECT_THAT(actions(), ElementsAre("5: b behind 103"));
  acknowledged(5, 104);
  EXPECT_EQ(outcome(), Ended::kCertain);
  EXPECT_EQ(book_.passed_over(), 2U);
  append({"a", "b"});
  EXPECT_THAT(actions(), ElementsAre("6: a behind 104", "7: b behind 105"));
}

TEST_F(LogBookTest, AMessageThatIsNotThereYetIsNoConclusion) {
  append({"a"});
  actions();
  refused(1, 105);
  EXPECT_THAT(actions(), ElementsAre("read 101"));
  book_.not_found(101, now_);
  EXPECT_THAT(actions_after(kLookAgain), ElementsAre("2: a behind 100"));
  refused(1, 105);  // the first sending is of no interest any more
  EXPECT_THAT(actions(), IsEmpty());
  refused(2, 101);
  EXPECT_THAT(actions(), ElementsAre("read 101"));
  found(101, sent_[1]);
  EXPECT_EQ(outcome(), Ended::kCertain);
}

TEST_F(LogBookTest, ALowLastSequenceIsNoConclusion) {
  for (const uint64_t last : {95, 100}) {
    LogBook book({}, kLogKey, {100, kChain});
    book.append({.parts = {"a"}});
    ASSERT_EQ(book.take_actions(now_).size(), 1U);
    book.wrong_sequence(1, last, now_);
    EXPECT_EQ(book.take_outcome(), std::nullopt);
    EXPECT_THAT(book.trouble(), HasSubstr(fmt::format("ends at {}; expected 100 or more", last)));
    // It waits until the caller has had the log restored, if it can.
    EXPECT_EQ(book.low_end(), last);
    EXPECT_EQ(book.next_time(), std::nullopt);
    EXPECT_TRUE(book.take_actions(now_ + kTimeout).empty());
    book.go_on(now_);
    EXPECT_EQ(book.low_end(), std::nullopt);
    EXPECT_EQ(book.next_time(), now_ + kLookAgain);
    EXPECT_EQ(book.take_actions(now_ + kLookAgain).size(), 1U);
    book.acknowledged(2, 101, now_);
    EXPECT_TRUE(book.take_outcome());
    EXPECT_EQ(book.trouble(), "");
  }
}

TEST_F(LogBookTest, AnAcknowledgementCountsAlsoWhileTheLogSeemsToEndTooEarly) {
  append({"a", "b"});
  actions();
  refused(1, 95);
  EXPECT_EQ(book_.low_end(), 95U);
  acknowledged(1, 101);  // an earlier sending, by the leader that is not cut off
  EXPECT_EQ(book_.place().sequence, 101U);
  book_.link_lost(now_);
  EXPECT_THAT(actions(), IsEmpty());
  book_.go_on(now_);
  EXPECT_THAT(actions_after(kLookAgain), ElementsAre("3: b behind 101"));
  acknowledged(3, 102);
  EXPECT_EQ(outcome(), Ended::kCertain);
  EXPECT_EQ(book_.low_end(), std::nullopt);
}

TEST_F(LogBookTest, WithoutAnAnswerTheStreamIsAskedUntilItAnswers) {
  append({"a", "b"});
  actions();
  EXPECT_THAT(actions_after(kTimeout), ElementsAre("ask"));
  EXPECT_EQ(book_.trouble(), "the broker has not answered for 1000 ms");
  EXPECT_THAT(actions_after(kTimeout), ElementsAre("ask"));
  book_.stream_ends(100, now_);
  EXPECT_THAT(actions(), ElementsAre("3: a behind 100", "4: b behind 101"));
  book_.stream_ends(102, now_);  // the answer to the first question
  EXPECT_THAT(actions_after(kTimeout), ElementsAre("ask"));
  book_.stream_ends(101, now_);
  EXPECT_THAT(actions(), ElementsAre("read 101"));
  EXPECT_THAT(actions_after(kTimeout), ElementsAre("read 101"));
  found(101, sent_[3]);
  EXPECT_THAT(actions(), ElementsAre("5: b behind 101"));
  EXPECT_THAT(actions_after(kTimeout), ElementsAre("ask"));
  book_.stream_ends(99, now_);  // a leader that is cut off
  EXPECT_THAT(actions(), IsEmpty());
  EXPECT_EQ(book_.low_end(), 99U);
  book_.go_on(now_);
  EXPECT_THAT(actions_after(kLookAgain), ElementsAre("6: b behind 101"));
  acknowledged(6, 102);
  EXPECT_EQ(outcome(), Ended::kCertain);
}

TEST_F(LogBookTest, ALateAcknowledgementCounts) {
  append({"a"});
  actions();
  EXPECT_THAT(actions_after(kTimeout), ElementsAre("ask"));
  acknowledged(1, 101);
  EXPECT_EQ(outcome(), Ended::kCertain);
  EXPECT_THAT(actions(), IsEmpty());
  book_.stream_ends(101, now_);
  EXPECT_THAT(actions(), IsEmpty());
}

TEST_F(LogBookTest, AnAcknowledgementAtAnotherSequenceIsNoProof) {
  append({"a"});
  actions();
  acknowledged(1, 102);
  EXPECT_EQ(outcome(), std::nullopt);
  EXPECT_EQ(book_.trouble(), "the broker has stored a message at 102; expected 101");
  EXPECT_THAT(actions(), ElementsAre("ask"));
}

TEST_F(LogBookTest, AfterALostConnectionTheStreamIsAsked) {
  append({"a"});
  book_.link_lost(now_);  // before anything was sent
  EXPECT_THAT(actions(), ElementsAre("1: a behind 100"));
  book_.link_lost(now_);
  EXPECT_THAT(actions_after(kLookAgain), ElementsAre("ask"));
  book_.link_lost(now_);
  EXPECT_THAT(actions_after(kLookAgain), ElementsAre("ask"));
  book_.stream_ends(101, now_);
  EXPECT_THAT(actions(), ElementsAre("read 101"));
  book_.link_lost(now_);
  EXPECT_THAT(actions_after(kLookAgain), ElementsAre("ask"));
  book_.stream_ends(101, now_);
  EXPECT_THAT(actions(), ElementsAre("read 101"));
  found(101, sent_[1]);
  EXPECT_EQ(outcome(), Ended::kCertain);
}

TEST_F(LogBookTest, AfterAnErrorItIsTriedAgainEachSecond) {
  append({"a", "b"});
  actions();
  book_.send_failed(2, {"broker.refused", "no room"}, now_);
  EXPECT_EQ(book_.trouble(), "broker.refused: no room");
  EXPECT_THAT(actions_after(Duration(1'000)), ElementsAre("3: a behind 100", "4: b behind 101"));
  book_.send_failed(2, {"broker.refused", "no room"}, now_);  // of the first sending
  acknowledged(3, 101);
  acknowledged(4, 102);
  EXPECT_EQ(outcome(), Ended::kCertain);
  EXPECT_EQ(book_.trouble(), "");

  append({"c"});
  actions();
  refused(5, 103);
  EXPECT_THAT(actions(), ElementsAre("read 103"));
  book_.question_failed({"broker.refused", "no permission"}, now_);
  EXPECT_EQ(book_.trouble(), "broker.refused: no permission");
  EXPECT_THAT(actions_after(Duration(1'000)), ElementsAre("ask"));
}

TEST_F(LogBookTest, ABeginIsSentOnce) {
  struct Row {
    const char* name;
    std::function<void(LogBook&)> answer;
    Ended expected;
    const char* why;
  };
  const LogBook::Time now{};
  const std::vector<Row> rows = {
      {"acknowledged", [&](LogBook& book) { book.acknowledged(1, 101, now); }, Ended::kCertain, ""},
      {"another message came first", [&](LogBook& book) { book.wrong_sequence(1, 102, now); },
       Ended::kRefused, "the log has message 102; expected none behind 100"},
      {"a leader that is cut off", [&](LogBook& book) { book.wrong_sequence(1, 95, now); },
       Ended::kRefused, "ends at 95; expected 100 or more"},
      {"an error",
       [&](LogBook& book) {
         book.send_failed(1, {"broker.refused", "no room"}, now);
       },
       Ended::kUnanswered, "no room"},
      {"no connection", [&](LogBook& book) { book.link_lost(now); }, Ended::kUnanswered,
       "cannot be reached"},
      {"no answer",
       [&](LogBook& book) { EXPECT_THAT(book.take_actions(now + kTimeout), IsEmpty()); },
       Ended::kUnanswered, "has not answered for 1000 ms"},
      {"stored at another sequence", [&](LogBook& book) { book.acknowledged(1, 103, now); },
       Ended::kUnanswered, "at 103; expected 101"},
  };
  for (const Row& row : rows) {
    LogBook book({}, kLogKey, {100, kChain});
    book.append({.kind = LogKind::kBegin, .epoch = 4, .parts = {"{}"}});
    ASSERT_EQ(book.take_actions(now).size(), 1U) << row.name;
    row.answer(book);
    const std::optional<LogOutcome> outcome = book.take_outcome();
    ASSERT_TRUE(outcome) << row.name;
    EXPECT_EQ(outcome->what, row.expected) << row.name;
    EXPECT_THAT(outcome->why, HasSubstr(row.why)) << row.name;
    EXPECT_EQ(book.next_time(), std::nullopt) << row.name;
    EXPECT_THAT(book.take_actions(now + Duration(60'000)), IsEmpty()) << row.name;
  }
}

}  // namespace
}  // namespace millrace
