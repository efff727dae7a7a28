#include "orchestrator/definition/inbound_file.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "base/ids.h"
#include "orchestrator/definition/inbound_webhooks.h"
#include "orchestrator/definition/source_settings.h"

namespace millrace {
namespace {

constexpr std::string_view kSourcesKey = "sources";

/// The first characters of a message, up to `size`, lead to the value at that position.
struct PlaceInSettings {
  size_t size = 0;
  Position at;
};

bool is_scalar(const Node& node) {
  return node.kind != Node::Kind::kSequence && node.kind != Node::Kind::kMapping;
}

/// Whether `message` has the step at `from`, and the path ends or continues behind it.
bool has_step(std::string_view message, size_t from, std::string_view step) {
  const std::string_view rest = message.substr(from);
  return rest.starts_with(step) && rest.size() > step.size() &&
         std::string_view(".[:").find(rest[step.size()]) != std::string_view::npos;
}

/// Follows the path with which `message` begins, such as `mapping.type: …`, behind `place`, as far
/// as the node has it. The recursion is as deep as the document, which is limited.
PlaceInSettings follow_path(const Node& node, PlaceInSettings place, std::string_view message) {
  for (const Member& member : node.members) {
    const std::string step = place.size == 0 ? member.key : "." + member.key;
    if (!has_step(message, place.size, step)) continue;
    const Position at = is_scalar(member.value) ? member.value.at : member.at;
    return follow_path(member.value, {.size = place.size + step.size(), .at = at}, message);
  }
  for (size_t i = 0; i < node.items.size(); ++i) {
    const std::string step = fmt::format("[{}]", i);
    if (!has_step(message, place.size, step)) continue;
    const Node& item = node.items[i];
    return follow_path(item, {.size = place.size + step.size(), .at = item.at}, message);
  }
  return place;
}

/// Whether an error of that code begins with a place in the settings.
bool names_a_place(std::string_view code) {
  return code == "settings.invalid" || code == "settings.doubtful";
}

/// The member of a source's settings that an error of that code is about; empty: none of them.
std::string_view member_of(std::string_view code) {
  constexpr std::array kStreamCodes = {"source.no_stream", "source.not_permitted",
                                       "source.own_stream", "source.retention"};
  constexpr std::array kSubjectsCodes = {"source.overlap", "source.own_subjects"};
  const auto is_code = [&](std::string_view one) { return one == code; };
  if (std::any_of(kStreamCodes.begin(), kStreamCodes.end(), is_code)) return "stream";
  if (std::any_of(kSubjectsCodes.begin(), kSubjectsCodes.end(), is_code)) return "subjects";
  return {};
}

/// The mistake in the settings of the entry, if it has one that is known without a server.
Status check_entry(const InboundEntry& entry) {
  if (entry.kind == InboundEntry::Kind::kSource) {
    TRY(parse_source(entry.settings));
  } else {
    TRY(parse_inbound_webhooks(kInboundSetting, Json{{entry.name, entry.settings}}));
  }
  return {};
}

/// Reads the entries of one kind from the value of its key.
void read_entries(InboundEntry::Kind kind, const Member& section, InboundFile& file) {
  if (section.value.kind == Node::Kind::kBroken) return;
  if (section.value.kind == Node::Kind::kNull) return;  // all entries are comments
  if (section.value.kind != Node::Kind::kMapping) {
    file.findings.error("settings.invalid", section.key, section.at,
                        "write a mapping of names to settings");
    return;
  }
  for (const Member& member : section.value.members) {
    if (member.value.kind == Node::Kind::kBroken) continue;
    InboundEntry entry{.kind = kind,
                       .name = member.key,
                       .settings = to_json(member.value),
                       .node = member.value,
                       .at = member.at};
    if (!is_identifier(entry.name)) {
      file.findings.error("settings.invalid", path_of(section.key, entry.name), entry.at,
                          "the name has 1 to 128 letters, digits, `.`, `-` and `_`");
    } else if (entry.node.kind != Node::Kind::kMapping) {
      file.findings.error("settings.invalid", path_of(section.key, entry.name), entry.at,
                          fmt::format("write a mapping with \"{}\"",
                                      kind == InboundEntry::Kind::kSource ? "stream" : "verify"));
    } else if (const Status checked = check_entry(entry); !checked) {
      add_answer(file.findings, entry, Severity::kError, checked.error());
    } else {
      file.entries.push_back(std::move(entry));
    }
  }
}

}  // namespace

bool is_inbound_file(std::string_view name) {
  constexpr std::array<std::string_view, 3> kNames = {"inbound.yaml", "inbound.yml",
                                                      "inbound.json"};
  return std::any_of(kNames.begin(), kNames.end(), [&](std::string_view one) {
    return name == one || (name.ends_with(one) && name[name.size() - one.size() - 1] == '.');
  });
}

InboundFile parse_inbound_file(std::string_view text) {
  InboundFile file;
  const std::optional<Node> document = parse_document(text, file.findings);
  if (!document || document->kind == Node::Kind::kBroken) return file;
  if (document->kind != Node::Kind::kMapping) {
    file.findings.error("settings.invalid", "", document->at,
                        R"(write a mapping with "sources", "hooks" or both)");
    return file;
  }
  for (const Member& section : document->members) {
    if (section.key == kSourcesKey) {
      read_entries(InboundEntry::Kind::kSource, section, file);
    } else if (section.key == kInboundSetting) {
      read_entries(InboundEntry::Kind::kWebhook, section, file);
    } else {
      file.findings.error("settings.invalid", section.key, section.at,
                          "unknown key; valid: sources, hooks. A file with this name has sources "
                          "and inbound webhooks; give a workflow another file name");
    }
  }
  if (file.findings.has_errors()) file.entries.clear();
  return file;
}

std::string name_of(InboundEntry::Kind kind, std::string_view name) {
  return fmt::format("{} \"{}\"",
                     kind == InboundEntry::Kind::kSource ? "source" : "inbound webhook", name);
}

std::string path_of_entry(const InboundEntry& entry) {
  const bool is_source = entry.kind == InboundEntry::Kind::kSource;
  return path_of(is_source ? kSourcesKey : kInboundSetting, entry.name);
}

std::string how_to_delete(InboundEntry::Kind kind, std::string_view name) {
  return fmt::format("`millrace {} delete {}` deletes it",
                     kind == InboundEntry::Kind::kSource ? "source" : "webhook", name);
}

void add_answer(Findings& findings, const InboundEntry& entry, Severity severity,
                const Error& error) {
  const bool is_source = entry.kind == InboundEntry::Kind::kSource;
  const std::string own = path_of_entry(entry);
  // The places in messages about a source begin in its settings, those about an inbound webhook in
  // the settings of the namespace.
  const std::string start = is_source ? "" : fmt::format("{}.{}", kInboundSetting, entry.name);
  Finding finding{.severity = severity,
                  .code = error.code,
                  .path = own,
                  .at = entry.at,
                  .message = error.message};
  const size_t end = error.message.find(": ");
  if (names_a_place(error.code) && end != std::string::npos &&
      (is_source || has_step(error.message, 0, start))) {
    finding.at = follow_path(entry.node, {.size = start.size(), .at = entry.at}, error.message).at;
    const std::string place = error.message.substr(0, end);
    finding.path = is_source ? fmt::format("{}.{}", own, place) : place;
    finding.message = error.message.substr(end + 2);
  } else if (const Member* member = entry.node.find(member_of(error.code)); member != nullptr) {
    finding.at = member->value.at;
    finding.path = path_of(own, member->key);
  }
  findings.add(std::move(finding));
}

}  // namespace millrace
