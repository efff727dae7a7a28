#include "orchestrator/made_scenario/expected_events.h"

#include <algorithm>
#include <string>
#include <utility>

#include "orchestrator/made_scenario/record_detail.h"

namespace millrace {
namespace {

/// Whether a value of a definition has no jq program.
bool is_constant(const Json& value) {
  if (value.is_string()) {
    const std::string& text = value.get_ref<const std::string&>();
    return text != "." && text.find("jq(") == std::string::npos;
  }
  if (!value.is_structured()) return true;
  return std::all_of(value.begin(), value.end(), [](const Json& one) { return is_constant(one); });
}

/// The data of the event; null: it is not known, or the event has none.
Json data_of(const Json& written, const Json& instance_data) {
  if (written.contains("datacontenttype")) return nullptr;
  if (!written.contains("data")) return instance_data;
  return is_constant(written["data"]) ? written["data"] : Json();
}

}  // namespace

std::vector<Json> expected_events(const ReadDefinition& definition,
                                  const std::vector<HistoryRecord>& history, const PlayTimes& times,
                                  std::optional<Duration> until, bool has_data) {
  std::vector<std::pair<Duration, Json>> events;
  Json data;  // of the instance, when it entered its state
  for (size_t i = 0; i < history.size(); ++i) {
    const HistoryRecord& record = history[i];
    if (record.kind == HistoryKind::kEntered) data = record.data ? record.data->value() : Json();
    if (record.kind != HistoryKind::kPublished) continue;
    const Json detail = record.detail.value();
    if (detail.contains("deadLetter")) continue;
    Duration comes = times.at[i];
    const Result<TimePoint> at = parse_rfc3339(text_in(detail, "at"));
    if (at) comes += std::max(*at - record.time, Duration(0));
    if (until && comes > *until) continue;
    Json event = {{"type", text_in(detail, "type")}};
    const Json& state = definition.state(record.state);
    const Json written = state.is_object() ? state.value("event", Json()) : Json();
    if (written.is_object()) {
      const Json source = written.value("source", Json());
      if (source.is_string() && is_constant(source)) event["source"] = source;
      const Json shown = has_data ? data_of(written, data) : Json();
      if (!shown.is_null()) event["data"] = shown;
    }
    events.emplace_back(comes, std::move(event));
  }
  std::stable_sort(events.begin(), events.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<Json> expected;
  expected.reserve(events.size());
  for (auto& [comes, event] : events) expected.push_back(std::move(event));
  return expected;
}

}  // namespace millrace
