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
/// by which the event is grouped, and the nearest other groups: first those with the fewest other
/// values, among these those whose values differ in case, white space or leading zeros only. The
/// latter are found however many groups there are; beside them the first 100 groups are looked at,
/// and 20 groups are read.
Status add_near_groups(const View& view, const WorkflowRecord& record, const Start& start,
                       const Attributes& event, JudgedListener& one);

}  // namespace millrace
