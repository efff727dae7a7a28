#include "orchestrator/made_scenario/observed_data.h"

#include <algorithm>
#include <utility>

#include "expressions/template.h"
#include "orchestrator/made_scenario/member_before.h"
#include "orchestrator/made_scenario/record_detail.h"

namespace millrace {
namespace {

/// Whether all exits of a state leave the data as it is.
bool has_no_transform(const State& state) {
  return std::none_of(state.common().exits.begin(), state.common().exits.end(),
                      [](const Exit& exit) { return exit.transform.has_value(); });
}

/// The member of the data that states of the type may change although no record has the data;
/// nullopt: they may change more.
std::optional<std::string> changed_by(const std::string& type) {
  if (type == "getter") return "var";
  if (type == "error") return "error";
  if (type == "noop" || type == "switch" || type == "validate") return "";
  return std::nullopt;
}

/// Whether an error that was raised is that of a transform: it comes together with the last result,
/// or with the entry of a state that does not wait.
bool is_of_transform(const std::vector<HistoryRecord>& history, size_t entered, size_t raised) {
  const std::string code = text_in(history[raised].detail.value(), "code");
  for (const std::string_view timer :
       {"direktiv.stateTimeout", "direktiv.cancels.", "millrace.timeout."}) {
    if (code.starts_with(timer)) return false;
  }
  const HistoryRecord& before = history[raised - 1];
  const bool is_result =
      before.kind == HistoryKind::kReturned && !before.detail.value().contains("code");
  // A compensation is noted also if the transform fails.
  const bool is_noted = before.kind == HistoryKind::kNoted;
  return is_result || is_noted || raised - 1 == entered;
}

}  // namespace

WayOut how_left(const std::vector<HistoryRecord>& history, size_t entered) {
  for (size_t i = entered + 1; i < history.size(); ++i) {
    switch (history[i].kind) {
      case HistoryKind::kEntered:
      case HistoryKind::kEnded:
      case HistoryKind::kCompensating:
        return WayOut::kExit;
      case HistoryKind::kRaised:
        return is_of_transform(history, entered, i) ? WayOut::kTransform : WayOut::kError;
      case HistoryKind::kCancelled:
      case HistoryKind::kRun:
      case HistoryKind::kRevived:
        return WayOut::kError;
      default:
        break;
    }
  }
  return WayOut::kNot;
}

std::optional<Json> ObservedData::on_leaving(size_t entered, const std::string& member) const {
  const State* const left = state_named(history_[entered].state);
  if (left == nullptr || left->common().exits.size() != 1) return std::nullopt;
  Transformed transformed{.member = member};
  bool is_found = false;
  for (size_t i = entered + 1; i < history_.size() && !is_found; ++i) {
    const HistoryRecord& record = history_[i];
    const bool starts_again = record.kind == HistoryKind::kRetrying &&
                              !record.detail.value().contains("index");  // not only a call
    if (starts_again || record.kind == HistoryKind::kRun || record.kind == HistoryKind::kRevived) {
      return std::nullopt;
    }
    if (record.kind == HistoryKind::kRaised) transformed.later.insert("error");
    if (record.kind != HistoryKind::kEntered) continue;
    if (record.data) {
      transformed.after = record.data->value();
      is_found = true;
      continue;
    }
    const State* const state = state_named(record.state);
    if (state == nullptr || !has_no_transform(*state)) return std::nullopt;
    const auto changed = changed_by(state->common().type);
    if (!changed) return std::nullopt;
    if (!changed->empty()) transformed.later.insert(*changed);
  }
  if (!is_found) transformed.after = instance_.data.value();
  const std::optional<Template>& transform = left->common().exits.front().transform;
  if (!transform || how_left(history_, entered) == WayOut::kTransform) {
    return member_by_program(".", transformed);
  }
  if (const Program* const program = transform->whole()) {
    return member_by_program(program->text, transformed);
  }
  const Json& state = definition_.state(left->common().id);
  const auto written = state.find("transform");
  if (!state.is_object() || written == state.end()) return std::nullopt;
  return member_by_value(*written, transformed);
}

const State* ObservedData::state_named(const std::string& id) const {
  const auto found = std::find_if(workflow_.states.begin(), workflow_.states.end(),
                                  [&](const auto& state) { return state->common().id == id; });
  return found == workflow_.states.end() ? nullptr : found->get();
}

}  // namespace millrace
