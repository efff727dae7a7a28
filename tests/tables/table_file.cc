#include "tests/tables/table_file.h"

#include <algorithm>
#include <array>
#include <optional>
#include <set>

#include <fmt/format.h>

#include "base/characters.h"
#include "orchestrator/definition/loader.h"
#include "policies/duration.h"
#include "tests/tables/event_text.h"

namespace millrace {
namespace {

constexpr std::string_view kWorkflow = "workflow:";
constexpr std::string_view kCase = "case:";
constexpr std::string_view kCaseAfterEnter = "case after enter:";
constexpr std::string_view kInput = "input:";
/// Marks `does` where it is written below its row.
constexpr std::string_view kDoes = "=>";
/// Marks a line that continues the line above, with a space between them.
constexpr std::string_view kFold = "..";
constexpr size_t kColumns = 5;

std::vector<std::string> lines_of(std::string_view text) {
  std::vector<std::string> lines;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    lines.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

/// Removes the first word from the front of the text.
std::string_view take_word(std::string_view& text) {
  text = trimmed(text);
  const size_t end = std::min(text.find(' '), text.size());
  const std::string_view word = text.substr(0, end);
  text = trimmed(text.substr(end));
  return word;
}

class Parser {
 public:
  Parser(const std::string& file, std::string_view text) : file_(file), lines_(lines_of(text)) {}

  Result<std::vector<TableCase>> parse() {
    for (; at_ < lines_.size(); ++at_) {
      const std::string_view line = lines_[at_];
      if (trimmed(line).empty() || line.starts_with('#')) continue;
      if (line == kWorkflow) {
        read_workflow();
      } else if (line.starts_with(kCase)) {
        TRY(begin_case(trimmed(line.substr(kCase.size()))));
        complete_ = cases_.size() - 1;
      } else if (line.starts_with(kCaseAfterEnter)) {
        TRY(begin_case(trimmed(line.substr(kCaseAfterEnter.size()))));
        TRY(inherit_enter());
      } else if (cases_.empty()) {
        return malformed("expected `workflow:` or `case:`");
      } else if (line.starts_with(kInput)) {
        TRY(read_input(trimmed(line.substr(kInput.size()))));
      } else if (line.starts_with(' ')) {
        TRY(read_row(trimmed(line)));
      } else {
        return malformed("expected `workflow:`, `case:`, `input:` or an indented row");
      }
    }
    return std::move(cases_);
  }

 private:
  tl::unexpected<Error> malformed(std::string_view what) const {
    return fail("table.malformed", fmt::format("{}:{}: {}", file_, at_ + 1, what));
  }

  void read_workflow() {
    workflow_.clear();
    complete_.reset();
    while (at_ + 1 < lines_.size() &&
           (lines_[at_ + 1].starts_with("  ") || lines_[at_ + 1].empty())) {
      const std::string& line = lines_[++at_];
      workflow_ += line.empty() ? "\n" : line.substr(2) + "\n";
    }
  }

  Status begin_case(std::string_view title) {
    if (workflow_.empty()) return malformed("a case needs a `workflow:` above it");
    if (title.empty()) return malformed("a case needs a sentence");
    if (!titles_.insert(std::string(title)).second) return malformed("the sentence is there twice");
    cases_.push_back(
        {.file = file_, .line = at_ + 1, .title = std::string(title), .workflow = workflow_});
    comments_.clear();
    return {};
  }

  /// Copies the input and the first row of the last case that is written in full.
  Status inherit_enter() {
    if (!complete_ || cases_[*complete_].rows.empty() ||
        cases_[*complete_].rows.front().row.input != "enter") {
      return malformed("above it there is no `case:` of this workflow that begins with `enter`");
    }
    const TableCase& from = cases_[*complete_];
    cases_.back().input = from.input;
    cases_.back().rows = {
        {.line = from.rows.front().line, .row = from.rows.front().row, .is_inherited = true}};
    return {};
  }

  Status read_input(std::string_view text) {
    if (!cases_.back().rows.empty()) return malformed("`input:` stands right behind `case:`");
    auto input = parse_json(text);
    if (!input) return malformed(input.error().message);
    cases_.back().input = std::move(*input);
    return {};
  }

  /// Reads a line below a row: one more `does` of the row, or the rest of the last one.
  Status read_below(std::string_view line) {
    auto& rows = cases_.back().rows;
    if (rows.empty() || rows.back().is_inherited) return malformed("there is no row above it");
    auto& does = rows.back().row.does;
    const std::string text(trimmed(line.substr(kDoes.size())));
    if (line.starts_with(kDoes)) {
      // The `does` of a row that ends before its last column is one empty text.
      if (does.size() == 1 && does.front().empty()) does.clear();
      does.push_back(text);
    } else {
      does.back() += " " + text;
    }
    return {};
  }

  Status read_row(std::string_view line) {
    if (line.starts_with('#')) {
      comments_.emplace_back(line);
      return {};
    }
    if (line.starts_with(kDoes) || line.starts_with(kFold)) return read_below(line);
    // A new row may have only its first two columns: UPDATE_GOLDEN writes the others.
    std::array<std::string, kColumns> columns;
    size_t count = 0;
    for (bool more = true; more; ++count) {
      const size_t bar = count + 1 < kColumns ? std::min(line.find('|'), line.size()) : line.size();
      columns[count] = trimmed(line.substr(0, bar));
      more = bar < line.size();
      if (more) line.remove_prefix(bar + 1);
    }
    if (count < 2) return malformed("a row is `at | input | state | status | does`");
    auto& [at, input, state, status, does] = columns;
    auto& rows = cases_.back().rows;
    if (at.empty()) {
      if (rows.empty() || rows.back().is_inherited || !input.empty() || !state.empty() ||
          !status.empty()) {
        return malformed("a row without a time goes on with the last column of the one above");
      }
      rows.back().row.does.push_back(std::move(does));
      return {};
    }
    rows.push_back({.line = at_ + 1,
                    .comments = std::move(comments_),
                    .row = {std::move(at),
                            std::move(input),
                            std::move(state),
                            std::move(status),
                            {std::move(does)}}});
    comments_.clear();
    return {};
  }

  const std::string& file_;
  std::vector<std::string> lines_;
  size_t at_ = 0;
  std::string workflow_;
  std::vector<std::string> comments_;
  std::set<std::string> titles_;
  std::vector<TableCase> cases_;
  std::optional<size_t> complete_;  ///< the last case of the workflow that is written in full
};

Result<TimePoint> parse_at(std::string_view text) {
  return TRY(Span::parse(text)).after(run_start());
}

/// Reads `[1,"x"]`, followed by `error CODE MESSAGE` if the last query failed.
Result<EvaluationResult> parse_results(std::string_view text) {
  const size_t end = text.rfind(']');
  if (end == std::string_view::npos) return fail("table.input", "the results are a JSON array");
  EvaluationResult results;
  for (const Json& value : TRY(parse_json(text.substr(0, end + 1)))) results.emplace_back(value);
  text.remove_prefix(end + 1);
  if (take_word(text) == "error") {
    const std::string_view code = take_word(text);
    results.emplace_back(fail(std::string(code), std::string(text)));
  }
  return results;
}

/// Runs `none`, `error CODE MESSAGE`, or an event, which its first listener takes.
Status perform_early(InstanceRun& run, std::string_view input, size_t number) {
  if (!run.looked_back()) return fail("table.input", "the instance has not looked back");
  if (input == "none") {
    run.early(std::vector<EarlyEvent>());
  } else if (input.starts_with("error ")) {
    take_word(input);
    const std::string code(take_word(input));
    run.early(tl::unexpected(Error{code, std::string(input)}));
  } else {
    Event event =
        TRY(parse_event_text(input, Event{.id = fmt::format("e{}", number), .source = "test"}));
    const auto& listeners = run.looked_back()->listeners;
    const auto takes = std::find_if(listeners.begin(), listeners.end(),
                                    [&](const auto& one) { return one.filter.type == event.type; });
    if (takes == listeners.end()) return fail("table.input", "no listener has that type");
    run.early(std::vector<EarlyEvent>{{.sequence = 1,
                                       .event = std::make_shared<const Event>(std::move(event)),
                                       .entry = takes->entry}});
  }
  return {};
}

/// Runs `INDEX RESULT` or `INDEX error CODE MESSAGE`. `INDEX#ATTEMPT` names an earlier attempt.
Status perform_returned(InstanceRun& run, std::string_view input) {
  const auto number = [](std::string_view digits) {
    return static_cast<uint32_t>(std::strtoul(std::string(digits).c_str(), nullptr, 10));
  };
  const std::string_view call = take_word(input);
  const size_t mark = call.find('#');
  const uint32_t attempt = mark == std::string_view::npos ? 0 : number(call.substr(mark + 1));
  if (input.starts_with("error ")) {
    take_word(input);
    const std::string code(take_word(input));
    run.returned(number(call), attempt, tl::unexpected(Error{code, std::string(input)}));
  } else {
    run.returned(number(call), attempt, LazyJson(TRY(parse_json(input))));
  }
  return {};
}

/// Runs `workflow hits data=7`: another client sets a variable, or deletes it if there are no
/// bytes.
Status set_variable(InstanceRun& run, std::string_view text) {
  constexpr VariableScope kScopes[] = {VariableScope::kInstance, VariableScope::kWorkflow,
                                       VariableScope::kNamespace};
  const std::string_view word = take_word(text);
  const auto* const scope = std::find_if(std::begin(kScopes), std::end(kScopes),
                                         [&](VariableScope one) { return to_string(one) == word; });
  const std::string key(take_word(text));
  if (scope == std::end(kScopes) || key.empty()) {
    return fail("table.input", "variable SCOPE KEY, and data=… or base64=…");
  }
  std::optional<Variable> value;
  if (!text.empty()) {
    const Event event =
        TRY(parse_event_text(fmt::format("t {}", text), {.id = "1", .source = "s"}));
    value = Variable{.content_type = event.datacontenttype.value_or("application/json"),
                     .bytes = event.data.value_or("")};
  }
  run.set_variable(*scope, key, std::move(value));
  return {};
}

/// Runs `pause`, `resume`, `retry`, `restart` or `rerun STATE DATA`: a command of an operator.
Status perform_command(InstanceRun& run, std::string_view input) {
  const std::string row = fmt::format("command {}", input);
  const std::string_view verb = take_word(input);
  if (verb == "pause") {
    run.give(row, Pause{});
  } else if (verb == "resume") {
    run.give(row, Resume{});
  } else if (verb == "retry") {
    run.give(row, Retry{});
  } else if (verb == "restart") {
    run.give(row, Restart{});
  } else if (verb == "rerun") {
    const std::string_view id = take_word(input);
    const auto& states = run.workflow().states;
    const auto found = std::find_if(states.begin(), states.end(),
                                    [&](const auto& state) { return state->common().id == id; });
    if (found == states.end()) return fail("table.input", fmt::format("no state is \"{}\"", id));
    run.give(row, Rerun{.state = static_cast<StateIndex>(found - states.begin()),
                        .data = LazyJson(TRY(parse_json(input)))});
  } else {
    return fail("table.input",
                fmt::format("\"{}\" is no command; there are pause, resume, retry, restart and "
                            "rerun STATE DATA",
                            verb));
  }
  return {};
}

/// Runs one row.
Status perform(InstanceRun& run, std::string_view at, std::string_view input, size_t number) {
  const TimePoint time = TRY(parse_at(at));
  if (time < run.now()) return fail("table.input", "the time goes back");
  run.set_time(time);
  const std::string_view word = take_word(input);
  if (word == "enter" || word == "restart") {
    run.proceed();
  } else if (word == "tick") {
    run.tick();
  } else if (word == "event") {
    run.event(
        TRY(parse_event_text(input, Event{.id = fmt::format("e{}", number), .source = "test"})));
  } else if (word == "evaluated") {
    if (!run.asked()) return fail("table.input", "nothing has been asked");
    run.evaluated(TRY(parse_results(input)));
  } else if (word == "early") {
    return perform_early(run, input, number);
  } else if (word == "fire") {
    const std::string_view name = take_word(input);
    for (const TimerKind kind : {TimerKind::kStateTimeout, TimerKind::kDelay, TimerKind::kRetry,
                                 TimerKind::kInterrupt, TimerKind::kKill}) {
      if (name_of(kind) != name) continue;
      run.fire(kind, TRY(parse_at(input)));
      return {};
    }
    return fail("table.input", fmt::format("there is no timer \"{}\"", name));
  } else if (word == "returned") {
    return perform_returned(run, input);
  } else if (word == "command") {
    return perform_command(run, input);
  } else if (word == "variable") {
    return set_variable(run, input);
  } else if (word == "secret") {
    const std::string name(take_word(input));
    run.set_secret(name, std::string(input));
  } else if (word == "cancel") {
    const std::string code(take_word(input));
    run.cancel({code, std::string(input)});
  } else {
    return fail(
        "table.input",
        fmt::format("\"{}\" is no input; there are enter, restart, tick, event, evaluated, early, "
                    "returned, fire, command, variable, secret and cancel",
                    word));
  }
  return {};
}

/// The one row of a definition that is refused: its errors with their places.
Result<std::vector<TableRow>> refused(const TableCase& table_case, const Findings& findings) {
  if (table_case.rows.size() != 1 || table_case.rows.front().row.input != "load") {
    return fail("table.input", fmt::format("{}:{}: {}", table_case.file, table_case.line,
                                           render_text(findings, "the workflow")));
  }
  TableRow row = table_case.rows.front();
  row.row.state = "-";
  row.row.status = "refused";
  row.row.does.clear();
  for (const Finding& finding : findings.sorted()) {
    row.row.does.push_back(fmt::format("{} {}: {}", finding.code, finding.path, finding.message));
  }
  return std::vector<TableRow>{std::move(row)};
}

/// The width of a column: its code points.
size_t width_of(std::string_view text) {
  return static_cast<size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xc0) != 0x80; }));
}

