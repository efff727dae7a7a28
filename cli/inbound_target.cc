#include "cli/inbound_target.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "orchestrator/definition/inbound_webhooks.h"

namespace millrace {
namespace {

using Outcome = AppliedEntry::Outcome;

/// Adds the warnings of an answer, [{"path","message"}], as findings about the entry that they
/// name. `entries`: those that the answer is about.
void add_warnings_of(const Json& answer, const std::vector<const InboundEntry*>& entries,
                     Findings& findings) {
  for (const Json& one : answer.value("warnings", Json::array())) {
    const std::string path = one.value("path", "");
    for (const InboundEntry* const entry : entries) {
      const bool is_source = entry->kind == InboundEntry::Kind::kSource;
      const std::string start = fmt::format("{}.{}.", kInboundSetting, entry->name);
      if (!is_source && !path.starts_with(start)) continue;
      add_answer(findings, *entry, Severity::kWarning,
                 {"settings.doubtful", fmt::format("{}: {}", path, one.value("message", ""))});
      break;
    }
  }
}

Result<Outcome> apply_one_source(InboundTarget& target, const InboundEntry& entry, bool is_dry_run,
                                 Findings& findings) {
  const Result<Json> before = target.source(entry.name);
  const bool is_new = !before && before.error().code == "source.not_found";
  if (!before && !is_new) return tl::unexpected(before.error());
  if (before && before->value("settings", Json()) == entry.settings) return Outcome::kUnchanged;
  if (!is_dry_run) {
    const Json answer = TRY(target.apply_source(entry.name, entry.settings));
    add_warnings_of(answer, {&entry}, findings);
  }
  return is_new ? Outcome::kCreated : Outcome::kChanged;
}

/// The settings of the namespace, to which inbound webhooks can be added.
Result<Json> settings_of(InboundTarget& target) {
  const Json shown = TRY(target.read_namespace());
  Json settings = shown.value("settings", Json::object());
  if (settings.is_object() && settings.value(kInboundSetting, Json::object()).is_object()) {
    return settings;
  }
  return fail("settings.invalid",
              "the settings of the namespace have a mistake that `millrace namespace get` shows; "
              "correct them with `millrace namespace create`");
}

/// The entry of which the error names the settings; the first one if it names none.
const InboundEntry& entry_of(const Error& error, const std::vector<const InboundEntry*>& entries) {
  const auto found = std::find_if(entries.begin(), entries.end(), [&](const InboundEntry* entry) {
    const std::string start = fmt::format("{}.{}", kInboundSetting, entry->name);
    const std::string_view message = error.message;
    return message.starts_with(start + ".") || message.starts_with(start + ":");
  });
  return found == entries.end() ? *entries.front() : **found;
}

/// The settings of an entry. An inbound webhook that is paused stays so, unless the entry has
/// `paused`: as a source does.
Json with_pause(const Json& settings, const Json& stored) {
  Json all = settings;
  if (!settings.contains(kPausedWebhook) && stored.is_object() && stored.contains(kPausedWebhook)) {
    all[kPausedWebhook] = stored[kPausedWebhook];
  }
  return all;
}

Result<std::vector<AppliedEntry>> apply_webhooks(InboundTarget& target,
                                                 const std::vector<const InboundEntry*>& entries,
                                                 bool is_dry_run, Findings& findings) {
  Json all = TRY(settings_of(target));
  Json& webhooks = all[kInboundSetting];
  if (webhooks.is_null()) webhooks = Json::object();
  std::vector<AppliedEntry> applied;
  bool has_changes = false;
  for (const InboundEntry* const entry : entries) {
    AppliedEntry one{.kind = entry->kind, .name = entry->name};
    const bool is_new = !webhooks.contains(entry->name);
    Json& stored = webhooks[entry->name];
    Json settings = with_pause(entry->settings, stored);
    if (is_new) {
      one.outcome = Outcome::kCreated;
    } else if (stored != settings) {
      one.outcome = Outcome::kChanged;
    }
    has_changes = has_changes || one.outcome != Outcome::kUnchanged;
    stored = std::move(settings);
    applied.push_back(std::move(one));
  }
  if (has_changes && !is_dry_run) {
    const Json answer = TRY(target.replace_settings(all));
    add_warnings_of(answer, entries, findings);
  }
  return applied;
}

}  // namespace

AppliedInbound apply_inbound(InboundTarget& target, const std::vector<InboundEntry>& entries,
                             bool is_dry_run) {
  AppliedInbound all;
  std::vector<const InboundEntry*> webhooks;
  for (const InboundEntry& entry : entries) {
    if (entry.kind == InboundEntry::Kind::kWebhook) {
      webhooks.push_back(&entry);
      continue;
    }
    const auto outcome = apply_one_source(target, entry, is_dry_run, all.findings);
    if (outcome) {
      all.applied.push_back({.kind = entry.kind, .name = entry.name, .outcome = *outcome});
    } else {
      add_answer(all.findings, entry, Severity::kError, outcome.error());
    }
  }
  if (webhooks.empty()) return all;
  const auto applied = apply_webhooks(target, webhooks, is_dry_run, all.findings);
  if (applied) {
    all.applied.insert(all.applied.end(), applied->begin(), applied->end());
  } else {
    add_answer(all.findings, entry_of(applied.error(), webhooks), Severity::kError,
               applied.error());
  }
  return all;
}

}  // namespace millrace
