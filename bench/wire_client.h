// WireClient: a NATS client that uses as little processor time as possible, so that generating and
// receiving the load does not slow down the measured processes. A WireClient speaks the text
// protocol of NATS, without headers and JetStream, on a blocking socket that one thread reads.
// Errors end the program.
#pragma once

#include <functional>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>

namespace millrace {

/// Opens a TCP connection to the address of a URL, such as nats://127.0.0.1:4222. Returns a
/// blocking socket. Errors end the program.
int connect_to(const std::string& url);

class WireClient {
 public:
  /// Called with the data of each message that was read, and with an empty string_view after each
  /// read of the socket, so that the callee can flush() the messages that it has published. Called
  /// on the reading thread.
  using Heard = std::function<void(std::string_view data)>;

  /// Connects, and subscribes if `subject` is not empty. `url` is nats://IPV4:PORT.
  explicit WireClient(const std::string& url, const std::string& subject = {}, Heard heard = {});
  ~WireClient();
  WireClient(const WireClient&) = delete;
  WireClient& operator=(const WireClient&) = delete;

  /// Buffers the message until flush(), or until 256 KiB are buffered. Any thread.
  void publish(std::string_view subject, std::string_view data);
  void flush();

 private:
  void read();
  size_t take(std::string_view bytes);
  void write();

  Heard heard_;
  int socket_ = -1;
  std::mutex lock_;  // guards out_ and writing to the socket
  std::string out_;
  std::thread reader_;
};

}  // namespace millrace
