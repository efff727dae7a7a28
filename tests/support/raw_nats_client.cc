#include "tests/support/raw_nats_client.h"

#include <chrono>
#include <sstream>
#include <vector>

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/check.h"

namespace millrace {
namespace {

constexpr size_t kWriteBytes = 64 << 10;
/// The number of the subscription of the client's inbox.
constexpr uint64_t kInbox = 1;

std::vector<std::string> words(const std::string& line) {
  std::istringstream stream(line);
  std::vector<std::string> out;
  for (std::string word; stream >> word;) out.push_back(word);
  return out;
}

}  // namespace

RawNatsClient::RawNatsClient(uint16_t port, const Login& login) : has_login_(!login.user.empty()) {
  socket_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  CHECK(::connect(socket_, reinterpret_cast<sockaddr*>(&address), sizeof(address)) == 0, "port {}",
        port);
  const int yes = 1;
  ::setsockopt(socket_, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof(yes));
  CHECK(read_line().starts_with("INFO "));
  inbox_ = fmt::format("{}.{}.{}", login.inbox, ::getpid(), static_cast<const void*>(this));
  Json connect = {{"verbose", false}, {"headers", true}, {"no_responders", true}};
  if (has_login_) {
    connect["user"] = login.user;
    connect["pass"] = login.password;
  }
  send(fmt::format("CONNECT {}\r\nSUB {}.* {}\r\n", dump_json(connect), inbox_, kInbox));
  flush();
}

RawNatsClient::~RawNatsClient() { ::close(socket_); }

void RawNatsClient::publish(std::string_view subject, std::string_view data,
                            std::string_view reply) {
  send(fmt::format("PUB {} {} {}\r\n", subject, reply, data.size()));
  send(data);
  send("\r\n");
}

void RawNatsClient::publish(std::string_view subject, std::string_view headers,
                            std::string_view data, std::string_view reply) {
  publish_block(subject, fmt::format("NATS/1.0\r\n{}\r\n", headers), data, reply);
}

void RawNatsClient::publish_with_status(std::string_view subject, std::string_view status,
                                        std::string_view headers, std::string_view data) {
  publish_block(subject, fmt::format("NATS/1.0 {}\r\n{}\r\n", status, headers), data, "");
}

void RawNatsClient::publish_block(std::string_view subject, std::string_view block,
                                  std::string_view data, std::string_view reply) {
  send(fmt::format("HPUB {} {} {} {}\r\n", subject, reply, block.size(),
                   block.size() + data.size()));
  send(block);
  send(data);
  send("\r\n");
}

void RawNatsClient::flush() {
  const uint64_t wanted = pongs_ + 1;
  send("PING\r\n");
  while (pongs_ < wanted) CHECK(read_one(kPatience), "no PONG");
}

void RawNatsClient::subscribe(std::string_view subject) {
  // The broker ignores a subscription whose number another subscription of the client has.
  send(fmt::format("SUB {} {}\r\n", subject, kInbox + ++subscriptions_));
  flush();
}

std::optional<RawNatsClient::Message> RawNatsClient::next(Duration at_most) {
  const auto deadline = std::chrono::steady_clock::now() + at_most;
  while (messages_.empty()) {
    const auto left =
        std::chrono::duration_cast<Duration>(deadline - std::chrono::steady_clock::now());
    if (left <= Duration::zero() || !read_one(left)) return std::nullopt;
  }
  Message message = std::move(messages_.front());
  messages_.pop_front();
  return message;
}

Json RawNatsClient::api(std::string_view subject, const Json& body) {
  const Result<Json> answer =
      parse_json(request(fmt::format("$JS.API.{}", subject), "", dump_json(body)).data);
  CHECK(answer.has_value(), "the answer to {} is not JSON", subject);
  return *answer;
}

Json RawNatsClient::publish_acked(std::string_view subject, std::string_view headers,
                                  std::string_view data) {
  const Result<Json> answer = parse_json(request(subject, headers, data).data);
  CHECK(answer.has_value(), "the acknowledgement from {} is not JSON", subject);
  return *answer;
}

RawNatsClient::Message RawNatsClient::request(std::string_view subject, std::string_view headers,
                                              std::string_view data) {
  const std::string reply = fmt::format("{}.{}", inbox_, ++requests_);
  if (headers.empty()) {
    publish(subject, data, reply);
  } else {
    publish(subject, headers, data, reply);
  }
  flush();  // sends the buffered request and waits for the PONG
  while (true) {
    while (!answers_.empty()) {
      Message answer = std::move(answers_.front());
      answers_.pop_front();
      if (answer.subject == reply) return answer;
    }
    CHECK(read_one(kPatience), "no answer from {}", subject);
  }
}

/// Buffers small writes. flush() and functions that wait for an answer send them.
void RawNatsClient::send(std::string_view bytes) {
  out_ += bytes;
  if (out_.size() < kWriteBytes && bytes != "PING\r\n" && bytes != "PONG\r\n") return;
  for (size_t at = 0; at < out_.size();) {
    const ssize_t sent = ::send(socket_, out_.data() + at, out_.size() - at, MSG_NOSIGNAL);
    CHECK(sent > 0, "the server closed the connection");
    at += static_cast<size_t>(sent);
  }
  out_.clear();
}

bool RawNatsClient::fill(Duration at_most) {
  pollfd wait{.fd = socket_, .events = POLLIN, .revents = 0};
  if (::poll(&wait, 1, static_cast<int>(at_most.count())) <= 0) return false;
  if (in_at_ > 0) {
    in_.erase(0, in_at_);
    in_at_ = 0;
  }
  char buffer[64 << 10];
  const ssize_t size = ::recv(socket_, buffer, sizeof(buffer), 0);
  CHECK(size > 0, "the server closed the connection");
  in_.append(buffer, static_cast<size_t>(size));
  return true;
}

std::string RawNatsClient::read_line() {
  size_t end = 0;
  while ((end = in_.find("\r\n", in_at_)) == std::string::npos) CHECK(fill(kPatience));
  std::string line = in_.substr(in_at_, end - in_at_);
  in_at_ = end + 2;
  return line;
}

std::string RawNatsClient::read_bytes(size_t size) {
  while (in_.size() - in_at_ < size + 2) CHECK(fill(kPatience));
  std::string bytes = in_.substr(in_at_, size);
  in_at_ += size + 2;
  return bytes;
}

/// Processes one line of the broker, with the payload that follows the line; false if no line came
/// in time.
bool RawNatsClient::read_one(Duration at_most) {
  if (in_at_ == in_.size() && !fill(at_most)) return false;
  const std::string line = read_line();
  const std::vector<std::string> word = words(line);
  if (word.empty()) return true;
  if (word[0] == "-ERR") {
    CHECK(has_login_, "{}", line);  // if the client did not log in, it expects no error
    complaints_.push_back(line);
    return true;
  }
  if (word[0] == "PING") {
    send("PONG\r\n");
  } else if (word[0] == "PONG") {
    ++pongs_;
  } else if (word[0] == "MSG" || word[0] == "HMSG") {
    const bool with_headers = word[0] == "HMSG";
    const size_t plain = with_headers ? 5 : 4;
    Message message{.subject = word[1], .reply = word.size() > plain ? word[3] : ""};
    message.data = read_bytes(std::stoul(word.back()));
    if (with_headers) {
      const size_t size = std::stoul(word[word.size() - 2]);
      message.headers = message.data.substr(0, size);
      message.data.erase(0, size);
    }
    (word[2] == std::to_string(kInbox) ? answers_ : messages_).push_back(std::move(message));
  }
  return true;
}

}  // namespace millrace
