#include "bench/nats_trio.h"

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <regex>
#include <system_error>
#include <thread>
#include <tuple>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/check.h"
#include "broker/server_version.h"
#include "os/programs.h"

namespace millrace {
namespace {

namespace fs = std::filesystem;

constexpr Duration kTrioAnswer{2'000};  // after this time a request is sent again
constexpr double kTrioPatience = 60;    // seconds
constexpr double kElectionPatience = 30;
constexpr std::chrono::milliseconds kElectionPause(200);

/// The version that a nats-server prints; "": the program does not run, or prints none.
std::string version_of(const std::string& program) {
  static const std::regex pattern(R"(v(\d+\.\d+\.\d+))");
  const ProgramRun run = run_program({program, "--version"});
  std::smatch found;
  return run.code == 0 && std::regex_search(run.output, found, pattern) ? found[1].str() : "";
}

/// The three numbers of a version, for comparisons.
std::array<int, 3> numbers_in(const std::string& version) {
  std::array<int, 3> numbers{};
  size_t at = 0;
  for (int& number : numbers) {
    number = std::atoi(version.c_str() + at);
    at = version.find('.', at) + 1;
  }
  return numbers;
}

/// The programs of which newest_nats_program() chooses one.
std::vector<std::string> nats_programs() {
  const char* const named = std::getenv("MILLRACE_NATS_SERVER");
  if (named != nullptr && *named != '\0') return {find_program(named)};
  std::vector<std::string> programs = {find_program("nats-server")};
  // This program is build/PRESET/bench/bench.
  const fs::path build =
      fs::read_symlink("/proc/self/exe").parent_path().parent_path().parent_path();
  std::error_code missing;
  for (fs::directory_iterator entry(build / "brokers", missing), end; entry != end;
       entry.increment(missing)) {
    programs.push_back(find_program((entry->path() / "nats-server").string()));
  }
  return programs;
}

}  // namespace

std::optional<NatsProgram> newest_nats_program() {
  std::optional<NatsProgram> newest;
  for (const std::string& program : nats_programs()) {
    if (program.empty()) continue;
    const std::string version = version_of(program);
    if (version.empty() || !judge_server_version(version)) continue;
    if (newest && numbers_in(version) <= numbers_in(newest->version)) continue;
    newest = NatsProgram{.path = program, .version = version};
  }
  return newest;
}

NatsTrio::NatsTrio(const std::string& program) {
  std::vector<std::string> routes;
  for (const HeldPort& route : routes_) {
    routes.push_back(fmt::format("nats-route://127.0.0.1:{}", route.port()));
  }
  for (size_t i = 0; i < servers_.size(); ++i) {
    auto started = DevServer::start(
        {.folder = run_.path() / fmt::format("nats{}", i),
         .program = program,
         .configuration = fmt::format("server_name: n{}\ncluster {{ name: bench, listen: "
                                      "\"127.0.0.1:{}\", routes: [{}] }}\n",
                                      i, routes_.at(i).port(), fmt::join(routes, ", "))});
    CHECK(started.has_value(), "{}", started.error().message);
    servers_.at(i) = *std::move(started);
  }
  auto connection = Connection::open({.servers = {url(0)}, .name = "bench"});
  CHECK(connection.has_value(), "{}", connection.error().message);
  connection_ = *std::move(connection);
  CHECK(connection_->wait_until_connected(kTrioAnswer));
  wait_for_replicas();
}

std::vector<int> NatsTrio::processes() const {
  std::vector<int> ids;
  for (const auto& server : servers_) ids.push_back(server->pid());
  return ids;
}

/// The nats-servers elect a leader of JetStream after they accept connections, and hear of one
/// another after that.
void NatsTrio::wait_for_replicas() const {
  constexpr const char* kTried = "BENCH_TRIED";
  const Json stream = {
      {"name", kTried}, {"subjects", {"bench.tried"}}, {"num_replicas", servers_.size()}};
  const Stopwatch watch;
  while (true) {
    const auto created =
        connection_->api(fmt::format("STREAM.CREATE.{}", kTried), stream, kTrioAnswer);
    if (created) break;
    CHECK(watch.seconds() < kTrioPatience, "three nats-servers create no stream: {}",
          created.error().message);
    std::this_thread::sleep_for(kElectionPause);
  }
  const auto deleted = connection_->api(fmt::format("STREAM.DELETE.{}", kTried), Json::object());
  CHECK(deleted.has_value(), "{}", deleted.error().message);
}

/// While a stream has no leader, no nats-server answers: the request is sent again.
Json NatsTrio::info_of(std::string_view stream) const {
  const Stopwatch watch;
  while (true) {
    auto info =
        connection_->api(fmt::format("STREAM.INFO.{}", stream), Json::object(), kTrioAnswer);
    if (info) return *std::move(info);
    CHECK(watch.seconds() < kTrioPatience, "stream {}: {}", stream, info.error().message);
    std::this_thread::sleep_for(kElectionPause);
  }
}

StreamSize NatsTrio::size_of(std::string_view stream) const {
  const Json state = info_of(stream).at("state");
  return {.messages = state.at("messages").get<double>(),
          .bytes = state.at("bytes").get<double>(),
          .last = state.at("last_seq").get<uint64_t>()};
}

void NatsTrio::make_first_lead(std::string_view stream) const {
  for (const Stopwatch watch; watch.seconds() < kElectionPatience;) {
    const Json info = info_of(stream);
    const std::string leader = info.value("cluster", Json::object()).value("leader", "");
    if (leader == "n0") return;
    // The nats-servers choose the next leader at random. A request that fails is made again.
    if (!leader.empty()) {
      std::ignore = connection_->api(fmt::format("STREAM.LEADER.STEPDOWN.{}", stream),
                                     Json::object(), kTrioAnswer);
    }
    std::this_thread::sleep_for(kElectionPause);
  }
  fmt::print(stderr, "bench: the first nats-server does not lead the stream {}\n", stream);
}

}  // namespace millrace
