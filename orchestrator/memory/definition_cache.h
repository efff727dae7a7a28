// DefinitionCache: the definitions that were loaded from the store, shared by the whole process:
// the engine thread steps instances with them, and queries describe instances with them. A
// definition is immutable and lives as long as a pointer to it. Any thread.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "base/result.h"
#include "orchestrator/store/transaction.h"
#include "states/workflow.h"

namespace millrace {

class DefinitionCache {
 public:
  /// Makes a Workflow from a stored text; the text was valid when it was stored. Any thread.
  using Loader = std::function<Result<std::shared_ptr<const Workflow>>(std::string_view text)>;

  /// Bytes of text whose definitions stay loaded. In memory a definition takes several times the
  /// size of its text; to load it takes some milliseconds. Within the limit are about twenty
  /// thousand definitions of usual size.
  static constexpr size_t kMostBytes = size_t{32} << 20;

  explicit DefinitionCache(Loader loader, size_t most_bytes = kMostBytes)
      : loader_(std::move(loader)), most_bytes_(most_bytes) {}

  /// The definition of a revision; reads and loads it from `view` unless it is in the cache. Error
  /// `store.damaged_row` if the row is missing or does not load; `store.*` if it cannot be read.
  Result<std::shared_ptr<const Workflow>> find_or_load(const View& view, Revision revision);

  /// Adds a definition that the caller has loaded from `text`; it replaces an earlier definition of
  /// that revision.
  void add(Revision revision, std::shared_ptr<const Workflow> workflow, std::string_view text);

  /// Forgets the revisions of the workflow that are newer than `latest`: those of a lost batch,
  /// whose numbers are assigned again. No committed view has shown them.
  void forget_newer(WorkflowNumber workflow, uint32_t latest);

  /// The number of loaded definitions.
  size_t size() const;

 private:
  struct Entry {
    std::shared_ptr<const Workflow> workflow;
    size_t bytes = 0;  ///< size of the definition's text
  };
  using Entries = std::map<Revision, Entry>;

  std::shared_ptr<const Workflow> find(Revision revision);
  /// The caller holds lock_.
  void put(Revision revision, Entry entry);

  const Loader loader_;
  const size_t most_bytes_;
  mutable std::mutex lock_;
  // newer_ has the definitions that were used recently, older_ has those that were last used
  // before. When newer_ exceeds half of the limit, older_ is dropped and newer_ becomes older_. So
  // definitions in use stay, and a hit costs only a look-up.
  Entries newer_;           ///< guarded by lock_
  Entries older_;           ///< guarded by lock_
  size_t newer_bytes_ = 0;  ///< guarded by lock_
};

}  // namespace millrace
