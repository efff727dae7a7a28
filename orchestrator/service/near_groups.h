// Near groups: other groups of an eventsAnd start that have an event of a type for which the group
// of an event waits. Such a group names the probable mistake in a value of `correlate`. Any thread.
#pragma once

#include "base/attributes.h"
#include "base/result.h"
#include "model/definition.h"
#include "orchestrator/service/judged_listener.h"
#include "orchestrator/store/rows/catalog_rows.h"
#include "orchestrator/store/transaction.h"

namespace millrace {

/// The most near groups that are shown for one start.
inline constexpr size_t kMostNearGroups = 3;

/// Adds to the verdict on a start, in whose group the event waits for `one.waits_for`, the values
/// by which the event is grouped, the nearest other groups, and how many more there are. First come
/// those with the fewest other values, among these those with a hint about the other value, then
/// those whose values are most similar; if groups have a hint, only these are shown. A group with a
/// hint is found however many groups there are, except for a typo in a long value; beside them the
/// first 1 000 groups are counted, and the first 100 of them are compared, fewer if their events
/// are large. A group with a hint also gets its move (GroupMove): if an event of either group would
/// complete the other one, the later one of the two moves, since the earlier one was there first.
Status add_near_groups(const View& view, const WorkflowRecord& record, const Start& start,
                       const Attributes& event, JudgedListener& one);

}  // namespace millrace
