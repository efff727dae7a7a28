#include "orchestrator/batch/commands/callback_commands.h"

#include <string>
#include <string_view>
#include <variant>

#include <fmt/format.h>

#include "base/bytes.h"
#include "base/json.h"
#include "base/lazy_json.h"
#include "base/time.h"
#include "orchestrator/batch/task_inputs.h"
#include "orchestrator/store/rows/answer_rows.h"

namespace millrace {
namespace {

/// What an answer says, as text that shows nothing of it: the rows of answers are not sealed.
/// `result`: that of the answer; not used if the answer is an error.
Fingerprint outcome_of(const Transaction& tx, const TaskEnded& ended, std::string_view result) {
  constexpr std::string_view kPurpose = "answer of a task";
  const std::string key = tx.seal().id_key();
  if (ended.result) return keyed_fingerprint(key, {kPurpose, "complete", result});
  const Error& error = ended.result.error();
  return keyed_fingerprint(key, {kPurpose, "fail", error.code, error.message});
}

std::string_view result_text(const TaskEnded& ended) {
  return ended.result ? std::string_view(*ended.result) : std::string_view();
}

/// The outcome that is stored. A result that is JSON counts as its compact text with sorted keys,
/// so that white space and the order of members do not matter. The engine thread makes no tree of a
/// large text, so a large one counts as it is, as bytes that are not JSON do.
Fingerprint outcome_of(const Transaction& tx, const TaskEnded& ended) {
  const std::string_view text = result_text(ended);
  if (text.empty() || text.size() > kLargeJson) return outcome_of(tx, ended, text);
  const Result<Json> value = parse_json(text);
  return value ? outcome_of(tx, ended, dump_json(*value)) : outcome_of(tx, ended, text);
}

/// Whether the answer says what the given one said. A row of an older release has the outcome of
/// the text as it came.
bool repeats(const Transaction& tx, const TaskEnded& ended, const GivenAnswer& given) {
  if (given.outcome == outcome_of(tx, ended, result_text(ended))) return true;
  return given.outcome == outcome_of(tx, ended);
}

/// What has answered the attempt, and when, as the begin of a sentence.
std::string origin_of(const GivenAnswer& given) {
  const auto at = [&](std::string_view who) {
    return fmt::format("{} answered it at {}", who, format_rfc3339(given.at));
  };
  switch (given.by) {
    case AnsweredBy::kRunner:
      break;
    case AnsweredBy::kHttpCallback:
      return at("a callback over HTTP");
    case AnsweredBy::kNatsCallback:
      return at("a callback over NATS");
    case AnsweredBy::kOperator:
      return at("an operator");
  }
  return "a callback or an operator has answered it already";
}

/// The answer to a request about an attempt that has ended: that of the first request if this one
/// repeats it.
Result<Json> answer_again(const CommandContext& context, NamespaceNumber ns,
                          const AnswerTask& command) {
  BatchState& batch = context.batch;
  const std::optional<GivenAnswer> given =
      TRY(batch.damages.pass_over(read_answer(batch.tx, ns, command.task)));
  if (!given) {
    return fail("callback.ended",
                "the attempt has ended: it has an answer already, a timeout has ended it, or its "
                "result is not needed any more; nothing was changed");
  }
  const auto* const ended = std::get_if<TaskEnded>(&command.what);
  if (ended == nullptr) {
    return fail("callback.ended",
                fmt::format("the attempt has ended: {}; nothing was changed", origin_of(*given)));
  }
  if (!repeats(batch.tx, *ended, *given)) {
    return fail(
        "callback.ended",
        fmt::format("the attempt has ended: {}, and said something else; nothing was changed",
                    origin_of(*given)));
  }
  return Json{{"accepted", true}};
}

}  // namespace

Result<Json> run_command(const CommandContext& context, const AnswerTask& command) {
  const NamespaceNumber ns = TRY(find_namespace(context, command.ns));
  BatchState& batch = context.batch;
  const OpenTask* const open = batch.tasks.find(command.task);
  const bool is_of_operator = command.by == AnsweredBy::kOperator;
  if (is_of_operator && open != nullptr && open->ns == ns && !open->is_accepted) {
    return fail("call.not_accepted",
                "no service has accepted the task of this attempt, so its runner still answers it; "
                "`millrace call list` shows the attempts that can be answered");
  }
  const bool ends = std::holds_alternative<TaskEnded>(command.what);
  if (ends && open != nullptr && open->ns == ns && open->has_files && !command.has_files &&
      !is_of_operator) {
    return fail("callback.ended",
                "this delivery of the task has ended before millrace stored that its service has "
                "accepted it, so millrace has sent the task again under the same action id with "
                "another URL and key; nothing was changed");
  }
  const bool is_taken = TRY(context.tasks.answer(context.now, ns, command));
  if (!is_taken) return answer_again(context, ns, command);
  if (const auto* const ended = std::get_if<TaskEnded>(&command.what)) {
    TRY(add_answer(batch.tx, ns,
                   {.task = command.task,
                    .outcome = outcome_of(batch.tx, *ended),
                    .by = command.by,
                    .at = context.now}));
  }
  return Json{{"accepted", true}};
}

}  // namespace millrace
