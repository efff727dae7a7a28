// Catalog: names and numbers of namespaces and workflows, their settings and definitions. A
// write-through cache of the store: each change is put into the batch's transaction by the same
// call. The changes of a lost batch are undone. Engine thread only, except the definitions, which
// are shared with queries.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/batch_notes.h"
#include "base/result.h"
#include "orchestrator/definition/namespace_settings.h"
#include "orchestrator/memory/definition_cache.h"
#include "orchestrator/store/transaction.h"
#include "states/workflow.h"

namespace millrace {

/// The namespace that always exists.
inline constexpr std::string_view kDefaultNamespace = "default";

/// The types of events that an instance may come to wait for, without repetition.
using AwaitedTypes = std::vector<std::string>;

struct WorkflowEntry {
  WorkflowNumber number{};
  NamespaceNumber ns{};
  std::string id;
  uint32_t latest = 0;
  bool paused = false;
  uint32_t groups_from = 0;  ///< WorkflowRecord::groups_from
};

class Catalog {
 public:
  /// Both arguments outlive the catalog.
  Catalog(DefinitionCache& definitions, const BatchCount& batches)
      : definitions_(definitions), changes_(batches) {}

  /// Reads everything except the definitions, which are loaded when they are used.
  Status load(const View& view);

  /// Undoes the changes of a batch that was lost. Returns the workflows that the batch had changed.
  Result<std::set<WorkflowNumber>> undo(const View& view);

  std::optional<NamespaceNumber> find_namespace(std::string_view name) const;
  /// The name of the namespace, or `(deleted)`, which is not an identifier, if no namespace has
  /// that number: rows of a deleted namespace may still have the number.
  const std::string& name_of(NamespaceNumber ns) const;
  /// All namespaces, ascending.
  std::vector<NamespaceNumber> namespaces() const;
  bool has_namespace(NamespaceNumber ns) const { return ns_names_.contains(ns); }

  /// The workflows of existing namespaces, ordered by number, so that iteration has a fixed order.
  const std::map<WorkflowNumber, WorkflowEntry>& workflows() const { return workflows_; }
  /// The workflows of the namespace, by id.
  std::vector<WorkflowNumber> workflows_of(NamespaceNumber ns) const;
  const WorkflowEntry* find_workflow(NamespaceNumber ns, std::string_view id) const;
  const WorkflowEntry* find_workflow(WorkflowNumber number) const;
  /// Error `store.damaged_row`: the workflow of the instance belongs to another namespace. A
  /// deleted workflow belongs to no namespace and gives no error.
  Status check_owner(const Instance& head) const;

  /// The definition of a revision. Errors as DefinitionCache::find_or_load(); also
  /// `store.damaged_row` if the definition has the id of another workflow.
  Result<std::shared_ptr<const Workflow>> definition(const View& view, Revision revision);

  /// The types of events that an instance in the state `state` may come to wait for, in this state
  /// or a later one. Errors as definition().
  Result<std::shared_ptr<const AwaitedTypes>> awaited(const View& view, Revision revision,
                                                      StateIndex state);
  /// The types of events that instances of these revisions may come to wait for, in whatever states
  /// they are. nullopt: not known without a read of the store (awaited() was not asked of one of
  /// them, or not of late), or of too many revisions, or too many types.
  std::optional<std::set<std::string>> known_types(const std::set<Revision>& revisions) const;

  Status create_namespace(Transaction& tx, const std::string& name, TimePoint now);
  /// Sets the settings of a namespace. `text` is the JSON that `settings` were parsed from.
  Status set_settings(Transaction& tx, NamespaceNumber ns, std::string text,
                      NamespaceSettings settings);
  const NamespaceSettings& settings(NamespaceNumber ns) const;
  /// The namespace whose settings have a service that a function of namespace `ns` names.
  NamespaceNumber ns_of(NamespaceNumber ns, const NamedService& service) const;
  /// The settings of a service; null: there are none.
  const ServiceSetting* find_service(NamespaceNumber ns, const NamedService& service) const;
  /// Whether the stored settings cannot be read, so that settings() returns none. Until the
  /// settings are set again, the services and webhooks of the namespace are not known.
  bool has_unreadable_settings(NamespaceNumber ns) const { return unreadable_.contains(ns); }
  /// The namespaces whose settings may require that ended instances are deleted or that histories
  /// are trimmed, ascending.
  const std::set<NamespaceNumber>& retaining() const { return retaining_; }
  /// The limits for the histories of a workflow's instances, by the settings of their namespace.
  const HistoryLimits& history_limits(NamespaceNumber ns, WorkflowNumber workflow) const;
  /// See Lookup::is_held().
  bool is_held(NamespaceNumber ns, const NamedService& service) const;
  /// Forgets the namespace with its settings and workflows, and erases the row of the namespace
  /// itself. The rows of its workflows and instances stay.
  void remove_namespace(Transaction& tx, NamespaceNumber ns);

  /// Adds a revision, unless `text` equals that of the newest revision. Returns whether it added
  /// one.
  Result<bool> apply(Transaction& tx, NamespaceNumber ns, const std::string& text,
                     std::shared_ptr<const Workflow> workflow, TimePoint now);
  /// From now on the groups of the workflow's eventsAnd start are those of the newest revision.
  void renew_groups(Transaction& tx, WorkflowNumber number);
  void pause_workflow(Transaction& tx, WorkflowNumber number, bool paused);
  void remove_workflow(Transaction& tx, WorkflowNumber number);

 private:
  /// The changes of the current batch.
  struct Changes {
    bool any = false;  ///< a namespace, its settings, or a workflow changed
    std::set<WorkflowNumber> workflows;
  };
  void note_change(std::optional<WorkflowNumber> workflow = std::nullopt);
  static void write(Transaction& tx, const WorkflowEntry& entry);
  void bound_types(size_t added);
  void forget_types(WorkflowNumber number);

  DefinitionCache& definitions_;
  BatchNotes<Changes> changes_;
  std::map<std::string, NamespaceNumber, std::less<>> spaces_;
  std::map<NamespaceNumber, std::string> ns_names_;
  std::map<NamespaceNumber, NamespaceSettings> settings_;  ///< of namespaces that have settings
  std::set<NamespaceNumber> unreadable_;                   ///< namespaces with unreadable settings
  std::set<NamespaceNumber> retaining_;                    ///< see retaining()
  std::map<WorkflowNumber, WorkflowEntry> workflows_;
  std::map<std::pair<NamespaceNumber, std::string>, WorkflowNumber, std::less<>> by_id_;
  std::map<std::pair<Revision, StateIndex>, std::shared_ptr<const AwaitedTypes>> awaited_;
  /// Of all states of each revision of which awaited() was asked.
  std::map<Revision, AwaitedTypes> known_types_;
  size_t types_in_memory_ = 0;  ///< of both maps, about; not less those of removed workflows
};

}  // namespace millrace