using Widths = std::array<size_t, kColumns - 1>;

std::array<std::string_view, kColumns - 1> columns_of(const TraceRow& row) {
  return {row.at, row.input, row.state, row.status};
}

/// Writes the first columns of a row, each as wide as in the widest row.
std::string print_columns(const TraceRow& row, const Widths& widths) {
  std::string line = " ";
  for (size_t i = 0; i < widths.size(); ++i) {
    const std::string_view cell = columns_of(row)[i];
    const std::string padding(widths[i] - width_of(cell), ' ');
    // Times are aligned to the right.
    line += i == 0 ? " " + padding + std::string(cell) : " | " + std::string(cell) + padding;
  }
  return line;
}

/// Writes `does` after the columns.
std::vector<std::string> print_beside(const TraceRow& row, const Widths& widths) {
  std::vector<std::string> lines;
  for (const std::string& does : row.does) {
    lines.push_back(print_columns(lines.empty() ? row : TraceRow(), widths) + " | " + does);
  }
  return lines;
}

/// Writes `does` below the columns, folded where it is too wide.
std::vector<std::string> print_below(const TraceRow& row, const Widths& widths) {
  std::vector<std::string> lines{print_columns(row, widths)};
  lines.back().erase(lines.back().find_last_not_of(' ') + 1);
  const std::string indent(widths[0] + 3, ' ');
  for (std::string_view does : row.does) {
    std::string line = fmt::format("{}{} ", indent, kDoes);
    while (width_of(line) + width_of(does) > kMostWidth) {
      const size_t most = kMostWidth - line.size();
      const size_t blank = does.rfind(' ', std::min(most, does.size()));
      if (blank == std::string_view::npos || blank == 0 || does[blank + 1] == ' ' ||
          does[blank - 1] == ' ') {
        break;
      }
      lines.push_back(line + std::string(does.substr(0, blank)));
      does.remove_prefix(blank + 1);
      line = fmt::format("{}{} ", indent, kFold);
    }
    lines.push_back(line + std::string(does));
  }
  return lines;
}

