// Queries about namespaces, their settings, and how much of their quotas is used.
#include <optional>
#include <string>
#include <utility>

#include "orchestrator/batch/commands/settings_warnings.h"
#include "orchestrator/definition/namespace_settings.h"
#include "orchestrator/definition/shown_settings.h"
#include "orchestrator/service/page.h"
#include "orchestrator/service/queries.h"
#include "orchestrator/store/rows/catalog_rows.h"
#include "orchestrator/store/rows/index_build.h"
#include "orchestrator/store/rows/index_rows.h"
#include "orchestrator/store/rows/pending_start_rows.h"
#include "orchestrator/store/rows/start_rate_rows.h"

namespace millrace {
namespace {

/// What the API shows of a namespace. A read that fails sets the status of `view`.
Json describe(const View& view, std::string_view name, const NamespaceRecord& record) {
  Json item{{"name", name}, {"createdAt", format_rfc3339(record.created_at)}};
  const Result<Json> settings = parse_json(record.settings.empty() ? "{}" : record.settings);
  if (!settings) {
    item["settings"] = "(not JSON)";
  } else if (!settings->empty()) {
    item["settings"] = shown_settings(*settings);
  }
  if (const auto read = read_settings(record.settings); !read) {
    item["settingsError"] = read.error().message;
  } else if (settings) {
    // A workflow whose row is damaged exists.
    Json warnings = settings_warnings(*settings, [&view, ns = record.number](std::string_view id) {
      const auto workflow = read_workflow(view, ns, id);
      return !workflow || workflow->has_value();
    });
    if (!warnings.empty()) item["settingsWarnings"] = std::move(warnings);
  }
  return item;
}

/// How much a namespace has of what a quota limits; nullopt: no counter has it.
Result<std::optional<uint64_t>> used_of(const View& view, NamespaceNumber ns, Quota quota,
                                        const StartedTasks& started) {
  switch (quota) {
    case Quota::kInstances:
    case Quota::kStoreBytes: {
      const bool is_incomplete = is_index_incomplete(view);
      TRY(view.status());
      if (is_incomplete) return std::optional<uint64_t>();
      const Usage usage = TRY(read_usage(view, ns));
      return std::optional(quota == Quota::kInstances ? usage.live : usage.all_bytes());
    }
    case Quota::kCalls:
      return std::optional<uint64_t>(started.open(ns));
    case Quota::kWorkflows: {
      uint64_t count = 0;
      TRY(each_workflow(view, ns, [&](std::string_view, const WorkflowRecord&) { ++count; }));
      return std::optional(count);
    }
    case Quota::kStartKeys:
      return std::optional(TRY(start_keys_of(view, ns)));
    case Quota::kQueuedStarts:
    case Quota::kHistoryBytes:
    case Quota::kEventsPerSecond:
      break;
  }
  return std::optional<uint64_t>();
}

}  // namespace

Result<Json> Queries::namespaces(const View& view, const PageRequest& request) {
  Page page(request.limit);
  const auto add = [&](std::string_view name, const NamespaceRecord& record) {
    if (!page.has_room()) return false;
    page.add(describe(view, name, record), std::string(name), record.settings.size());
    return true;
  };
  TRY(each_namespace_behind(view, request.cursor, add));
  return std::move(page).json();
}

Result<Json> Queries::one_namespace(const View& view, std::string_view ns) {
  const NamespaceRecord record = TRY(find_namespace_record(view, ns));
  Json answer = describe(view, ns, record);
  TRY(view.status());
  const QuotaLimits limits = read_settings(record.settings).value_or(NamespaceSettings()).quotas;
  Json quotas = Json::object();
  for (size_t i = 0; i < kQuotas; ++i) {
    const auto quota = static_cast<Quota>(i);
    const uint64_t limit = limits.of(quota);
    Json one{{"limit", limit == kUnlimited ? Json("unlimited") : Json(limit)}};
    if (quota == Quota::kEventsPerSecond && limits.http_events != limit) {
      one["overHttp"] = limits.http_events;
    }
    if (const auto used = TRY(used_of(view, record.number, quota, started_))) one["used"] = *used;
    quotas[std::string(to_string(quota))] = std::move(one);
  }
  answer["quotas"] = std::move(quotas);
  return answer;
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
