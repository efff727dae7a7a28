// Catalog: names and numbers of namespaces and workflows, and what their definitions say. A cache
// of the store, written through: what changes here is put into the batch's transaction in the same
// call. A batch that is lost is taken back. Engine thread only, but for the definitions,
// which it shares with queries.
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

/// The namespace that there always is.
inline constexpr std::string_view kDefaultNamespace = "default";

/// The types of events that an instance may come to wait for, each once.
using AwaitedTypes = std::vector<std::string>;

struct WorkflowEntry {
  WorkflowNumber number{};
  NamespaceNumber space{};
  std::string id;
  uint32_t latest = 0;
  bool paused = false;
  uint32_t groups_from = 0;  ///< WorkflowRecord
};

class Catalog {
 public:
  /// Both outlive it.
  Catalog(DefinitionCache& definitions, const BatchCount& batches)
      : definitions_(definitions), changes_(batches) {}

  /// Reads everything but the definitions, which are loaded when they are asked for.
  Status load(const View& view);

  /// The batch in hand is lost: nothing of it is known any more. Returns the workflows that it has
  /// changed.
  Result<std::set<WorkflowNumber>> undo(const View& view);

  std::optional<NamespaceNumber> find_namespace(std::string_view name) const;
  /// `(deleted)`, which is not an identifier, if there is no such namespace: rows of one that was
  /// deleted may still name its number.
  const std::string& name_of(NamespaceNumber space) const;
  /// All of them, ascending.
  std::vector<NamespaceNumber> namespaces() const;
  bool has_namespace(NamespaceNumber space) const { return space_names_.contains(space); }

  /// Those of namespaces that exist, in the order of their numbers: a walk has a fixed order.
  const std::map<WorkflowNumber, WorkflowEntry>& workflows() const { return workflows_; }
  const WorkflowEntry* find_workflow(NamespaceNumber space, std::string_view id) const;
  const WorkflowEntry* find_workflow(WorkflowNumber number) const;
  /// Error `store.damaged_row`: the workflow of the instance belongs to another namespace. One that
  /// was deleted belongs to none.
  Status check_owner(const Instance& head) const;

  /// The definition of a revision. Error `store.corrupt` if it is gone or no longer loads.
  Result<std::shared_ptr<const Workflow>> definition(const View& view, Revision revision);

  /// The types of events that an instance in that state may come to wait for, there or further on.
  /// Errors as `definition`.
  Result<std::shared_ptr<const AwaitedTypes>> awaited(const View& view, Revision revision,
                                                      StateIndex state);

  Status create_namespace(Transaction& tx, const std::string& name, TimePoint now);
  /// `text` is what `settings` were read from.
  Status set_settings(Transaction& tx, NamespaceNumber space, std::string text,
                      NamespaceSettings settings);
  const NamespaceSettings& settings(NamespaceNumber space) const;
  /// In whose settings a service is that a function of that namespace names.
  NamespaceNumber space_of(NamespaceNumber space, const NamedService& service) const;
  /// What those say of it; null: nothing.
  const ServiceSetting* find_service(NamespaceNumber space, const NamedService& service) const;
  /// Whether its stored settings can't be read, so that settings() has none: where its services
  /// are, and who is to hear of its instances, is not known until they are set again.
  bool has_unreadable_settings(NamespaceNumber space) const { return unreadable_.contains(space); }
  /// Lookup::is_held
  bool is_held(NamespaceNumber space, const NamedService& service) const;
  /// Forgets the namespace with its settings and its workflows, and erases its row: the rows of
  /// what was in it stay.
  void remove_namespace(Transaction& tx, NamespaceNumber space);

  /// Adds a revision, unless `text` is the newest one's already. Returns whether it did.
  Result<bool> apply(Transaction& tx, NamespaceNumber space, const std::string& text,
                     std::shared_ptr<const Workflow> workflow, TimePoint now);
  /// The groups of its eventsAnd start are those of the newest revision from now on.
  void renew_groups(Transaction& tx, WorkflowNumber number);
  void pause_workflow(Transaction& tx, WorkflowNumber number, bool paused);
  void remove_workflow(Transaction& tx, WorkflowNumber number);

 private:
  /// What the batch in hand has changed.
  struct Changes {
    bool any = false;  ///< a namespace or its settings, or the workflows:
    std::set<WorkflowNumber> workflows;
  };
  void note_change(std::optional<WorkflowNumber> workflow = std::nullopt);
  static void write(Transaction& tx, const WorkflowEntry& entry);

  DefinitionCache& definitions_;
  BatchNotes<Changes> changes_;
  std::map<std::string, NamespaceNumber, std::less<>> spaces_;
  std::map<NamespaceNumber, std::string> space_names_;
  std::map<NamespaceNumber, NamespaceSettings> settings_;  ///< of those that have any
  std::set<NamespaceNumber> unreadable_;                   ///< those whose settings are not read
  std::map<WorkflowNumber, WorkflowEntry> workflows_;
  std::map<std::pair<NamespaceNumber, std::string>, WorkflowNumber, std::less<>> by_id_;
  std::map<std::pair<Revision, StateIndex>, std::shared_ptr<const AwaitedTypes>> awaited_;
};

}  // namespace millrace
