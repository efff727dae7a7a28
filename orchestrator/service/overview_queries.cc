// The part of an overview of a namespace that is in the store: counts, and what asks for attention.
#include "orchestrator/definition/namespace_settings.h"
#include "orchestrator/service/attention.h"
#include "orchestrator/service/queries.h"

namespace millrace {
namespace {

/// The most rows of counts, and the most workflows, that one overview reads.
constexpr size_t kMostOverviewRows = 100'000;

}  // namespace

Result<Json> Queries::overview(const View& view, std::string_view ns) {
  const NamespaceRecord record = TRY(find_namespace_record(view, ns));
  const NamespaceCounts counts = TRY(status_counts(view, record.number, kMostOverviewRows));
  Json shown{{"counts", Json::array()}, {"asOf", format_rfc3339(clock_.now())}};
  Attention attention(shown);
  for (const auto& [place, count] : counts.counts) {
    shown["counts"].push_back({place.first, place.second, count});
    if (place.second != "failed" && place.second != "timedout") continue;
    attention.add({{"kind", place.second}, {"workflow", place.first}, {"count", count}});
  }
  if (!counts.is_complete) {
    for (const char* const kind : {"counts", "failed", "timedout"}) {
      attention.cut(kind, {{"detail", "the namespace has too many workflows or revisions"}});
    }
  }
  size_t looked = 0;
  size_t paused = 0;
  const auto see = [&](std::string_view id, const WorkflowRecord& one) {
    if (one.paused) {
      attention.add({{"kind", "pausedWorkflow"}, {"workflow", id}});
      ++paused;
    }
    return paused <= kMostOfAKind && ++looked < kMostOverviewRows;
  };
  TRY(each_workflow_behind(view, record.number, {}, see));
  if (looked == kMostOverviewRows) attention.cut("pausedWorkflow");
  if (const auto settings = read_settings(record.settings)) {
    for (const std::string& service : settings->paused) {
      attention.add({{"kind", "pausedService"}, {"service", service}});
    }
  } else {
    attention.add({{"kind", "settings"}, {"detail", settings.error().message}});
  }
  return shown;
}

}  // namespace millrace
