// Index build: computes the index rows (index_rows.h) and the sizes in the heads from the rows of
// the instances and the counted rows (counted_rows.h), in steps. It migrates stores of formats
// before 6, whose heads have no sizes, adds the sizes of the counted rows to stores of format 6
// with a minor number below kMinorOfCountedRows, and repairs the index after damage. Row `index` of
// table `meta` has the progress; without that row, the index is complete. A build that a kill
// interrupts continues with its next step.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "orchestrator/store/rows/damage.h"
#include "orchestrator/store/transaction.h"

namespace millrace {

/// The progress of a build.
struct IndexBuild {
  // On disk: never renumber.
  enum class Stage : uint8_t {
    kErase = 0,    ///< erases the index rows of before
    kLive = 1,     ///< adds the live instances
    kEnded = 2,    ///< adds the ended instances
    kCounted = 3,  ///< adds the sizes of the counted rows
  };
  Stage stage = Stage::kErase;
  /// The key of the table at which the next step begins, of kCounted the absolute key; empty: the
  /// first.
  std::string from;
  uint64_t instances = 0;  ///< how many instances were added so far
};
std::string encode(const IndexBuild& build);
Result<IndexBuild> decode_index_build(std::string_view bytes);

/// Whether the next step begins at the first row, or at a row that exists and can be its first: a
/// head, or a row of a counted table.
bool begins_at_row(const View& view, const IndexBuild& build);

/// Whether a build was requested and is not complete.
bool is_index_incomplete(const View& view);

/// Requests a build from its first step. The next start of millrace makes it.
void request_index_build(Transaction& tx);

/// Requests the last stage of a build: the index has no sizes of counted rows. A build that was
/// requested before stays as it is, because it has this stage.
void request_count_of_rows(Transaction& tx);

/// Makes the next step of the requested build, of about `most_rows` rows; the caller commits it.
/// Returns how many instances were added so far. After the last step is_index_incomplete() is
/// false. A damaged head is reported and left out. Errors: those of the store.
Result<uint64_t> build_index_step(Transaction& tx, size_t most_rows, const OnDamage& damaged);

}  // namespace millrace
