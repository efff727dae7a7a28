#include "broker/dead_letters.h"

#include <gtest/gtest.h>

#include "base/bytes.h"
#include "base/check.h"
#include "broker/streams.h"
#include "tests/support/nats_fixture.h"

namespace millrace {
namespace {

class DeadLettersTest : public NatsFixture {
 protected:
  void SetUp() override { ASSERT_TRUE(ensure_stream(*connection_, dead_letters_stream())); }

  Json list(std::string_view ns, size_t limit, std::string_view cursor = "",
            const std::optional<NamespaceIdentity>& identity = std::nullopt) {
    const Result<Json> page =
        list_dead_letters(*connection_, kDefaultPrefix, ns, identity, limit, cursor);
    CHECK(page.has_value(), "{}", page.error().message);
    return *page;
  }

  std::unique_ptr<Connection> connection_ = server_.connect();
  std::unique_ptr<RawNatsClient> client_ = server_.client();
};

TEST_F(DeadLettersTest, ListsADeadLetterWithTheFieldsOfItsHeaders) {
  client_->publish_acked("millrace.dlq.default.event%2Emalformed_json",
                         "ce-id: 1\r\nMillrace-Reason: event.malformed_json\r\n"
                         "Millrace-Detail: 100%25 broken: %C3%A4\r\n"
                         "Millrace-Subject: millrace.events.default.t\r\n",
                         "{\"a\":");
  const Json page = list("default", 10);
  ASSERT_EQ(page["items"].size(), 1u);
  EXPECT_EQ(page.at("next"), nullptr);
  Json item = page["items"][0];
  EXPECT_TRUE(parse_rfc3339(item["time"].get<std::string>()));
  item.erase("time");
  EXPECT_EQ(item, *parse_json(R"({"id":"1","reason":"event.malformed_json",
      "detail":"100% broken: ä","subject":"millrace.events.default.t","size":5,
      "data":"{\"a\":","encoding":"utf-8"})"));
}

TEST_F(DeadLettersTest, ListsTheDeadLettersOfOneNamespaceInPagesOldestFirst) {
  for (int i = 0; i < 5; ++i) {
    client_->publish_acked("millrace.dlq.a.x", "", "a" + std::to_string(i));
    client_->publish_acked("millrace.dlq.b.x", "", "b" + std::to_string(i));
  }
  std::vector<std::string> seen;
  std::string cursor;
  for (int page_number = 0; page_number < 3; ++page_number) {
    const Json page = list("b", 2, cursor);
    for (const Json& item : page["items"]) seen.push_back(item["data"].get<std::string>());
    EXPECT_EQ(page.at("next").is_string(), page_number < 2);
    cursor = page_number < 2 ? page.at("next").get<std::string>() : "";
  }
  EXPECT_EQ(seen, (std::vector<std::string>{"b0", "b1", "b2", "b3", "b4"}));
  EXPECT_EQ(list("b", 5).at("next"), nullptr) << "a full page may be the last page";
  EXPECT_EQ(list("c", 5), *parse_json(R"({"items":[],"next":null})"));
}

TEST_F(DeadLettersTest, OmitsDeadLettersOfADeletedNamespaceWithTheSameName) {
  const auto publish = [&](const char* header, const char* data) {
    client_->publish_acked("millrace.dlq.shop.x", header, data);
  };
  publish("Millrace-Namespace: 2\r\n", "of the earlier one");
  publish("Millrace-Namespace: 0\r\n", "while there was none");
  publish("Millrace-Namespace: 3\r\n", "of this one");
  publish("", "of an earlier release");
  const auto data = [](const Json& page) {
    std::vector<std::string> all;
    for (const Json& item : page["items"]) all.push_back(item["data"].get<std::string>());
    return all;
  };
  EXPECT_EQ(data(list("shop", 10)).size(), 4u) << "without a namespace of that name all are listed";
  const NamespaceIdentity old{.number = NamespaceNumber(3)};
  EXPECT_EQ(
      data(list("shop", 10, "", old)),
      (std::vector<std::string>{"while there was none", "of this one", "of an earlier release"}));
  NamespaceIdentity young = old;
  young.created_at = *parse_rfc3339("2999-01-01T00:00:00Z");
  EXPECT_EQ(data(list("shop", 10, "", young)),
            (std::vector<std::string>{"while there was none", "of this one"}));
  const Json first = list("shop", 1, "", young);
  EXPECT_EQ(data(first), std::vector<std::string>{"while there was none"});
  EXPECT_EQ(data(list("shop", 1, first["next"].get<std::string>(), young)),
            std::vector<std::string>{"of this one"});
}

TEST_F(DeadLettersTest, ShowsOnlyTheFirstBytesOfTheDataOfALargeDeadLetter) {
  const std::string umlauts = [] {
    std::string text = "x";
    while (text.size() < 5000) text += "ä";
    return text;
  }();
  const std::string binary(5000, '\x80');
  client_->publish_acked("millrace.dlq.a.x", "", umlauts);
  client_->publish_acked("millrace.dlq.a.x", "Millrace-Truncated: 2000000\r\n", binary);
  const Json items = list("a", 10)["items"];
  ASSERT_EQ(items.size(), 2u);
  EXPECT_EQ(items[0]["data"], umlauts.substr(0, 4095)) << "the text is not cut within a character";
  EXPECT_EQ(items[0]["size"], umlauts.size());
  EXPECT_EQ(items[1]["encoding"], "base64");
  EXPECT_EQ(items[1]["data"], base64_encode(binary.substr(0, 4096)));
  EXPECT_EQ(items[1]["size"], 2000000);
}

TEST_F(DeadLettersTest, RefusesAMalformedPageCursor) {
  for (const char* cursor : {"x", "1x", "-1", " 1"}) {
    const Result<Json> page =
        list_dead_letters(*connection_, kDefaultPrefix, "a", std::nullopt, 1, cursor);
    ASSERT_FALSE(page) << cursor;
    EXPECT_EQ(page.error().code, "dlq.cursor");
  }
}

}  // namespace
}  // namespace millrace
