// A block of headers in a message that nats.c receives on its connection. A publisher may send any
// block, and the broker forwards it. If read_message() is sure of the headers, they must be those
// that parse_header_block() reads byte for byte.
// Covers: broker/nats_status.cc broker/wire.cc
#include <map>
#include <string>
#include <thread>
#include <vector>

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "broker/nats_handles.h"
#include "broker/nats_status.h"
#include "broker/wire.h"
#include "os/descriptor.h"
#include "tests/fuzz/target.h"

namespace millrace::fuzz {
namespace {

constexpr size_t kMostBlock = size_t{32} << 10;
constexpr int64_t kNatsPatienceMs = 5'000;

/// A broker with one connection, which sends what the target wants, and the connection of nats.c.
/// The connection is made once, because it takes longer than thousands of messages.
class FuzzedBroker {
 public:
  FuzzedBroker() {
    Descriptor listener(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    auto* const any = reinterpret_cast<sockaddr*>(&address);
    CHECK(::bind(listener.fd(), any, size) == 0 && ::listen(listener.fd(), 1) == 0);
    CHECK(::getsockname(listener.fd(), any, &size) == 0);
    std::thread greeter([&] { greet(listener.fd()); });
    const std::string url = fmt::format("nats://127.0.0.1:{}", ntohs(address.sin_port));
    natsStatus status = natsConnection_ConnectTo(&connection_, url.c_str());
    greeter.join();
    CHECK(status == NATS_OK, "nats.c does not connect: {}", natsStatus_GetText(status));
    status = natsConnection_SubscribeSync(&subscription_, connection_, "a");
    CHECK(status == NATS_OK, "nats.c does not subscribe: {}", natsStatus_GetText(status));
  }

  /// What nats.c makes of a message with these headers and data; null: NATS_NO_RESPONDERS.
  NatsMsgHandle deliver(std::string_view block, std::string_view data) {
    answer_pings();
    send(fmt::format("HMSG a 1 {} {}\r\n{}{}\r\n", block.size(), block.size() + data.size(), block,
                     data));
    natsMsg* message = nullptr;
    const natsStatus status = natsSubscription_NextMsg(&message, subscription_, kNatsPatienceMs);
    CHECK(status == NATS_OK || status == NATS_NO_RESPONDERS,
          "nats.c does not deliver a message: {}", natsStatus_GetText(status));
    CHECK((status == NATS_OK) == (message != nullptr));
    return NatsMsgHandle(message);
  }

 private:
  void greet(int listener) {
    socket_ = Descriptor(::accept4(listener, nullptr, nullptr, SOCK_CLOEXEC));
    send(
        "INFO {\"server_id\":\"F\",\"version\":\"2.9.10\",\"proto\":1,\"headers\":true,"
        "\"max_payload\":1048576}\r\n");
    while (received_.find("PING\r\n") == std::string::npos) {
      if (!receive(0)) return;
    }
    received_.clear();
    send("PONG\r\n");
  }

  void answer_pings() {
    while (receive(MSG_DONTWAIT)) continue;
    if (received_.find("PING\r\n") != std::string::npos) send("PONG\r\n");
    received_.clear();
  }

  bool receive(int flags) {
    char bytes[4096];
    const ssize_t got = ::recv(socket_.fd(), bytes, sizeof bytes, flags);
    if (got <= 0) return false;
    received_.append(bytes, static_cast<size_t>(got));
    return true;
  }

  void send(std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t sent = ::send(socket_.fd(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
      CHECK(sent > 0, "nats.c has closed the connection");
      bytes.remove_prefix(static_cast<size_t>(sent));
    }
  }

  Descriptor socket_;
  std::string received_;
  natsConnection* connection_ = nullptr;
  natsSubscription* subscription_ = nullptr;
};

/// Is never destroyed: nats.c has threads until the process ends.
FuzzedBroker& fuzzed_broker() {
  static FuzzedBroker& broker = *new FuzzedBroker();
  return broker;
}

/// Whether an empty value is followed by a header that is no part of an event. nats.c takes that
/// header for the value, and without blanks read_message() does not notice it.
bool may_lose_a_header(const Headers& headers) {
  for (size_t i = 1; i < headers.size(); ++i) {
    const std::string_view name = headers[i].first;
    const bool is_of_event =
        same_header(name.substr(0, 3), "ce-") || same_header(name, "content-type");
    if (headers[i - 1].second.empty() && !is_of_event) return true;
  }
  return false;
}

/// Whether the block is as clients write it, with or without a blank after each colon, and has only
/// headers that may be sent.
bool is_usual_block(std::string_view block, const Headers& headers) {
  std::string with_blanks = "NATS/1.0\r\n";
  std::string without = with_blanks;
  for (const auto& [name, value] : headers) {
    if (!is_sendable_header(name, value)) return false;
    with_blanks += name + ": " + value + "\r\n";
    without += name + ":" + value + "\r\n";
  }
  return block == with_blanks + "\r\n" ||
         (block == without + "\r\n" && !may_lose_a_header(headers));
}

/// Whether nats.c may take a message with that usual block for the broker's answer to a request
/// that no subscriber gets. nats.c reads a line after an empty value as the value.
bool may_be_no_responders(const Headers& headers) {
  for (size_t i = 0; i < headers.size(); ++i) {
    if (headers[i].first != "Status") continue;
    if (headers[i].second.starts_with("503")) return true;
    const bool has_next = i + 1 < headers.size();
    if (headers[i].second.empty() && has_next && headers[i + 1].first.starts_with("503")) {
      return true;
    }
  }
  return false;
}

/// The values of each name. nats.c does not keep the order of the names.
std::map<std::string, std::vector<std::string>> by_name(const Headers& headers) {
  std::map<std::string, std::vector<std::string>> values;
  for (const auto& [name, value] : headers) values[name].push_back(value);
  return values;
}

}  // namespace

FUZZ_TARGET(nats_connection) {
  if (bytes.empty()) return;
  const std::string_view block = bytes.substr(0, kMostBlock);
  // nats.c reports some errors only for messages without data.
  const std::string_view data = block.size() % 4 == 0 ? "" : "x";
  const NatsMsgHandle message = fuzzed_broker().deliver(block, data);
  const Headers headers = parse_header_block(block);
  if (message == nullptr) {
    CHECK(data.empty() && block.find("503") != std::string_view::npos,
          "nats.c refuses a message with data or without the status 503: {}", block);
    CHECK(!is_usual_block(block, headers) || may_be_no_responders(headers),
          "nats.c refuses a message with another status: {}", block);
    return;
  }
  NatsMessage read;
  const bool is_sure = read_message(message.get(), read);
  CHECK(read.subject == "a" && read.data == data);
  if (!is_sure || !is_usual_block(block, headers)) return;
  CHECK(by_name(read.headers) == by_name(headers), "nats.c reads other headers from {}", block);
}

}  // namespace millrace::fuzz
