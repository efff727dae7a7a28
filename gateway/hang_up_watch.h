// HangUpWatch: reports that the peer of a socket has closed its side, also while bytes of the peer
// wait to be read. Asio reports only that a socket is readable, which such bytes make it already.
// So the sockets are in an epoll instance of their own, which Asio watches. Only on the thread of
// the io_context.
#pragma once

#include <cstdint>
#include <functional>
#include <utility>

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>

#include "base/result.h"

namespace millrace {

class HangUpWatch {
 public:
  using OnHangUp = std::function<void(uint64_t id)>;

  HangUpWatch(boost::asio::io_context& io, OnHangUp on_hang_up)
      : descriptor_(io), on_hang_up_(std::move(on_hang_up)) {}

  /// Must be called first. Error `gateway.listen`: the system has no descriptor left.
  Status open();

  /// Reports the next hang-up of the socket's peer once, under this id; the socket may be added
  /// again. A socket that is closed is no longer watched.
  void add(int socket, uint64_t id);

  /// Ends the watch: nothing is reported any more, and the io_context may end.
  void close();

 private:
  void wait();
  void report();

  boost::asio::posix::stream_descriptor descriptor_;  ///< the epoll instance
  const OnHangUp on_hang_up_;
};

}  // namespace millrace
