// WireClient: a NATS client that costs as little as one can, so that the load and its listener do
// not take the processors from what is measured: text protocol on a blocking socket, no headers, no
// JetStream, one thread that reads. Trouble ends the program.
#pragma once

#include <functional>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>

namespace millrace {

class WireClient {
 public:
  /// Gets the messages that came together, one call each, and then an empty view: the moment to
  /// flush() what it has published.
  using Heard = std::function<void(std::string_view data)>;

  /// Connects, and subscribes if there is a subject. `url` is nats://host:port.
  explicit WireClient(const std::string& url, const std::string& subject = {}, Heard heard = {});
  ~WireClient();
  WireClient(const WireClient&) = delete;
  WireClient& operator=(const WireClient&) = delete;

  /// Keeps the message until flush(), or until there are many. Any thread.
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
