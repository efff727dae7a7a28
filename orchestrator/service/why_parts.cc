#include "orchestrator/service/why_parts.h"

#include "orchestrator/service/missing_instance.h"
#include "orchestrator/store/rows/instance_rows.h"

namespace millrace {

Result<Instance> whole_instance(const View& view, DefinitionCache& definitions, std::string_view ns,
                                NamespaceNumber number, const InstanceId& id) {
  auto found = TRY(read_instance(view, number, id));
  if (!found) return tl::unexpected(missing_instance(view, definitions, ns, number, id));
  return *std::move(found);
}

Json json_of_event(const Event& event) {
  return {{"id", event.id}, {"type", event.type}, {"source", event.source}};
}

Json place_json(const StoredEvent& stored) {
  return {{"sequence", stored.sequence}, {"time", format_rfc3339(stored.stamped)}};
}

/// Notes the effects that concern no listener in particular.
void note_effects_of_all(const std::vector<EventEffect>& effects, EventStanding& standing) {
  for (const EventEffect& effect : effects) {
    standing.is_duplicate = standing.is_duplicate || effect.kind == EventEffect::Kind::kDuplicate;
    standing.is_dead = standing.is_dead || effect.kind == EventEffect::Kind::kRefused;
  }
}

std::string in_small_letters(std::string_view text) {
  std::string small(text);
  for (char& letter : small) {
    if (letter >= 'A' && letter <= 'Z') letter = static_cast<char>(letter - 'A' + 'a');
  }
  return small;
}

}  // namespace millrace
