#include "orchestrator/outgoing/messages.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "broker/wire.h"
#include "cloudevents/headers.h"
#include "cloudevents/subject.h"

namespace millrace {
namespace {

using testing::HasSubstr;
using testing::Pair;

constexpr size_t kMaxPayload = size_t{1} << 20;

std::string header(const NatsMessage& message, std::string_view name) {
  const std::string* const value = find_header(message.headers, name);
  return value == nullptr ? "none" : *value;
}

DeadLetter letter() {
  return {.ns = "default",
          .reason = {"event.missing_attribute", "the attribute \"id\" is missing"},
          .sequence = 7,
          .message = {.subject = "millrace.events.default.t",
                      .headers = {{"Content-Type", "text/plain"}},
                      .data = "as received"}};
}

void expect_sendable(const NatsMessage& message) {
  const Status status = check_message(message, kMaxPayload);
  EXPECT_TRUE(status) << status.error().message;
}

TEST(Messages, EncodeAnEventThatDecodesToTheSameEvent) {
  Event event{.id = "1", .source = "/s", .type = "order placed"};
  event.extensions["region"] = "eu";
  event.data = R"({"n":1})";
  event.datacontenttype = "application/json";
  const NatsMessage message = event_message("default", event);
  expect_sendable(message);
  EXPECT_EQ(subject_namespace(message.subject), "default");
  EXPECT_EQ(decode_nats(message), event);
}

TEST(Messages, DeriveTheMessageIdOnlyFromTheKeyAndTheNamespaceAndTheSourceAndTheIdOfTheEvent) {
  const Event event{.id = "1", .source = "/s", .type = "t"};
  const std::string id = message_id("key", "default", event);
  EXPECT_EQ(id.size(), 32U);
  Event other = event;
  other.data = "whatever";
  other.type = "u";
  EXPECT_EQ(message_id("key", "default", other), id);

  EXPECT_NE(message_id("key", "other", event), id);
  other.source = "/t";
  EXPECT_NE(message_id("key", "default", other), id);
  other.source = "/s1";  // the source and the id together have the same bytes as before
  other.id = "";
  EXPECT_NE(message_id("key", "default", other), id);
}

TEST(Messages, HaveAnIdThatCannotBeComputedWithoutTheKeyOfTheStore) {
  const Event event{.id = "order-42", .source = "/shop", .type = "t"};
  const std::string id = header(message_to_publish("key", "default", event), "Nats-Msg-Id");
  EXPECT_EQ(id, message_id("key", "default", event));
  EXPECT_NE(id, message_id("another key", "default", event));
  EXPECT_NE(id, earlier_message_id("default", event));
  EXPECT_EQ(header(event_message("default", event), "Nats-Msg-Id"), "none");
}

TEST(Messages, PutTheReceivedBytesAndTheReasonIntoADeadLetter) {
  const NatsMessage message = dead_letter_message(letter(), 1'000);
  expect_sendable(message);
  EXPECT_EQ(message.subject, "millrace.dlq.default.event%2Emissing_attribute");
  EXPECT_EQ(message.data, "as received");
  EXPECT_EQ(header(message, "Content-Type"), "text/plain");
  EXPECT_EQ(header(message, "Millrace-Reason"), "event.missing_attribute");
  EXPECT_EQ(header(message, "Millrace-Detail"), "the attribute \"id\" is missing");
  EXPECT_EQ(header(message, "Millrace-Subject"), "millrace.events.default.t");
  EXPECT_EQ(header(message, "Millrace-Sequence"), "7");
  EXPECT_EQ(header(message, "Millrace-Truncated"), "none");
  EXPECT_EQ(header(message, "Millrace-Source"), "none");
  DeadLetter of_a_source = letter();
  of_a_source.source = "orders";
  EXPECT_EQ(header(dead_letter_message(of_a_source, 1'000), "Millrace-Source"), "orders");
}

TEST(Messages, DeriveTheIdOfADeadLetterFromItsStreamItsSequenceItsReasonAndItsBytes) {
  const std::string id = header(dead_letter_message(letter(), 1'000), "Nats-Msg-Id");
  EXPECT_EQ(header(dead_letter_message(letter(), 1'000), "Nats-Msg-Id"), id);
  EXPECT_NE(header(dead_letter_message(letter(), 1'001), "Nats-Msg-Id"), id);
  DeadLetter other = letter();
  other.sequence = 8;
  EXPECT_NE(header(dead_letter_message(other, 1'000), "Nats-Msg-Id"), id);
  other = letter();
  other.reason.code = "event.other";
  EXPECT_NE(header(dead_letter_message(other, 1'000), "Nats-Msg-Id"), id);
  other = letter();
  other.reason.message = "of use to another one neither";
  EXPECT_NE(header(dead_letter_message(other, 1'000), "Nats-Msg-Id"), id);
  other = letter();
  other.message.data += "x";  // a broker that lost the tail of a stream uses its sequences again
  EXPECT_NE(header(dead_letter_message(other, 1'000), "Nats-Msg-Id"), id);
}

TEST(Messages, LeaveReservedHeadersOutOfADeadLetter) {
  DeadLetter one = letter();
  one.message.headers = {{"Nats-Msg-Id", "theirs"},
                         {"nats-expected-stream", "OTHER"},
                         {"NATS-TTL", "1s"},
                         {"millrace-reason", "none at all"},
                         {"Millrace-Truncated", "3"},
                         {"Status", "503"},
                         {"description", "No Responders"},
                         {"ce-id", "1"}};
  const NatsMessage message = dead_letter_message(one, 1'000);
  expect_sendable(message);
  EXPECT_EQ(message.headers.front(), (std::pair<std::string, std::string>("ce-id", "1")));
  EXPECT_EQ(header(message, "Millrace-Reason"), "event.missing_attribute");
  EXPECT_EQ(header(message, "Millrace-Truncated"), "none");
  for (const auto& [name, value] : message.headers) {
    EXPECT_THAT(value, testing::Not(testing::AnyOf("theirs", "OTHER", "1s", "none at all", "503",
                                                   "No Responders")));
  }
}

TEST(Messages, MakeADeadLetterThatCanBeSentWhateverItsPartsContain) {
  const std::string every_byte = [] {
    std::string bytes;
    for (int i = 0; i < 256; ++i) bytes.push_back(static_cast<char>(i));
    return bytes;
  }();
  const struct {
    const char* what;
    DeadLetter letter;
  } rows[] = {
      {"everything empty", {}},
      {"no namespace", {.ns = "", .reason = {"a.b", ""}}},
      {"a namespace that has every byte", {.ns = every_byte, .reason = {"a", "b"}}},
      {"a very long namespace", {.ns = std::string(4'000, '\xff'), .reason = {"a", "b"}}},
      {"a subject that has every byte", {.reason = {"a", "b"}, .message = {.subject = every_byte}}},
      {"a reason that has every byte", {.reason = {"a", every_byte}}},
      {"a header without a name", {.reason = {"a", "b"}, .message = {.headers = {{"", "x"}}}}},
      {"a header that has every byte",
       {.reason = {"a", "b"},
        .message =
            {.headers = {{every_byte, "x"}, {"x", every_byte}, {"a:b", "c"}, {"d e", "f"}}}}},
      {"data that has every byte", {.reason = {"a", "b"}, .message = {.data = every_byte}}},
      {"a very long reason", {.reason = {"a", std::string(100'000, '"')}}},
      {"a very long subject",
       {.reason = {"a", "b"}, .message = {.subject = std::string(4'000, '*')}}},
      {"a huge message",
       {.ns = "default",
        .reason = {"a", std::string(100'000, '"')},
        .message = {.subject = std::string(4'000, '*'),
                    .headers = Headers(1'000, {std::string(500, 'n'), std::string(500, 'v')}),
                    .data = std::string(8 << 20, 'x')}}},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.what);
    expect_sendable(dead_letter_message(row.letter, 1));
  }
}

TEST(Messages, TruncateATooLargeDeadLetterAndRecordItsOriginalSize) {
  DeadLetter one = letter();
  one.message.data = "head" + std::string(2 << 20, 'x');
  const NatsMessage message = dead_letter_message(one, 1'000);
  expect_sendable(message);
  EXPECT_EQ(header(message, "Millrace-Truncated"), std::to_string(one.message.data.size()));
  EXPECT_EQ(message.data, one.message.data.substr(0, message.data.size()));
  EXPECT_GT(message.data.size(), 900'000U) << "the dead letter holds as much as can be sent";
}

}  // namespace
}  // namespace millrace
