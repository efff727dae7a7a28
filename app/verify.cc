#include "app/verify.h"

#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>

#include <fcntl.h>
#include <fmt/format.h>
#include <spdlog/spdlog.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "app/folder_owner.h"
#include "app/progress.h"
#include "app/store_report.h"
#include "orchestrator/service/store_check_options.h"
#include "os/write_file.h"

namespace millrace {
namespace {

/// Timeout of a check by a server; longer than the check of the largest store takes.
constexpr std::chrono::hours kWholeCheck(24);

/// Asks the server that uses the folder `data` for the check.
Fallible<Json> ask_owner(Session& session, const std::string& data, const Error& locked) {
  TRY(find_folder_owner(session, data, locked, "the check", "check again"));
  return TRY(session.client.send({.path = "/v1/verify", .timeout = kWholeCheck})).body;
}

/// Checks the store in this process. Returns {"report": …}, or {"code", "message"} if the store
/// cannot be checked, as JSON text.
std::string check_here(Session& session, const VerifyOptions& options) {
  RowProgress progress(session.console);
  StoreCheckOptions checks = store_check_options();
  checks.had_server = true;
  checks.progress = [&](uint64_t rows, uint64_t of) {
    progress.show(rows, of);
    return true;  // never cancels: a signal may end the process at any time, as nothing is written
  };
  const auto report = check_folder(options.data, options.secret_key_file, checks);
  const Json result =
      report ? Json{{"report", to_json(*report)}}
             : Json{{"code", report.error().code}, {"message", report.error().message}};
  return result.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Error system_failure(const char* doing) {
  return {"system", fmt::format("{}: {}", doing, std::strerror(errno))};
}

/// Runs check_here() in a separate process: LMDB trusts the pages of data.mdb, so a damaged page
/// may crash the process that reads it. The crash is then reported as a finding.
Result<Json> check_apart(Session& session, const VerifyOptions& options) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) {
    return tl::unexpected(system_failure("cannot create a pipe"));
  }
  const pid_t child = ::fork();
  if (child < 0) return tl::unexpected(system_failure("cannot start a process for the check"));
  if (child == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    ::close(ends[0]);
    ::_exit(write_all(ends[1], check_here(session, options)) == 0 ? 0 : 1);
  }
  ::close(ends[1]);
  std::string text;
  std::array<char, 65'536> some;
  for (ssize_t got; (got = ::read(ends[0], some.data(), some.size())) > 0;) {
    text.append(some.data(), static_cast<size_t>(got));
  }
  ::close(ends[0]);
  int status = 0;
  ::waitpid(child, &status, 0);
  if (!WIFSIGNALED(status)) return parse_own_json(text);
  const int signal = WTERMSIG(status);
  if (signal == SIGSEGV || signal == SIGBUS || signal == SIGABRT) {
    return Json{{"report", to_json(damaged_files(fmt::format(
                               "a page of data.mdb is damaged: reading it crashed the check ({})",
                               strsignal(signal))))}};
  }
  return fail("system", fmt::format("the check was ended by a signal: {}", strsignal(signal)));
}

Fallible<Json> check(Session& session, const VerifyOptions& options) {
  if (options.data.empty()) {
    return TRY(session.client.send({.path = "/v1/verify", .timeout = kWholeCheck})).body;
  }
  const Result<Json> checked = check_apart(session, options);
  if (!checked) return give_up(ExitCode::kFailed, checked.error().code, checked.error().message);
  if (checked->contains("report")) return checked->at("report");
  return ask_owner(session, options.data, Error{checked->at("code"), checked->at("message")});
}

}  // namespace

Ended verify_store(Session& session, const VerifyOptions& options) {
  spdlog::set_level(spdlog::level::off);
  const Json report = TRY(check(session, options));
  return show_findings(session.console, session.output, report);
}

}  // namespace millrace
