// The part of an overview of a namespace that is in the store: counts, and what asks for attention.
#include "orchestrator/definition/namespace_settings.h"
#include "orchestrator/service/attention.h"
#include "orchestrator/service/queries.h"
#include "orchestrator/store/rows/damage.h"
#include "orchestrator/store/rows/group_rows.h"

namespace millrace {
namespace {

/// The most rows of counts, and the most workflows, that one overview reads.
constexpr size_t kMostOverviewRows = 100'000;

/// The most groups that one overview counts, and the most workflows of which it does.
constexpr size_t kMostOverviewGroups = 1'000;

/// Counts the incomplete groups of workflows, one workflow after the other.
class GroupCount {
 public:
  explicit GroupCount(const View& view) : view_(view) {}

  /// Adds an item if events wait in groups of the workflow. Errors: those of reading.
  Status add(std::string_view id, WorkflowNumber workflow, Attention& attention) {
    if (is_cut_ || ++workflows_ > kMostOverviewGroups) {
      attention.cut("incompleteGroups");
      return {};
    }
    size_t count = 0;
    const Status walked = each_group(view_, workflow, std::nullopt,
                                     [&](const Fingerprint&, const auto&) -> Result<bool> {
                                       is_cut_ = groups_ == kMostOverviewGroups;
                                       if (is_cut_) return false;
                                       ++groups_;
                                       ++count;
                                       return true;
                                     });
    if (!walked && !is_damaged_row(walked.error())) return walked;
    if (!walked) attention.cut("incompleteGroups", {{"detail", walked.error().message}});
    if (is_cut_) {
      attention.cut("incompleteGroups",
                    {{"detail", "there are more groups than the server counts in one call"}});
    }
    if (count == 0) return {};
    attention.add({{"kind", "incompleteGroups"}, {"workflow", id}, {"count", count}});
    return {};
  }

 private:
  const View& view_;
  size_t groups_ = 0;
  size_t workflows_ = 0;
  bool is_cut_ = false;  ///< there are more groups
};

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
  GroupCount groups(view);
  Status counted;
  const auto see = [&](std::string_view id, const WorkflowRecord& one) {
    counted = groups.add(id, one.number, attention);
    if (!counted) return false;
    if (one.paused && paused <= kMostOfAKind) {
      attention.add({{"kind", "pausedWorkflow"}, {"workflow", id}});
      ++paused;
    }
    return ++looked < kMostOverviewRows;
  };
  TRY(each_workflow_behind(view, record.number, {}, see));
  TRY(std::move(counted));
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
