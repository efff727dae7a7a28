// DefinitionCache: the definitions that were loaded from the store, one for the whole process: the
// engine's thread steps instances by them, and queries describe instances by them. What it gives
// out is immutable and lives as long as its holder wants. Any thread.
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
  /// Makes a Workflow of a stored text; it was found right when it was stored. Any thread.
  using Loader = std::function<Result<std::shared_ptr<const Workflow>>(std::string_view text)>;

  /// Bytes of text whose definitions stay loaded. One takes several times its text in memory, and
  /// some milliseconds to load: this is for about twenty thousand of usual size.
  static constexpr size_t kMostBytes = size_t{32} << 20;

  explicit DefinitionCache(Loader loader, size_t most_bytes = kMostBytes)
      : loader_(std::move(loader)), most_bytes_(most_bytes) {}

  /// The definition of a revision, read from `view` unless it is loaded. Error `store.damaged_row`
  /// if the row is missing or does not load; `store.*` if it cannot be read.
  Result<std::shared_ptr<const Workflow>> find_or_load(const View& view, Revision revision);

  /// Adds a definition that was loaded from `text` elsewhere, in place of any other of that
  /// revision.
  void add(Revision revision, std::shared_ptr<const Workflow> workflow, std::string_view text);

  /// Forgets the revisions of the workflow that are newer than `latest`: those of a lost batch,
  /// whose numbers are given again. No view that was committed has shown them.
  void forget_newer(WorkflowNumber workflow, uint32_t latest);

  /// How many definitions are loaded.
  size_t size() const;

 private:
  struct Entry {
    std::shared_ptr<const Workflow> workflow;
    size_t bytes = 0;  ///< of its text
  };
  using Entries = std::map<Revision, Entry>;

  std::shared_ptr<const Workflow> find(Revision revision);
  /// Under lock_.
  void put(Revision revision, Entry entry);

  const Loader loader_;
  const size_t most_bytes_;
  mutable std::mutex lock_;
  // What was asked for lately, and what was asked for before that. When the newer ones fill half of
  // the bound, the older ones go: so what is in use stays, and no hit costs more than a look-up.
  Entries newer_;           ///< under lock_
  Entries older_;           ///< under lock_
  size_t newer_bytes_ = 0;  ///< under lock_
};

}  // namespace millrace
