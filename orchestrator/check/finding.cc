#include "orchestrator/check/finding.h"

#include <algorithm>
#include <iterator>

#include <fmt/format.h>

#include "base/check.h"

namespace millrace {
namespace {

constexpr std::string_view kRestore =
    "stop the server, keep a copy of the folder, restore the last backup that passes this check";
constexpr std::string_view kReport =
    "keep a copy of the folder and report this finding as a fault of millrace";
constexpr std::string_view kBeginAgain =
    "cancel the instance and start it again, or restore the last backup that passes this check; "
    "keep a copy of the folder and report this finding as a fault of millrace";
constexpr std::string_view kLeftover =
    "if another finding names the instance, workflow or definition that the row belongs to (a "
    "damaged row or key of it), follow that finding. Otherwise the row is left over and only uses "
    "disk space: keep a copy of the folder and report this finding as a fault of millrace";
constexpr std::string_view kRestoreOwner =
    "do not start the server; keep a copy of the folder and restore the last backup that passes "
    "this check. Only if the namespace or the workflow was deleted on purpose, by a release that "
    "left its rows: millrace namespace delete NUMBER --leftovers, millrace workflow delete NUMBER "
    "--leftovers";
constexpr std::string_view kRecount =
    "instances are not affected, only lists by status, counts and sizes: keep a copy of the folder "
    "and report this finding as a fault of millrace";
constexpr std::string_view kKey =
    "use --secret-key-file to name the key with which the store was created";

constexpr StoreFaultKind kKinds[] = {
    {StoreFault::kStoreDamaged, "store.damaged",
     "files that are readable from the first byte to the last", kRestore},
    {StoreFault::kFormat, "store.format", "a format from 1 to the one that this release writes",
     "use the release that wrote the folder, or a newer one"},
    {StoreFault::kStoreKey, "store.key", "the key with which the rows of the store were sealed",
     kKey},
    {StoreFault::kNoteDamaged, "note.damaged",
     "the line `nothing`, or a description of the current batch",
     "start the server: it writes a new crash note. Only the information about an unclean end is "
     "lost"},
    {StoreFault::kRowKey, "row.key", "a key as docs/FORMATS.md describes it for this tree",
     kRestore},
    {StoreFault::kRowRecord, "row.record",
     "a complete record of a known version, and no bytes after it", kRestore},
    {StoreFault::kRowSeal, "row.seal", "a sealed row that the store's key opens in this place",
     kRestore},
    {StoreFault::kRowPlain, "row.plain", "a sealed row, because it holds a secret",
     "set the secret again, and change its value where it is used: it was readable in the folder"},
    {StoreFault::kRowJson, "row.json", "JSON", kRestore},
    {StoreFault::kRowEvent, "row.event",
     "a CloudEvent in the JSON format, or a message that holds one", kRestore},
    {StoreFault::kRowValue, "row.value", "values within the range of their fields", kRestore},
    {StoreFault::kRowTime, "row.time", "a time that is not later than the store's time (meta/time)",
     kRestore},
    {StoreFault::kMetaUnknown, "meta.unknown", "a key of meta that docs/FORMATS.md names",
     kRestore},
    {StoreFault::kMetaMissing, "meta.missing", "the row that every store of this format has",
     kRestore},
    {StoreFault::kTreeMissing, "tree.missing", "each tree of docs/FORMATS.md, with or without rows",
     kRestore},
    {StoreFault::kTreeUnknown, "tree.unknown", "no other tree than those of docs/FORMATS.md",
     kReport},
    {StoreFault::kPurgeTarget, "purge.target",
     "a purge (a row `purge/` of meta) of data that was deleted and that is not in use",
     "do not start the server: it would erase the data that the row names; keep a copy of the "
     "folder and restore the last backup that passes this check"},
    {StoreFault::kCounterBehind, "counter.behind",
     "a counter (meta/counter) that is at least as high as every number that was assigned",
     kRestore},
    {StoreFault::kNumberTwice, "number.twice",
     "a number, a name, an id of a generated event or a fingerprint of a kept event that no other "
     "row has",
     kRestore},
    {StoreFault::kNamespaceMissing, "namespace.missing",
     "the number of an existing namespace, or of one that a row `purge/` of meta erases",
     kRestoreOwner},
    {StoreFault::kNamespaceSettings, "namespace.settings", "settings that this release can read",
     "set the settings again: millrace namespace create NAME --settings @FILE"},
    {StoreFault::kWorkflowMissing, "workflow.missing",
     "the number of an existing workflow, or a row `retired/` of meta", kRestoreOwner},
    {StoreFault::kDefinitionMissing, "definition.missing", "the text of this revision", kRestore},
    {StoreFault::kDefinitionUnknown, "definition.unknown",
     "a revision from 1 to the newest of its workflow, without gaps", kLeftover},
    {StoreFault::kDefinitionUnloadable, "definition.unloadable",
     "a definition that loads and has this id", kRestore},
    {StoreFault::kInstanceMissing, "instance.missing",
     "the existing instance that the row belongs to", kLeftover},
    {StoreFault::kInstanceNoHead, "instance.no_head",
     "a head (part 0) before the other rows of an instance", kRestore},
    {StoreFault::kInstanceKey, "instance.key", "a head with the namespace and the id of its key",
     kRestore},
    {StoreFault::kInstanceTwice, "instance.twice",
     "an instance either in `live` or in `ended`, not in both", kRestore},
    {StoreFault::kInstanceStatus, "instance.status",
     "status, phase, flags, times and error that fit together, the tree and the history",
     kBeginAgain},
    {StoreFault::kInstanceState, "instance.state",
     "a state, and an exit of it, that its revision has, and the revision of its start", kRestore},
    {StoreFault::kInstanceParts, "instance.parts",
     "all parts that its head, its state and its history require, and no others", kRestore},
    {StoreFault::kInstanceStuck, "instance.stuck",
     "a listener, a timer or a call that a waiting instance waits for",
     "cancel the instance, or retry it; report this finding as a fault of millrace"},
    {StoreFault::kInstanceTimers, "instance.timers",
     "the timers that its definition and its phase require, each kind once, with their deadlines",
     kBeginAgain},
    {StoreFault::kInstanceListeners, "instance.listeners",
     "the listeners that its state requires, one for each event that has not arrived", kBeginAgain},
    {StoreFault::kInstanceSeal, "instance.seal",
     "an instance whose head is sealed if one of its other rows is sealed, whose history has only "
     "sealed rows after its first sealed row, and whose calls are sealed if they have secrets",
     kReport},
    {StoreFault::kInstanceIdempotency, "instance.idempotency",
     "a row in `idempotency` that names the instance under its key", kRestore},
    {StoreFault::kInstanceCaller, "instance.caller",
     "a caller that waits for this subflow, or an instance message that cancels the subflow",
     "cancel the instance if its work is not needed; report this finding as a fault of millrace"},
    {StoreFault::kCallState, "call.state",
     "a call whose attempt, times, id and input fit its status, its state and the history, with "
     "the "
     "deadlines of its function",
     kReport},
    {StoreFault::kCallTask, "call.task", "a row in `tasks` for a call that runs outside millrace",
     "cancel the instance with --now, then retry it"},
    {StoreFault::kCallChild, "call.child",
     "an active instance for a subflow call that runs, or an instance message that starts it or "
     "returns its result",
     "cancel the instance with --now, then retry it"},
    {StoreFault::kTaskCaller, "task.caller",
     "a call that runs and waits for this task, with its state, function and input", kReport},
    {StoreFault::kInstanceMessageTwice, "errand.twice",
     "an instance message that starts a subflow that does not exist yet", kReport},
    {StoreFault::kHistoryMissing, "history.missing",
     "the history row that a later row or the head names", kRestore},
    {StoreFault::kHistoryOwner, "history.owner",
     "a history row of the instance whose chain it is in", kRestore},
    {StoreFault::kHistoryOrder, "history.order",
     "records in the order of their times, from `started` (if the history is not trimmed) to "
     "`ended` "
     "(for an ended instance)",
     kRestore},
    {StoreFault::kHistoryCount, "history.count",
     "as many history records as the head counts, without those that were trimmed", kRestore},
    {StoreFault::kHistoryOrphan, "history.orphan",
     "a history row in the chain of an existing instance, or in that of a purge", kLeftover},
    {StoreFault::kGroupCounts, "group.counts",
     "the counts of a group that match its waiting events", kRestore},
    {StoreFault::kGroupEvent, "group.event",
     "a waiting event that is in its group and that the row of its number names", kRestore},
    {StoreFault::kGroupNumber, "group.number",
     "a row under the number of a waiting event, whose value is the key of that event", kRestore},
    {StoreFault::kQueueEntry, "queue.entry",
     "one row for each active instance and each task with a slot, among those that hold one or "
     "wait "
     "for one",
     "cancel the instance, if it is active, and start it again"},
    {StoreFault::kQueueCounts, "queue.counts",
     "the counts of a key that match its rows of instances or tasks", kRestore},
    {StoreFault::kScheduleMissing, "schedule.missing",
     "a row for each workflow that has a schedule",
     "apply the workflow without the schedule, then with it"},
    {StoreFault::kScheduleUnknown, "schedule.unknown", "a workflow that has a schedule", kLeftover},
    {StoreFault::kSentMessage, "sent.message",
     "an event in the outbox, of this size, that no other row of `sent` names", kReport},
    {StoreFault::kKeptEventPlace, "recent.place",
     "a kept event under the fingerprint of its type, with the fingerprint of its source and id",
     kRestore},
    {StoreFault::kFanOutEvent, "fanout.event",
     "the number of an event in `recent`, and in a fan-out no value", kRestore},
    {StoreFault::kIdempotencyInstance, "idempotency.instance",
     "an instance of the workflow that was started under this key with this input", kLeftover},
    {StoreFault::kVariablePieces, "variable.pieces",
     "a value that has all its pieces, and no piece that neither a variable has nor a purge erases",
     kRestore},
    {StoreFault::kInstanceBytes, "instance.bytes",
     "a head that has the sizes of the instance's rows and history", kRecount},
    {StoreFault::kIndexStatus, "index.status",
     "one row in `by_status` for each instance, with its workflow and status", kRecount},
    {StoreFault::kIndexCount, "index.count",
     "in `counts` the number of instances for each revision, state and status, if there is one",
     kRecount},
    {StoreFault::kIndexUsage, "index.usage",
     "in `usage` the number and the size of the instances of each namespace, if it has one, the "
     "bounds of their starts, and the size of its counted rows",
     kRecount},
};

}  // namespace

std::span<const StoreFaultKind> fault_kinds() { return kKinds; }

const StoreFaultKind& kind_of(StoreFault fault) {
  const auto* const found =
      std::find_if(std::begin(kKinds), std::end(kKinds),
                   [&](const StoreFaultKind& kind) { return kind.fault == fault; });
  CHECK(found != std::end(kKinds), "fault {} has no kind", static_cast<int>(fault));
  return *found;
}

std::string to_string(const StoreFinding& finding) {
  const StoreFaultKind& kind = kind_of(finding.fault);
  const std::string place =
      finding.key.empty() ? finding.table : fmt::format("{}/{}", finding.table, finding.key);
  return fmt::format("{}: {} [{}]; expected: {}", place, finding.found, kind.code, kind.expected);
}

uint64_t StoreReport::count() const {
  uint64_t sum = 0;
  for (const auto& [code, number] : codes) sum += number;
  return sum;
}

Json to_json(const StoreReport& report) {
  Json findings = Json::array();
  for (const StoreFinding& finding : report.findings) {
    const StoreFaultKind& kind = kind_of(finding.fault);
    Json item{{"code", kind.code},      {"table", finding.table},    {"key", finding.key},
              {"found", finding.found}, {"expected", kind.expected}, {"action", kind.action}};
    if (!finding.ns.empty()) item["namespace"] = finding.ns;
    if (finding.instance) item["instance"] = to_string(*finding.instance);
    findings.push_back(std::move(item));
  }
  return Json{{"sound", report.sound()},         {"items", std::move(findings)},
              {"codes", report.codes},           {"rows", report.rows},
              {"unreadable", report.unreadable}, {"indexCompared", report.index_compared}};
}

}  // namespace millrace
