#include "tests/tables/call_rows.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "base/characters.h"
#include "model/variable.h"
#include "policies/duration.h"

namespace millrace {
namespace {

/// Removes the first word from the front of the text.
std::string_view next_word(std::string_view& text) {
  text = trimmed(text);
  const size_t end = std::min(text.find(' '), text.size());
  const std::string_view word = text.substr(0, end);
  text = trimmed(text.substr(end));
  return word;
}

/// Removes the word from the front of the text, if it begins with it.
bool take_front(std::string_view& text, std::string_view words) {
  if (!text.starts_with(words)) return false;
  text = trimmed(text.substr(words.size()));
  return true;
}

std::optional<size_t> count_in(std::string_view digits) {
  size_t number = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  if (error != std::errc() || end != digits.data() + digits.size()) return std::nullopt;
  return number;
}

/// Reads `2`, a task, or `2.1`, a task with the key of its first delivery.
Result<TaskName> read_task(std::string_view& input, const CallRun& run) {
  const std::string_view word = next_word(input);
  const size_t dot = std::min(word.find('.'), word.size());
  const auto number = count_in(word.substr(0, dot));
  const auto delivery = dot < word.size() ? count_in(word.substr(dot + 1)) : 0;
  if (!number || !delivery || *number == 0 || *number > run.tasks()) {
    return fail("table.input", fmt::format("\"{}\" is no task that was handed out; the first one "
                                           "is 1, and 1.2 has the key of its second delivery",
                                           word));
  }
  return TaskName{.number = *number, .delivery = *delivery};
}

/// Reads `size=N`, a body of N letters, or a body as it is.
std::string read_body(std::string_view text) {
  const auto size = text.starts_with("size=") ? count_in(text.substr(5)) : std::nullopt;
  return size ? std::string(*size, 'x') : std::string(text);
}

/// Reads `progress=N`, a progress that has N bytes as JSON, or a body as it is.
std::string read_heartbeat_body(std::string_view text) {
  const auto size = text.starts_with("progress=") ? count_in(text.substr(9)) : std::nullopt;
  if (!size || *size < 2) return std::string(text);
  return dump_json(Json{{"progress", std::string(*size - 2, 'x')}});
}

/// Plays `complete`, `fail` or `heartbeat`, with the words before it that say whose it is.
Status play_callback(CallRun& run, std::string_view input) {
  AnsweredBy by = AnsweredBy::kHttpCallback;
  if (take_front(input, "operator ")) by = AnsweredBy::kOperator;
  if (take_front(input, "nats ")) by = AnsweredBy::kNatsCallback;
  const bool is_forged = take_front(input, "forged ");
  const std::string_view verb = next_word(input);
  const TaskName task = TRY(read_task(input, run));
  std::string body = verb == "heartbeat" ? read_heartbeat_body(input) : read_body(input);
  run.call_back(task, by, verb, std::move(body), !is_forged);
  return {};
}

/// Plays `returned 1 RESULT` or `returned 1 error CODE MESSAGE`: the answer of the runner.
Status play_returned(CallRun& run, std::string_view input) {
  const TaskName task = TRY(read_task(input, run));
  if (!take_front(input, "error ")) {
    run.report(task, TaskEnded{.result = read_body(input), .variables = {}});
    return {};
  }
  const std::string code(next_word(input));
  run.report(task,
             TaskEnded{.result = tl::unexpected(Error{code, std::string(input)}), .variables = {}});
  return {};
}

/// Plays a command of an operator about the instance.
Status play_command(CallRun& run, std::string_view input) {
  const std::string_view verb = next_word(input);
  const InstanceId id = run.instance();
  if (verb == "pause") {
    run.command(PauseInstance{.ns = "default", .instance = id});
  } else if (verb == "resume") {
    run.command(ResumeInstance{.ns = "default", .instance = id});
  } else if (verb == "retry") {
    run.command(RetryInstance{.ns = "default", .instance = id});
  } else if (verb == "restart") {
    run.command(RestartInstance{.ns = "default", .instance = id});
  } else if (verb == "rerun") {
    run.command(RerunInstance{.ns = "default", .instance = id, .state = std::string(input)});
  } else if (verb == "cancel") {
    run.command(CancelInstance{.ns = "default", .instance = id, .now = input == "now"});
  } else {
    return fail("table.input", fmt::format("\"{}\" is no command; there are pause, resume, retry, "
                                           "restart, rerun STATE, cancel and cancel now",
                                           verb));
  }
  return {};
}

/// Plays `variable SCOPE KEY BYTES`: another client sets a variable.
Status play_variable(CallRun& run, std::string_view input) {
  const std::string_view scope = next_word(input);
  VariablePlace place{.ns = "default", .workflow = "", .instance = {}};
  if (scope == "workflow") {
    place.workflow = run.workflow();
  } else if (scope == "instance") {
    place.instance = run.instance();
  } else if (scope != "namespace") {
    return fail("table.input",
                "variable SCOPE KEY BYTES; a scope is instance, workflow, namespace");
  }
  std::string key(next_word(input));
  std::string bytes = read_body(input);
  run.command(PutVariable{
      .place = std::move(place),
      .key = std::move(key),
      .value = {.content_type = content_type_of_file(bytes), .bytes = std::move(bytes)}});
  return {};
}

/// Plays `write 1 NAME BYTES`, or `write 1 NAME times=N`: N files of one byte.
Status play_write(CallRun& run, std::string_view input) {
  const TaskName task = TRY(read_task(input, run));
  const std::string name(next_word(input));
  const auto times = input.starts_with("times=") ? count_in(input.substr(6)) : std::nullopt;
  run.write_file(task, name, times ? "1" : read_body(input), times.value_or(1));
  return {};
}

/// Plays what is done with the files of a call.
Status play_files(CallRun& run, std::string_view word, std::string_view input) {
  if (word == "write") return play_write(run, input);
  const TaskName task = TRY(read_task(input, run));
  if (word == "files") {
    run.list_files(task);
  } else {
    run.read_file(task, input);
  }
  return {};
}

/// Plays the stimulus of a row, between CallRun::begin() and finish().
Status play_stimulus(CallRun& run, std::string_view input) {
  const std::string_view whole = input;
  const std::string_view word = next_word(input);
  const auto is_one_of = [&](std::initializer_list<std::string_view> words) {
    return std::find(words.begin(), words.end(), word) != words.end();
  };
  if (is_one_of({"complete", "fail", "heartbeat", "operator", "nats", "forged"})) {
    return play_callback(run, whole);
  }
  if (is_one_of({"files", "read", "write"})) return play_files(run, word, input);
  if (word == "enter") {
    run.enter();
  } else if (word == "takes") {
    run.report(TRY(read_task(input, run)), TaskStarted{});
  } else if (word == "accepts") {
    run.report(TRY(read_task(input, run)), TaskAccepted{});
  } else if (word == "returned") {
    return play_returned(run, input);
  } else if (word == "command") {
    return play_command(run, input);
  } else if (word == "variable") {
    return play_variable(run, input);
  } else if (word == "secret") {
    const std::string name(next_word(input));
    run.command(PutSecret{.ns = "default", .name = name, .value = std::string(input)});
  } else if (word != "tick") {
    return fail("table.input",
                fmt::format("\"{}\" is no input of a call; README.md has the list", word));
  }
  return {};
}

Status play_row(CallRun& run, std::string_view at, const std::string& input) {
  const Duration time = TRY(Span::parse(at)).after(run_start()) - run_start();
  if (time < run.elapsed()) return fail("table.input", "the time goes back");
  std::string_view stimulus = input;
  Death death = Death::kNone;
  if (take_front(stimulus, "dies before ")) death = Death::kBefore;
  if (take_front(stimulus, "dies after ")) death = Death::kAfter;
  const bool is_restart = stimulus == "restart";
  if (is_restart) death = Death::kBefore;
  run.begin(time, input);
  if (!is_restart) TRY(play_stimulus(run, stimulus));
  run.finish(death);
  return {};
}

}  // namespace

Result<std::vector<TableRow>> run_call_case(const TableCase& table_case, World& world,
                                            CallRun::MakeService make_service) {
  CallRun run(world, std::move(make_service), table_case.workflow, table_case.input);
  std::vector<TableRow> rows = table_case.rows;
  for (TableRow& row : rows) {
    if (const Status done = play_row(run, row.row.at, row.row.input); !done) {
      return fail("table.input",
                  fmt::format("{}:{}: {}", table_case.file, row.line, done.error().message));
    }
    row.row.state = run.rows().back().state;
    row.row.status = run.rows().back().status;
    row.row.does = run.rows().back().does;
  }
  return rows;
}

}  // namespace millrace
