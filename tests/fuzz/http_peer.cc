#include "tests/fuzz/http_peer.h"

#include <charconv>
#include <functional>
#include <memory>
#include <optional>
#include <utility>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <sys/socket.h>

#include "base/check.h"
#include "gateway/http_connection.h"
#include "gateway/problem.h"
#include "gateway/stream_places.h"
#include "os/descriptor.h"

namespace millrace::fuzz {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;

/// The part of an HttpServer that one connection needs, on one thread.
class FuzzedHost : public ConnectionHost {
 public:
  FuzzedHost(const Router& router, asio::io_context& io) : router_(router), io_(io) {}

  bool is_closed() const { return is_closed_; }
  bool is_watched() const { return is_watched_; }

  const HttpServer::Options& options() const override { return options_; }
  const Router& router() const override { return router_; }
  const std::optional<BearerToken>& token() const override { return token_; }
  const Sessions* sessions() const override { return nullptr; }
  bool stopping() const override { return false; }
  std::function<void(std::function<void()>)> post() const override {
    return [&io = io_](std::function<void()> work) { asio::post(io, std::move(work)); };
  }
  std::function<void(std::function<void()>)> on_lane(Lane /*lane*/) const override {
    return post();
  }
  const Route* answering(const Route& found) const override { return &found; }
  bool hold_answer() override { return true; }
  void release_answer() override {}
  void dispatch(const Route& route, const std::shared_ptr<Exchange>& exchange) override {
    exchange->guard([&] {
      if (const Status done = route.handler(exchange); !done) {
        exchange->answer(problem(done.error()));
      }
    });
  }
  GatewayBudget::Lease byte_lease() const override { return GatewayBudget::Lease(bytes_); }
  GatewayBudget::Lease wait_lease() const override { return GatewayBudget::Lease(waits_); }
  /// There is no place: a stream would keep the connection open.
  std::shared_ptr<StreamPlaces> stream_places() const override { return streams_; }
  bool close_slow_transfer(uint64_t /*in_need*/) override { return false; }
  void count_refused_bytes() override {}
  void does(uint64_t /*connection*/, ConnectionPlaces::Activity /*activity*/) override {
    CHECK(!is_closed_, "a connection that is closed does something");
  }
  void watch_hang_up(int /*socket*/, uint64_t /*connection*/) override { is_watched_ = true; }
  void closed(uint64_t /*connection*/) override {
    CHECK(!std::exchange(is_closed_, true), "the connection is closed twice");
  }

 private:
  const Router& router_;
  asio::io_context& io_;
  const HttpServer::Options options_;
  const std::optional<BearerToken> token_;
  const std::shared_ptr<GatewayBudget> bytes_ = std::make_shared<GatewayBudget>(uint64_t{1} << 20);
  const std::shared_ptr<GatewayBudget> waits_ = std::make_shared<GatewayBudget>(4);
  const std::shared_ptr<StreamPlaces> streams_ = std::make_shared<StreamPlaces>(0);
  bool is_closed_ = false;
  bool is_watched_ = false;
};

/// The client's end of the connection. No call blocks.
class FuzzedClient {
 public:
  explicit FuzzedClient(int socket) : socket_(socket) {}

