#include "broker/streams.h"

#include <gtest/gtest.h>

#include "base/bytes.h"
#include "base/check.h"
#include "broker/dead_letters.h"
#include "tests/support/nats_fixture.h"

namespace millrace {
namespace {

class StreamsTest : public NatsFixture {
 protected:
  std::unique_ptr<Connection> connection_ = server_.connect();
  std::unique_ptr<RawNatsClient> client_ = server_.client();
};

TEST_F(StreamsTest, AreMadeOnceAndFoundAfterwards) {
  EXPECT_EQ(find_stream(*connection_, events_stream()).error().code, "broker.not_found");
  const Result<StreamInfo> made = ensure_stream(*connection_, events_stream());
  ASSERT_TRUE(made) << made.error().message;
  EXPECT_GT(made->created, 0);
  EXPECT_EQ(made->subjects, std::vector<std::string>{"millrace.events.>"});
  EXPECT_EQ(made->notes, std::vector<std::string>()) << "the server took all that was asked for";

  const Result<StreamInfo> found = ensure_stream(*connection_, events_stream());
  ASSERT_TRUE(found);
  EXPECT_EQ(found->created, made->created);
  EXPECT_EQ(found->notes, std::vector<std::string>());

  client_->publish_acked("millrace.events.a.b", "", "x");
  const Result<StreamInfo> filled = ensure_stream(*connection_, events_stream());
  ASSERT_TRUE(filled);
  EXPECT_EQ(filled->first_sequence, 1u);
  EXPECT_EQ(filled->last_sequence, 1u);
}

TEST_F(StreamsTest, WithOtherSettingsAreTakenWithANoteIfTheyCanBeWorkedWith) {
  client_->api("STREAM.CREATE.MILLRACE_DLQ",
               {{"name", "MILLRACE_DLQ"}, {"subjects", {"millrace.dlq.>"}}, {"storage", "memory"}});
  const Result<StreamInfo> found = ensure_stream(*connection_, dead_letters_stream());
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_EQ(found->notes.size(), 2u) << testing::PrintToString(found->notes);
}

TEST_F(StreamsTest, ThatCannotBeWorkedWithAreRefused) {
  client_->api("STREAM.CREATE.MILLRACE_EVENTS",
               {{"name", "MILLRACE_EVENTS"}, {"subjects", {"millrace.events.default.>"}}});
  const Result<StreamInfo> found = ensure_stream(*connection_, events_stream());
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().code, "broker.stream");
}

TEST_F(StreamsTest, WhoseSubjectsAnotherStreamHasAreRefusedWithTheBrokersWords) {
  client_->api("STREAM.CREATE.OTHER", {{"name", "OTHER"}, {"subjects", {"millrace.>"}}});
  const Result<StreamInfo> made = ensure_stream(*connection_, events_stream());
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().code, "broker.refused");
  EXPECT_NE(made.error().message.find("subjects overlap"), std::string::npos)
      << made.error().message;
}

class DeadLettersTest : public StreamsTest {
 protected:
  void SetUp() override { ASSERT_TRUE(ensure_stream(*connection_, dead_letters_stream())); }

  Json list(std::string_view space, size_t limit, std::string_view cursor = "",
            const std::optional<NamespaceIdentity>& identity = std::nullopt) {
    const Result<Json> page =
        list_dead_letters(*connection_, kDefaultPrefix, space, identity, limit, cursor);
    CHECK(page.has_value(), "{}", page.error().message);
    return *page;
  }
};

TEST_F(DeadLettersTest, AreListedWithWhatTheirHeadersSay) {
  client_->publish_acked("millrace.dlq.default.event%2Emalformed_json",
                         "ce-id: 1\r\nMillrace-Reason: event.malformed_json\r\n"
                         "Millrace-Detail: 100%25 broken: %C3%A4\r\n"
                         "Millrace-Subject: millrace.events.default.t\r\n",
                         "{\"a\":");
  const Json page = list("default", 10);
  ASSERT_EQ(page["items"].size(), 1u);
  EXPECT_FALSE(page.contains("next"));
  Json item = page["items"][0];
  EXPECT_TRUE(parse_rfc3339(item["time"].get<std::string>()));
  item.erase("time");
  EXPECT_EQ(item, *parse_json(R"({"id":"1","reason":"event.malformed_json",
      "detail":"100% broken: ä","subject":"millrace.events.default.t","size":5,
      "data":"{\"a\":","encoding":"utf-8"})"));
}

TEST_F(DeadLettersTest, OfOneNamespaceComeInPagesOldestFirst) {
  for (int i = 0; i < 5; ++i) {
    client_->publish_acked("millrace.dlq.a.x", "", "a" + std::to_string(i));
    client_->publish_acked("millrace.dlq.b.x", "", "b" + std::to_string(i));
  }
  std::vector<std::string> seen;
  std::string cursor;
  for (int page_number = 0; page_number < 3; ++page_number) {
    const Json page = list("b", 2, cursor);
    for (const Json& item : page["items"]) seen.push_back(item["data"].get<std::string>());
    EXPECT_EQ(page.contains("next"), page_number < 2);
    cursor = page.value("next", "");
  }
  EXPECT_EQ(seen, (std::vector<std::string>{"b0", "b1", "b2", "b3", "b4"}));
  EXPECT_FALSE(list("b", 5).contains("next")) << "a full page may be the last";
  EXPECT_EQ(list("c", 5), *parse_json(R"({"items":[]})"));
}

TEST_F(DeadLettersTest, OfAnEarlierNamespaceOfTheNameAreNotThoseOfTheNewOne) {
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
  EXPECT_EQ(data(list("shop", 10)).size(), 4u) << "no namespace has the name";
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

TEST_F(DeadLettersTest, ShowTheHeadOfTheirBytes) {
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
  EXPECT_EQ(items[0]["data"], umlauts.substr(0, 4095)) << "not cut within a character";
  EXPECT_EQ(items[0]["size"], umlauts.size());
  EXPECT_EQ(items[1]["encoding"], "base64");
  EXPECT_EQ(items[1]["data"], base64_encode(binary.substr(0, 4096)));
  EXPECT_EQ(items[1]["size"], 2000000);
}

TEST_F(DeadLettersTest, RefuseACursorThatIsNone) {
  for (const char* cursor : {"x", "1x", "-1", " 1"}) {
    const Result<Json> page =
        list_dead_letters(*connection_, kDefaultPrefix, "a", std::nullopt, 1, cursor);
    ASSERT_FALSE(page) << cursor;
    EXPECT_EQ(page.error().code, "dlq.cursor");
  }
}

}  // namespace
}  // namespace millrace
