// A message that is not a valid event becomes a dead letter with the reason, and valid events are
// applied. Every row of the codec's table of malformed events is sent through a real stream.
#include "tests/unit/cloudevents/malformed_events.h"

#include <fmt/format.h>

#include "base/bytes.h"
#include "orchestrator/service/letter_json.h"
#include "tests/support/millrace_server.h"

namespace millrace {
namespace {

constexpr const char* kMalformedCounter = R"(
id: counter
start:
  type: event
  event:
    type: valid
states:
  - id: done
    type: noop
)";

std::string header_block(const Headers& headers) {
  std::string block;
  for (const auto& [name, value] : headers) block += fmt::format("{}: {}\r\n", name, value);
  return block;
}

std::string valid_event(size_t number) {
  return fmt::format(R"({{"specversion":"1.0","id":"{}","source":"/s","type":"valid"}})", number);
}

/// The bytes of a dead letter as the API shows them.
std::string bytes_of(const Json& item) {
  const std::string data = item.at("data");
  return item.at("encoding") == "base64" ? base64_decode(data).value_or("") : data;
}

class MalformedEvents : public MillraceTest {
 protected:
  std::unique_ptr<RawNatsClient> client_ = nats_.client();
};

TEST_F(MalformedEvents, BecomeDeadLettersWhileValidEventsAreApplied) {
  millrace_.apply(kMalformedCounter);
  const std::unique_ptr<RawNatsClient> letters = nats_.client();
  letters->subscribe("millrace.dlq.>");

  const std::vector<MalformedEvent> rows = malformed_events();
  size_t valid = 0;
  const auto publish_valid = [&] {
    client_->publish("millrace.events.default.valid", valid_event(++valid));
  };
  publish_valid();
  for (const MalformedEvent& row : rows) {
    const std::string headers = header_block(row.headers);
    if (headers.empty()) {
      client_->publish("millrace.events.default.t", row.body);
    } else {
      client_->publish("millrace.events.default.t", headers, row.body, "");
    }
    if ((&row - rows.data()) % 10 == 5) publish_valid();
  }
  publish_valid();
  client_->flush();

  EXPECT_TRUE(millrace_.has_instances("workflow=counter&status=complete", valid));
  const auto listed = [&] { return millrace_.items_of_all_pages("dlq?limit=1000"); };
  ASSERT_TRUE(eventually([&] { return listed().size() >= rows.size(); }));
  const std::vector<Json> items = listed();
  ASSERT_EQ(items.size(), rows.size());
  for (size_t i = 0; i < rows.size(); ++i) {  // in the order of the stream
    SCOPED_TRACE(rows[i].name);
    const Json& item = items[rows.size() - 1 - i];  // the list has the newest first
    EXPECT_EQ(item["reason"], rows[i].code);
    EXPECT_FALSE(item["detail"].get<std::string>().empty());
    EXPECT_EQ(item["subject"], "millrace.events.default.t");
    EXPECT_EQ(item["size"], rows[i].body.size());
    EXPECT_EQ(bytes_of(item), rows[i].body.substr(0, kDeadLetterPreviewBytes));

    const auto letter = letters->next();
    ASSERT_TRUE(letter);
    EXPECT_EQ(letter->data, rows[i].body);
    EXPECT_NE(letter->headers.find(fmt::format("Millrace-Reason: {}\r\n", rows[i].code)),
              std::string::npos)
        << letter->headers;
  }
  EXPECT_TRUE(millrace_.is_running());
}

TEST_F(MalformedEvents, AreRejectedOverHttpWithTheSameErrorCode) {
  for (const MalformedEvent& row : malformed_events()) {
    const HttpReply reply = millrace_.ask("POST", "events", row.body, row.headers);
    EXPECT_TRUE(reply.status == 400 || reply.status == 415) << row.name << ": " << reply.status;
    EXPECT_EQ(reply.code(), row.http_code != nullptr ? row.http_code : row.code)
        << row.name << ": " << reply.body;
  }
  EXPECT_TRUE(millrace_.items("dlq").empty());
}

TEST_F(MalformedEvents, BecomeDeadLettersIfTheirSubjectIsIncompleteOrTheirNamespaceUnknown) {
  client_->publish("millrace.events.default", valid_event(1));
  client_->publish("millrace.events.nowhere.valid", valid_event(2));
  client_->flush();
  ASSERT_TRUE(eventually([&] { return !millrace_.items("dlq").empty(); }));
  EXPECT_EQ(millrace_.items("dlq").front()["reason"], "event.subject");
  EXPECT_EQ(millrace_.items("dlq").size(), 1U);

  // Dead letters can be read although their namespace does not exist.
  HttpReply letters;
  ASSERT_TRUE(eventually(
      [&] { return (letters = millrace_.ask("GET", "/v1/ns/nowhere/dlq")).status == 200; }));
  const Json items = letters.json().at("items");
  ASSERT_EQ(items.size(), 1U);
  EXPECT_EQ(items.front()["reason"], "namespace.not_found");
}

}  // namespace
}  // namespace millrace
