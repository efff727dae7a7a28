// A NATS client on a plain socket, for tests. The client can send valid and invalid bytes, and does
// not use the code under test. For use by one thread. A lost connection or a missing answer ends
// the test program.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/time.h"
#include "tests/support/patience.h"

namespace millrace {

class RawNatsClient {
 public:
  struct Message {
    std::string subject;
    std::string reply;
    std::string headers;  ///< the raw block with `NATS/1.0…`; empty if there is none
    std::string data;
  };

  /// The login for a broker that requires one.
  struct Login {
    std::string user = {};
    std::string password = {};
    std::string inbox = "_TEST";  ///< the prefix of the client's inboxes
  };

  explicit RawNatsClient(uint16_t port) : RawNatsClient(port, Login()) {}
  RawNatsClient(uint16_t port, const Login& login);
  ~RawNatsClient();
  RawNatsClient(const RawNatsClient&) = delete;
  RawNatsClient& operator=(const RawNatsClient&) = delete;

  /// Publishes without waiting. After flush() the broker has the message.
  void publish(std::string_view subject, std::string_view data, std::string_view reply = "");

  /// `headers` is the block between the version line and the empty line: `A: 1\r\nB: 2\r\n`.
  void publish(std::string_view subject, std::string_view headers, std::string_view data,
               std::string_view reply);

  /// Publishes a message whose header block begins with a status line, as messages of the broker
  /// itself do: `status` is the text after `NATS/1.0 `, `headers` are as above.
  void publish_with_status(std::string_view subject, std::string_view status,
                           std::string_view headers, std::string_view data);

  /// Returns when the broker has processed everything that the client has sent.
  void flush();

  /// Returns when the broker has the subscription. One client can have many subscriptions.
  void subscribe(std::string_view subject);

  /// The next message of the subscriptions; nullopt if none comes within `at_most`.
  std::optional<Message> next(Duration at_most = kPatience);

  /// Sends a request to `$JS.API.<subject>`; returns the answer, which may be an error.
  Json api(std::string_view subject, const Json& body = Json::object());

  /// Publishes a message to a stream; waits for the stream's answer and returns it.
  Json publish_acked(std::string_view subject, std::string_view headers, std::string_view data);

  /// The error lines (`-ERR`) that the broker has sent.
  const std::vector<std::string>& complaints() const { return complaints_; }

 private:
  void publish_block(std::string_view subject, std::string_view block, std::string_view data,
                     std::string_view reply);
  Message request(std::string_view subject, std::string_view headers, std::string_view data);
  void send(std::string_view bytes);
  bool fill(Duration at_most);
  std::string read_line();
  std::string read_bytes(size_t size);
  bool read_one(Duration at_most);

  const bool has_login_;
  int socket_ = -1;
  std::string out_;
  std::string in_;
  size_t in_at_ = 0;
  uint64_t pongs_ = 0;
  uint64_t requests_ = 0;
  uint64_t subscriptions_ = 0;  ///< without the inbox
  std::string inbox_;
  std::deque<Message> messages_;
  std::deque<Message> answers_;
  std::vector<std::string> complaints_;
};

}  // namespace millrace
