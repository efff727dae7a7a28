#include "tests/unit/made_scenario/played_rows.h"

#include <sstream>
#include <utility>

#include "base/check.h"
#include "orchestrator/definition/loader.h"
#include "orchestrator/made_scenario/made_scenario.h"

namespace millrace {
namespace {

const TimePoint kStart = from_millis(1'767'225'600'000);  // 2026-01-01T00:00:00Z

HistoryRecord record_of(const std::string& line) {
  std::istringstream words(line);
  int64_t time = 0;
  std::string kind;
  std::string state;
  words >> time >> kind >> state;
  std::string rest;
  std::getline(words, rest);
  HistoryRecord record{.time = kStart + Duration(time),
                       .kind = parse_history_kind(kind).value(),
                       .state = state == "-" ? "" : state};
  const size_t arrow = rest.find("=> ");
  if (arrow != std::string::npos) record.data = LazyJson(Json::parse(rest.substr(arrow + 3)));
  const std::string detail = rest.substr(0, arrow);
  if (detail.find('{') != std::string::npos) record.detail = LazyJson(Json::parse(detail));
  return record;
}

}  // namespace

std::vector<HistoryRecord> history_of(const std::string& lines) {
  std::vector<HistoryRecord> history;
  std::istringstream text(lines);
  for (std::string line; std::getline(text, line);) {
    if (line.find_first_not_of(' ') != std::string::npos) history.push_back(record_of(line));
  }
  return history;
}

Result<std::string> made(const PlayedRow& row, const std::function<void(Instance&)>& change) {
  const Loaded loaded = load_workflow(row.definition, nullptr);
  CHECK(loaded.workflow != nullptr, "{}", render_text(loaded.findings, row.name));
  Instance instance{.id = parse_instance_id(kPlayedId).value(), .revision = {WorkflowNumber{1}, 3}};
  instance.status = row.status;
  instance.started_at = kStart;
  instance.input = LazyJson(Json::parse(row.input));
  instance.data = LazyJson(Json::parse(row.data));
  instance.error = row.error;
  if (change) change(instance);
  const std::vector<HistoryRecord> history = history_of(row.history);
  PlayedInstance played{.instance = instance,
                        .workflow = *loaded.workflow,
                        .definition = row.definition,
                        .history = history,
                        .events = row.events};
  if (!row.output_of_child.empty()) {
    played.outputs[parse_instance_id(kPlayedChild).value()] = Json::parse(row.output_of_child);
  }
  return make_scenario(played);
}

PlayedRow called_row() {
  return {.name = "a call with an input",
          .definition = "id: order\nstates: [{id: end, type: noop}]\n",
          .history =
              std::string(kCalledRecord) + "1 entered end\n2 ended end {\"status\":\"complete\"}\n",
          .scenario = R"(    start:
      input:
        "n": 1
    expect:
      status: complete
      states:
        - end
      took: "0s"
      output:
        "n": 1
)",
          .data = R"({"n":1})",
          .input = R"({"n":1})"};
}

}  // namespace millrace
