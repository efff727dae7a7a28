#include "cli/inbound_verbs.h"

#include <optional>
#include <set>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "cli/inbound_target.h"
#include "cli/output.h"
#include "orchestrator/definition/inbound_file.h"

namespace millrace {
namespace {

using Kind = InboundEntry::Kind;
using EntryNames = std::set<std::pair<Kind, std::string>>;

/// The namespace of a session, over HTTP.
class ServerTarget final : public InboundTarget {
 public:
  explicit ServerTarget(Session& session) : session_(session) {}

  Result<Json> source(const std::string& name) override {
    return answer({.path = session_.path({"sources", name})});
  }
  Result<Json> apply_source(const std::string& name, const Json& settings) override {
    return answer(
        {.method = "PUT", .path = session_.path({"sources", name}), .body = dump_json(settings)});
  }
  Result<Json> read_namespace() override { return answer({.path = session_.path({})}); }
  Result<Json> replace_settings(const Json& settings) override {
    return answer({.method = "PUT", .path = session_.path({}), .body = dump_json(settings)});
  }
  Result<Json> sources() { return answer({.path = session_.path({"sources"})}); }

  /// The first failure that is no matter of the file: it ends the verb.
  const std::optional<Failure>& failure() const { return failure_; }

 private:
  Result<Json> answer(const ApiCall& call) {
    if (failure_) return tl::unexpected(failure_->error);
    Fallible<Reply> reply = session_.client.send(call);
    if (reply) return std::move(reply->body);
    const Failure& failed = reply.error();
    const bool is_of_the_file =
        failed.error.code != "namespace.not_found" && failed.code != ExitCode::kUsage &&
        failed.code != ExitCode::kNotAllowed && failed.code != ExitCode::kUnreachable;
    if (!is_of_the_file) failure_ = failed;
    return tl::unexpected(failed.error);
  }

  Session& session_;
  std::optional<Failure> failure_;
};

/// Prints the sources and inbound webhooks of the namespace that are not in `named`.
void show_others(Session& session, ServerTarget& target, const EntryNames& named) {
  const auto show = [&](Kind kind, const std::string& name) {
    if (named.contains({kind, name})) return;
    session.console.err << harmless(fmt::format("{} is in none of the files, and stays; {}\n",
                                                name_of(kind, name), how_to_delete(kind, name)),
                                    kLineEnds);
  };
  const Json sources = target.sources().value_or(Json::object());
  for (const Json& one : sources.value("items", Json::array())) {
    show(Kind::kSource, one.value("name", ""));
  }
  const Json shown = target.read_namespace().value_or(Json::object());
  const Json webhooks = shown.value(Json::json_pointer("/settings/hooks"), Json::object());
  for (const auto& [name, webhook] : webhooks.items()) {
    show(Kind::kWebhook, name);
  }
}

}  // namespace

Fallible<AppliedInboundFiles> apply_inbound_files(Session& session,
                                                  const std::vector<DefinitionFile>& files,
                                                  bool is_dry_run) {
  AppliedInboundFiles all;
  ServerTarget target(session);
  EntryNames named;
  bool has_files = false;
  for (const DefinitionFile& file : files) {
    if (!file.is_inbound) continue;
    has_files = true;
    InboundFile inbound = parse_inbound_file(file.text);
    const AppliedInbound applied = apply_inbound(target, inbound.entries, is_dry_run);
    for (const InboundEntry& entry : inbound.entries) named.emplace(entry.kind, entry.name);
    for (Finding& finding : applied.findings.sorted()) inbound.findings.add(std::move(finding));
    if (target.failure()) return tl::unexpected(*target.failure());
    session.console.err << harmless(render_text(inbound.findings, file.name), kLineEnds);
    all.has_errors = all.has_errors || inbound.findings.has_errors();
    for (const AppliedEntry& one : applied.applied) {
      all.items.push_back({{"kind", one.kind == Kind::kSource ? "source" : "webhook"},
                           {"id", one.name},
                           {"changed", one.outcome != AppliedEntry::Outcome::kUnchanged},
                           {"created", one.outcome == AppliedEntry::Outcome::kCreated}});
    }
  }
  // The names of a file with errors are not known.
  if (has_files && !all.has_errors) show_others(session, target, named);
  if (target.failure()) return tl::unexpected(*target.failure());
  return all;
}

}  // namespace millrace
