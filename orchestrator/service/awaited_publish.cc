#include "orchestrator/service/awaited_publish.h"

#include <chrono>
#include <future>
#include <memory>
#include <utility>

namespace millrace {
namespace {

/// A publisher reports each outcome itself; this is longer than its own timeout.
constexpr std::chrono::seconds kLongestWait(20);

}  // namespace

std::vector<Result<PublishAck>> publish_and_wait(Publisher& publisher,
                                                 std::vector<NatsMessage> messages) {
  std::vector<std::future<Result<PublishAck>>> waiting;
  for (NatsMessage& message : messages) {
    const auto acked = std::make_shared<std::promise<Result<PublishAck>>>();
    waiting.push_back(acked->get_future());
    publisher.publish(std::move(message),
                      [acked](Result<PublishAck> ack) { acked->set_value(std::move(ack)); });
  }
  const auto until = std::chrono::steady_clock::now() + kLongestWait;
  std::vector<Result<PublishAck>> outcomes;
  for (std::future<Result<PublishAck>>& one : waiting) {
    if (one.wait_until(until) == std::future_status::ready) {
      outcomes.push_back(one.get());
    } else {
      outcomes.emplace_back(fail("broker.timeout", "the event was not acknowledged in time"));
    }
  }
  return outcomes;
}

}  // namespace millrace
