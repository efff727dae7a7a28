#include "cloudevents/subject.h"

#include <algorithm>
#include <random>
#include <string>

#include <gtest/gtest.h>

namespace millrace {
namespace {

TEST(EventSubject, ConsistsOfNamespaceAndType) {
  const struct {
    const char* ns;
    std::string type;
    std::string subject;
  } rows[] = {
      {"default", "com.example.order", "millrace.events.default.com.example.order"},
      {"default", "order/created:v1", "millrace.events.default.order/created:v1"},
      {"default", "two words", "millrace.events.default.two%20words"},
      {"default", "a.*.>.b", "millrace.events.default.a.%2A.%3E.b"},
      {"default", "100%", "millrace.events.default.100%25"},
      {"default", "größe", "millrace.events.default.gr%C3%B6%C3%9Fe"},
      {"default", ".a", "millrace.events.default.%2Ea"},
      {"default", "a.", "millrace.events.default.a%2E"},
      {"default", "a..b", "millrace.events.default.a.%2Eb"},
      {"default", "...", "millrace.events.default.%2E.%2E"},
      {"default", ".", "millrace.events.default.%2E"},
      {"default", "", "millrace.events.default.%"},
      {"a.b *", "t", "millrace.events.a%2Eb%20%2A.t"},
      {"", "t", "millrace.events.%.t"},
  };
  for (const auto& row : rows) {
    EXPECT_EQ(event_subject(row.ns, row.type), row.subject);
    EXPECT_EQ(subject_namespace(row.subject), row.ns);
  }
}

TEST(EventSubject, IsCutBetweenCharactersIfTheTypeIsTooLong) {
  const std::string x199(199, 'x');
  EXPECT_EQ(event_subject("n", x199 + "xxx"), "millrace.events.n." + x199 + "x");
  EXPECT_EQ(event_subject("n", x199 + " y"), "millrace.events.n." + x199);
  EXPECT_EQ(event_subject("n", x199 + ".y"), "millrace.events.n." + x199);
}

TEST(EventSubject, IsValidForAnyNamespaceAndType) {
  std::mt19937 random(7);
  const std::string alphabet("..%*> \t\n\0aZ\xc3\xff", 13);
  const auto text = [&] {
    std::string out(random() % 300, ' ');
    std::generate(out.begin(), out.end(), [&] { return alphabet[random() % alphabet.size()]; });
    return out;
  };
  for (int round = 0; round < 2000; ++round) {
    const std::string ns = text();
    const std::string subject = event_subject(ns, text());
    EXPECT_TRUE(std::all_of(subject.begin(), subject.end(), [](char c) {
      return c > ' ' && c < 0x7f && c != '*' && c != '>';
    })) << subject;
    EXPECT_EQ(subject.find(".."), std::string::npos) << subject;
    EXPECT_FALSE(subject.ends_with('.')) << subject;
    EXPECT_EQ(subject_namespace(subject), ns);
  }
}

TEST(EventSubject, YieldsNoNamespaceIfItIsNotTheSubjectOfAnEvent) {
  for (const char* subject :
       {"", "millrace.events", "millrace.events.", "millrace.events.n", "millrace.events.n.",
        "millrace.events..t", "millrace.dlq.n.t", "xmillrace.events.n.t", "millrace.events.%4.t"}) {
    EXPECT_EQ(subject_namespace(subject), std::nullopt) << subject;
  }
}

TEST(SubjectPattern, CoversTheSubjectsThatItsWildcardsStandFor) {
  const struct {
    const char* outer;
    const char* inner;
    bool covers;
  } rows[] = {
      {"a.>", "a.>", true},     {">", "a.>", true},    {"a.*", "a.b", true}, {"*.>", "a.>", true},
      {"a.*.c", "a.*.c", true}, {"a.b", "a.b", true},  {"a.>", "a", false},  {"a.*", "a.>", false},
      {"a.b.>", "a.>", false},  {"a.b", "a.*", false}, {"a", "a.b", false},  {"b.>", "a.>", false},
      {"a.b.c", "a.b", false},
  };
  for (const auto& row : rows) {
    EXPECT_EQ(subject_covers(row.outer, row.inner), row.covers) << row.outer << " " << row.inner;
  }
}

TEST(SubjectPattern, OverlapsAnotherIfASubjectMatchesBoth) {
  const struct {
    const char* first;
    const char* second;
    bool overlap;
  } rows[] = {
      {"a.>", "a.b.c", true}, {">", "a", true},          {"a.*.c", "a.b.*", true},
      {"a.b", "a.b", true},   {"*.>", "a.b", true},      {"a.>", "*.b", true},
      {"a.>", "a", false},    {"a.*", "a", false},       {"*.>", "a", false},
      {"a.b", "a.c", false},  {"a.*.c", "a.*.d", false},
  };
  for (const auto& row : rows) {
    EXPECT_EQ(subjects_overlap(row.first, row.second), row.overlap) << row.first << row.second;
    EXPECT_EQ(subjects_overlap(row.second, row.first), row.overlap) << row.first << row.second;
  }
}

TEST(SubjectPattern, HasTokensOfWhichEachMayBeAStarAndTheLastMayBeAGreaterThanSign) {
  for (const char* const pattern : {"a", "a.b", "*", "*.b", "a.*.c", ">", "a.>", "*.>"}) {
    EXPECT_TRUE(is_subject_pattern(pattern)) << pattern;
  }
  for (const char* const pattern :
       {"", ".", "a.", ".a", "a..b", ">.a", "a.>.b", "a b", "a*", "a.b>", "**", ">."}) {
    EXPECT_FALSE(is_subject_pattern(pattern)) << pattern;
  }
}

}  // namespace
}  // namespace millrace
