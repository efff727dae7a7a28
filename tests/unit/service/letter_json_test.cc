// Dead letters as they are shown, and the events in them.
#include "orchestrator/service/letter_json.h"

#include <gtest/gtest.h>

#include "base/bytes.h"

namespace millrace {
namespace {

constexpr const char* kPaid = R"({"specversion":"1.0","id":"1","source":"/s","type":"paid"})";

StoredEvent letter(Headers headers, std::string data) {
  return {.ns = "default",
          .sequence = 7,
          .stamped = from_millis(1'700'000'000'000),
          .message = {"millrace.dlq.default.x", std::move(headers), std::move(data)}};
}
StoredEvent event_letter(std::string data, const Headers& more = {}) {
  Headers headers = {{"Millrace-Subject", "millrace.events.default.paid"}};
  headers.insert(headers.end(), more.begin(), more.end());
  return letter(std::move(headers), std::move(data));
}

TEST(LetterJson, HasTheFieldsOfTheHeaders) {
  const Json item = letter_item(letter({{"ce-id", "1"},
                                        {"Millrace-Reason", "event.malformed_json"},
                                        {"Millrace-Detail", "100%25 broken: %C3%A4"},
                                        {"Millrace-Subject", "millrace.events.default.t"}},
                                       "{\"a\":"));
  EXPECT_EQ(item, *parse_json(R"({"id":"7","reason":"event.malformed_json",
      "detail":"100% broken: ä","time":"2023-11-14T22:13:20.000Z",
      "subject":"millrace.events.default.t","size":5,"data":"{\"a\":","encoding":"utf-8"})"));
}

TEST(LetterJson, ShowsTheFirstBytesInAListAndAllOfThemAlone) {
  std::string umlauts = "x";
  while (umlauts.size() < 5000) umlauts += "ä";
  const Json item = letter_item(letter({}, umlauts));
  EXPECT_EQ(item["data"], umlauts.substr(0, 4095)) << "the text is not cut within a character";
  EXPECT_EQ(item["size"], umlauts.size());
  EXPECT_FALSE(item.contains("truncated"));
  EXPECT_EQ(whole_letter(letter({}, umlauts))["data"], umlauts);

  const std::string binary(5000, '\x80');
  const StoredEvent cut = letter({{"Millrace-Truncated", "2000000"}}, binary);
  EXPECT_EQ(letter_item(cut)["encoding"], "base64");
  EXPECT_EQ(letter_item(cut)["data"], base64_encode(binary.substr(0, 4096)));
  EXPECT_EQ(letter_item(cut)["size"], 2000000);
  EXPECT_EQ(letter_item(cut)["truncated"], true);
  EXPECT_EQ(whole_letter(cut)["data"], base64_encode(binary));
}

TEST(LetterJson, ShowsTheHeadersOfTheMessageAsReceived) {
  const Json whole = whole_letter(letter(
      {{"ce-id", "1"}, {"x", "\xff"}, {"Millrace-Reason", "event.time"}, {"Nats-Msg-Id", "dlq-1"}},
      ""));
  EXPECT_EQ(whole["headers"],
            Json::array({Json::array({"ce-id", "1"}), Json::array({"x", "%FF"})}));
}

TEST(LetterJson, HasTheNamesThatASearchComparesWithAText) {
  struct NamesCase {
    StoredEvent letter;
    const char* reason;
    const char* event;
  };
  const NamesCase cases[] = {
      {letter({{"Millrace-Reason", "event.time"}}, kPaid), "event.time", "1"},
      {letter({{"Millrace-Reason", "a"}, {"ce-id", "50%25"}}, kPaid), "a", "50%"},
      {letter({}, R"({"id":"7"})"), "", "7"},
      {letter({}, R"({"id":7})"), "", ""},
      {letter({}, R"(["id"])"), "", ""},
      {letter({}, "{"), "", ""},
  };
  for (const NamesCase& one : cases) {
    const LetterNames names = names_of_letter(one.letter);
    EXPECT_EQ(names.reason, one.reason) << one.letter.message.data;
    EXPECT_EQ(names.event, one.event) << one.letter.message.data;
  }
}

TEST(LetterJson, BelongsToTheNamespaceWithItsNumber) {
  const NamespaceIdentity identity{.number = NamespaceNumber(3),
                                   .created_at = from_millis(1'700'000'000'000)};
  NamespaceIdentity young = identity;
  young.created_at += Duration(1);
  EXPECT_TRUE(is_letter_of(letter({{"Millrace-Namespace", "3"}}, ""), young));
  EXPECT_TRUE(is_letter_of(letter({{"Millrace-Namespace", "0"}}, ""), young));
  EXPECT_FALSE(is_letter_of(letter({{"Millrace-Namespace", "2"}}, ""), identity));
  EXPECT_TRUE(is_letter_of(letter({}, ""), identity));
  EXPECT_FALSE(is_letter_of(letter({}, ""), young));
}

TEST(LetterJson, GivesTheEventOfTheLetter) {
  const Result<Event> event = event_of_letter(event_letter(kPaid), "millrace");
  ASSERT_TRUE(event) << event.error().message;
  EXPECT_EQ(event->type, "paid");
  const Headers binary = {{"ce-specversion", "1.0"},
                          {"ce-id", "1"},
                          {"ce-source", "/s"},
                          {"ce-type", "paid"},
                          {"Millrace-Reason", "x"}};
  const Result<Event> second = event_of_letter(event_letter("data", binary), "millrace");
  ASSERT_TRUE(second) << second.error().message;
  EXPECT_EQ(second->data, "data");
  EXPECT_TRUE(second->extensions.empty());
}

TEST(LetterJson, RefusesALetterThatCannotBeReplayed) {
  struct LetterCase {
    StoredEvent letter;
    const char* code;
    const char* advice;
  };
  const LetterCase cases[] = {
      {event_letter("{"), "dlq.not_event", "send the corrected event"},
      {event_letter(kPaid, {{"Millrace-Truncated", "2000000"}}), "dlq.truncated",
       "send the whole event"},
      {letter({{"Millrace-Subject", "millrace.lifecycle.default.order.failed"}}, kPaid),
       "dlq.not_event", "delete it"},
      {letter({}, kPaid), "dlq.not_event", "delete it"},
  };
  for (const LetterCase& one : cases) {
    const Result<Event> event = event_of_letter(one.letter, "millrace");
    ASSERT_FALSE(event) << one.advice;
    EXPECT_EQ(event.error().code, one.code);
    EXPECT_NE(event.error().message.find(one.advice), std::string::npos) << event.error().message;
  }
}

TEST(LetterJson, KnowsTheSubjectsOfAnotherPrefix) {
  const StoredEvent other = letter({{"Millrace-Subject", "orders.events.default.paid"}}, kPaid);
  EXPECT_TRUE(check_is_from_events(other, "orders"));
  EXPECT_FALSE(check_is_from_events(other, "millrace"));
  EXPECT_TRUE(check_is_from_events(event_letter(kPaid), "orders"))
      << "the subject inside millrace, of an event that waited in a group";
}

}  // namespace
}  // namespace millrace
