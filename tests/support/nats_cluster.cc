#include "tests/support/nats_cluster.h"

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <regex>
#include <tuple>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/check.h"
#include "os/programs.h"
#include "tests/support/process.h"

namespace millrace {

namespace {

namespace fs = std::filesystem;

/// After this time without an answer a request is sent again.
constexpr Duration kAnswerTime = std::chrono::seconds(2);

/// Streams with replicas of earlier versions may stall for minutes when a server is lost.
constexpr std::pair kOldestForCampaigns(2, 10);

/// The names of the nats-servers are `n0`, `n1` and `n2`.
std::string name_of(size_t index) { return fmt::format("n{}", index); }

/// Major, minor and patch number of the program nats-server; zeros: it does not run.
std::array<int, 3> version_of(const std::string& program) {
  static const std::regex version(R"(v(\d+)\.(\d+)\.(\d+))");
  const ProcessEnd end = run_process({.command = {program, "--version"}});
  std::smatch found;
  if (end.code != 0 || !std::regex_search(end.output, found, version)) return {};
  return {std::stoi(found[1]), std::stoi(found[2]), std::stoi(found[3])};
}

/// The programs of which newest_program() chooses one.
std::vector<std::string> known_programs() {
  const char* const named = std::getenv("MILLRACE_NATS_SERVER");
  if (named != nullptr && *named != '\0') return {named};
  std::vector<std::string> programs;
  if (std::string installed = find_program("nats-server"); !installed.empty()) {
    programs.push_back(std::move(installed));
  }
  std::error_code missing;
  for (fs::directory_iterator entry("build/brokers", missing); entry != fs::directory_iterator();
       entry.increment(missing)) {
    const fs::path program = fs::absolute(entry->path()) / "nats-server";
    if (fs::exists(program)) programs.push_back(program.string());
  }
  return programs;
}

/// The newest of these programs with a major and minor number that `fits`.
std::optional<std::string> newest_that(const std::function<bool(std::pair<int, int>)>& fits) {
  std::optional<std::string> newest;
  std::array<int, 3> newest_version{};
  for (std::string& program : known_programs()) {
    const std::array<int, 3> version = version_of(program);
    if (!fits({version[0], version[1]}) || version <= newest_version) continue;
    newest_version = version;
    newest = std::move(program);
  }
  return newest;
}

}  // namespace

NatsCluster::NatsCluster(const std::string& program) {
  std::vector<std::string> routes;
  for (const HeldPort& route : routes_) {
    routes.push_back(fmt::format("nats-route://127.0.0.1:{}", route.port()));
  }
  for (size_t i = 0; i < kServers; ++i) {
    servers_[i] = std::make_unique<NatsServer>(
        fmt::format("server_name: {}\ncluster {{ name: test, listen: \"127.0.0.1:{}\", routes: "
                    "[{}], no_advertise: true }}\n",
                    name_of(i), routes_[i].port(), fmt::join(routes, ", ")),
        program);
  }
  wait_for_peers();
}

void NatsCluster::wait_for_peers() const {
  const auto connection = connect();
  const Json probe{{"name", "PEERS"},
                   {"subjects", {"test.peers"}},
                   {"storage", "memory"},
                   {"num_replicas", kServers}};
  CHECK(eventually(
      [&] { return connection->api("STREAM.CREATE.PEERS", probe, kAnswerTime).has_value(); }));
  // The answer of a deletion may be lost, so the names of the streams say whether it is done.
  CHECK(eventually([&] {
    std::ignore = connection->api("STREAM.DELETE.PEERS", Json::object(), kAnswerTime);
    const Result<Json> left =
        connection->api("STREAM.NAMES", Json{{"subject", "test.peers"}}, kAnswerTime);
    return left && left->value("total", 1) == 0;
  }));
}

std::optional<std::string> NatsCluster::newest_program() {
  return newest_that([](std::pair<int, int> line) { return line >= kOldestForCampaigns; });
}

std::optional<std::string> NatsCluster::newest_program_of(int major, int minor) {
  return newest_that([=](std::pair<int, int> line) { return line == std::pair(major, minor); });
}

std::string NatsCluster::urls() const {
  std::vector<std::string> urls;
  for (const auto& server : servers_) urls.push_back(server->url());
  return fmt::format("{}", fmt::join(urls, ","));
}

std::unique_ptr<Connection> NatsCluster::connect(std::optional<size_t> left_out) const {
  ConnectionSettings settings{.servers = {}, .name = "test"};
  for (size_t i = 0; i < kServers; ++i) {
    if (i != left_out) settings.servers.push_back(servers_[i]->url());
  }
  Result<std::unique_ptr<Connection>> connection = Connection::open(std::move(settings));
  CHECK(connection.has_value(), "{}", connection.error().message);
  CHECK((*connection)->wait_until_connected(kPatience));
  return *std::move(connection);
}

void NatsCluster::suspend(size_t index) { ::kill(server(index).process().pid(), SIGSTOP); }

void NatsCluster::resume(size_t index) { ::kill(server(index).process().pid(), SIGCONT); }

Result<Json> NatsCluster::stream_info(const Connection& connection, std::string_view stream,
                                      const Json& body) {
  Result<Json> info = Json();
  std::ignore = eventually([&] {
    info = connection.api(fmt::format("STREAM.INFO.{}", stream), body, kAnswerTime);
    return info.has_value();
  });
  return info;
}

bool NatsCluster::has_leader(const Connection& connection) {
  return eventually(
      [&] { return connection.api("INFO", Json::object(), kAnswerTime).has_value(); });
}

std::optional<size_t> NatsCluster::leader_of(const Connection& connection,
                                             std::string_view stream) {
  const Result<Json> info = stream_info(connection, stream);
  if (!info || !info->contains("cluster")) return std::nullopt;
  const std::string leader = (*info)["cluster"].value("leader", "");
  for (size_t i = 0; i < kServers; ++i) {
    if (leader == name_of(i)) return i;
  }
  return std::nullopt;
}

bool NatsCluster::is_whole(const Connection& connection) {
  for (const char* const stream : {"EVENTS", "DLQ", "LIFECYCLE", "TASKS", "RESULTS", "OWNER"}) {
    if (!is_whole(connection, fmt::format("MILLRACE_{}", stream))) return false;
  }
  return true;
}

bool NatsCluster::is_whole(const Connection& connection, const std::string& stream) {
  const Result<Json> info = stream_info(connection, stream);
  if (!info || !info->contains("cluster") || !(*info)["cluster"].contains("leader")) return false;
  const Json replicas = (*info)["cluster"].value("replicas", Json::array());
  if (replicas.size() != kServers - 1) return false;
  for (const Json& replica : replicas) {
    if (!replica.value("current", false) || replica.value("offline", false)) return false;
  }
  return true;
}

}  // namespace millrace