  /// Returns false if the other end is closed.
  bool send(std::string_view bytes) {
    const ssize_t sent =
        ::send(socket_.fd(), bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    CHECK(sent < 0 || static_cast<size_t>(sent) == bytes.size(), "the socket takes no more bytes");
    return sent >= 0;
  }
  void finish_sending() { ::shutdown(socket_.fd(), SHUT_WR); }

  /// Reads what has arrived. Returns whether any byte has.
  bool receive() {
    char bytes[16384];
    const ssize_t got = ::recv(socket_.fd(), bytes, sizeof bytes, MSG_DONTWAIT);
    if (got <= 0) return false;
    received_.append(bytes, static_cast<size_t>(got));
    return true;
  }
  std::string take() && { return std::move(received_); }

 private:
  Descriptor socket_;
  std::string received_;
};

/// Runs the connection until it waits for its client.
void run_until_idle(asio::io_context& io, FuzzedClient& client) {
  bool is_idle = false;
  while (!is_idle) {
    if (io.stopped()) io.restart();
    is_idle = io.poll() == 0;
    while (client.receive()) is_idle = false;
  }
}

/// Removes the values of the Date headers: two runs may be at different times.
std::string without_dates(std::string text) {
  constexpr std::string_view kDate = "\r\nDate: ";
  for (size_t at = text.find(kDate); at != std::string::npos; at = text.find(kDate, at + 1)) {
    const size_t value = at + kDate.size();
    text.erase(value, text.find("\r\n", value) - value);
  }
  return text;
}

/// Removes the head of an answer from the bytes.
HttpAnswerText take_head(std::string_view& bytes) {
  const size_t end = bytes.find("\r\n\r\n");
  CHECK(bytes.starts_with("HTTP/1.1 ") && end != std::string_view::npos && bytes.size() > 12,
        "this is not an answer: {}", bytes);
  HttpAnswerText answer;
  std::string_view head = bytes.substr(0, end);
  bytes.remove_prefix(end + 4);
  std::from_chars(head.data() + 9, head.data() + 12, answer.status);
  for (size_t at = head.find("\r\n"); at != std::string_view::npos; at = head.find("\r\n")) {
    head.remove_prefix(at + 2);
    const std::string_view line = head.substr(0, head.find("\r\n"));
    const size_t colon = line.find(": ");
    CHECK(colon != std::string_view::npos, "the answer has a header without a value: {}", line);
    answer.headers.emplace_back(line.substr(0, colon), line.substr(colon + 2));
  }
  return answer;
}

}  // namespace

std::string answers_to(const Router& router, std::string_view bytes, size_t piece) {
  int ends[2];
  CHECK(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0);
  FuzzedClient client(ends[0]);
  asio::io_context io(1);
  FuzzedHost host(router, io);
  tcp::socket socket(io);
  socket.assign(tcp::v4(), ends[1]);
  auto connection = std::make_shared<HttpConnection>(std::move(socket), 1, false, host);
  connection->start();
  run_until_idle(io, client);
  while (!bytes.empty()) {
    const std::string_view next = bytes.substr(0, piece);
    if (!client.send(next)) break;
    bytes.remove_prefix(next.size());
    run_until_idle(io, client);
  }
  client.finish_sending();
  run_until_idle(io, client);
  if (host.is_watched()) {
    connection->hang_up();
    run_until_idle(io, client);
  }
  CHECK(host.is_closed(), "the connection stays open after its client has sent all");
  connection.reset();
  return without_dates(std::move(client).take());
}

std::vector<HttpAnswerText> split_answers(std::string_view bytes) {
  std::vector<HttpAnswerText> answers;
  while (!bytes.empty()) {
    HttpAnswerText answer = take_head(bytes);
    if (answer.status == 100) continue;
    CHECK(answer.status >= 200 && answer.status <= 599, "the status is {}", answer.status);
    const std::string* const length = find_header(answer.headers, "Content-Length");
    CHECK((length == nullptr) == (answer.status == 204));
    size_t size = 0;
    if (length != nullptr) {
      std::from_chars(length->data(), length->data() + length->size(), size);
    }
    // All bodies of the gateway are longer than that, and begin in another way.
    const bool is_without_body = bytes.empty() || bytes.starts_with("HTTP/1.1 ");
    if (!is_without_body) {
      CHECK(size <= bytes.size(), "the body of an answer is cut");
      answer.body = std::string(bytes.substr(0, size));
      bytes.remove_prefix(size);
    }
    answers.push_back(std::move(answer));
  }
  return answers;
}

}  // namespace millrace::fuzz
