// Malicious and unusual events, sent to the whole program over NATS and HTTP. Each of them is
// accepted, or rejected with an error code, and valid events work afterwards. Messages that are not
// events are in malformed_events_test.cc.
#include <algorithm>
#include <array>
#include <optional>
#include <set>

#include <fmt/format.h>

#include "base/bytes.h"
#include "base/check.h"
#include "cloudevents/limits.h"
#include "tests/integration/hostile_events_fixture.h"
#include "tests/support/tcp_proxy.h"
#include "tests/unit/cloudevents/malformed_events.h"

namespace millrace {
namespace {

using namespace std::string_literals;

TEST_F(HostileEvents, AreRejectedOneByteAboveTheSizeLimit) {
  millrace_.apply(
      "id: counter\nstart: {type: event, event: {type: t}}\nstates: "
      "[{id: done, type: noop}]\n");
  const auto of_size = [](std::string_view id, size_t size) {
    const std::string around = event("t", id, R"(,"data":"")");
    return event("t", id, fmt::format(R"(,"data":"{}")", std::string(size - around.size(), 'x')));
  };
  const auto body_of_size = [](size_t size) {  // headers and body together have this size
    size_t headers = 0;
    for (const auto& [name, value] : binary({})) headers += name.size() + value.size();
    return std::string(size - headers, 'x');
  };
  publish(of_size("1", kMaxEventBytes));
  publish(of_size("2", kMaxEventBytes + 1));
  publish(body_of_size(kMaxEventBytes), binary({}));
  publish(body_of_size(kMaxEventBytes + 1), binary({}));
  publish(std::string(7 << 20, '['));
  EXPECT_TRUE(millrace_.has_instances("workflow=counter&status=complete", 2));
  EXPECT_EQ(letters(3), std::vector<std::string>(3, "event.too_large"));
  EXPECT_EQ(millrace_.items("dlq")[0]["size"], 7 << 20) << "the newest is the first";

  const HttpReply too_large = post(of_size("3", kMaxEventBytes + 1));
  EXPECT_EQ(too_large.status, 413) << too_large.body;
  EXPECT_EQ(too_large.code(), "event.too_large");
  EXPECT_EQ(post(std::string((16 << 20) + 1, 'x')).code(), "request.body_too_large");
  EXPECT_EQ(post("", binary({{"ce-x", std::string(32 << 10, 'x')}})).code(),
            "request.headers_too_large");
  EXPECT_EQ(post(of_size("3", kMaxEventBytes)).status, 202);
  EXPECT_TRUE(millrace_.has_instances("workflow=counter&status=complete", 3));
  expect_well();
}

TEST_F(HostileEvents, AreAcceptedWithManyKeysUpToTheSizeLimit) {
  keep("keys");
  publish(event("keys", "1", R"(,"data":)" + many_keys(1'000'000)));
  publish(
      many_keys(1'000'000),
      {{"ce-specversion", "1.0"}, {"ce-id", "2"}, {"ce-source", "/hostile"}, {"ce-type", "keys"}});
  EXPECT_EQ(post(event("keys", "3", R"(,"data":)" + many_keys(1'000'000))).status, 202);
  EXPECT_TRUE(millrace_.has_instances("workflow=keeper&status=complete", 3));

  const std::string too_large = many_keys(11'000'000);
  EXPECT_EQ(post(event("keys", "5", R"(,"data":)" + too_large)).code(), "event.too_large");
  EXPECT_EQ(millrace_.items("dlq").size(), 0U);

  const std::string keys = many_keys(1'000'000);
  publish(event("keys", "6", "," + keys.substr(1, keys.size() - 2)));  // as context attributes
  EXPECT_EQ(letters(1), std::vector<std::string>(1, "event.too_many_attributes"));
  EXPECT_EQ(post(event("keys", "7", "," + keys.substr(1, keys.size() - 2))).code(),
            "event.too_many_attributes");
  expect_well();
}

TEST_F(HostileEvents, AreAcceptedUnchangedWhenTheyAreUnusualButValid) {
  keep("odd");
  const struct {
    const char* name;
    Headers headers;
    std::string body;
    const char* payload;
  } rows[] = {
      {"an escaped NUL", {}, R"("data":"a\u0000b")", R"("a\u0000b")"},
      {"a repeated key", {}, R"("data":{"a":1,"a":2})", R"({"a":2})"},
      {"a number that a double cannot hold", {}, R"("data":9007199254740993)", "9007199254740993"},
      {"a surrogate pair", {}, R"("data":"\ud83d\ude00")", R"("😀")"},
      {"a noncharacter in the data", {}, R"("data":"\uffff")", R"("\uffff")"},
      {"no data", {}, R"("data":null)", "null"},
      {"data without a content type", {}, R"("data":"1e400")", R"("1e400")"},
      {"a content type in capitals",
       {{"Content-Type", "APPLICATION/CloudEvents+JSON ; Charset=\"UTF-8\""}},
       R"("data":1)",
       "1"},
  };
  size_t number = 0;
  for (const auto& row : rows) {
    const std::string id = std::to_string(++number);
    publish(event("odd", id, "," + row.body), row.headers);
  }
  ASSERT_TRUE(millrace_.has_instances("workflow=keeper&status=complete", number));
  const std::vector<Json> kept = inputs("keeper");  // newest first
  for (size_t i = 0; i < number; ++i) {
    const Json expected = Json::parse(rows[i].payload);
    EXPECT_EQ(kept[number - 1 - i], (Json{{"odd", expected}})) << rows[i].name;
  }
  EXPECT_TRUE(millrace_.items("dlq").empty());
}

TEST_F(HostileEvents, BecomeReadableDeadLettersIfTheirNamespaceDoesNotExist) {
  publish(event("t", "1"), {}, "millrace.events.nowhere.t");
  publish(event("t", "2"), {}, "millrace.events.no%20where.t");
  for (const char* ns : {"nowhere", "no%20where"}) {
    const std::string path = fmt::format("/v1/ns/{}/dlq", ns);
    ASSERT_TRUE(eventually([&] { return millrace_.ask("GET", path).status == 200; })) << ns;
    const Json letters = millrace_.ask("GET", path).json()["items"];
    ASSERT_EQ(letters.size(), 1U) << ns;
    EXPECT_EQ(letters[0]["reason"], "namespace.not_found") << ns;
  }
  EXPECT_EQ(millrace_.ask("GET", "/v1/ns/nobody/dlq").code(), "namespace.not_found");
  EXPECT_EQ(millrace_.ask("GET", "/v1/ns/nowhere/dlq?cursor=x").status, 400);
  EXPECT_TRUE(millrace_.items("dlq").empty());
}

TEST_F(HostileEvents, KeepAllDigitsOfTheirIntegersOnEveryTransport) {
  // `relay` stores the data in a variable, computed by a jq worker, and generates an event with a
  // part of the data, computed by the fast lane.
  millrace_.apply(R"(
id: relay
start: {type: event, event: {type: odd}}
states:
  - id: keep
    type: setter
    variables: [{key: last, scope: namespace, value: jq(.odd | del(.other))}]
    transition: pass
  - id: pass
    type: generateEvent
    event: {type: relayed, source: relay, data: 'jq({n: .odd.n, list: [.odd.n]})'}
)");
  millrace_.apply(R"(
id: keeper
start: {type: event, event: {type: relayed}}
states:
  - id: get
    type: getter
    variables: [{key: last, scope: namespace}]
)");
  const std::vector<std::string> numbers = {
      "-9223372036854775809", "18446744073709551616", "123456789012345678901234567890",
      "9" + std::string(300, '7'), "-" + std::string(308, '1')};
  size_t sent = 0;
  const auto expect_kept = [&](const std::string& number, const char* transport) {
    ++sent;
    ASSERT_TRUE(millrace_.has_instances("workflow=keeper&status=complete", sent)) << transport;
    const std::string id = millrace_.items("instances?workflow=keeper&limit=1")[0].at("id");
    const std::string shown = millrace_.ask("GET", "instances/" + id).body;
    const std::string relayed = fmt::format(R"("relayed":{{"list":[{}],"n":{}}})", number, number);
    EXPECT_NE(shown.find(relayed), std::string::npos) << transport << shown;
    const std::string variable = fmt::format(R"("last":{{"n":{}}})", number);
    EXPECT_NE(shown.find(variable), std::string::npos) << transport << shown;
  };
  size_t id = 0;
  for (const std::string& number : numbers) {
    const std::string data = fmt::format(R"({{"n":{},"other":0}})", number);
    const auto structured = [&] {
      return event("odd", std::to_string(++id), R"(,"data":)" + data);
    };
    const auto headers = [&] {
      Headers all = binary({{"content-type", "application/json"}});
      for (auto& [name, value] : all) {
        if (name == "ce-type") value = "odd";
        if (name == "ce-id") value = std::to_string(++id);
      }
      return all;
    };
    publish(structured());
    expect_kept(number, "NATS structured");
    publish(data, headers());
    expect_kept(number, "NATS binary");
    EXPECT_EQ(post(structured()).status, 202);
    expect_kept(number, "HTTP structured");
    EXPECT_EQ(post(data, headers()).status, 202);
    expect_kept(number, "HTTP binary");
    EXPECT_EQ(
        post("[" + structured() + "]", {{"content-type", "application/cloudevents-batch+json"}})
            .status,
        202);
    expect_kept(number, "HTTP batch");
    const HttpReply called = millrace_.ask("POST", "workflows/keeper/start?wait=PT10M",
                                           fmt::format(R"({{"call":[{}]}})", number));
    EXPECT_NE(called.body.find(fmt::format(R"("call":[{}])", number)), std::string::npos)
        << called.body;
    ++sent;
    EXPECT_EQ(millrace_.ask("GET", "variables/last").body, fmt::format(R"({{"n":{}}})", number));
  }
  EXPECT_TRUE(millrace_.items("dlq").empty());
}

TEST_F(HostileEvents, AreRejectedWhenTheyNestBeyondTheLimit) {
  keep("deep");
  publish(event("deep", "1", R"(,"data":)" + nested(127)));  // the event itself is one more level
  publish(event("deep", "2", R"(,"data":)" + nested(128)));
  publish(nested(100'000), {{"ce-specversion", "1.0"},
                            {"ce-id", "3"},
                            {"ce-source", "/hostile"},
                            {"ce-type", "deep"}});  // without a content type the data are bytes
  EXPECT_EQ(letters(1), std::vector<std::string>{"event.depth"});
  ASSERT_TRUE(millrace_.has_instances("workflow=keeper&status=complete", 2));
  const std::vector<Json> kept = inputs("keeper");
  EXPECT_EQ(kept[1], (Json{{"deep", Json::parse(nested(127))}}));
  EXPECT_TRUE(kept[0].at("deep").is_string());
  EXPECT_EQ(post(event("deep", "4", R"(,"data":)" + nested(128))).code(), "event.depth");
  expect_well();
}

TEST_F(HostileEvents, AreRoutedByTheirTypeEvenIfItIsNotAValidSubject) {
  const std::vector<std::string> types = {"two words",
                                          "*",
                                          ">",
                                          "a.*.b",
                                          "a.>",
                                          ".",
                                          "..",
                                          ".a",
                                          "a.",
                                          "a..b",
                                          "größe",
                                          "日本語",
                                          "😀",
                                          "100%",
                                          "%",
                                          "%2E",
                                          "$JS.API.STREAM.DELETE.MILLRACE_EVENTS",
                                          "_INBOX.x",
                                          "a:b/c?d#e",
                                          "\"quoted\"",
                                          "'",
                                          "\\",
                                          "null",
                                          std::string(300, 'x'),
                                          std::string(5'000, '.'),
                                          std::string(4'000, '*'),
                                          std::string(2'000, 'x') + "." + std::string(2'000, 'y')};
  size_t number = 0;
  for (const std::string& type : types) {
    SCOPED_TRACE(type.substr(0, 40));
    keep(type);
    publish(event(type, fmt::format("nats-{}", number)));
    const HttpReply reply = post(event(type, fmt::format("http-{}", number)));
    EXPECT_EQ(reply.status, 202) << reply.body;
    number += 2;
    ASSERT_TRUE(millrace_.has_instances("workflow=keeper&status=complete", number));
  }
  EXPECT_TRUE(millrace_.items("dlq").empty());
  EXPECT_TRUE(client_->api("STREAM.INFO.MILLRACE_EVENTS").contains("state")) << "the stream exists";
  expect_well();
}

TEST_F(HostileEvents, BecomeDeadLettersWhenTheirSubjectCannotBePublishedAgain) {
  const std::string bytes(2'000, '\xff');  // too long for a protocol line when percent-encoded
  publish(event("t", "1"), {}, "millrace.events." + bytes + ".t");
  publish("no event", {}, "millrace.events." + bytes + ".t");
  publish("no event", {}, "millrace.events.%zz.t");
  publish("no event", {}, "millrace.events.default.%zz");
  EXPECT_TRUE(eventually(
      [&] { return client_->api("STREAM.INFO.MILLRACE_DLQ")["state"]["messages"] == 4; }));
  expect_well();
}

TEST_F(HostileEvents, TakeEffectOnceIfTheyComeAThousandTimesAcrossARestart) {
  keep("again");
  const auto send = [&](size_t count) {
    for (size_t i = 0; i + 1 < count; ++i) client_->publish(kHostileSubject, event("again", "1"));
    publish(event("again", "1"));
  };
  send(250);
  ASSERT_TRUE(millrace_.has_instances("workflow=keeper", 1));
  send(250);
  millrace_.kill();
  send(250);
  millrace_.start_ready();
  send(250);
  publish(event("again", "2"));
  EXPECT_TRUE(millrace_.has_instances("workflow=keeper&status=complete", 2));
}

TEST_F(HostileEvents, CompleteAGroupInEveryOrder) {
  millrace_.apply(R"(
id: five
start:
  type: eventsAnd
  events:
    - type: e0
    - type: e1
    - type: e2
    - type: e3
    - type: e4
  correlate:
    - key
states:
  - id: done
    type: noop
)");
  std::array<int, 5> order = {0, 1, 2, 3, 4};
  size_t orders = 0;
  do {
    for (const int which : order) {
      client_->publish(kHostileSubject,
                       event(fmt::format("e{}", which), fmt::format("{}-{}", orders, which),
                             fmt::format(R"(,"key":"k{}","data":{{"n":{}}})", orders, which)));
    }
    ++orders;
  } while (std::next_permutation(order.begin(), order.end()));
  client_->flush();
  ASSERT_EQ(orders, 120U);
  ASSERT_TRUE(millrace_.has_instances("workflow=five&status=complete", orders));
  const Json expected =
      Json::parse(R"({"e0":{"n":0},"e1":{"n":1},"e2":{"n":2},"e3":{"n":3},"e4":{"n":4}})");
  for (const Json& input : inputs("five")) EXPECT_EQ(input, expected);
  expect_well();
  EXPECT_EQ(inputs("five").size(), orders);
}

TEST_F(HostileEvents, AreAllRejectedIfOneEventOfTheirHttpBatchIsInvalid) {
  keep("batch");
  const Headers batch = {{"content-type", "application/cloudevents-batch+json"}};
  const auto of = [](const std::string& second) {
    return "[" + event("batch", "1") + "," + second + "," + event("batch", "3") + "]";
  };
  const struct {
    std::string second;
    const char* code;
  } rows[] = {
      {"{}", "event.missing_attribute"},
      {"7", "event.not_object"},
      {event("batch", "2", R"(,"data":1e400)"), "event.malformed_json"},
      {event("batch", "2", R"(,"data":)" + nested(128)), "event.depth"},
      {event("batch", "2", fmt::format(R"(,"data":"{}")", std::string(1 << 20, 'x'))),
       "event.too_large"},
  };
  for (const auto& row : rows) {
    const HttpReply reply = post(of(row.second), batch);
    EXPECT_EQ(reply.code(), row.code) << reply.body;
    EXPECT_NE(reply.json().at("detail").get<std::string>().find("[1]"), std::string::npos)
        << reply.body;
  }
  std::string many = "[" + event("batch", "0");
  for (size_t i = 1; i <= kMaxBatchEvents; ++i) many += "," + event("batch", std::to_string(i));
  EXPECT_EQ(post(many + "]", batch).code(), "event.batch_too_large");
  EXPECT_EQ(post("{}", batch).code(), "event.not_array");
  publish(of("{}"), batch);
  EXPECT_EQ(letters(1), std::vector<std::string>{"event.unsupported_format"});
  EXPECT_TRUE(millrace_.items("instances?workflow=keeper").empty()) << "no entry was accepted";

  const HttpReply taken = post(of(event("batch", "2")), batch);
  EXPECT_EQ(taken.status, 202) << taken.body;
  EXPECT_EQ(taken.json(), (Json{{"accepted", 3}, {"duplicates", 0}}));
  EXPECT_TRUE(millrace_.has_instances("workflow=keeper&status=complete", 3));
}

TEST_F(HostileEvents, BecomeDeadLettersIfTheyLookLikeAStatusMessageOfTheBroker) {
  constexpr const char* kStatuses[] = {"503",
                                       "503 No Responders",
                                       "100 Idle Heartbeat",
                                       "404 No Messages",
                                       "408 Request Timeout",
                                       "409 Batch Completed",
                                       "409 Consumer Deleted",
                                       "400 Bad Request"};
  for (const char* const status : kStatuses) {
    client_->publish_with_status(kHostileSubject, status, "", "");
  }
  publish("", {{"Status", "503"}});
  EXPECT_EQ(letters(std::size(kStatuses) + 1),
            std::vector<std::string>(std::size(kStatuses) + 1, "event.malformed_json"));
  expect_well();
  millrace_.stop();
  client_->publish_with_status(kHostileSubject, "503", "", "");
  client_->flush();
  millrace_.start_ready();
  EXPECT_EQ(letters(std::size(kStatuses) + 2).size(), std::size(kStatuses) + 2);
  publish(event("well", "well-3"));
  EXPECT_TRUE(millrace_.has_instances("workflow=well&status=complete", 3));
}

/// The proxy corrupts each delivery of one message, so that no consumer can deliver it.
TEST_F(HostileEvents, AreLoggedAndReadIfNoConsumerCanDeliverThem) {
  millrace_.stop();
  TcpProxy proxy(nats_.port());
  proxy.spoil("default.stuck ", "$JS.ACK", "$JX.ACK");
  MillraceServer behind(proxy.nats_url());
  behind.start_ready();
  behind.apply(
      "id: well\nstart: {type: event, event: {type: well}}\nstates: [{id: done, type: noop}]\n");
  publish(event("well", "1"), {}, "millrace.events.default.stuck");
  const std::optional<std::string> line = behind.process().error_line("could not be delivered in");
  ASSERT_TRUE(line);
  EXPECT_NE(line->find("of stream MILLRACE_EVENTS on millrace.events.default.stuck"),
            std::string::npos)
      << *line;
  EXPECT_TRUE(behind.has_instances("workflow=well&status=complete", 1));
}

TEST_F(HostileEvents, CannotPushOutAnEventByItsId) {
  keep("order");
  // The id that anyone can compute, which releases had that used no key.
  const std::string guessed = to_hex(fingerprint({"default", "/hostile", "o-1"}));
  publish(event("other", "x"), {{"Nats-Msg-Id", guessed}});
  const Json again = client_->publish_acked(
      kHostileSubject, header_block({{"Nats-Msg-Id", guessed}}), event("other", "x"));
  ASSERT_TRUE(again.value("duplicate", false)) << "the stream drops a message with that id";
  EXPECT_EQ(post(event("order", "o-1", R"(,"data":7)")).status, 202);
  EXPECT_TRUE(millrace_.has_instances("workflow=keeper&status=complete", 1));
  expect_well();
}

TEST_F(HostileEvents, CannotInjectHeaders) {
  keep("t");
  const auto ask = [&](std::string_view header) {
    RawClient client(millrace_.port());
    client.send(
        fmt::format("POST /v1/ns/default/events HTTP/1.1\r\nHost: localhost\r\n"
                    "ce-specversion: 1.0\r\nce-id: 1\r\nce-source: /s\r\nce-type: t\r\n"
                    "{}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n",
                    header));
    return client.read_reply();
  };
  const struct {
    std::string header;
    const char* code;
  } rows[] = {
      {"ce-x: a\nce-type: evil", "request.malformed"},
      {"ce-x: a\rce-type: evil", "request.malformed"},
      {"ce-x: a\0b"s, "request.malformed"},
      {"ce x: a", "request.malformed"},
      {"ce-x : a", "request.malformed"},
      {": a", "request.malformed"},
      {"ce-x", "request.malformed"},
      {"ce-type: evil", "event.duplicate_attribute"},
      {"ce-x: a%0D%0ANats-Msg-Id: 1", "event.attribute_value"},
      {"ce-x: %00", "event.attribute_value"},
      {"ce-x%0D%0A: 1", "event.attribute_name"},
  };
  for (const auto& row : rows) {
    const std::optional<HttpReply> reply = ask(row.header);
    ASSERT_TRUE(reply) << row.header;
    EXPECT_EQ(reply->status, 400) << row.header;
    EXPECT_EQ(reply->code(), row.code) << row.header << ": " << reply->body;
  }
  EXPECT_TRUE(millrace_.items("instances?workflow=keeper").empty());

  // A header of NATS in the text of an attribute stays text, and millrace ignores the header
  // Nats-Expected-Stream.
  publish("", {{"ce-specversion", "1.0"},
               {"ce-id", "a\\r\\nNats-Msg-Id: 1"},
               {"ce-source", "/s"},
               {"ce-type", "t"},
               {"Nats-Expected-Stream", "MILLRACE_EVENTS"}});
  ASSERT_TRUE(millrace_.has_instances("workflow=keeper&status=complete", 1));
  expect_well();
}

}  // namespace
}  // namespace millrace
