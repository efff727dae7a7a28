// The store check: checks every row, reference and index of a store and reports each inconsistency
// (docs/store-check.md). The check reads one tree after the other and decodes each row with the
// decoders that millrace itself uses. The check needs little memory: for the names of namespaces
// and workflows, the instance messages in `inbox`, the fingerprints of kept events, one bit for
// each number of a history row, a kept event, a sent message and a row of effects, and 8 bytes for
// each generated event that waits.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "orchestrator/check/finding.h"
#include "orchestrator/store/disk/page_check.h"
#include "orchestrator/store/transaction.h"
#include "states/workflow.h"

namespace millrace {

struct StoreCheckOptions {
  /// Loads a workflow from a stored definition; empty: definitions are not loaded, and the checks
  /// that need them are skipped.
  std::function<Result<std::shared_ptr<const Workflow>>(std::string_view text)> load;
  /// Returns an error if millrace cannot read `settings`, the JSON text of a namespace's settings.
  /// If this function is empty, settings are not checked.
  std::function<Status(std::string_view settings)> check_settings;
  /// Whether the view has the store's key. Without the key, sealed rows are only counted.
  bool has_key = true;
  /// Whether a server has used the store: then the store has an identity (identity.h).
  bool had_server = false;
  /// Whether the files have the tree of that table; empty: they have all trees.
  std::function<bool(Table table)> has_tree;
  /// The names of the trees of the files that belong to no table (LmdbFile::unknown_trees()).
  std::vector<std::string> unknown_trees;
  /// The unknown keys in the tree of the journal (LmdbFile::unknown_journal_keys()).
  std::vector<std::string> unknown_journal_keys;
  /// The maximum number of findings in the report; further findings are only counted.
  size_t most_findings = 1000;
  /// Called every few thousand rows with the number of rows checked so far and the approximate
  /// number of all rows. False stops the check. May be empty.
  std::function<bool(uint64_t rows, uint64_t of)> progress;
};

/// Checks all rows of `view`, which shows the state after a commit; instances may have work under
/// way. The store may be that of a node of a cluster. Errors: `check.stopped`, and `store.version`
/// and `store.joining` of check_known_numbers().
Result<StoreReport> check_store(const View& view, const StoreCheckOptions& options);

/// The report of a folder whose files cannot be read: one finding, `store.damaged`.
StoreReport damaged_files(std::string_view found);

/// The report of a folder with damaged pages in data.mdb: one finding for each damage. The rows are
/// not checked, because LMDB cannot safely read damaged pages.
StoreReport damaged_pages(const PageReport& pages);

/// Opens the store in `folder` read-only and checks the store and its crash note. Damaged files
/// that prevent opening the store are findings. Errors: those of Environment::open() except
/// `store.corrupt`, and those of check_store(). An empty `key_file` means the key file in the
/// folder; if that file is missing, sealed rows are counted but not decrypted.
Result<StoreReport> check_folder(const std::filesystem::path& folder,
                                 const std::filesystem::path& key_file,
                                 const StoreCheckOptions& options);

}  // namespace millrace
