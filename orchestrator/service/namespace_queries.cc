// Queries about namespaces and their settings.
#include <string>
#include <utility>
#include <vector>

#include "orchestrator/batch/commands/settings_warnings.h"
#include "orchestrator/definition/namespace_settings.h"
#include "orchestrator/service/queries.h"
#include "orchestrator/store/rows/catalog_rows.h"

namespace millrace {

Result<Json> Queries::namespaces(const View& view) {
  std::vector<std::pair<std::string, NamespaceRecord>> all;
  TRY(each_namespace(view, [&](std::string_view name, const NamespaceRecord& record) {
    all.emplace_back(name, record);
  }));
  Json items = Json::array();
  for (const auto& [name, record] : all) {
    Json item{{"name", name}, {"createdAt", format_rfc3339(record.created_at)}};
    const Result<Json> settings = parse_json(record.settings.empty() ? "{}" : record.settings);
    if (!settings) {
      item["settings"] = record.settings;
    } else if (!settings->empty()) {
      item["settings"] = *settings;
    }
    if (const auto read = read_settings(record.settings); !read) {
      item["settingsError"] = read.error().message;
    } else if (settings) {
      // A workflow whose row is damaged exists.
      Json warnings =
          settings_warnings(*settings, [&view, ns = record.number](std::string_view id) {
            const auto workflow = read_workflow(view, ns, id);
            return !workflow || workflow->has_value();
          });
      TRY(view.status());
      if (!warnings.empty()) item["settingsWarnings"] = std::move(warnings);
    }
    items.push_back(std::move(item));
  }
  return Json{{"items", std::move(items)}};
}

Result<Json> Queries::unreadable_settings(const View& view) {
  Json items = Json::array();
  TRY(each_namespace(view, [&](std::string_view name, const NamespaceRecord& record) {
    const auto read = read_settings(record.settings);
    if (!read) items.push_back({{"namespace", name}, {"error", read.error().message}});
  }));
  return items;
}

}  // namespace millrace
