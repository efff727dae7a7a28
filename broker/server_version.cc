#include "broker/server_version.h"

#include <array>
#include <chrono>
#include <vector>

#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>

#include "base/excerpt.h"
#include "base/json.h"
#include "base/time.h"
#include "base/whole_number.h"
#include "broker/dial.h"
#include "broker/json_fields.h"
#include "broker/nats_handles.h"

namespace millrace {
namespace {

constexpr Duration kGreetingTime{1'000};
/// A server of a large cluster names its other servers in the line.
constexpr size_t kMostGreeting = size_t{64} << 10;
constexpr size_t kMostUrl = 1024;

using Numbers = std::array<uint64_t, 3>;
constexpr Numbers kOldest = {2, 10, 0};
constexpr Numbers kOldestWithoutWarning = {2, 10, 23};

/// Major, minor and patch number of `2.10.27` or `2.11.0-RC.1`.
std::optional<Numbers> numbers_of(std::string_view version) {
  Numbers numbers{};
  version = version.substr(0, version.find_first_of("-+"));
  for (size_t i = 0; i < numbers.size(); ++i) {
    const size_t dot = version.find('.');
    const auto number = whole_number(version.substr(0, dot));
    const bool is_last = i + 1 == numbers.size();
    if (!number || is_last != (dot == std::string_view::npos)) return std::nullopt;
    numbers[i] = *number;
    if (!is_last) version.remove_prefix(dot + 1);
  }
  return numbers;
}

/// Reads up to the end of the first line; what came in time.
std::string read_line_of(const Descriptor& socket) {
  const auto end = std::chrono::steady_clock::now() + kGreetingTime;
  std::string line;
  while (line.size() < kMostGreeting && line.find('\n') == std::string::npos) {
    const auto left =
        std::chrono::duration_cast<Duration>(end - std::chrono::steady_clock::now()).count();
    pollfd waiting{.fd = socket.fd(), .events = POLLIN, .revents = 0};
    if (left <= 0 || ::poll(&waiting, 1, static_cast<int>(left)) <= 0) break;
    std::array<char, 4096> read{};
    const ssize_t count = ::recv(socket.fd(), read.data(), read.size(), 0);
    if (count <= 0) break;
    line.append(read.data(), static_cast<size_t>(count));
  }
  return line.substr(0, line.find('\n'));
}

}  // namespace

std::optional<std::string> version_in_greeting(std::string_view line) {
  constexpr std::string_view kInfo = "INFO ";
  if (!line.starts_with(kInfo)) return std::nullopt;
  const Json info = parse_json(line.substr(kInfo.size())).value_or(Json());
  std::string version = text_field(info, "version");
  if (version.empty()) return std::nullopt;
  return version;
}

std::optional<std::string> server_version(const Connection& connection) {
  std::string url(kMostUrl, '\0');
  if (natsConnection_GetConnectedUrl(connection.handle().get(), url.data(), url.size()) !=
      NATS_OK) {
    return std::nullopt;
  }
  url.resize(url.find('\0'));
  if (url.empty()) return std::nullopt;  // not connected yet
  const Dialed dialed = dial(without_logins({url}).front());
  if (!dialed.socket) return std::nullopt;
  return version_in_greeting(read_line_of(dialed.socket));
}

Result<std::string> judge_server_version(std::string_view version) {
  const std::optional<Numbers> numbers = numbers_of(version);
  if (!numbers) return "";
  if (*numbers < kOldest) {
    return fail("cluster.broker",
                fmt::format("the NATS server has version {}; a cluster of millrace needs "
                            "nats-server 2.10 or newer on all servers, and 2.12 or newer is "
                            "recommended",
                            excerpt(version)));
  }
  if (*numbers >= kOldestWithoutWarning) return "";
  return fmt::format(
      "the NATS server has version {}; for a cluster of millrace 2.10.23 or newer is advised, and "
      "2.12 or newer is recommended",
      excerpt(version));
}

std::string warning_of_server_version(std::string_view version) {
  const std::optional<Numbers> numbers = numbers_of(version);
  if (!numbers || *numbers >= kOldestWithoutWarning) return "";
  return fmt::format(
      "the NATS server has version {}; 2.10.23 or newer is advised, of a release line that gets "
      "security fixes: malformed headers of a message can end nats-server 2.9",
      excerpt(version));
}

}  // namespace millrace
