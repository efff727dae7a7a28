#include "tests/support/nats_cluster.h"

#include <tuple>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "tests/support/process.h"

namespace millrace {

namespace {

/// After this time without an answer a request is sent again.
constexpr Duration kAnswerTime = std::chrono::seconds(2);

}  // namespace

NatsCluster::NatsCluster() {
  std::vector<std::string> routes;
  for (const HeldPort& route : routes_) {
    routes.push_back(fmt::format("nats-route://127.0.0.1:{}", route.port()));
  }
  for (size_t i = 0; i < kServers; ++i) {
    servers_[i] = std::make_unique<NatsServer>(fmt::format(
        "server_name: n{}\ncluster {{ name: test, listen: \"127.0.0.1:{}\", routes: [{}] }}\n", i,
        routes_[i].port(), fmt::join(routes, ", ")));
  }
}

std::string NatsCluster::urls() const {
  std::vector<std::string> urls;
  for (const auto& server : servers_) urls.push_back(server->url());
  return fmt::format("{}", fmt::join(urls, ","));
}

Result<Json> NatsCluster::stream_info(const Connection& connection, std::string_view stream,
                                      const Json& body) {
  Result<Json> info = Json();
  std::ignore = eventually([&] {
    info = connection.api(fmt::format("STREAM.INFO.{}", stream), body, kAnswerTime);
    return info.has_value();
  });
  return info;
}

bool NatsCluster::is_whole(const Connection& connection, const std::vector<std::string>& streams) {
  for (const std::string& stream : streams) {
    const Result<Json> info = stream_info(connection, stream);
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
