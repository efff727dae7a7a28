#include "gateway/hang_up_watch.h"

#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include <fmt/format.h>
#include <sys/epoll.h>

namespace millrace {

Status HangUpWatch::open() {
  const int instance = ::epoll_create1(EPOLL_CLOEXEC);
  if (instance < 0) {
    return fail("gateway.listen",
                fmt::format("cannot watch connections: {}", std::strerror(errno)));
  }
  descriptor_.assign(instance);
  wait();
  return {};
}

void HangUpWatch::add(int socket, uint64_t id) {
  if (!descriptor_.is_open()) return;
  epoll_event event{};
  event.events = EPOLLRDHUP | EPOLLONESHOT;
  event.data.u64 = id;
  const int instance = descriptor_.native_handle();
  if (::epoll_ctl(instance, EPOLL_CTL_ADD, socket, &event) == 0 || errno != EEXIST) return;
  ::epoll_ctl(instance, EPOLL_CTL_MOD, socket, &event);
}

void HangUpWatch::close() {
  boost::system::error_code ignored;
  descriptor_.close(ignored);
}

void HangUpWatch::wait() {
  descriptor_.async_wait(boost::asio::posix::stream_descriptor::wait_read,
                         [this](boost::system::error_code error) {
                           if (error || !descriptor_.is_open()) return;
                           report();
                           if (descriptor_.is_open()) wait();
                         });
}

void HangUpWatch::report() {
  std::array<epoll_event, 64> events{};
  const int count =
      ::epoll_wait(descriptor_.native_handle(), events.data(), static_cast<int>(events.size()), 0);
  for (int i = 0; i < count; ++i) on_hang_up_(events[static_cast<size_t>(i)].data.u64);
}

}  // namespace millrace
