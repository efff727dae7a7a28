#include "orchestrator/service/past_waits.h"

#include <algorithm>
#include <iterator>

#include <fmt/format.h>

#include "base/excerpt.h"
#include "model/early_events.h"
#include "orchestrator/store/rows/history_rows.h"

namespace millrace {
namespace {

/// The most rows of a history that are read for an answer.
constexpr size_t kMostHistoryRows = 100;

/// The newest records of an instance, oldest first.
Result<std::vector<HistoryRecord>> newest_records(const View& view, const Instance& instance) {
  std::vector<uint64_t> rows;
  TRY(each_history_place(view, instance, [&](const HistoryPlace& place) -> Result<bool> {
    rows.push_back(place.row);
    return rows.size() < kMostHistoryRows;
  }));
  std::vector<HistoryRecord> all;
  for (auto row = rows.rbegin(); row != rows.rend(); ++row) {
    std::vector<HistoryRecord> records = TRY(read_history_row(view, instance, *row));
    std::move(records.begin(), records.end(), std::back_inserter(all));
  }
  return all;
}

/// The event that a record of the kind kWoken names, in words. Of a sealed instance, it is not
/// named: its values may be secrets.
std::string waker_of(const HistoryRecord& record, bool is_sealed) {
  const Json detail = record.detail.value();
  if (is_sealed || !detail.is_object() || !detail.contains("id")) return "an event";
  return fmt::format("the event \"{}\" of \"{}\"", excerpt(detail.value("id", "")),
                     excerpt(detail.value("source", "")));
}

/// What ends a wait, in words; empty: the record ends no wait.
std::string end_of(const HistoryRecord& record, bool is_sealed) {
  switch (record.kind) {
    case HistoryKind::kWoken:
      return waker_of(record, is_sealed) + " woke it";
    case HistoryKind::kRaised: {
      const Json detail = record.detail.value();
      const std::string code = detail.is_object() ? detail.value("code", "") : "";
      if (code == "direktiv.stateTimeout") return "it timed out";
      return fmt::format("the error {} was raised", code);
    }
    case HistoryKind::kCancelled:
      return "the instance was cancelled";
    case HistoryKind::kEnded:
      return "the instance ended";
    default:
      return "";
  }
}

/// Whether the record says that the window of the state could not be read completely.
bool is_beyond_lookback(const HistoryRecord& record) {
  if (record.kind != HistoryKind::kRaised) return false;
  const Json detail = record.detail.value();
  return detail.is_object() && detail.value("code", "") == kLookbackLimit;
}

/// Whether the record says that the event has woken the instance.
bool names_wake_by(const HistoryRecord& record, const Event& event) {
  if (record.kind != HistoryKind::kWoken) return false;
  const Json detail = record.detail.value();
  return detail.is_object() && detail.value("id", "") == event.id &&
         detail.value("source", "") == event.source;
}

}  // namespace

bool awaits(const State& state, std::string_view type) {
  const std::vector<std::string> types = state.awaited_types();
  return std::find(types.begin(), types.end(), type) != types.end();
}

std::optional<TimePoint> window_begin(const State& state, std::string_view type,
                                      TimePoint entered) {
  const std::vector<std::string> types = state.awaited_types();
  const std::vector<std::optional<Duration>> lookbacks = state.lookbacks();
  std::optional<TimePoint> begin;
  for (size_t i = 0; i < std::min(types.size(), lookbacks.size()); ++i) {
    if (types[i] != type || !lookbacks[i]) continue;
    begin = std::min(begin.value_or(entered), entered - *lookbacks[i]);
  }
  return begin;
}

std::optional<std::vector<EventFilter>> asked_in(const PastWait& wait, const Workflow& workflow,
                                                 std::string_view type) {
  const auto state = std::find_if(workflow.states.begin(), workflow.states.end(),
                                  [&](const auto& one) { return one->common().id == wait.state; });
  if (!wait.data || state == workflow.states.end()) return std::nullopt;
  const std::vector<std::string> types = (*state)->awaited_types();
  std::vector<std::optional<EventFilter>> known = (*state)->filters_over(*wait.data);
  std::vector<EventFilter> asked;
  for (size_t i = 0; i < std::min(types.size(), known.size()); ++i) {
    if (types[i] != type) continue;
    if (!known[i]) return std::nullopt;
    asked.push_back(*std::move(known[i]));
  }
  if (asked.empty()) return std::nullopt;
  return asked;
}

Result<std::vector<PastWait>> past_waits(const View& view, const Instance& instance,
                                         const Workflow& workflow, std::string_view type) {
  const std::vector<HistoryRecord> records = TRY(newest_records(view, instance));
  const auto state_of = [&](const std::string& id) -> const State* {
    const auto found = std::find_if(
        workflow.states.begin(), workflow.states.end(),
        [&](const auto& state) { return state->common().id == id && awaits(*state, type); });
    return found == workflow.states.end() ? nullptr : found->get();
  };
  std::vector<PastWait> waits;
  bool is_open = false;  // the instance has not entered another state since the last wait
  for (const HistoryRecord& record : records) {
    if (record.kind == HistoryKind::kEntered) {
      if (is_open) waits.back().until = record.event;
      if (is_open && !waits.back().ended) waits.back().ended = record.time;
      const State* const state = state_of(record.state);
      is_open = state != nullptr;
      if (is_open) {
        waits.push_back({.state = record.state,
                         .from = record.event,
                         .window_from = window_begin(*state, type, record.time),
                         .entered = record.time,
                         .data = record.data});
      }
      continue;
    }
    if (!is_open) continue;
    PastWait& last = waits.back();
    std::string end = end_of(record, instance.sealed);
    // An eventAnd state is woken several times, and the wait ends with the last of them. An
    // instance whose last state was woken ends because of that.
    const bool is_consequence = last.was_woken && record.kind == HistoryKind::kEnded;
    if (end.empty() || is_consequence || (last.ended && !last.was_woken)) continue;
    last.was_woken = record.kind == HistoryKind::kWoken;
    last.ended = record.time;
    last.ended_by = std::move(end);
    last.is_cut = is_beyond_lookback(record);
  }
  if (is_open) {
    waits.back().until = instance.listen_from.event;
    if (!instance.listeners.empty()) waits.back().ended.reset();
  }
  return waits;
}

Result<bool> has_woken_in_state(const View& view, const Instance& instance, const Event& event,
                                const EventPosition& at) {
  const std::vector<HistoryRecord> records = TRY(newest_records(view, instance));
  for (auto record = records.rbegin(); record != records.rend(); ++record) {
    if (record->kind == HistoryKind::kEntered) return record->event < at;
    if (names_wake_by(*record, event)) return true;
  }
  return false;
}

}  // namespace millrace
