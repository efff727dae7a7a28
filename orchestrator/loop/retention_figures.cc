#include "orchestrator/loop/retention_figures.h"

#include <chrono>
#include <utility>

namespace millrace {
namespace {

Json passes_json(const PassTimes& times) {
  Json json = {{"running", times.is_running}};
  if (times.last_end) json["lastPassEnded"] = format_rfc3339(*times.last_end);
  if (times.next) json["nextPass"] = format_rfc3339(*times.next);
  return json;
}

}  // namespace

double unix_seconds(const std::optional<TimePoint>& time) {
  return std::chrono::duration<double>(time.value_or(TimePoint()).time_since_epoch()).count();
}

Json to_json(const RetentionFigures& figures) {
  Json namespaces = Json::array();
  for (const auto& [ns, retention] : figures.namespaces) {
    Json one = {{"namespace", ns},
                {"deletedInstances", retention.counts.instances},
                {"archivedInstances", retention.counts.archived},
                {"deletedBytes", retention.counts.bytes},
                {"deletedRecords", retention.counts.records},
                {"trimmedRecords", retention.counts.trimmed},
                {"deletedDeadLetters", retention.dead_letters}};
    if (retention.next_due) one["nextDeletion"] = format_rfc3339(*retention.next_due);
    if (const auto& failure = retention.archive_failure) {
      one["archiveFailure"] = {{"at", format_rfc3339(failure->at)},
                               {"code", failure->error.code},
                               {"message", failure->error.message}};
    }
    namespaces.push_back(std::move(one));
  }
  return {{"instances", passes_json(figures.instances)},
          {"deadLetters", passes_json(figures.dead_letters)},
          {"namespaces", std::move(namespaces)}};
}

}  // namespace millrace
