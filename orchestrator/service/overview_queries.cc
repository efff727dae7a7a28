// The part of an overview of a namespace that is in the store: counts, and what asks for attention.
#include "orchestrator/definition/namespace_settings.h"
#include "orchestrator/service/queries.h"
#include "orchestrator/store/rows/meta_rows.h"

namespace millrace {
namespace {

/// The most items of one kind that ask for attention.
constexpr size_t kMostOfAKind = 20;

}  // namespace

Result<Json> Queries::overview(const View& view, std::string_view ns) {
  const NamespaceRecord record = TRY(find_namespace_record(view, ns));
  const StatusCounts counts = TRY(status_counts(view, record.number)).counts;
  Json items = Json::array();
  Json attention = Json::array();
  size_t failing = 0;
  for (const auto& [place, count] : counts) {
    items.push_back({place.first, place.second, count});
    const bool is_failure = place.second == "failed" || place.second == "timedout";
    if (!is_failure || ++failing > kMostOfAKind) continue;
    attention.push_back({{"kind", place.second}, {"workflow", place.first}, {"count", count}});
  }
  size_t paused = 0;
  TRY(each_workflow(view, record.number, [&](std::string_view id, const WorkflowRecord& one) {
    if (!one.paused || ++paused > kMostOfAKind) return;
    attention.push_back({{"kind", "pausedWorkflow"}, {"workflow", id}});
  }));
  if (const auto settings = read_settings(record.settings)) {
    size_t services = 0;
    for (const std::string& service : settings->paused) {
      if (++services > kMostOfAKind) break;
      attention.push_back({{"kind", "pausedService"}, {"service", service}});
    }
  } else {
    attention.push_back({{"kind", "settings"}, {"detail", settings.error().message}});
  }
  return Json{{"counts", std::move(items)},
              {"attention", std::move(attention)},
              {"asOf", format_rfc3339(TRY(read_engine_time(view)))}};
}

}  // namespace millrace
