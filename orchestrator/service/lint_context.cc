#include "orchestrator/service/lint_context.h"

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>

#include "orchestrator/definition/namespace_settings.h"
#include "orchestrator/memory/catalog.h"
#include "orchestrator/service/namespace_types.h"
#include "orchestrator/store/rows/catalog_rows.h"

namespace millrace {
namespace {

/// The services of settings, and whether workers take the tasks of each.
using ServicesOfSettings = std::map<std::string, bool, std::less<>>;

/// nullopt: the settings cannot be read.
std::optional<ServicesOfSettings> services_in_settings(const View& view, std::string_view ns) {
  const auto record = read_namespace(view, ns);
  if (!record) return std::nullopt;
  if (!*record) return ServicesOfSettings();
  const auto settings = read_settings((*record)->settings);
  if (!settings) return std::nullopt;
  ServicesOfSettings services;
  for (const auto& [service, setting] : settings->services) {
    const bool has_workers = !setting.target || std::holds_alternative<WorkQueue>(*setting.target);
    services.emplace(service, has_workers);
  }
  return services;
}

void add_services(const View& view, std::string_view ns, LintContext& context) {
  auto own = services_in_settings(view, ns);
  auto global = services_in_settings(view, kDefaultNamespace);
  if (!own || !global) return;
  const auto of = [own = *std::move(own), global = *std::move(global)](
                      const std::string& service, bool is_global) -> std::optional<bool> {
    const ServicesOfSettings& services = is_global ? global : own;
    const auto found = services.find(service);
    return found == services.end() ? std::nullopt : std::optional(found->second);
  };
  context.names_service = [of](const std::string& service, bool is_global) {
    return of(service, is_global).has_value();
  };
  context.has_workers = [of](const std::string& service, bool is_global) {
    return of(service, is_global).value_or(true);
  };
}

MakesType made_types(const View& view, std::string_view ns, DefinitionCache& definitions) {
  auto types = namespace_types(view, ns, definitions, true);
  if (!types || !*types) return nullptr;
  return [made = std::make_shared<const MadeTypes>((*std::move(types))->made)](
             std::string_view type) { return made->may_make(type); };
}

/// The limits of the calls of all workflows of the namespace; null: they cannot all be read.
std::shared_ptr<const CallLimits> limits_in(Environment& environment, DefinitionCache& definitions,
                                            std::string_view ns) {
  const Result<Snapshot> view = Snapshot::take(environment);
  if (!view) return nullptr;
  const auto record = read_namespace(*view, ns);
  if (!record || !*record) return nullptr;
  const auto limits = std::make_shared<CallLimits>();
  const auto complete =
      each_newest_workflow(*view, (*record)->number, definitions,
                           [&](const Workflow& workflow) { limits->add(workflow); });
  return complete && *complete ? limits : nullptr;
}

}  // namespace

LintContext lint_context(Environment& environment, DefinitionCache& definitions,
                         std::string_view ns) {
  LintContext context;
  const Result<Snapshot> view = Snapshot::take(environment);
  if (!view) return context;
  add_services(*view, ns, context);
  context.makes_type = made_types(*view, ns, definitions);
  using Limits = std::shared_ptr<const CallLimits>;
  context.limits_beside = [&environment, &definitions, ns = std::string(ns),
                           read = std::make_shared<std::optional<Limits>>()] {
    if (!*read) *read = limits_in(environment, definitions, ns);
    return **read;
  };
  return context;
}

}  // namespace millrace
