#include "orchestrator/service/source_json.h"

#include <vector>

#include "orchestrator/definition/source_settings.h"
#include "orchestrator/service/shapes.h"

namespace millrace {

Json source_json(const std::string& name, const std::string& stream, const SourceRecord& source,
                 const OriginRecord& origin, const std::optional<SourceFigures>& figures) {
  Json json = {{"name", name},
               {"stream", stream},
               {"ownStream", source.stream.empty()},
               {"paused", source.is_paused},
               {"begin", parse_own_json(source.begin).value_or(Json())},
               {"createdAt", format_rfc3339(source.created_at)},
               {"appliedAt", format_rfc3339(source.applied_at)},
               {"position", origin.applied.floor()},
               {"highest", origin.applied.highest()},
               {"events", origin.events},
               {"repeated", origin.repeated},
               {"refused", origin.refused},
               {"reading", figures && figures->is_read}};
  const auto settings = read_source_settings(source.settings);
  json["subjects"] = settings ? settings->subjects : std::vector<std::string>();
  json["rate"] = settings ? settings->rate : kSourceRate;
  if (!origin.refusal.code.empty()) {
    json["lastRefusal"] = to_json(origin.refusal);
    json["lastRefusal"]["sequence"] = origin.refused_sequence;
    json["lastRefusal"]["at"] = format_rfc3339(origin.refused_at);
  }
  if (!figures) return json;
  json["read"] = figures->position;
  if (figures->lag) json["lag"] = *figures->lag;
  json["consumers"] = figures->consumers;
  json["interrupted"] = figures->interrupted;
  json["recreated"] = figures->recreated;
  json["rolledBack"] = figures->rolled_back;
  json["gone"] = figures->gone;
  json["lostEvents"] = figures->lost_events;
  if (figures->waits) json["waits"] = to_json(*figures->waits);
  if (figures->notice) json["notice"] = to_json(*figures->notice);
  return json;
}

}  // namespace millrace
