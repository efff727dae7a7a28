// EventStreamTest: an event stream on a real nats-server, with its deliveries and losses.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "broker/event_stream.h"
#include "tests/unit/broker/collecting_sink.h"

namespace millrace {

class EventStreamTest : public NatsFixture {
 protected:
  /// Publishes the events `from` to `to` - 1. Returns when the stream has all of them: since
  /// version 2.10 a nats-server stores messages some time after it has read them.
  void publish(size_t from, size_t to) {
    for (size_t i = from; i + 1 < to; ++i) {
      client_->publish(kEventSubject, event_json(std::to_string(i)));
    }
    const Json ack = client_->publish_acked(kEventSubject, "", event_json(std::to_string(to - 1)));
    EXPECT_FALSE(ack.contains("error")) << ack;
  }

  StreamInfo ensure() {
    const Result<StreamInfo> info = ensure_stream(*connection_, events_stream());
    EXPECT_TRUE(info) << info.error().message;
    return *info;
  }

  /// The names of all consumers on the event stream.
  std::vector<std::string> consumers() {
    const Json answer = client_->api("CONSUMER.NAMES.MILLRACE_EVENTS");
    return answer.value("consumers", std::vector<std::string>());
  }

  std::vector<BrokerLoss> losses() {
    const std::lock_guard lock(losses_mutex_);
    return losses_;
  }

  std::unique_ptr<Connection> connection_ = server_.connect();
  std::unique_ptr<RawNatsClient> client_ = server_.client();
  CollectingSink sink_;
  std::mutex losses_mutex_;
  std::vector<BrokerLoss> losses_;
  JetStreamEvents events_{*connection_,
                          EventStreamSettings{.pull = kPatientPull, .on_loss = [this](auto& loss) {
                                                const std::lock_guard lock(losses_mutex_);
                                                losses_.push_back(loss);
                                              }}};
};

}  // namespace millrace
