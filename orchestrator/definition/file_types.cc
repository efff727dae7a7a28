#include "orchestrator/definition/file_types.h"

#include <optional>

#include <fmt/format.h>

#include "language/document.h"
#include "orchestrator/definition/event_mapping.h"
#include "orchestrator/definition/lint_events.h"

namespace millrace {
namespace {

/// The mapping of an entry; nullopt: it has none.
std::optional<EventMapping> event_mapping_of(const InboundEntry& entry) {
  const auto mapping = entry.settings.find("mapping");
  if (mapping == entry.settings.end()) return std::nullopt;
  auto parsed = parse_mapping("mapping", *mapping);
  if (!parsed) return std::nullopt;
  return *std::move(parsed);
}

/// Where the entry has the type of its mapping.
Position place_of_type(const InboundEntry& entry) {
  const Member* const mapping = entry.node.find("mapping");
  const Member* const type = mapping == nullptr ? nullptr : mapping->value.find("type");
  return type == nullptr ? entry.at : type->value.at;
}

}  // namespace

void FileTypes::add_definition(std::string_view text, const Findings& findings) {
  has_definition_ = true;
  Findings none;
  const std::optional<Node> document = parse_document(text, none);
  if (findings.has_errors() || !document) {
    has_errors_ = true;
    return;
  }
  each_awaited_type(*document,
                    [&](const Place& place) { awaited_.insert(place.member.value.text); });
  add_generated_types(*document, made_);
}

void FileTypes::add_inbound(const InboundFile& file) {
  has_errors_ = has_errors_ || file.findings.has_errors();
  for (const InboundEntry& entry : file.entries) {
    const auto mapping = event_mapping_of(entry);
    if (!mapping) continue;
    has_mapping_ = true;
    made_.add(mapping->type);
  }
}

void FileTypes::lint_definition(std::string_view text, Findings& findings) const {
  if (has_errors_ || !has_mapping_) return;
  Findings none;
  const std::optional<Node> document = parse_document(text, none);
  if (!document) return;
  lint_makers(
      *document, [&](std::string_view type) { return made_.may_make(type); }, "these files",
      findings);
}

void FileTypes::lint_inbound(const InboundFile& file, Findings& findings) const {
  if (has_errors_ || !has_definition_) return;
  for (const InboundEntry& entry : file.entries) {
    const auto mapping = event_mapping_of(entry);
    if (!mapping || may_make_any(mapping->type, awaited_)) continue;
    findings.warning(
        "lint.event_unawaited", path_of_entry(entry) + ".mapping.type", place_of_type(entry),
        fmt::format("no workflow of these files starts on {}, or waits for such events",
                    described_types(mapping->type)),
        "correct the type, or add the workflow");
  }
}

}  // namespace millrace
