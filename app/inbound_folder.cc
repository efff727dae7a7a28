#include "app/inbound_folder.h"

#include <algorithm>
#include <future>
#include <string_view>

#include <fmt/format.h>

#include "orchestrator/definition/inbound_webhooks.h"

namespace millrace {
namespace {

constexpr const char* kDevNamespace = "default";

/// The answer of a request that calls back.
template <class Request>
Result<Json> answer_of(const Request& request) {
  std::promise<Result<Json>> answer;
  request([&](Result<Json> result) { answer.set_value(std::move(result)); });
  return answer.get_future().get();
}

std::string_view outcome_text(AppliedEntry::Outcome outcome) {
  return outcome == AppliedEntry::Outcome::kCreated ? "created" : "changed";
}

bool is_webhook(const InboundEntry& entry) { return entry.kind == InboundEntry::Kind::kWebhook; }

}  // namespace

Result<Json> InboundFolder::LocalTarget::source(const std::string& name) {
  return service_.source_desk().get(kDevNamespace, name);
}

Result<Json> InboundFolder::LocalTarget::apply_source(const std::string& name,
                                                      const Json& settings) {
  return answer_of([&](const SourceDesk::Done& done) {
    service_.source_desk().apply(kDevNamespace, name, settings, done);
  });
}

Result<Json> InboundFolder::LocalTarget::read_namespace() {
  return service_.one_namespace(kDevNamespace);
}

Result<Json> InboundFolder::LocalTarget::replace_settings(const Json& settings) {
  return answer_of([&](const Service::Done& done) {
    service_.command(CreateNamespace{.name = kDevNamespace, .settings = settings}, done);
  });
}

InboundFolder::InboundFolder(Service& service, Report report)
    : target_(service), report_(std::move(report)) {}

void InboundFolder::apply(const std::filesystem::path& file, const std::string& text) {
  InboundFile inbound = parse_inbound_file(text);
  FileState& state = files_[file];
  state.entries.clear();
  state.is_refused = false;
  state.reported = render_text(inbound.findings, file.string());
  if (!state.reported.empty()) report_(state.reported.substr(0, state.reported.size() - 1));
  if (inbound.findings.has_errors()) return;
  EntryNames names;
  for (const InboundEntry& entry : inbound.entries) names.emplace(entry.kind, entry.name);
  report_removed(file, state.names, names);
  state.names = std::move(names);
  state.entries = std::move(inbound.entries);
  apply_entries(file, state, state.entries);
}

void InboundFolder::apply_entries(const std::filesystem::path& file, FileState& state,
                                  const std::vector<InboundEntry>& entries) {
  const AppliedInbound all = apply_inbound(target_, entries);
  for (const AppliedEntry& one : all.applied) {
    if (one.outcome == AppliedEntry::Outcome::kUnchanged) continue;
    report_(fmt::format("{} is {} ({})", name_of(one.kind, one.name), outcome_text(one.outcome),
                        file.string()));
  }
  std::string findings = render_text(all.findings, file.string());
  if (!findings.empty() && findings != state.reported) {
    report_(findings.substr(0, findings.size() - 1));
  }
  state.reported = std::move(findings);
  state.is_refused = all.findings.has_errors();
}

void InboundFolder::apply_lost(const std::filesystem::path& file, FileState& state,
                               const Json& settings) {
  const Json webhooks = settings.value(kInboundSetting, Json::object());
  if (!webhooks.is_object()) return;
  std::vector<InboundEntry> lost;
  for (const InboundEntry& entry : state.entries) {
    if (!is_webhook(entry) || webhooks.contains(entry.name)) continue;
    report_(fmt::format("{} is no longer in the settings of the namespace, and is applied again",
                        name_of(entry.kind, entry.name)));
    lost.push_back(entry);
  }
  if (!lost.empty()) apply_entries(file, state, lost);
}

void InboundFolder::report_removed(const std::filesystem::path& file, const EntryNames& before,
                                   const EntryNames& now) {
  for (const auto& [kind, name] : before) {
    if (now.contains({kind, name})) continue;
    report_(fmt::format("{} is no longer in {}, and stays; {}", name_of(kind, name), file.string(),
                        how_to_delete(kind, name)));
  }
}

void InboundFolder::note_present(const std::set<std::filesystem::path>& present) {
  for (auto& [file, state] : files_) state.is_missing = !present.contains(file);
}

bool InboundFolder::waits() const {
  return std::any_of(files_.begin(), files_.end(), [](const auto& one) {
    const FileState& state = one.second;
    return state.is_missing || state.is_refused ||
           std::any_of(state.entries.begin(), state.entries.end(), is_webhook);
  });
}

void InboundFolder::try_again() {
  const Json shown = target_.read_namespace().value_or(Json::object());
  const auto settings = shown.find("settings");
  // Unreadable settings are not overwritten.
  const bool is_known = settings != shown.end() && settings->is_object();
  for (auto one = files_.begin(); one != files_.end();) {
    auto& [file, state] = *one;
    if (state.is_missing) {
      report_removed(file, state.names, {});
      one = files_.erase(one);
      continue;
    }
    if (state.is_refused) {
      apply_entries(file, state, state.entries);
    } else if (is_known) {
      apply_lost(file, state, *settings);
    }
    ++one;
  }
}

}  // namespace millrace
