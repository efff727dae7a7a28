// LogBookTest: a log book behind message 100, at a time that the test sets, and what it asks for as
// words.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "broker/log/log_book.h"
#include "tests/unit/broker/log/log_makers.h"

namespace millrace {

class LogBookTest : public testing::Test {
 protected:
  using Ended = LogOutcome::What;
  using Words = std::vector<std::string>;

  void append(std::vector<std::string> parts, LogKind kind = LogKind::kCommit) {
    book_.append({.kind = kind,
                  .epoch = 3,
                  .incarnation = incarnation_of(1),
                  .commit = kind == LogKind::kBegin ? 0 : ++commit_,
                  .format = 6,
                  .parts = std::move(parts)});
  }
  /// What has to be done now: "<token>: <payload> behind <expected sequence>", "read <sequence>",
  /// "ask".
  Words actions() {
    Words words;
    for (const LogAction& action : book_.take_actions(now_)) {
      if (const auto* const send = std::get_if<LogSend>(&action)) {
        sent_[send->token] = send->message;
        words.push_back(fmt::format("{}: {} behind {}", send->token, send->message.payload,
                                    send->message.expected));
      } else if (const auto* const read = std::get_if<LogRead>(&action)) {
        words.push_back(fmt::format("read {}", read->sequence));
      } else {
        words.emplace_back("ask");
      }
    }
    return words;
  }
  /// What has to be done after that time, and nothing before.
  Words actions_after(Duration time) {
    EXPECT_EQ(book_.next_time(), now_ + time);
    now_ += time - Duration(1);
    EXPECT_THAT(actions(), testing::IsEmpty());
    now_ += Duration(1);
    return actions();
  }
  void acknowledged(uint64_t token, uint64_t sequence) {
    book_.acknowledged(token, sequence, now_);
  }
  void refused(uint64_t token, uint64_t last) { book_.wrong_sequence(token, last, now_); }
  void found(uint64_t sequence, LogMessage message) {
    book_.found(sequence, encoded(std::move(message)), now_);
  }
  /// A message that the key of the cluster did not chain.
  void found_foreign(uint64_t sequence) {
    book_.found(sequence, {.subject = kLogSubject, .headers = {}, .data = "x"}, now_);
  }
  std::optional<Ended> outcome() {
    last_ = book_.take_outcome();
    return last_ ? std::optional(last_->what) : std::nullopt;
  }
  /// A message of another node behind that chain.
  static LogMessage others(uint64_t expected, LogChain previous, LogPart part = {}) {
    return chained({.epoch = 4,
                    .incarnation = incarnation_of(2),
                    .commit = 1,
                    .part = part,
                    .expected = expected,
                    .previous = previous,
                    .payload = "other"});
  }

  static constexpr Duration kTimeout{1'000};
  static constexpr Duration kLookAgain{100};
  static constexpr LogChain kChain{1, 2, 3};

  LogBook::Time now_{};
  LogBook book_{{.most_in_flight = 3}, kLogKey, {100, kChain}};
  std::map<uint64_t, LogMessage> sent_;
  std::optional<LogOutcome> last_;
  uint64_t commit_ = 0;
};

}  // namespace millrace
