// JetStreamLogFixture: the log of a cluster on a real nats-server, and nodes that append to it.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "broker/jetstream_log.h"
#include "broker/log_stream.h"
#include "tests/support/judged_log.h"
#include "tests/support/nats_fixture.h"

namespace millrace {

class JetStreamLogFixture : public NatsFixture {
 protected:
  JetStreamLogFixture() {
    const Result<StreamInfo> founded = found_log(*connection_, log_);
    EXPECT_TRUE(founded) << founded.error().message;
  }

  /// A node with that history, whose names are made of the number.
  std::unique_ptr<JetStreamLog> node(uint8_t number, const LogHistory& history) {
    return std::make_unique<JetStreamLog>(
        *connection_,
        JetStreamLogSettings{.stream = log_,
                             .key = kTestLogKey,
                             .node = random_name_of(number),
                             .incarnation = random_name_of(number),
                             .format = kTestLogFormat},
        history);
  }
  /// A node that has read the whole log and is the active now.
  std::unique_ptr<JetStreamLog> active(uint8_t number) {
    std::unique_ptr<JetStreamLog> made = node(number, judged().history);
    const Status began = made->begin(kBegin);
    EXPECT_TRUE(began) << began.error().message;
    return made;
  }

  JudgedLog judged() {
    Result<JudgedLog> read = judged_log(*connection_, log_);
    EXPECT_TRUE(read) << read.error().message;
    return read ? *std::move(read) : JudgedLog();
  }

  inline static const LogBegin kBegin{.address = "http://a:1", .version = "1"};

  std::unique_ptr<Connection> connection_ = server_.connect();
  std::unique_ptr<RawNatsClient> client_ = server_.client();
  const StreamSettings log_ = log_stream("shop");
};

}  // namespace millrace
