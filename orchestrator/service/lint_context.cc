#include "orchestrator/service/lint_context.h"

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "orchestrator/definition/namespace_settings.h"
#include "orchestrator/memory/catalog.h"
#include "orchestrator/service/namespace_types.h"
#include "orchestrator/store/rows/catalog_rows.h"

namespace millrace {
namespace {

using ServiceNamesOfSettings = std::set<std::string, std::less<>>;

/// The names of the services; nullopt: the settings cannot be read.
std::optional<ServiceNamesOfSettings> services_in_settings(const View& view, std::string_view ns) {
  const auto record = read_namespace(view, ns);
  if (!record) return std::nullopt;
  if (!*record) return ServiceNamesOfSettings();
  const auto settings = read_settings((*record)->settings);
  if (!settings) return std::nullopt;
  ServiceNamesOfSettings names;
  for (const auto& [service, target] : settings->services) names.insert(service);
  return names;
}

NamesService named_services(const View& view, std::string_view ns) {
  auto own = services_in_settings(view, ns);
  auto global = services_in_settings(view, kDefaultNamespace);
  if (!own || !global) return nullptr;
  return [own = *std::move(own), global = *std::move(global)](const std::string& service,
                                                              bool is_global) {
    return (is_global ? global : own).contains(service);
  };
}

MakesType made_types(const View& view, std::string_view ns, DefinitionCache& definitions) {
  auto types = namespace_types(view, ns, definitions, true);
  if (!types || !*types) return nullptr;
  return [made = std::make_shared<const MadeTypes>((*std::move(types))->made)](
             std::string_view type) { return made->may_make(type); };
}

}  // namespace

LintContext lint_context(Environment& environment, DefinitionCache& definitions,
                         std::string_view ns) {
  LintContext context;
  const Result<Snapshot> view = Snapshot::take(environment);
  if (!view) return context;
  context.names_service = named_services(*view, ns);
  context.makes_type = made_types(*view, ns, definitions);
  return context;
}

}  // namespace millrace
