// Many instances at once on a real server and broker: each generated event is published once, and
// the log has no warning.
#include <chrono>
#include <cstdlib>
#include <map>
#include <string>

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "broker/publisher.h"
#include "tests/support/millrace_server.h"

namespace millrace {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr const char* kLoadOrder = R"(
id: order
start: {type: event, event: {type: placed}}
states:
- id: wait
  type: consumeEvent
  event: {type: paid, context: {order: 'jq(.placed.order)'}}
  timeout: PT1H
  transition: tell
- id: tell
  type: generateEvent
  event: {type: shipped, source: orders, data: 'jq(.placed.order)'}
)";

/// Whether the line of a log says that the broker did not answer in time, as on a busy machine.
bool is_of_a_late_broker(const std::string& line) {
  for (const char* const text : {"no message or heartbeat came", "took too long", "did not answer",
                                 "Timeout", "the connection to NATS was lost"}) {
    if (line.find(text) != std::string::npos) return true;
  }
  return false;
}

class Load : public MillraceTest {
 protected:
  /// Publishes the event that starts the instance of this order, and the event that the instance
  /// waits for.
  void start(size_t number) {
    for (const char* const type : {"placed", "paid"}) {
      client_->publish(
          fmt::format("millrace.events.default.{}", type),
          fmt::format(R"({{"specversion":"1.0","id":"{0}-{1}","source":"shop","type":"{0}",)"
                      R"("order":"{1}","data":{{"order":"{1}"}}}})",
                      type, number));
    }
  }

  std::unique_ptr<RawNatsClient> client_ = nats_.client();
};

TEST_F(Load, CausesOneGeneratedEventForEachInstanceAndNoWarning) {
  const char* const wanted = std::getenv("MILLRACE_LIFECYCLES");
  const size_t count = wanted == nullptr ? 4'000 : std::stoul(wanted);
  constexpr size_t kInFlight = 512;
  millrace_.apply(kLoadOrder);
  const std::string subject = "millrace.events.default.shipped";
  client_->subscribe(subject);
  const auto began = std::chrono::steady_clock::now();
  std::map<std::string, int> shipped;
  size_t started = 0;
  while (shipped.size() < count) {
    while (started < count && started < shipped.size() + kInFlight) start(started++);
    client_->flush();
    const std::optional<RawNatsClient::Message> message = client_->next(kPatience);
    ASSERT_TRUE(message) << "received " << shipped.size() << " of " << count;
    const auto add = [&](const RawNatsClient::Message& one) {
      ++shipped[parse_json(one.data)->at("data").get<std::string>()];
    };
    add(*message);
    while (const auto next = client_->next(Duration(0))) add(*next);
  }
  EXPECT_TRUE(eventually([&] {
    return millrace_.ask("GET", "/metrics").body.find("\nmillrace_outbox_in_flight 0\n") !=
           std::string::npos;
  }));
  client_->flush();  // an acknowledged message has been sent to the subscriber before
  while (const auto next = client_->next(Duration(0))) {
    ++shipped[parse_json(next->data)->at("data").get<std::string>()];
  }
  size_t twice = 0;
  for (const auto& [order, times] : shipped) twice += times > 1;
  // On a busy machine an acknowledgement may come so late that its event is sent again. The stream
  // drops such an event, and subscribers receive it.
  if (std::chrono::steady_clock::now() - began < kAckTimeout) {
    EXPECT_EQ(twice, 0u) << "repeated, of " << count << " generated events";
  }
  const Json info = client_->api("STREAM.INFO.MILLRACE_EVENTS", {{"subjects_filter", subject}});
  EXPECT_EQ(info["state"]["subjects"][subject], count) << "generated events in the stream";
  // The warning of a new data folder shows that the log has warnings.
  std::vector<std::string> complaints = complaints_in(millrace_.process().errors());
  std::erase_if(complaints, is_of_a_late_broker);
  EXPECT_THAT(complaints, ElementsAre(HasSubstr("warning generated the secret key")));
}

}  // namespace
}  // namespace millrace
