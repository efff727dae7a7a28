// A private nats-server with a folder of its own, for tests with a real broker. Start the
// nats-server on the thread that runs the test.
#pragma once

#include <chrono>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "broker/connection.h"
#include "broker/dev_server.h"
#include "broker/pull_window.h"
#include "tests/support/folder.h"
#include "tests/support/patience.h"
#include "tests/support/raw_nats_client.h"

namespace millrace {

/// For consumers that must not end because heartbeats of a busy nats-server are late. Without
/// messages, such a consumer reports only every 10 s that it has no more.
inline constexpr PullSettings kPatientPull{.heartbeat = std::chrono::seconds(10),
                                           .expires = std::chrono::minutes(2)};

/// Connects to the nats-server at that URL. Requests over the connection wait for kPatience.
std::unique_ptr<Connection> connect_to(const std::string& url);

/// Deletes the streams of millrace. A server that starts after that creates them again, and does
/// not wait for the owner of before, which may have been killed.
void delete_streams(RawNatsClient& client);

/// A running nats-server; `configuration` adds lines to its configuration file. `program` is as in
/// DevServerSettings.
class NatsServer {
 public:
  explicit NatsServer(std::string configuration = "", std::string program = "");

  DevServer& process() { return *server_; }
  std::string url() const { return server_->url(); }
  uint16_t port() const { return server_->port(); }

  /// The folder in which the nats-server stores the streams.
  std::filesystem::path store() const { return folder_.path() / "store"; }
  std::filesystem::path store_of(std::string_view stream) const;

  /// A client that does not use the code under test.
  std::unique_ptr<RawNatsClient> client(const RawNatsClient::Login& login = {}) const;

  /// A connection by the code of millrace that is already connected.
  std::unique_ptr<Connection> connect() const { return connect_to(url()); }

 private:
  Folder folder_;
  std::unique_ptr<DevServer> server_;
};

class NatsFixture : public testing::Test {
 protected:
  NatsServer server_;
};

}  // namespace millrace
