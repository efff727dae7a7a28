// LiveSink: where the live messages for one client go. Any thread.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

namespace millrace {

class LiveSink {
 public:
  virtual ~LiveSink() = default;

  /// Queues bytes; several sinks may share them. Returns false if the client has left, or has not
  /// read so much that the stream ends.
  virtual bool send(std::shared_ptr<const std::string> text) = 0;
  /// Queues the last bytes; the stream ends behind them.
  virtual void end(std::shared_ptr<const std::string> text) = 0;
  /// Whether bytes that are queued may still reach the client.
  virtual bool is_open() const = 0;
  /// The bytes that wait.
  virtual size_t queued() const = 0;
};

/// A message of a stream of server-sent events. `data`: one line. `id` may be empty.
inline std::string live_message(const std::string& event, const std::string& id,
                                const std::string& data) {
  return "event: " + event + "\n" + (id.empty() ? "" : "id: " + id + "\n") + "data: " + data +
         "\n\n";
}

/// The message that says why a client must read everything again: `restart`, `overrun`, `deleted`
/// or `stopping`.
inline std::shared_ptr<const std::string> reset_message(const std::string& why) {
  return std::make_shared<const std::string>(
      live_message("reset", "", R"({"why":")" + why + R"("})"));
}

/// Whether the message is the last one of its stream: behind `restart` a stream continues.
inline bool ends_stream(std::string_view message) {
  return message.starts_with("event: reset\n") && message != *reset_message("restart");
}

}  // namespace millrace
