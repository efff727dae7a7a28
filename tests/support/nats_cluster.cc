#include "tests/support/nats_cluster.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "base/check.h"

namespace millrace {
namespace {

/// Reserves a port of the loopback. nats-server can still listen on it, because both sides set
/// SO_REUSEADDR.
uint16_t hold_port(Descriptor& hold) {
  hold = Descriptor(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const int yes = 1;
  ::setsockopt(hold.fd(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  auto* const any = reinterpret_cast<sockaddr*>(&address);
  CHECK(::bind(hold.fd(), any, size) == 0 && ::getsockname(hold.fd(), any, &size) == 0);
  return ntohs(address.sin_port);
}

}  // namespace

NatsCluster::NatsCluster() {
  std::array<uint16_t, kServers> ports{};
  std::vector<std::string> routes;
  for (size_t i = 0; i < kServers; ++i) {
    ports[i] = hold_port(routes_[i]);
    routes.push_back(fmt::format("nats-route://127.0.0.1:{}", ports[i]));
  }
  for (size_t i = 0; i < kServers; ++i) {
    servers_[i] = std::make_unique<NatsServer>(fmt::format(
        "server_name: n{}\ncluster {{ name: test, listen: \"127.0.0.1:{}\", routes: [{}] }}\n", i,
        ports[i], fmt::join(routes, ", ")));
  }
}

std::string NatsCluster::urls() const {
  std::vector<std::string> urls;
  for (const auto& server : servers_) urls.push_back(server->url());
  return fmt::format("{}", fmt::join(urls, ","));
}

bool NatsCluster::is_whole(const Connection& connection, const std::vector<std::string>& streams) {
  for (const std::string& stream : streams) {
    const Result<Json> info = connection.api("STREAM.INFO." + stream, Json::object());
    if (!info || !info->contains("cluster") || !(*info)["cluster"].contains("leader")) return false;
    const Json replicas = (*info)["cluster"].value("replicas", Json::array());
    if (replicas.size() != kServers - 1) return false;
    for (const Json& replica : replicas) {
      if (!replica.value("current", false) || replica.value("offline", false)) return false;
    }
  }
  return true;
}

}  // namespace millrace