std::vector<std::string> print_rows(const std::vector<TableRow>& rows) {
  Widths widths{};
  for (const TableRow& row : rows) {
    if (row.is_inherited) continue;
    for (size_t i = 0; i < widths.size(); ++i) {
      widths[i] = std::max(widths[i], width_of(columns_of(row.row)[i]));
    }
  }
  const auto print = [&](auto&& print_row) {
    std::vector<std::string> lines;
    for (const TableRow& row : rows) {
      if (row.is_inherited) continue;
      for (const std::string& comment : row.comments) lines.push_back("  " + comment);
      for (std::string& line : print_row(row.row, widths)) lines.push_back(std::move(line));
    }
    return lines;
  };
  const std::vector<std::string> beside = print(print_beside);
  const bool is_too_wide = std::any_of(beside.begin(), beside.end(), [](const std::string& line) {
    return width_of(line) > kMostWidth;
  });
  return is_too_wide ? print(print_below) : beside;
}

}  // namespace

Result<std::vector<TableCase>> parse_table(const std::string& file, std::string_view text) {
  return Parser(file, text).parse();
}

Result<std::vector<TableRow>> run_case(const TableCase& table_case) {
  const Loaded loaded = load_workflow(table_case.workflow, {});
  if (!loaded.workflow) return refused(table_case, loaded.findings);
  InstanceRun run(loaded.workflow, table_case.input);
  std::vector<TableRow> rows = table_case.rows;
  for (size_t i = 0; i < rows.size(); ++i) {
    if (const Status done = perform(run, rows[i].row.at, rows[i].row.input, i); !done) {
      return fail("table.input",
                  fmt::format("{}:{}: {}", table_case.file, rows[i].line, done.error().message));
    }
    const TraceRow& actual = run.rows().back();
    rows[i].row.state = actual.state;
    rows[i].row.status = actual.status;
    rows[i].row.does = actual.does;
  }
  return rows;
}

std::string replace_rows(std::string_view text, const TableCase& table_case,
                         const std::vector<TableRow>& rows) {
  const std::vector<std::string> lines = lines_of(text);
  std::string out;
  size_t at = 0;
  const auto copy_line = [&] { out += lines[at++] + "\n"; };
  const auto is_row = [&] { return at < lines.size() && lines[at].starts_with(' '); };
  while (at < table_case.line) copy_line();
  while (at < lines.size() && lines[at].starts_with(kInput)) copy_line();
  while (is_row()) ++at;
  for (const std::string& line : print_rows(rows)) out += line + "\n";
  while (at < lines.size()) copy_line();
  return out;
}

}  // namespace millrace
