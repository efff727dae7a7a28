// `run`: starts an instance and, if asked, waits for its end. Waiting is asking again under the
// same idempotency key, a minute at a time, so that no connection has to live longer than that.
#include <algorithm>
#include <chrono>

#include <fmt/format.h>

#include "cli/command_line.h"
#include "cli/source.h"
#include "policies/duration.h"

namespace millrace {
namespace {

struct RunOptions {
  std::string workflow;
  std::optional<std::string> input;
  std::string retry;  ///< JSON of a policy, or Zart's text
  std::string execution_timeout;
  std::string run_timeout;
  std::string task_timeout;
  std::optional<AddedOption> wait_option;
  bool wait = false;
  std::string wait_for;  ///< a duration; empty: as long as it takes
  std::string key;
};

constexpr Duration kOneWait = std::chrono::minutes(1);
constexpr Duration kPatience = std::chrono::seconds(30);  // beyond the wait itself

/// nullopt: as long as it takes.
Fallible<std::optional<Duration>> longest_wait(const RunOptions& options) {
  if (options.wait_for.empty()) return std::nullopt;
  const Result<Span> span = Span::parse(options.wait_for);
  if (!span) return wrong_usage("--wait: " + span.error().message);
  if (span->months != 0) return wrong_usage("--wait: give it in days or less");
  return span->fixed;
}

Ended show_end(Session& session, const Json& instance) {
  const std::string status = instance.value("status", "");
  if (status == "complete") {
    if (session.output.format() == Format::kName) {
      session.output.item(instance, "id");
    } else {
      session.output.value(instance.value("output", Json()));
    }
    return ExitCode::kOk;
  }
  const Json error = instance.value("error", Json());
  std::string why;
  if (error.is_object()) {
    why = fmt::format(": {}: {}", error.value("code", ""), error.value("msg", ""));
  }
  return give_up(ExitCode::kInstanceFailed, "instance." + status,
                 fmt::format("instance {} ended {}{}", instance.value("id", ""), status, why));
}

/// The workflow and the wait as they were meant. Exit kUsage: there is no workflow.
Fallible<RunOptions> understood(RunOptions options) {
  options.wait = options.wait_option->is_given();
  if (options.wait_for == "true") options.wait_for = "";  // CLI11's word for no value
  // `run --wait order`: what follows --wait is taken for its value.
  if (options.workflow.empty() && !Span::parse(options.wait_for)) {
    std::swap(options.workflow, options.wait_for);
  }
  if (options.workflow.empty()) return wrong_usage("which WORKFLOW?");
  return options;
}

Ended run_workflow(Session& session, const RunOptions& given) {
  const RunOptions options = TRY(understood(given));
  using Clock = std::chrono::steady_clock;
  const std::optional<Duration> longest = TRY(longest_wait(options));
  ApiCall call{.method = "POST", .path = session.path({"workflows", options.workflow, "start"})};
  if (options.input) call.body = TRY(read_value(session.console, *options.input));
  if (!options.retry.empty()) call.headers = {{"Millrace-Retry", options.retry}};
  call.query = {{"executionTimeout", options.execution_timeout},
                {"runTimeout", options.run_timeout},
                {"taskTimeout", options.task_timeout}};
  if (!options.wait) {
    if (!options.key.empty()) call.headers.emplace_back("Idempotency-Key", options.key);
    const Reply reply = TRY(session.client.send(call));
    session.output.item(reply.body, "id");
    return ExitCode::kOk;
  }
  call.headers.emplace_back("Idempotency-Key",
                            options.key.empty() ? fresh_id(session.console) : options.key);
  call.query.emplace_back("wait", "");
  const Clock::time_point begun = Clock::now();
  while (true) {
    Duration wait = kOneWait;
    if (longest) {
      const auto passed = std::chrono::duration_cast<Duration>(Clock::now() - begun);
      wait = std::clamp(*longest - passed, Duration(0), kOneWait);
    }
    call.query.back().second = std::to_string(wait.count());
    call.timeout = wait + kPatience;
    const Reply reply = TRY(session.client.send(call));
    if (reply.status == 200) return show_end(session, reply.body);
    if (longest && Clock::now() - begun >= *longest) {
      return give_up(ExitCode::kTimedOut, "wait.timeout",
                     fmt::format("instance {} has not ended within {}; it goes on",
                                 reply.body.value("id", ""), options.wait_for));
    }
  }
}

}  // namespace

void add_run_verb(CommandLine& commands) {
  auto [run, options] = commands.asking<RunOptions>(
      "run", "Starts an instance of a workflow; with --wait shows what it came to",
      "millrace run order --input '{\"id\":7}' --wait 30s", run_workflow);
  run.option("workflow", options.workflow, "Id of the workflow", "WORKFLOW");
  run.option("--retry", options.retry, "Retry policy of its runs, instead of the workflow's",
             "JSON");
  run.option("--execution-timeout", options.execution_timeout, "Of all its runs", "TIME");
  run.option("--run-timeout", options.run_timeout, "Of each run", "TIME");
  run.option("--task-timeout", options.task_timeout, "Of evaluating one state", "TIME");
  run.option("--input", options.input, "The input (default: {})", "JSON|@FILE|-");
  options.wait_option = run.option("--wait", options.wait_for,
                                   "Wait for the end, at most that long; exit 9 if it failed, 8 if "
                                   "it has not ended",
                                   "[DURATION]")
                            .value_is_optional();
  run.option("--id", options.key, "Idempotency key: the same one never starts a second instance",
             "KEY");
}

}  // namespace millrace
