// Messages for a stream of the broker, as fast as the stream stores them. Errors end the program.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "bench/wire_client.h"
#include "broker/connection.h"

namespace millrace {

/// Makes a stream on a subject, as a program other than millrace would: on disk, without limits.
void make_plain_stream(const std::string& url, const std::string& stream,
                       const std::string& subject);

/// Publishes to one stream. It is never far ahead of the stream, because nats-server drops messages
/// without an acknowledgement if too many of them wait to be stored. While the object is used,
/// nothing else may publish to the stream. For one thread.
class StreamLoad {
 public:
  StreamLoad(const std::string& url, std::string stream);

  /// Buffers the message. May wait until the stream has stored earlier messages.
  void publish(std::string_view subject, std::string_view data);
  /// Waits until the stream has stored all messages.
  void finish();

 private:
  uint64_t last_stored() const;
  /// Flushes, and waits until at most `ahead` messages are published and not stored.
  void wait_for_stream(uint64_t ahead);

  const std::string stream_;
  std::unique_ptr<Connection> connection_;
  WireClient client_;
  uint64_t published_ = 0;  ///< the sequence that the newest message will have
  uint64_t stored_ = 0;     ///< the last sequence, when it was read last
};

}  // namespace millrace
