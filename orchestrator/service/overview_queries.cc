// The part of an overview of a namespace that is in the store: counts, and what asks for attention.
#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "orchestrator/definition/namespace_settings.h"
#include "orchestrator/service/attention.h"
#include "orchestrator/service/instance_walk.h"
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

/// At how many ended instances one overview looks for compensations that have stopped.
constexpr size_t kMostEndedSeen = 10'000;

using WorkflowIds = std::map<WorkflowNumber, std::string>;

/// Adds an item for each of the workflows of which ended instances have compensations left because
/// one of them has failed for good. Looks at the newest instances.
Status add_stopped(const View& view, NamespaceNumber ns, const WorkflowIds& workflows,
                   const std::function<bool()>& is_over, Attention& attention) {
  bool has_left = false;
  std::map<std::string_view, size_t> stopped;
  const auto see = [&](const Instance& head) {
    has_left = has_left || head.compensations > 0;
    if (!head.compensation_error) return true;
    const auto workflow = workflows.find(head.revision.workflow);
    if (workflow != workflows.end()) ++stopped[workflow->second];
    return true;
  };
  using enum InstanceStatus;
  const WalkEnd end =
      TRY(each_selected(view, {.ns = ns, .statuses = {kFailed, kTimedOut, kCancelled}}, see,
                        [](const InstanceId&, const Error&) { return true; },
                        {.heads = kMostEndedSeen, .is_over = is_over}));
  for (const auto& [workflow, count] : stopped) {
    attention.add({{"kind", "compensationStopped"}, {"workflow", workflow}, {"count", count}});
  }
  // Without one among so many, the namespace probably has none.
  if (end.cut && has_left) {
    attention.cut(
        "compensationStopped",
        {{"detail", "there are more ended instances than the server looks at in one call"}});
  }
  return {};
}

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
  WorkflowIds workflows;
  const auto see = [&](std::string_view id, const WorkflowRecord& one) {
    counted = groups.add(id, one.number, attention);
    if (!counted) return false;
    workflows.emplace(one.number, id);
    if (one.paused && paused <= kMostOfAKind) {
      attention.add({{"kind", "pausedWorkflow"}, {"workflow", id}});
      ++paused;
    }
    return ++looked < kMostOverviewRows;
  };
  TRY(each_workflow_behind(view, record.number, {}, see));
  TRY(std::move(counted));
  if (looked == kMostOverviewRows) attention.cut("pausedWorkflow");
  const auto is_over = [this, end = clock_.precise() + kAttentionTime] {
    return clock_.precise() >= end;
  };
  TRY(add_stopped(view, record.number, workflows, is_over, attention));
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
