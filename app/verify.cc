#include "app/verify.h"

#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <set>

#include <fcntl.h>
#include <fmt/format.h>
#include <spdlog/spdlog.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "orchestrator/service/store_check_options.h"

namespace millrace {
namespace {

using std::chrono::steady_clock;

/// Progress is shown only after this time; a shorter check shows none.
constexpr std::chrono::milliseconds kProgressDelay(500);
constexpr std::chrono::milliseconds kProgressInterval(200);

/// Timeout of a check by a server; longer than the check of the largest store takes.
constexpr std::chrono::hours kWholeCheck(24);

/// Shows the progress of a check on a terminal.
class Progress {
 public:
  Progress(Console& console, bool shows) : console_(console), shows_(shows) {}
  ~Progress() {
    if (shown_) console_.err << "\r\x1b[K" << std::flush;
  }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void show(uint64_t rows, uint64_t of) {
    const auto now = steady_clock::now();
    if (!shows_ || now < next_) return;
    next_ = now + kProgressInterval;
    shown_ = true;
    console_.err << fmt::format("\r\x1b[K{} of about {} rows", rows, of) << std::flush;
  }

 private:
  Console& console_;
  const bool shows_;
  bool shown_ = false;
  steady_clock::time_point next_ = steady_clock::now() + kProgressDelay;
};

/// A server that does not report its folder within this time is suspended or hangs.
constexpr std::chrono::seconds kFirstAnswer(5);

/// Asks the server that uses the folder `data` for the check; `locked` is the error that names the
/// process which uses the folder. Exit kUnreachable: the server did not answer; kConflict: the
/// server uses another folder.
Fallible<Json> ask_owner(Session& session, const std::string& data, const Error& locked) {
  session.console.err << fmt::format(
                             "{} is in use: the server that uses it is asked for the check\n", data)
                      << std::flush;
  const auto info = session.client.send({.path = "/v1/info", .timeout = kFirstAnswer});
  if (!info && info.error().code == ExitCode::kUnreachable) {
    return give_up(
        ExitCode::kUnreachable, "store.locked",
        fmt::format("{}. The server at --url did not answer within {} s: {}. If the server has "
                    "another address, pass that address with --url. If the server is suspended, "
                    "resume it (kill -CONT); if it hangs, stop it. Then check again",
                    locked.message, kFirstAnswer.count(), info.error().error.message));
  }
  if (!info) return tl::unexpected(info.error());
  const std::string of_server = info->body.value("data", "");
  std::error_code ignored;
  if (!std::filesystem::equivalent(of_server, data, ignored)) {
    return give_up(ExitCode::kConflict, "store.locked",
                   fmt::format("{} is in use, but the server at --url uses another folder, {}; "
                               "pass with --url the URL of the server that uses {}",
                               data, of_server, data));
  }
  return TRY(session.client.send({.path = "/v1/verify", .timeout = kWholeCheck})).body;
}

/// Checks the store in this process. Returns {"report": …}, or {"code", "message"} if the store
/// cannot be checked, as JSON text.
std::string check_here(Session& session, const VerifyOptions& options) {
  Progress progress(session.console, session.console.err_is_terminal);
  StoreCheckOptions checks = store_check_options();
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
    const std::string text = check_here(session, options);
    for (size_t done = 0; done < text.size();) {
      const ssize_t some = ::write(ends[1], text.data() + done, text.size() - done);
      if (some <= 0) ::_exit(1);
      done += static_cast<size_t>(some);
    }
    ::_exit(0);
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
  const Error error{checked->at("code"), checked->at("message")};
  if (error.code == "store.locked") return ask_owner(session, options.data, error);
  return give_up(error.code == "store.not_found" ? ExitCode::kNotFound : ExitCode::kFailed,
                 error.code, error.message);
}

/// Prints to standard error what to do about each kind of finding, and a summary.
void explain(Console& console, const Json& report) {
  std::set<std::string> explained;
  for (const Json& finding : report.at("items")) {
    const auto code = finding.at("code").get<std::string>();
    if (!explained.insert(code).second) continue;
    console.err << fmt::format("{}: expected {}; action: {}\n", code,
                               finding.at("expected").get<std::string>(),
                               finding.at("action").get<std::string>());
  }
  uint64_t rows = 0;
  for (const auto& [table, count] : report.at("rows").items()) rows += count.get<uint64_t>();
  uint64_t findings = 0;
  for (const auto& [code, count] : report.at("codes").items()) findings += count.get<uint64_t>();
  const size_t listed = report.at("items").size();
  console.err << fmt::format("{} rows checked, {} {}", rows, findings,
                             findings == 1 ? "finding" : "findings");
  if (findings > listed) console.err << fmt::format(", the first {} are listed", listed);
  if (const auto unreadable = report.at("unreadable").get<uint64_t>(); unreadable > 0) {
    console.err << fmt::format("; {} sealed rows were not read, because their key is not available",
                               unreadable);
  }
  console.err << "\n";
}

}  // namespace

Ended verify_store(Session& session, const VerifyOptions& options) {
  spdlog::set_level(spdlog::level::off);
  const Json report = TRY(check(session, options));
  const bool is_sound = report.at("sound").get<bool>();
  const auto place = [](const Json& finding) {
    const auto key = finding.at("key").get<std::string>();
    const auto table = finding.at("table").get<std::string>();
    return key.empty() ? table : table + "/" + key;
  };
  if (session.output.format() != Format::kTable || !is_sound) {
    session.output.list(report, {field("CODE", "code"), {"PLACE", place}, field("FOUND", "found")},
                        "code");
  }
  explain(session.console, report);
  return is_sound ? ExitCode::kOk : ExitCode::kFailed;
}

}  // namespace millrace
