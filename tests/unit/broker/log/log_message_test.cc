#include "broker/log/log_message.h"

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/broker/log/log_makers.h"

namespace millrace {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;

/// The second part of a commit, with a value in each field.
LogMessage part_of_commit() {
  LogMessage message{.epoch = 3,
                     .commit = 7,
                     .part = {2, 3},
                     .format = 6,
                     .is_packed = true,
                     .expected = 41,
                     .payload = "payload"};
  for (uint8_t i = 0; i < 16; ++i) {
    message.incarnation[i] = i;
    message.previous[i] = static_cast<uint8_t>(16 + i);
  }
  return chained(std::move(message));
}

LogMessage beat() { return chained({.kind = LogKind::kBeat, .format = 6, .expected = 100}); }

void set_header(Headers& headers, const std::string& name, const std::string& value) {
  for (auto& [one, text] : headers) {
    if (one == name) text = value;
  }
}

void remove_header(Headers& headers, const std::string& name) {
  std::erase_if(headers, [&](const auto& header) { return header.first == name; });
}

TEST(LogMessage, HasItsFieldsInHeaders) {
  const NatsMessage message = encoded(part_of_commit());
  EXPECT_EQ(message.subject, kLogSubject);
  EXPECT_EQ(message.data, "payload");
  EXPECT_THAT(message.headers,
              ElementsAre(Pair("Nats-Expected-Last-Sequence", "41"),
                          Pair("Millrace-Kind", "commit"), Pair("Millrace-Epoch", "3"),
                          Pair("Millrace-Incarnation", "000102030405060708090a0b0c0d0e0f"),
                          Pair("Millrace-Commit", "7"), Pair("Millrace-Part", "2/3"),
                          Pair("Millrace-Format", "6"), Pair("Millrace-Encoding", "zstd"),
                          Pair("Millrace-Previous", "101112131415161718191a1b1c1d1e1f"),
                          Pair("Millrace-Chain", "3e901d4c5533f694ea662c968f5cb07e")));
  EXPECT_THAT(encoded(beat()).headers,
              ElementsAre(Pair("Nats-Expected-Last-Sequence", "100"), Pair("Millrace-Kind", "beat"),
                          Pair("Millrace-Epoch", "1"),
                          Pair("Millrace-Incarnation", "00000000000000000000000000000000"),
                          Pair("Millrace-Commit", "0"), Pair("Millrace-Format", "6"),
                          Pair("Millrace-Previous", "00000000000000000000000000000000"),
                          Pair("Millrace-Chain", "2b169f9d2f165cf355aa6d1afdadad89")));
}

TEST(LogMessage, IsReadAsItWasWritten) {
  EXPECT_EQ(read_log_message(kLogKey, 42, encoded(part_of_commit())), part_of_commit());
  EXPECT_EQ(read_log_message(kLogKey, 101, encoded(beat())), beat());
  for (const LogKind kind : {LogKind::kBegin, LogKind::kCommit, LogKind::kBeat, LogKind::kEnd}) {
    const LogMessage message = chained({.kind = kind,
                                        .commit = kind == LogKind::kBegin ? 0U : 5U,
                                        .payload = kind == LogKind::kBegin ? "{}" : ""});
    EXPECT_EQ(read_log_message(kLogKey, 1, encoded(message)), message) << name_of(kind);
  }
}

TEST(LogMessage, IsReadWithHeadersInAnyOrderAndCaseAndWithOthersBesideThem) {
  NatsMessage message = encoded(part_of_commit());
  std::reverse(message.headers.begin(), message.headers.end());
  for (auto& [name, value] : message.headers) name = to_lower(name);
  message.headers.emplace_back("Traceparent", "00-1");
  EXPECT_EQ(read_log_message(kLogKey, 42, message), part_of_commit());
}

TEST(LogMessage, HasAnotherChainIfAnyFieldDiffers) {
  const std::vector<std::function<void(LogMessage&)>> changes = {
      [](LogMessage& one) { one.kind = LogKind::kBeat; },
      [](LogMessage& one) { one.epoch = 4; },
      [](LogMessage& one) { one.incarnation[15] = 0; },
      [](LogMessage& one) { one.commit = 8; },
      [](LogMessage& one) { one.part.number = 3; },
      [](LogMessage& one) { one.part.count = 4; },
      [](LogMessage& one) { one.format = 7; },
      [](LogMessage& one) { one.is_packed = false; },
      [](LogMessage& one) { one.expected = 42; },
      [](LogMessage& one) { one.previous[0] = 0; },
      [](LogMessage& one) { one.payload = "payloae"; },
  };
  for (size_t i = 0; i < changes.size(); ++i) {
    LogMessage message = part_of_commit();
    changes[i](message);
    EXPECT_NE(log_chain(kLogKey, message), part_of_commit().chain) << i;
  }
  EXPECT_NE(log_chain(std::string(32, 'l'), part_of_commit()), part_of_commit().chain);
}

TEST(LogMessage, IsForeignIfAHolderOfTheKeyDidNotWriteIt) {
  const auto message_of = [](const std::function<void(NatsMessage&)>& change) {
    NatsMessage message = encoded(part_of_commit());
    change(message);
    const auto read = read_log_message(kLogKey, 42, std::move(message));
    return read ? "it was read" : read.error().code + ": " + read.error().message;
  };
  const std::vector<std::function<void(NatsMessage&)>> changes = {
      [](NatsMessage& one) { one.data = "another"; },
      [](NatsMessage& one) { set_header(one.headers, "Millrace-Epoch", "4"); },
      [](NatsMessage& one) { remove_header(one.headers, "Millrace-Encoding"); },
      [](NatsMessage& one) { remove_header(one.headers, "Millrace-Part"); },
      [](NatsMessage& one) { set_header(one.headers, "Nats-Expected-Last-Sequence", "42"); },
      [](NatsMessage& one) {
        set_header(one.headers, "Millrace-Chain", "3e901d4c5533f694ea662c968f5cb07f");
      },
  };
  for (size_t i = 0; i < changes.size(); ++i) {
    const std::string message = message_of(changes[i]);
    EXPECT_THAT(message, HasSubstr("log.foreign: the chain ")) << i;
    EXPECT_THAT(message, HasSubstr("expected a message of a node with the same secret key")) << i;
  }
  EXPECT_FALSE(read_log_message(std::string(32, 'l'), 42, encoded(part_of_commit())));
}

TEST(LogMessage, IsForeignIfItIsACopyFromAnotherPlace) {
  for (const uint64_t sequence : {0, 1, 41, 43}) {
    const auto read = read_log_message(kLogKey, sequence, encoded(part_of_commit()));
    ASSERT_FALSE(read) << sequence;
    EXPECT_EQ(read.error().code, "log.foreign");
    EXPECT_EQ(read.error().message,
              fmt::format("the message is a copy: it was written for the sequence after 41, and "
                          "stands at {}",
                          sequence));
  }
}

TEST(LogMessage, IsForeignWithoutOneOfItsHeadersOrWithOneTwice) {
  for (const auto& [name, value] : encoded(beat()).headers) {
    NatsMessage without = encoded(beat());
    remove_header(without.headers, name);
    EXPECT_EQ(decode_log_message(without),
              Result<LogMessage>(fail("log.foreign", "the header " + name + " is missing")));
    NatsMessage twice = encoded(beat());
    twice.headers.emplace_back(to_lower(name), value);
    EXPECT_EQ(decode_log_message(twice),
              Result<LogMessage>(
                  fail("log.foreign", "the header " + name + " is present twice; expected one")));
  }
  EXPECT_FALSE(decode_log_message({}));
}

struct WrongHeader {
  const char* name;
  const char* value;
  const char* expected;
};

TEST(LogMessage, IsForeignIfAHeaderIsNotValid) {
  constexpr const char* kNumber = "expected a whole number of at least ";
  constexpr const char* kHex = "expected 32 lower-case hexadecimal digits";
  constexpr const char* kPart = "expected `i/n` with 1 ≤ i ≤ n and 2 ≤ n ≤ 4096";
  const std::vector<WrongHeader> rows = {
      {"Millrace-Kind", "Commit", "expected begin, commit, beat or end"},
      {"Millrace-Kind", "", "expected begin, commit, beat or end"},
      {"Nats-Expected-Last-Sequence", "-1", kNumber},
      {"Nats-Expected-Last-Sequence", "041", kNumber},
      {"Nats-Expected-Last-Sequence", "18446744073709551616", kNumber},
      {"Millrace-Epoch", "0", "expected a whole number of at least 1, of at most 64 bits"},
      {"Millrace-Epoch", "+1", kNumber},
      {"Millrace-Commit", "7 ", kNumber},
      {"Millrace-Commit", "0", "expected at least 1 in a commit"},
      {"Millrace-Format", "", kNumber},
      {"Millrace-Incarnation", "000102030405060708090a0b0c0d0e0", kHex},
      {"Millrace-Incarnation", "000102030405060708090A0B0C0D0E0F", kHex},
      {"Millrace-Previous", "101112131415161718191a1b1c1d1e1f00", kHex},
      {"Millrace-Chain", "", kHex},
      {"Millrace-Part", "", kPart},
      {"Millrace-Part", "2", kPart},
      {"Millrace-Part", "0/3", kPart},
      {"Millrace-Part", "4/3", kPart},
      {"Millrace-Part", "1/1", kPart},
      {"Millrace-Part", "2/3/4", kPart},
      {"Millrace-Part", "2/4097", kPart},
      {"Millrace-Encoding", "", "expected zstd, or no such header"},
      {"Millrace-Encoding", "gzip", "expected zstd, or no such header"},
  };
  for (const WrongHeader& row : rows) {
    NatsMessage message = encoded(part_of_commit());
    set_header(message.headers, row.name, row.value);
    const auto decoded = decode_log_message(std::move(message));
    ASSERT_FALSE(decoded) << row.name << ": " << row.value;
    EXPECT_EQ(decoded.error().code, "log.foreign");
    EXPECT_THAT(decoded.error().message, HasSubstr(std::string("the header ") + row.name));
    EXPECT_THAT(decoded.error().message, HasSubstr(row.expected)) << row.value;
  }
}

TEST(LogMessage, IsForeignIfItHasWhatItsKindDoesNotHave) {
  struct Row {
    LogMessage message;
    const char* expected;
  };
  const std::vector<Row> rows = {
      {{.kind = LogKind::kBegin, .commit = 1, .payload = "{}"}, "expected 0 in a begin"},
      {{.kind = LogKind::kBegin}, "a message of the kind begin has 0 bytes; expected at least 1"},
      {{.kind = LogKind::kBegin, .part = {1, 2}, .payload = "{}"},
       "a message of the kind begin has the header Millrace-Part; only a commit has it"},
      {{.kind = LogKind::kBeat, .payload = "x"},
       "a message of the kind beat has 1 bytes; expected 0"},
      {{.kind = LogKind::kEnd, .payload = "xy"},
       "a message of the kind end has 2 bytes; expected 0"},
      {{.kind = LogKind::kEnd, .is_packed = true},
       "a message of the kind end has the header Millrace-Encoding; only a commit has it"},
  };
  for (const Row& row : rows) {
    const auto decoded = decode_log_message(encoded(row.message));
    ASSERT_FALSE(decoded) << row.expected;
    EXPECT_EQ(decoded.error().code, "log.foreign");
    EXPECT_THAT(decoded.error().message, HasSubstr(row.expected));
  }
}

}  // namespace
}  // namespace millrace
