// Queries: reads of the store, in the JSON forms that Service lists. Each query reads the View that
// is passed to it, and is implemented in the file of its noun (instance_queries.cc …). Any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "orchestrator/memory/definition_cache.h"
#include "orchestrator/outgoing/started_tasks.h"
#include "orchestrator/ports/archiver.h"
#include "orchestrator/ports/clock.h"
#include "orchestrator/service/disclosure.h"
#include "orchestrator/service/input_schema.h"
#include "orchestrator/service/service.h"
#include "orchestrator/store/rows/catalog_rows.h"

namespace millrace {

class Page;
struct InstanceSelection;
struct WalkBounds;

/// The namespace and the workflow that a client watches; workflow 0: all of the namespace.
struct WatchedPlace {
  NamespaceNumber ns{};
  WorkflowNumber workflow{};
  TimePoint created_at;  ///< of the namespace

  bool operator==(const WatchedPlace&) const = default;
};

/// Numbers of instances, by the id of the workflow and the status.
using StatusCounts = std::map<std::pair<std::string, std::string>, uint64_t>;

/// The numbers of a namespace.
struct NamespaceCounts {
  StatusCounts counts;
  size_t rows = 0;          ///< how many rows of the store were read for them
  bool is_complete = true;  ///< false: some workflows are missing, because there are too many rows
};

/// How many live instances a namespace has.
struct LiveInstances {
  NamespaceNumber ns{};
  std::optional<uint64_t> count;  ///< nullopt: the index does not know it
};

class Queries {
 public:
  /// The arguments outlive the Queries. `started` has the tasks that a worker has started, also
  /// those whose start is not stored. `clock` measures the time of walks, which has a bound.
  Queries(DefinitionCache& definitions, const StartedTasks& started, const Clock& clock)
      : definitions_(definitions), started_(started), clock_(clock) {}

  /// The tasks that a worker has started.
  const StartedTasks& started() const { return started_; }

  /// Error `namespace.not_found` if no namespace has that name.
  Status check_namespace(const View& view, std::string_view ns);

