#include "broker/connect_failure.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/excerpt.h"
#include "broker/connection.h"
#include "broker/dial.h"

namespace millrace {
namespace {

constexpr size_t kMostDetail = 240;

/// Removes the source position that nats.c puts in front of an error text: `(conn.c:1905): `.
std::string_view without_place(std::string_view detail) {
  const size_t end = detail.find("): ");
  if (!detail.starts_with('(') || end == std::string_view::npos) return detail;
  return detail.substr(end + 3);
}

/// Tries to reach one NATS server, and describes in one sentence why that fails.
std::string explain_unreachable(const std::string& server) {
  const Dialed dialed = dial(server);
  if (!dialed.why.empty()) return dialed.why;
  return fmt::format("{} accepts connections, but not as a NATS server", server);
}

}  // namespace

std::string explain_connect_failure(natsStatus status, std::string_view detail,
                                    const std::vector<std::string>& servers) {
  const std::vector<std::string> shown = without_logins(servers);
  const std::string all = fmt::format("{}", fmt::join(shown, ", "));
  const std::string why =
      excerpt(detail.empty() ? natsStatus_GetText(status) : without_place(detail), kMostDetail);
  switch (status) {
    case NATS_CONNECTION_AUTH_FAILED:
      return fmt::format(
          "NATS at {} refused the login ({}): check NATS_USER and NATS_PASSWORD, or NATS_CREDS, or "
          "NATS_NKEY, against the users of that server",
          all, why);
    case NATS_SSL_ERROR:
      return fmt::format(
          "TLS with NATS at {} failed ({}): check that NATS_CA is the authority that signed the "
          "certificate of the NATS server, that this certificate names the host, and that "
          "NATS_CERT and NATS_KEY are set if the NATS server requires them",
          all, why);
    case NATS_SECURE_CONNECTION_WANTED:
      return fmt::format(
          "NATS at {} offers no TLS, which NATS_CA or NATS_CERT require: unset them, or enable TLS "
          "in the NATS server",
          all);
    case NATS_SECURE_CONNECTION_REQUIRED:
      return fmt::format("NATS at {} requires TLS: set NATS_CA", all);
    case NATS_TIMEOUT:
      return fmt::format(
          "NATS at {} did not answer in time: check --nats, the network, and whether a NATS server "
          "listens there",
          all);
    case NATS_NO_SERVER: {
      std::vector<std::string> reasons;
      reasons.reserve(shown.size());
      for (const std::string& server : shown) reasons.push_back(explain_unreachable(server));
      return fmt::format("{}: check --nats, and whether the NATS server is running",
                         fmt::join(reasons, "; "));
    }
    default:
      return fmt::format("no connection to NATS at {} ({})", all, why);
  }
}

}  // namespace millrace
