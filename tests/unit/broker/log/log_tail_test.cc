// Which messages of the log a node keeps.
#include "broker/log/log_tail.h"

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "tests/unit/broker/log/log_makers.h"

namespace millrace {
namespace {

constexpr LogChain kBaseChain{7};

LogChain chain_number(uint8_t number) { return LogChain{1, number}; }

/// A message whose chain is made of its sequence.
LogMessage message_at(uint64_t sequence, std::string payload = "") {
  return {.expected = sequence - 1,
          .chain = chain_number(static_cast<uint8_t>(sequence)),
          .payload = std::move(payload)};
}

class LogTailTest : public testing::Test {
 protected:
  void add(uint64_t sequence, std::string payload = "") {
    tail_.add(sequence, message_at(sequence, std::move(payload)), now_);
  }

  LogTail::Time now_{};
  LogTail tail_{{100, kBaseChain}, {.bytes = 4 * LogTail::kMessageBytes, .age = Duration(1'000)}};
};

TEST_F(LogTailTest, HasTheMessagesBehindItsBase) {
  EXPECT_EQ(tail_.base(), (LogPlace{100, kBaseChain}));
  EXPECT_EQ(tail_.last(), 100u);
  EXPECT_FALSE(tail_.has(100));
  add(101, "a");
  tail_.add(102, std::nullopt, now_);
  EXPECT_EQ(tail_.last(), 102u);
  ASSERT_TRUE(tail_.has(101));
  EXPECT_EQ(*tail_.at(101), message_at(101, "a"));
  ASSERT_TRUE(tail_.has(102));
  EXPECT_EQ(tail_.at(102), nullptr) << "a foreign message has a place only";
  EXPECT_FALSE(tail_.has(100));
  EXPECT_FALSE(tail_.has(103));
  EXPECT_EQ(tail_.base(), (LogPlace{100, kBaseChain}));
  EXPECT_EQ(tail_.bytes(), 2 * LogTail::kMessageBytes + 1);
}

TEST_F(LogTailTest, IgnoresAMessageThatItHasHad) {
  add(101, "a");
  add(102);
  add(101, "b");
  add(100);
  EXPECT_EQ(tail_.last(), 102u);
  EXPECT_EQ(tail_.at(101)->payload, "a");
}

TEST_F(LogTailTest, DropsTheOldestMessagesBeyondItsBytes) {
  add(101);
  tail_.add(102, std::nullopt, now_);
  add(103);
  add(104);
  EXPECT_EQ(tail_.base().sequence, 100u);
  add(105);
  EXPECT_EQ(tail_.base(), (LogPlace{101, chain_number(101)}));
  EXPECT_FALSE(tail_.has(101));
  add(106);
  EXPECT_EQ(tail_.base(), (LogPlace{102, chain_number(101)})) << "a foreign message has no chain";
  add(107, std::string(LogTail::kMessageBytes, 'a'));
  EXPECT_EQ(tail_.base(), (LogPlace{104, chain_number(104)})) << "as large as two";
  EXPECT_EQ(tail_.bytes(), 4 * LogTail::kMessageBytes);
}

TEST_F(LogTailTest, KeepsNothingOfAMessageThatIsTooLarge) {
  add(101);
  add(102, std::string(4 * LogTail::kMessageBytes, 'a'));
  EXPECT_EQ(tail_.base(), (LogPlace{102, chain_number(102)}));
  EXPECT_EQ(tail_.last(), 102u);
  EXPECT_EQ(tail_.bytes(), 0u);
  add(103);
  EXPECT_TRUE(tail_.has(103));
}

TEST_F(LogTailTest, DropsWhatIsMuchOlderThanTheNewestMessage) {
  add(101);
  now_ += Duration(600);
  add(102);
  now_ += Duration(400);
  add(103);
  EXPECT_TRUE(tail_.has(101)) << "1 s older than the newest one";
  now_ += Duration(1);
  add(104);
  EXPECT_FALSE(tail_.has(101));
  EXPECT_TRUE(tail_.has(102));
  now_ += Duration(5'000);
  EXPECT_TRUE(tail_.has(102)) << "while nothing comes, nothing is dropped";
  add(105);
  EXPECT_EQ(tail_.base(), (LogPlace{104, chain_number(104)}));
}

TEST_F(LogTailTest, ACopyStaysAsItIs) {
  add(101);
  const LogTail copy = tail_;
  for (uint64_t sequence = 102; sequence < 110; ++sequence) add(sequence);
  EXPECT_FALSE(tail_.has(101));
  EXPECT_TRUE(copy.has(101));
  EXPECT_EQ(copy.last(), 101u);
}

}  // namespace
}  // namespace millrace