  // Errors and JSON forms: see service.h.
  Result<Json> namespaces(const View& view, const PageRequest& request = {});
  Result<Json> one_namespace(const View& view, std::string_view ns);
  /// [{"namespace","error"}] of namespaces whose stored settings cannot be read.
  Result<Json> unreadable_settings(const View& view);
  Result<Json> workflows(const View& view, std::string_view ns, const PageRequest& request = {});
  Result<Json> workflow(const View& view, std::string_view ns, std::string_view id);
  Result<Json> revisions(const View& view, std::string_view ns, std::string_view id,
                         const RevisionsRequest& request);
  Result<Json> revision(const View& view, std::string_view ns, std::string_view id,
                        uint32_t number);
  Result<Json> graph(const View& view, std::string_view ns, std::string_view id,
                     std::optional<uint32_t> revision);
  Result<Json> instances(const View& view, std::string_view ns, const InstanceFilter& filter);
  Result<Json> instance_counts(const View& view, std::string_view ns, const CountRequest& request);
  Result<Json> instance(const View& view, std::string_view ns, const InstanceId& id);
  Result<Json> instance_calls(const View& view, std::string_view ns, const InstanceId& id,
                              size_t limit, std::string_view cursor);
  Result<Json> accepted_tasks(const View& view, std::string_view ns, const AcceptedFilter& filter);
  Result<Json> instance_children(const View& view, std::string_view ns, const InstanceId& id,
                                 size_t limit, std::string_view cursor);
  Result<Json> history(const View& view, std::string_view ns, const InstanceId& id,
                       const HistoryFilter& filter);
  /// The line of an ended instance in the archive: the JSON of whole(), with the members
  /// `namespace`, `history` (the items of all pages of history()) and `variables` ([{"key","size",
  /// "contentType","data","encoding"}], see whole_variable() in shapes.h), by key. A variable with
  /// which those of the line would have more than 16 MiB is left out, and counted in
  /// `variablesLeftOut`. Data that has masks in an answer is hidden. nullopt: the instance does not
  /// exist, or has another newest history row than the entry.
  Result<std::optional<std::string>> archive_line(const View& view, std::string_view ns,
                                                  const ArchivePageEntry& entry);
  /// Without dead letters, which are not in the store.
  Result<Json> find(const View& view, std::string_view ns, std::string_view text);
  Result<Json> schedules(const View& view, std::string_view ns, const PageRequest& request = {});
  Result<Json> schedule(const View& view, std::string_view ns, std::string_view workflow);
  /// `asking`: the only instances that may have a listener of the filter, newest first; null: any
  /// instance may have one.
  Result<Json> listeners(const View& view, std::string_view ns, const ListenerFilter& filter,
                         const std::vector<InstanceId>* asking = nullptr);
  Result<Json> queues(const View& view, std::string_view ns, size_t limit, std::string_view cursor,
                      std::string_view workflow = {});
  Result<Json> queue_holders(const View& view, std::string_view ns, const HolderFilter& filter);
  Result<Json> groups(const View& view, std::string_view ns, size_t limit, std::string_view cursor,
                      const GroupFilter& filter = {});
  /// nullopt: the newest revision of the workflow does not check its whole input first.
  Result<std::optional<InputSchema>> input_schema(const View& view, std::string_view ns,
                                                  std::string_view id);
  /// The members `counts`, `attention`, `cut` and `asOf`; of `attention` what needs neither the
  /// engine thread nor the broker.
  Result<Json> overview(const View& view, std::string_view ns);
  /// The members `attention` and `cut` of an overview with the kinds `retrying` and `deadline`, and
  /// `complete`: whether all timers were looked at. Looks for kAttentionTime at most.
  Result<Json> timed_attention(const View& view, std::string_view ns, const NextLooks& looks = {});
  /// Looks at tasks for `at_most`.
  Result<Json> functions(const View& view, std::string_view ns, Duration at_most = Duration(50));

  // For live messages.

  Result<WatchedPlace> watched_place(const View& view, std::string_view ns,
                                     std::string_view workflow);
  /// The items of a list for these instances of the namespace; without those that do not exist or
  /// have damaged rows.
  Result<Json> heads(const View& view, std::string_view ns, NamespaceNumber number,
                     const std::vector<InstanceId>& ids);
  /// Without the instances of deleted workflows. `most`: how many rows of counts, and how many of
  /// workflows, are read; the numbers of a workflow are exact or missing.
  static Result<NamespaceCounts> status_counts(const View& view, NamespaceNumber ns,
                                               size_t most = std::numeric_limits<size_t>::max());

  Result<LiveInstances> live_instances(const View& view, std::string_view ns);
  /// Shows what soonest_firings() shows, from the rows of the view.
  Result<Json> next_firings(const View& view, std::string_view ns, const NextFilter& filter,
                            const NextLooks& looks = {});
  Result<Json> variables(const View& view, const VariablePlace& place, size_t limit,
                         std::string_view cursor);
  Result<Variable> variable(const View& view, const VariablePlace& place, std::string_view key);
  Result<Json> secrets(const View& view, std::string_view ns, size_t limit,
                       std::string_view cursor);

 private:
  using Workflows = std::map<std::string, WorkflowRecord>;
  using SomeWorkflows = std::vector<std::pair<std::string, WorkflowRecord>>;

