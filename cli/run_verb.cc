// `run`: starts an instance and, with --wait, waits for its end. It waits by repeating the start
// with the same idempotency key; the server answers each call after a minute at most, so that no
// connection has to last longer.
#include <algorithm>
#include <chrono>
#include <utility>

#include <fmt/format.h>

#include "cli/command_line.h"
#include "cli/output.h"
#include "cli/quantity.h"
#include "cli/source.h"
#include "policies/duration.h"

namespace millrace {
namespace {

struct RunOptions {
  std::string workflow;
  std::optional<std::string> input;
  std::string retry;  ///< a policy in JSON, or a string such as `fixed(3, 1s)`
  std::string execution_timeout;
  std::string run_timeout;
  std::string task_timeout;
  std::optional<AddedOption> wait_option;
  bool wait = false;
  std::string wait_for;  ///< a duration; empty: no limit
  std::string key;
};

constexpr Duration kOneWait = std::chrono::minutes(1);
// The HTTP client waits this much longer for the response than the server waits for the end of the
// instance.
constexpr Duration kPatience = std::chrono::seconds(30);

/// The limit of --wait; nullopt: no limit.
Fallible<std::optional<Duration>> longest_wait(const RunOptions& options) {
  if (options.wait_for.empty()) return std::nullopt;
  const Span span = TRY(read_span("wait", options.wait_for));
  if (span.months != 0)
    return wrong_usage("--wait: months are not supported; use days or shorter units");
  return span.fixed;
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

/// Separates the workflow from the value of --wait. Exit kUsage: the workflow is missing, or a
/// timeout is not a duration.
Fallible<RunOptions> understood(RunOptions options) {
  options.wait = options.wait_option->is_given();
  if (options.wait_for == "true") options.wait_for = "";  // set by CLI11 if there is no value
  // In `run --wait order`, CLI11 parses `order` as the value of --wait.
  if (options.workflow.empty() && !Span::parse(options.wait_for)) {
    std::swap(options.workflow, options.wait_for);
  }
  if (options.workflow.empty())
    return wrong_usage("WORKFLOW is missing; give the id of a workflow");
  const std::pair<const char*, const std::string*> timeouts[] = {
      {"execution-timeout", &options.execution_timeout},
      {"run-timeout", &options.run_timeout},
      {"task-timeout", &options.task_timeout}};
  for (const auto& [flag, text] : timeouts) {
    if (!text->empty()) TRY(read_span(flag, *text));
  }
  return options;
}

/// The error of a start with an idempotency key if its workflow has `batch`.
constexpr std::string_view kNoKeyWithBatch = "start.key_with_batch";

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
  bool is_batch = false;
  bool has_said_why = false;
  call.query.emplace_back("wait", "");
  const Clock::time_point started = Clock::now();
  while (true) {
    Duration wait = kOneWait;
    if (longest) {
      const auto passed = std::chrono::duration_cast<Duration>(Clock::now() - started);
      wait = std::clamp(*longest - passed, Duration(0), kOneWait);
    }
    call.query.back().second = std::to_string(wait.count());
    call.timeout = wait + kPatience;
    const Fallible<Reply> sent = session.client.send(call);
    // A batch takes no key, and nothing waits for it, so no call is repeated.
    if (!sent && sent.error().error.code == kNoKeyWithBatch && options.key.empty() && !is_batch) {
      is_batch = true;
      call.headers.pop_back();
      continue;
    }
    const Reply reply = TRY(sent);
    if (reply.status == 200) return show_end(session, reply.body);
    if (reply.body.contains("startsAt")) {
      return give_up(
          ExitCode::kTimedOut, "wait.timeout",
          fmt::format(
              "instance {0} starts at {1} {2}; look at it then: `millrace instance get {0}`",
              reply.body.value("id", ""), reply.body.value("startsAt", ""),
              is_batch ? "at the latest (`batch`)" : "(`debounce`), unless a newer request comes"));
    }
    if (longest && Clock::now() - started >= *longest) {
      return give_up(ExitCode::kTimedOut, "wait.timeout",
                     fmt::format("instance {} has not ended within {}; it continues",
                                 reply.body.value("id", ""), options.wait_for));
    }
    if (!std::exchange(has_said_why, true)) {
      session.console.err
          << harmless(fmt::format(
                 "millrace: instance {0} has not ended yet; `millrace instance why {0}` says "
                 "what it waits for",
                 reply.body.value("id", "")))
          << "\n";
    }
  }
}

}  // namespace

void add_run_verb(CommandLine& commands) {
  auto [run, options] = commands.asking<RunOptions>(
      "run", "Starts an instance of a workflow; with --wait prints its output",
      "millrace run order --input '{\"id\":7}' --wait 30s", run_workflow);
  run.option("workflow", options.workflow, "Id of the workflow", "WORKFLOW");
  run.option("--retry", options.retry,
             "Retry policy of the instance's runs, instead of the workflow's", "JSON");
  run.option("--execution-timeout", options.execution_timeout,
             "Timeout of the execution: all runs together", "TIME");
  run.option("--run-timeout", options.run_timeout, "Timeout of each run", "TIME");
  run.option("--task-timeout", options.task_timeout,
             "Timeout of the evaluation of one state, in processor time", "TIME");
  run.option("--input", options.input, "The input (default: {})", "JSON|@FILE|-");
  options.wait_option = run.option("--wait", options.wait_for,
                                   "Wait for the end, at most this long; exit 9 if the instance "
                                   "did not end as complete, 8 if it has not ended",
                                   "[DURATION]")
                            .value_is_optional();
  run.option("--id", options.key,
             "Idempotency key: no second instance of the workflow starts with it while the first "
             "is stored",
             "KEY");
}

}  // namespace millrace
