#include "broker/dev_server.h"

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string_view>
#include <system_error>
#include <utility>

#include <arpa/inet.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/check.h"
#include "base/json.h"
#include "base/time.h"
#include "broker/connection.h"
#include "broker/ports_file.h"
#include "os/programs.h"
#include "os/read_file.h"

namespace millrace {
namespace {

namespace fs = std::filesystem;
using std::chrono::steady_clock;

constexpr const char* kServerVariable = "MILLRACE_NATS_SERVER";
constexpr Duration kStopTimeout{5'000};
constexpr Duration kLook{5};
constexpr size_t kLogBytes = 2'000;
constexpr size_t kMostFileBytes = size_t{64} << 20;

/// A path in quotes for nats-server's configuration, whose strings have the syntax of JSON.
std::string quoted(const fs::path& path) { return dump_json(Json(path.string())); }

}  // namespace

Result<std::unique_ptr<DevServer>> DevServer::start(DevServerSettings settings) {
  const char* const named = std::getenv(kServerVariable);
  if (settings.program.empty())
    settings.program = named == nullptr || *named == '\0' ? "nats-server" : named;
  const std::string program = find_program(settings.program);
  if (program.empty()) {
    return fail("broker.no_server",
                fmt::format("the program {} was not found; install the Debian package nats-server "
                            "(apt-get install nats-server), or name another program in {}",
                            settings.program, kServerVariable));
  }
  settings.program = program;
  std::error_code error;
  fs::create_directories(settings.folder, error);
  settings.folder = fs::absolute(settings.folder, error);
  std::unique_ptr<DevServer> server(new DevServer(std::move(settings)));
  server->port_ = server->settings_.port;
  TRY(server->lock_folder());
  server->hold_port(server->settings_.preferred_port);
  const Status launched = server->launch();
  if (launched) return server;
  // Two DevServers that start at once may both have found the port free; one of them now listens
  // there.
  const bool may_be_taken =
      server->settings_.port == 0 && server->port_ == server->settings_.preferred_port;
  if (!may_be_taken) return tl::unexpected(launched.error());
  server->port_ = 0;
  server->hold_port(0);
  TRY(server->launch());
  return server;
}

DevServer::~DevServer() { stop(); }

std::string DevServer::url() const { return fmt::format("nats://127.0.0.1:{}", port_); }

void DevServer::kill() { end(SIGKILL); }

void DevServer::stop() { end(SIGTERM); }

Status DevServer::start_again() {
  CHECK(!process_, "the NATS server of {} is running; expected it to be stopped",
        settings_.folder.string());
  return launch();
}

Status DevServer::start_again(std::string configuration) {
  settings_.configuration = std::move(configuration);
  return start_again();
}

Status DevServer::lock_folder() {
  const fs::path path = settings_.folder / "lock";
  lock_ = Descriptor(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644));
  if (!lock_) {
    return fail("broker.server_failed",
                fmt::format("{} cannot be created: {}", path.string(), std::strerror(errno)));
  }
  if (::flock(lock_.fd(), LOCK_EX | LOCK_NB) != 0) {
    return fail("broker.folder_in_use",
                fmt::format("another nats-server uses the folder {}; stop it or "
                            "choose another folder",
                            settings_.folder.string()));
  }
  return {};
}

/// Binds a port so that no other process gets it. nats-server can still listen there, because both
/// sockets have SO_REUSEADDR. If the port cannot be bound, nats-server reports the error.
void DevServer::hold_port(uint16_t preferred) {
  port_hold_.reset();
  port_hold_ = Descriptor(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const int yes = 1;
  ::setsockopt(port_hold_.fd(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  const auto hold = [this](uint16_t port) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    auto* const any = reinterpret_cast<sockaddr*>(&address);
    if (::bind(port_hold_.fd(), any, size) != 0 ||
        ::getsockname(port_hold_.fd(), any, &size) != 0) {
      return false;
    }
    port_ = ntohs(address.sin_port);
    return true;
  };
  if (port_ == 0 && preferred != 0 && hold(preferred)) return;
  hold(port_);
}

Status DevServer::launch() {
  const fs::path configuration = settings_.folder / "nats-server.conf";
  const fs::path log = settings_.folder / "nats-server.log";
  {
    std::ofstream file(configuration, std::ios::trunc);
    file << fmt::format("listen: \"127.0.0.1:{}\"\njetstream {{ store_dir: {} }}\n{}\n",
                        port_ == 0 ? -1 : int{port_}, quoted(settings_.folder / "store"),
                        settings_.configuration);
    if (!file.flush()) {
      return fail("broker.server_failed",
                  fmt::format("{} cannot be written", configuration.string()));
    }
  }
  const Descriptor output(::open(log.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644));
  if (!output) {
    return fail("broker.server_failed", fmt::format("{} cannot be written", log.string()));
  }
  Result<LaunchedProcess> process =
      millrace::launch({.command = {settings_.program, "--config", configuration.string(),
                                    "--ports_file_dir", settings_.folder.string()},
                        .output = output.fd(),
                        .errors = output.fd(),
                        .kept = {lock_.fd()}});
  if (!process) return fail("broker.server_failed", process.error().message);
  process_ = *std::move(process);
  Status ready = wait_until_ready();
  if (!ready) end(SIGKILL);
  return ready;
}

fs::path DevServer::ports_file() const {
  const std::string program = fs::path(settings_.program).filename().string();
  return settings_.folder / fmt::format("{}_{}.ports", program, pid());
}

/// nats-server writes the ports file when it listens, and it listens only once JetStream has read
/// its store.
Status DevServer::wait_until_ready() {
  const auto deadline = steady_clock::now() + settings_.start_timeout;
  while (steady_clock::now() < deadline) {
    if (wait_for_end(*process_, kLook)) {
      has_ended();
      return fail("broker.server_failed",
                  fmt::format("{} ended at once: {}", settings_.program, end_of_log()));
    }
    const Result<std::string> text = read_file(ports_file(), kMostFileBytes);
    if (!text) continue;
    const std::optional<uint16_t> port = port_in_ports_file(*text);
    if (!port) continue;
    port_ = *port;
    return {};
  }
  return fail("broker.server_failed",
              fmt::format("{} was not ready after {} s: {}", settings_.program,
                          settings_.start_timeout.count() / 1000, end_of_log()));
}

void DevServer::end(int signal) {
  if (!process_) return;
  ::kill(process_->pid, signal);
  if (signal == SIGKILL || !wait_for_end(*process_, kStopTimeout)) kill_process(*process_);
  has_ended();
}

void DevServer::has_ended() {
  std::error_code ignored;  // a killed nats-server leaves the ports file behind
  fs::remove(ports_file(), ignored);
  process_.reset();
}

std::string DevServer::end_of_log() const {
  const Result<std::string> log = read_file(settings_.folder / "nats-server.log", kMostFileBytes);
  if (!log) return "";
  return log->size() > kLogBytes ? log->substr(log->size() - kLogBytes) : *log;
}

}  // namespace millrace
