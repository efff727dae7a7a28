// The store check: walks every row, reference and index of a store and tells what does not fit
// (docs/store-check.md). It reads one tree after the other and decodes each row with the decoders
// that the server has. What it holds is small: names of namespaces and workflows, the errands in
// `inbox`, and a bit for each number of a history row, a kept event and a message that was sent.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string_view>

#include "base/result.h"
#include "orchestrator/check/finding.h"
#include "orchestrator/store/disk/page_check.h"
#include "orchestrator/store/transaction.h"
#include "states/workflow.h"

namespace millrace {

struct StoreCheckOptions {
  /// Makes a workflow of a stored text; empty: definitions are not loaded, and what only they can
  /// tell is not checked.
  std::function<Result<std::shared_ptr<const Workflow>>(std::string_view text)> load;
  /// Whether the server can read these settings of a namespace, JSON text; empty: not checked.
  std::function<Status(std::string_view settings)> check_settings;
  /// Whether the view has the store's key. Without it sealed rows are only counted.
  bool has_key = true;
  /// Whether the files have the tree of that table; empty: they have all of them.
  std::function<bool(Table table)> has_tree;
  /// How many findings are kept; the others are only counted.
  size_t most_findings = 1000;
  /// Is given how many rows were looked at so far, and about how many there are, every few
  /// thousand rows; false: stop. May be empty.
  std::function<bool(uint64_t rows, uint64_t of)> progress;
};

/// Checks all rows as `view` has them: at the end of a commit, whatever is under way then. Errors:
/// `check.stopped`; `store.version` (the store has a newer format than this release reads).
Result<StoreReport> check_store(const View& view, const StoreCheckOptions& options);

/// The report of a folder whose files cannot be read: one finding, `store.damaged`.
StoreReport damaged_files(std::string_view found);

/// The report of a folder with damaged pages in data.mdb: a finding for each, and no rows, for LMDB
/// cannot be trusted to read them.
StoreReport damaged_pages(const PageReport& pages);

/// Opens the store in that folder to be read only and checks it, and the files beside it. Damage of
/// files that keeps the store from being opened is a finding. Errors: those of Environment::open
/// but `store.corrupt`, and those of check_store. An empty `key_file` is the one in the folder;
/// where that is missing, sealed rows are counted and not looked into.
Result<StoreReport> check_folder(const std::filesystem::path& folder,
                                 const std::filesystem::path& key_file,
                                 const StoreCheckOptions& options);

}  // namespace millrace
