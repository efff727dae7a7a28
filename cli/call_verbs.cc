// `millrace call`: tasks that a service has accepted and answers later.
#include <string>
#include <utility>

#include <fmt/format.h>

#include "base/excerpt.h"
#include "cli/command_line.h"
#include "cli/pages.h"
#include "cli/source.h"

namespace millrace {
namespace {

struct CallListOptions {
  std::string instance;
  PageOptions page;
};

/// The most bytes of the progress in a table; `-o json` shows all of it.
constexpr size_t kShownProgress = 40;

std::string call_progress(const Json& call) {
  const auto progress = call.find("progress");
  return progress == call.end() ? "-" : shorten(dump_json(*progress), kShownProgress);
}

Ended list_accepted_calls(Session& session, const CallListOptions& options) {
  ApiCall call{.path = session.path({"calls"}), .query = {{"instance", options.instance}}};
  return show_pages(
      session, std::move(call), options.page,
      {field("INSTANCE", "instance"), field("STATE", "state"), field("FUNCTION", "function"),
       age("SINCE", "since", session.console.now()), field("DEADLINE", "deadline"),
       Column{"PROGRESS", call_progress}, field("ATTEMPT", "task")},
      "task");
}

struct CallAnswerOptions {
  std::string id;  ///< of an attempt, or of an instance with one accepted call
  std::string file;
  std::string code;
  std::string message;
};

/// The attempt that the id names: that of the only accepted call of an instance, or the id itself.
/// So a repeated request names the same attempt and cannot answer a later one.
Fallible<std::string> attempt_of(Session& session, const std::string& id) {
  Fallible<Reply> reply =
      session.client.send({.path = session.path({"calls"}), .query = {{"instance", id}}});
  if (!reply) {
    if (reply.error().error.code == "instance.not_found") return id;
    return tl::unexpected(std::move(reply).error());
  }
  const Json items = reply->body.value("items", Json::array());
  if (items.empty()) {
    return give_up(ExitCode::kConflict, "callback.ended",
                   fmt::format("no call of the instance {} waits for an answer from outside; "
                               "nothing was changed",
                               id));
  }
  if (items.size() > 1) {
    return give_up(ExitCode::kUsage, "cli.usage",
                   fmt::format("several calls of the instance {} wait for an answer; name one "
                               "attempt, as `millrace -n {} call list --instance {}` shows it",
                               id, shell_word(session.ns), id));
  }
  return items.front().at("task").get<std::string>();
}

/// Answers the attempt that the id names with this body, and shows the attempt.
Ended answer_call(Session& session, const std::string& id, const std::string& verb,
                  std::string body) {
  const std::string attempt = TRY(attempt_of(session, id));
  const Reply reply = TRY(session.client.send(
      {.method = "POST", .path = session.path({"calls", attempt, verb}), .body = std::move(body)}));
  Json shown = reply.body;
  shown["task"] = attempt;
  session.output.item(shown, "task");
  return ExitCode::kOk;
}

Ended complete_call(Session& session, const CallAnswerOptions& options) {
  std::string result;
  if (!options.file.empty()) result = TRY(read_file(session.console, options.file));
  return answer_call(session, options.id, "complete", std::move(result));
}

Ended fail_call(Session& session, const CallAnswerOptions& options) {
  const Json error{{"code", options.code}, {"message", options.message}};
  return answer_call(session, options.id, "fail", dump_json(error));
}

void add_attempt(Verb& verb, CallAnswerOptions& options) {
  verb.option("CALL", options.id,
              "The attempt, from `call list`, or an instance of which one call waits", "ID")
      .required();
}

}  // namespace

void add_call_verbs(CommandLine& commands) {
  CommandLine call = commands.noun("call", "Calls that a service has accepted and answers later");
  auto [list, listed] = call.asking<CallListOptions>(
      "list", "Lists the calls that wait for an answer from outside, the oldest first",
      "millrace call list --instance 0190b5a4-7c1e-7f2a-8000-0123456789ab", list_accepted_calls);
  list.option("--instance", listed.instance, "Only the calls of this instance", "ID");
  add_page(list, listed.page);
  auto [complete, completed] = call.asking<CallAnswerOptions>(
      "complete", "Answers a call that waits with its result, in place of the service",
      "millrace call complete 0190b5a4-7c1e-7f2a-8000-0123456789ab", complete_call);
  add_attempt(complete, completed);
  complete.option("-f,--file", completed.file,
                  "The result, as a service sends it; - is standard input; default: null", "FILE");
  auto [failing, failed] = call.asking<CallAnswerOptions>(
      "fail", "Answers a call that waits with an error, in place of the service",
      "millrace call fail 0190b5a4-7c1e-7f2a-8000-0123456789ab --code approval.refused", fail_call);
  add_attempt(failing, failed);
  failing
      .option("--code", failed.code, "The error code, as `catch` and `retries` compare it", "CODE")
      .required();
  failing.option("--message", failed.message, "The message of the error");
}

}  // namespace millrace
