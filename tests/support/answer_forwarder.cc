#include "tests/support/answer_forwarder.h"

#include <array>
#include <cerrno>
#include <utility>

#include <arpa/inet.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

#include "base/check.h"
#include "base/json.h"

namespace millrace {
namespace {

/// How much of an answer is shown with its fault.
constexpr size_t kShownBytes = 2000;

constexpr short kReadable = POLLIN | POLLHUP | POLLERR;

sockaddr_in loopback_address(uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

Descriptor new_socket() {
  return Descriptor(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
}

void send_without_delay(const Descriptor& socket) {
  const int yes = 1;
  ::setsockopt(socket.fd(), IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
}

bool is_temporary(int error) { return error == EAGAIN || error == EINTR; }

/// A file for poll(); without events, poll() must not report the end of the connection either.
pollfd watched(const Descriptor& socket, int events) {
  return {.fd = events == 0 ? -1 : socket.fd(), .events = static_cast<short>(events), .revents = 0};
}

/// Reads bytes if the socket may have some and none wait in `way`, and calls `see` with them.
/// Returns false if the connection is broken.
template <class Way, class See>
bool receive_bytes(const Descriptor& from, short events, Way& way, const See& see) {
  if ((events & kReadable) == 0 || way.has_ended || !way.bytes.empty()) return true;
  std::array<char, AnswerForwarder::kMostQueued> bytes;
  const ssize_t got = ::recv(from.fd(), bytes.data(), bytes.size(), 0);
  if (got < 0) return is_temporary(errno);
  way.has_ended = got == 0;
  way.bytes.assign(bytes.data(), static_cast<size_t>(got));
  see(way.bytes);
  return true;
}

/// Writes the bytes that the socket takes, and the end behind the last of them. Returns false if
/// the connection is broken.
template <class Way>
bool send_bytes(const Descriptor& to, Way& way) {
  while (!way.bytes.empty()) {
    const ssize_t sent = ::send(to.fd(), way.bytes.data(), way.bytes.size(), MSG_NOSIGNAL);
    if (sent < 0) return is_temporary(errno);
    way.bytes.erase(0, static_cast<size_t>(sent));
  }
  if (way.has_ended && !way.is_closed) {
    ::shutdown(to.fd(), SHUT_WR);
    way.is_closed = true;
  }
  return true;
}

}  // namespace

AnswerForwarder::AnswerForwarder(uint16_t server, Check check)
    : server_(server), check_(std::move(check)), listener_(new_socket()) {
  sockaddr_in address = loopback_address(0);
  socklen_t size = sizeof address;
  auto* const any = reinterpret_cast<sockaddr*>(&address);
  CHECK(::bind(listener_.fd(), any, size) == 0);
  CHECK(::listen(listener_.fd(), SOMAXCONN) == 0);
  CHECK(::getsockname(listener_.fd(), any, &size) == 0);
  port_ = ntohs(address.sin_port);
  CHECK(wake_.fd() >= 0);
  thread_ = std::thread(&AnswerForwarder::run, this);
}

AnswerForwarder::~AnswerForwarder() {
  is_stopping_ = true;
  wake_.set();
  thread_.join();
  for (const std::string& fault : take_faults()) ADD_FAILURE() << fault;
}

std::string AnswerForwarder::url() const { return fmt::format("http://127.0.0.1:{}", port_); }

std::vector<std::string> AnswerForwarder::take_faults() {
  const std::lock_guard lock(mutex_);
  std::vector<std::string> faults = std::exchange(faults_, {});
  const size_t more = std::exchange(more_faults_, 0);
  if (more > 0) faults.push_back(fmt::format("{} more answers have faults", more));
  return faults;
}

void AnswerForwarder::on_answer(const AskedFor& asked, const HttpReply& reply) {
  const bool is_stream = reply.header("Content-Type").starts_with("text/event-stream");
  if (!reply.has_whole_body && !is_stream) ++too_large_;
  const std::string fault = check_(asked.method, asked.target, reply);
  if (!fault.empty()) add_fault(asked, fmt::format("{}: {}", reply.status, fault), reply.body);
}

void AnswerForwarder::on_event_data(const AskedFor& asked, std::string_view data) {
  if (!is_own_json(data)) add_fault(asked, "the data of an event is not JSON", data);
}

void AnswerForwarder::on_malformed(const AskedFor& asked, std::string_view line) {
  add_fault(asked, "the answer is not HTTP", line);
}

void AnswerForwarder::add_fault(const AskedFor& asked, std::string_view fault,
                                std::string_view text) {
  const std::lock_guard lock(mutex_);
  if (faults_.size() == kMostFaults) {
    ++more_faults_;
    return;
  }
  faults_.push_back(fmt::format("{} {} → {}\n{}", asked.method, asked.target, fault,
                                text.substr(0, kShownBytes)));
}

void AnswerForwarder::run() {
  while (!is_stopping_) {
    std::vector<pollfd> files = {
        {wake_.fd(), POLLIN, 0},
        watched(listener_, connections_.size() < kMostConnections ? POLLIN : 0)};
    for (const Connection& one : connections_) {
      const auto events = [](const Way& in, const Way& out) {
        return (in.bytes.empty() && !in.has_ended ? POLLIN : 0) | (out.bytes.empty() ? 0 : POLLOUT);
      };
      files.push_back(watched(one.client, events(one.requests, one.answers)));
      files.push_back(watched(one.server, events(one.answers, one.requests)));
    }
    if (::poll(files.data(), files.size(), -1) < 0) {
      CHECK(errno == EINTR);
      continue;
    }
    auto file = files.begin() + 2;
    for (auto one = connections_.begin(); one != connections_.end(); file += 2) {
      one =
          serve(*one, file[0].revents, file[1].revents) ? std::next(one) : connections_.erase(one);
    }
    if (files[1].revents != 0) accept_one();
  }
}

void AnswerForwarder::accept_one() {
  Descriptor client(::accept4(listener_.fd(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
  if (!client) return;
  Descriptor server = new_socket();
  const sockaddr_in address = loopback_address(server_);
  const int connected =
      ::connect(server.fd(), reinterpret_cast<const sockaddr*>(&address), sizeof address);
  if (connected != 0 && errno != EINPROGRESS) return;
  send_without_delay(client);
  send_without_delay(server);
  AnswerSink& sink = *this;
  connections_.emplace_back(std::move(client), std::move(server), sink);
}

bool AnswerForwarder::serve(Connection& connection, short client, short server) {
  Way& requests = connection.requests;
  Way& answers = connection.answers;
  AnswerReader& reader = connection.reader;
  if (!receive_bytes(connection.client, client, requests,
                     [&](std::string_view bytes) { reader.client_sent(bytes); })) {
    return false;
  }
  if (!receive_bytes(connection.server, server, answers, [&](std::string_view bytes) {
        reader.server_sent(bytes);
        if (answers.has_ended) reader.server_ended();
      })) {
    return false;
  }
  return send_bytes(connection.server, requests) && send_bytes(connection.client, answers) &&
         !(requests.is_closed && answers.is_closed);
}

}  // namespace millrace
