// FilesOfCall: what a service knows of the files of its call, and how it reads and writes them.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "tests/support/millrace_server.h"
#include "tests/unit/gateway/raw_client.h"

namespace millrace {

class FilesOfCall {
 public:
  /// `url` and `key`: the headers of the task.
  FilesOfCall(const std::string& url, std::string key)
      : port_(port_of(url)), path_(url.substr(url.find("/v1/"))), key_(std::move(key)) {}

  /// The next process of the server listens on this port.
  void move_to(uint16_t port) { port_ = port; }

  HttpReply get(std::string_view name) const { return ask("GET", name, ""); }
  HttpReply put(std::string_view name, std::string_view bytes) const {
    return ask("PUT", name, bytes);
  }
  HttpReply remove(std::string_view name) const { return ask("DELETE", name, ""); }
  HttpReply list() const { return request(port_, "GET", path_, {{"Millrace-Key", key_}}); }
  /// Sends a part of a file, and no more; the connection stays open.
  std::unique_ptr<RawClient> put_half(std::string_view name) const {
    auto client = std::make_unique<RawClient>(port_);
    client->send(
        fmt::format("PUT {}/{} HTTP/1.1\r\nHost: localhost\r\nMillrace-Key: {}\r\n"
                    "Content-Length: 10\r\n\r\nhalf",
                    path_, name, key_));
    return client;
  }

 private:
  static uint16_t port_of(const std::string& url) {
    const size_t end = url.find("/v1/");
    return static_cast<uint16_t>(std::stoi(url.substr(url.rfind(':', end) + 1, end)));
  }
  HttpReply ask(std::string_view method, std::string_view name, std::string_view body) const {
    return request(port_, method, fmt::format("{}/{}", path_, name), {{"Millrace-Key", key_}},
                   body);
  }

  uint16_t port_;
  const std::string path_;
  const std::string key_;
};

}  // namespace millrace
