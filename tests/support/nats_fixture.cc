#include "tests/support/nats_fixture.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include "base/check.h"

namespace millrace {

NatsServer::NatsServer(std::string configuration, std::string program) {
  // libspdlog creates its registry at the first call. That call is here, before the test has
  // threads, because ThreadSanitizer does not see how the library guards the registry.
  spdlog::default_logger_raw();
  Result<std::unique_ptr<DevServer>> server =
      DevServer::start({.folder = folder_.path(),
                        .program = std::move(program),
                        .configuration = std::move(configuration),
                        .start_timeout = kPatience});
  CHECK(server.has_value(), "{}", server.error().message);
  server_ = *std::move(server);
}

std::filesystem::path NatsServer::store_of(std::string_view stream) const {
  return store() / "jetstream" / "$G" / "streams" / stream;
}

std::unique_ptr<RawNatsClient> NatsServer::client(const RawNatsClient::Login& login) const {
  return std::make_unique<RawNatsClient>(server_->port(), login);
}

std::unique_ptr<Connection> connect_to(const std::string& url) {
  Result<std::unique_ptr<Connection>> connection =
      Connection::open({.servers = {url}, .request_timeout = kPatience});
  CHECK(connection.has_value(), "{}", connection.error().message);
  CHECK((*connection)->wait_until_connected(kPatience));
  return *std::move(connection);
}

void delete_streams(RawNatsClient& client) {
  for (const char* const stream : {"EVENTS", "DLQ", "TASKS", "RESULTS", "OWNER"}) {
    client.api(fmt::format("STREAM.DELETE.MILLRACE_{}", stream));
  }
}

}  // namespace millrace