  /// Error of both: `namespace.not_found`.
  Result<Json> one_group(const View& view, const Workflows& known, const GroupFilter& filter);
  Result<NamespaceRecord> find_namespace_record(const View& view, std::string_view ns);
  Result<NamespaceNumber> find_namespace(const View& view, std::string_view ns);
  /// All workflows of a namespace, by id.
  Result<Workflows> workflows_of(const View& view, std::string_view ns);
  /// The first workflows of a page, and one more if there is one, by id.
  Result<SomeWorkflows> some_workflows(const View& view, std::string_view ns,
                                       const PageRequest& request);
  Result<WorkflowRecord> find_workflow(const View& view, std::string_view ns, std::string_view id);
  Result<Instance> find_instance(const View& view, std::string_view ns, const InstanceId& id);
  /// The schedule of the workflow, with its next `upcoming` ticks; null if it has no schedule.
  Result<Json> schedule(const View& view, std::string_view id, const WorkflowRecord& record,
                        size_t upcoming);
  /// Where a page of the listeners of starts begins: behind those of a workflow (empty: at the
  /// first one), or, unless it is 0, behind this many entries of its start.
  struct StartPlace {
    std::string workflow;
    size_t entries = 0;
  };
  /// The workflows of the filter from that place on: one, or some_workflows().
  Result<SomeWorkflows> asked_workflows(const View& view, std::string_view ns,
                                        const ListenerFilter& filter, const StartPlace& place);
  Result<bool> add_starts(const View& view, std::string_view ns, const ListenerFilter& filter,
                          const StartPlace& place, Page& page);
  Result<VariableOwner> owner_of(const View& view, const VariablePlace& place);
  /// The members of an instance that each form of it has.
  Result<Json> head(const View& view, const Instance& instance, Disclosures& disclosures);
  /// The JSON of an instance as an item of a list: head(), and what the instance waits for, which
  /// its head has, or the rows of a few calls.
  Result<Json> list_item(const View& view, const Instance& instance, Disclosures& disclosures);
  /// [{"number","state","function","input"}] of the compensations that are left, newest first; of
  /// one whose row is damaged {"number","damage"}.
  Result<Json> compensations_left(const View& view, const Instance& instance,
                                  const Disclosure& disclosure);
  /// The JSON of an instance that was read, with its data and calls. instance() adds to it what is
  /// read for an operator only.
  Result<Json> whole(const View& view, const Instance& found, Disclosures& disclosures);
  /// Adds the variables of the instance to its line of the archive.
  static Status add_variables(const View& view, const Instance& found, Json& line);

  /// Where the instances of a filter are; nullopt: no instance can match it.
  Result<std::optional<InstanceSelection>> selection_of(const View& view, std::string_view ns,
                                                        NamespaceNumber number,
                                                        const InstanceFilter& filter);
  /// Whether the instance matches the filter, apart from its members `workflow`, `statuses` and
  /// `id`. Errors: also damaged rows.
  Result<bool> matches(const View& view, const Instance& one, const InstanceFilter& filter,
                       Disclosures& disclosures);
  /// The instances that were started under an idempotency key, which is shown in them.
  struct StartedUnderKey {
    std::vector<InstanceId> ids;  ///< in the order of the filter
    bool is_cut = false;  ///< not all workflows were looked at: too many, or too little time
  };
  Result<StartedUnderKey> started_under(const View& view, std::string_view ns,
                                        NamespaceNumber number, const InstanceFilter& filter,
                                        const WalkBounds& bounds, Disclosures& disclosures);
  /// The statuses of the instances that are in a state with that id, of one workflow or of all,
  /// from the counts of the index; nullopt: too much would have to be read, or the index is not
  /// complete.
  Result<std::optional<std::vector<InstanceStatus>>> statuses_in_state(
      const View& view, NamespaceNumber ns, const std::optional<WorkflowNumber>& workflow,
      std::string_view state);
  /// {status: n} of the instances of a workflow; null if it has more rows of counts than `rows`,
  /// from which those that were read are subtracted.
  static Result<Json> counts_by_status(const View& view, NamespaceNumber ns,
                                       WorkflowNumber workflow, size_t& rows);
  /// Error `index.incomplete`: the index has no exact counts at the moment.
  static Status check_counts(const View& view);
  /// "WORKFLOW, STATUS" of an instance, or "damaged".
  Result<std::string> label_of(const View& view, const Result<Instance>& head);
  /// The bounds of a walk that begins now.
  WalkBounds bounds_from_now() const;

  DefinitionCache& definitions_;
  const StartedTasks& started_;
  const Clock& clock_;
};

}  // namespace millrace
