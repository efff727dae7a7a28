// NotedMessages: which messages are found again, and which ids are those of millrace.
#include "broker/noted_messages.h"

#include <optional>
#include <string>

#include <gtest/gtest.h>

namespace millrace {
namespace {

constexpr const char* kNotedSubject = "millrace.events.default.paid";

TEST(NotedMessages, FindAMessageBySubjectAndId) {
  NotedMessages noted;
  EXPECT_EQ(noted.find(kNotedSubject, "a"), std::nullopt);
  noted.add(kNotedSubject, "b", 7);
  noted.add(kNotedSubject, "a", 9);
  noted.sort();
  EXPECT_EQ(noted.size(), 2U);
  struct Case {
    const char* subject;
    const char* id;
    std::optional<uint64_t> sequence;
  };
  for (const Case& one :
       {Case{kNotedSubject, "a", 9}, Case{kNotedSubject, "b", 7},
        Case{kNotedSubject, "c", std::nullopt}, Case{kNotedSubject, "", std::nullopt},
        Case{"millrace.events.default.refused", "a", std::nullopt},
        Case{"millrace.events.default.paida", "", std::nullopt}}) {
    EXPECT_EQ(noted.find(one.subject, one.id), one.sequence) << one.subject << " " << one.id;
  }
}

TEST(NotedMessages, FindTheFirstOfTwoMessagesWithOneId) {
  NotedMessages noted;
  for (const uint64_t sequence : {8, 5, 300}) noted.add(kNotedSubject, "a", sequence);
  noted.sort();
  EXPECT_EQ(noted.find(kNotedSubject, "a"), 5U);
}

TEST(NotedMessages, FindEachOfManyMessages) {
  NotedMessages noted;
  for (uint64_t i = 1; i <= 10'000; ++i) noted.add(kNotedSubject, std::to_string(i), i);
  noted.sort();
  for (uint64_t i = 1; i <= 10'000; ++i) {
    ASSERT_EQ(noted.find(kNotedSubject, std::to_string(i)), i);
  }
  EXPECT_EQ(noted.find(kNotedSubject, "10001"), std::nullopt);
}

TEST(EventMessageId, HasTheFormOfAFingerprint) {
  const std::string digits = "0123456789abcdef0123456789abcdef";
  EXPECT_TRUE(is_event_message_id(digits));
  for (const std::string& other :
       {std::string(), digits.substr(1), digits + "0", "A" + digits.substr(1),
        "g" + digits.substr(1), "-" + digits.substr(1), std::string("b-17")}) {
    EXPECT_FALSE(is_event_message_id(other)) << other;
  }
}

}  // namespace
}  // namespace millrace
