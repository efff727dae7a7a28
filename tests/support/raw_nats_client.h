// A NATS client on a plain socket, for tests: it sends what a test writes, right or wrong, and
// knows nothing of the code under test. One thread; a lost connection or a missing answer ends the
// test.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/time.h"

namespace millrace {

class RawNatsClient {
 public:
  struct Message {
    std::string subject;
    std::string reply;
    std::string headers;  ///< the block as it came, `NATS/1.0…` included; empty: none
    std::string data;
  };

  /// Who it is for a server that asks.
  struct Login {
    std::string user = {};
    std::string password = {};
    std::string inbox = "_TEST";  ///< what its inboxes begin with
  };

  explicit RawNatsClient(uint16_t port) : RawNatsClient(port, Login()) {}
  RawNatsClient(uint16_t port, const Login& login);
  ~RawNatsClient();
  RawNatsClient(const RawNatsClient&) = delete;
  RawNatsClient& operator=(const RawNatsClient&) = delete;

  /// Without waiting; flush() tells when the server has it.
  void publish(std::string_view subject, std::string_view data, std::string_view reply = "");

  /// `headers` is the block between the version line and the empty line: `A: 1\r\nB: 2\r\n`.
  void publish(std::string_view subject, std::string_view headers, std::string_view data,
               std::string_view reply);

  /// A message whose header block begins with a status line, as one of the server itself does:
  /// `status` is what follows `NATS/1.0 `, `headers` as above.
  void publish_with_status(std::string_view subject, std::string_view status,
                           std::string_view headers, std::string_view data);

  /// Returns when the server has worked off all that was sent.
  void flush();

  void subscribe(std::string_view subject);

  /// The next message of the subscriptions; nullopt: none within `at_most`.
  std::optional<Message> next(Duration at_most = Duration(10'000));

  /// A request to `$JS.API.<subject>`; the answer, an error's too.
  Json api(std::string_view subject, const Json& body = Json::object());

  /// Publishes into a stream and waits: the answer of the stream.
  Json publish_acked(std::string_view subject, std::string_view headers, std::string_view data);

  /// What the server complained about, line by line.
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
  std::string inbox_;
  std::deque<Message> messages_;
  std::deque<Message> answers_;
  std::vector<std::string> complaints_;
};

}  // namespace millrace
