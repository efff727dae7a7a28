#include "orchestrator/definition/inbound_types.h"

#include <optional>
#include <utility>

#include "language/document.h"
#include "orchestrator/definition/event_mapping.h"
#include "orchestrator/definition/lint_events.h"

namespace millrace {

void add_made_types(const std::vector<InboundEntry>& entries, MadeTypes& made) {
  for (const InboundEntry& entry : entries) {
    const auto mapping = entry.settings.find("mapping");
    if (mapping == entry.settings.end()) continue;
    if (const auto parsed = parse_mapping("mapping", *mapping)) made.add(parsed->type);
  }
}

std::set<std::string, std::less<>> places_of_made_types(std::string_view definition,
                                                        const MadeTypes& made) {
  std::set<std::string, std::less<>> places;
  Findings none;
  const std::optional<Node> document = parse_document(definition, none);
  if (!document) return places;
  each_awaited_type(*document, [&](const Place& place) {
    if (made.may_make(place.member.value.text)) places.insert(place.path);
  });
  return places;
}

Findings without_made_types(const Findings& findings, std::string_view definition,
                            const MadeTypes& made) {
  if (findings.omitted() > 0) return findings;
  const auto places = places_of_made_types(definition, made);
  Findings kept;
  for (Finding& finding : findings.sorted()) {
    if (finding.code == kUnknownEventType && places.contains(finding.path)) continue;
    kept.add(std::move(finding));
  }
  return kept;
}

}  // namespace millrace
