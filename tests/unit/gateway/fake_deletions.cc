// The deletions of namespaces and workflows in FakeService.
#include "tests/unit/gateway/fake_service.h"

namespace millrace {
namespace {

/// The answer of a deletion that has cancelled so many instances.
Json deleted_with(size_t cancelled, bool drops_compensations) {
  Json answer{{"cancelled", cancelled}};
  if (drops_compensations) answer["droppedCompensations"] = 0;
  return answer;
}

}  // namespace

Result<Json> FakeService::take(DeleteNamespace& remove) {
  if (const Status known = check(remove.name); !known) return tl::unexpected(known.error());
  if (!workflows_.empty() && !remove.cancel) {
    return fail("namespace.not_empty", "it has workflows");
  }
  spaces_.erase(remove.name);
  return deleted_with(0, remove.drop_compensations);
}

Result<Json> FakeService::take(DeleteWorkflow& remove) {
  if (!workflows_.contains(remove.id)) return no_workflow(remove.id);
  if (!starts_.empty() && !remove.cancel) {
    return fail("workflow.has_instances", "it has live instances; cancel them");
  }
  workflows_.erase(remove.id);
  Json answer = deleted_with(starts_.size(), remove.drop_compensations);
  if (pending_starts > 0) answer["pendingStarts"] = pending_starts;
  return answer;
}

}  // namespace millrace
