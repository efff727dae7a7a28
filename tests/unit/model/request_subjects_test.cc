#include "model/request_subjects.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace millrace {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

TEST(RequestSubjects, ReserveTheSubjectsOfNatsAndOfInboxesAndOfMillrace) {
  const RequestSubjects subjects{.prefix = "orders", .inbox_prefix = "_REPLIES", .allowed = {">"}};
  for (const char* const subject :
       {"$JS.API.STREAM.PURGE.MILLRACE_DLQ", "$SYS.REQ.SERVER.PING", "$", "_INBOX.a.b",
        "_INBOX_shop.a", "millrace", "millrace.events.default.x", "orders.dlq.default.x",
        "_REPLIES.a"}) {
    const auto why = subjects.refusal(subject);
    ASSERT_TRUE(why) << subject;
    EXPECT_THAT(*why, HasSubstr(subject));
    EXPECT_THAT(*why, HasSubstr("reserved"));
  }
  for (const char* const subject :
       {"shop.charge", "millraces", "millrace-shop.charge", "orders2.a", "a.$JS", "_REPLIES2.a"}) {
    EXPECT_EQ(subjects.refusal(subject), std::nullopt) << subject;
  }
}

TEST(RequestSubjects, AreOnlyThoseThatTheOperatorAllows) {
  EXPECT_EQ(RequestSubjects().refusal("any.subject"), std::nullopt) << "there is no list";
  const RequestSubjects subjects{.allowed = {"shop.>", "stock.*.reserve"}};
  for (const char* const subject : {"shop.charge", "shop.a.b", "stock.eu.reserve"}) {
    EXPECT_EQ(subjects.refusal(subject), std::nullopt) << subject;
  }
  for (const char* const subject : {"shop", "shops.charge", "stock.eu", "stock.eu.reserve.now"}) {
    const auto why = subjects.refusal(subject);
    ASSERT_TRUE(why) << subject;
    EXPECT_THAT(*why, HasSubstr("shop.>, stock.*.reserve"));
  }
}

TEST(RequestSubjects, AreShownAsShortText) {
  RequestSubjects subjects{.allowed = {"shop.\xff"}};
  EXPECT_THAT(*subjects.refusal("a"), HasSubstr("only on the subjects shop.? (--request"));
  subjects.allowed = std::vector<std::string>(1'000, "shop.>");
  EXPECT_LT(subjects.refusal("a")->size(), 600U);
}

TEST(RequestSubjects, LetNoAnswerGoWhereMillraceHasRightsOfItsOwn) {
  const RequestSubjects own{.prefix = "orders", .inbox_prefix = "_INBOX_millrace"};
  for (const char* const reply : {"$JS.API.STREAM.PURGE.ORDERS_EVENTS", "millrace.owner",
                                  "orders.events.shop.x", "orders", "_INBOX_millrace.a"}) {
    EXPECT_FALSE(own.may_be_answered(reply)) << reply;
  }
  for (const char* const reply : {"_INBOX.a.b", "_INBOX_charge.a", "_R_.a.b", "orders2.a"}) {
    EXPECT_TRUE(own.may_be_answered(reply)) << reply;
  }
  EXPECT_TRUE(RequestSubjects().may_be_answered("_INBOX.a")) << "the prefix of all clients";
}

TEST(RequestSubjects, AreReadFromAListOfPatterns) {
  EXPECT_THAT(*read_subject_patterns(""), IsEmpty());
  EXPECT_THAT(*read_subject_patterns("shop.>,stock.*"), ElementsAre("shop.>", "stock.*"));
  EXPECT_THAT(*read_subject_patterns("shop.>,"), ElementsAre("shop.>")) << "a comma may end it";
  for (const char* const text : {",", ",shop.>", "a..b", "a b", "shop.>.x", "a, b"}) {
    EXPECT_EQ(read_subject_patterns(text), std::nullopt) << text;
  }
}

}  // namespace
}  // namespace millrace
