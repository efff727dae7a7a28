// StreamWatchers: clients of a millrace server that watch streams of live messages (server-sent
// events). Each has a connection of its own, and one thread reads all of them. Errors end the
// program.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <thread>
#include <vector>

namespace millrace {

class StreamWatchers {
 public:
  /// Opens a stream for each path, and returns when each has got its first message. `url` is that
  /// of the server, without a path.
  StreamWatchers(const std::string& url, const std::vector<std::string>& paths);
  ~StreamWatchers();
  StreamWatchers(const StreamWatchers&) = delete;
  StreamWatchers& operator=(const StreamWatchers&) = delete;

  /// The bytes that all streams have got so far.
  uint64_t bytes() const { return bytes_; }

 private:
  void read();

  std::vector<int> sockets_;
  std::atomic<bool> stops_ = false;
  std::atomic<size_t> opened_ = 0;  ///< streams that have got a message
  std::atomic<uint64_t> bytes_ = 0;
  std::thread reader_;  // the last member, because it uses the others
};

}  // namespace millrace
