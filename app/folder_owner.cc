#include "app/folder_owner.h"

#include <chrono>
#include <filesystem>
#include <system_error>

#include <fmt/format.h>

namespace millrace {
namespace {

/// A server that does not report its folder within this time is suspended or hangs.
constexpr std::chrono::seconds kFirstAnswer(5);

}  // namespace

Fallible<void> find_folder_owner(Session& session, const std::string& data, const Error& locked,
                                 std::string_view what, std::string_view again) {
  if (locked.code != "store.locked") {
    return give_up(locked.code == "store.not_found" ? ExitCode::kNotFound : ExitCode::kFailed,
                   locked);
  }
  session.console.err << fmt::format("{} is in use: the server that uses it is asked for {}\n",
                                     data, what)
                      << std::flush;
  const auto info = session.client.send({.path = "/v1/info", .timeout = kFirstAnswer});
  if (!info && info.error().code == ExitCode::kUnreachable) {
    return give_up(
        ExitCode::kUnreachable, "store.locked",
        fmt::format("{}. The server at --url did not answer within {} s: {}. If the server has "
                    "another address, pass that address with --url. If the server is suspended, "
                    "resume it (kill -CONT); if it hangs, stop it. Then {}",
                    locked.message, kFirstAnswer.count(), info.error().error.message, again));
  }
  if (!info) return tl::unexpected(info.error());
  const std::string of_server = info->body.value("data", "");
  std::error_code ignored;
  if (std::filesystem::equivalent(of_server, data, ignored)) return {};
  return give_up(ExitCode::kConflict, "store.locked",
                 fmt::format("{} is in use, but the server at --url uses another folder, {}; "
                             "pass with --url the URL of the server that uses {}",
                             data, of_server, data));
}

}  // namespace millrace
