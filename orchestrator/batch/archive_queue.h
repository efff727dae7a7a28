// ArchiveQueue: the ended instances that must be in the archive before they are deleted. A page of
// them is collected in one batch, written by the Archiver, and deleted by later batches
// (archived_instances.h); then the next page is collected. A page that cannot be written is
// dropped: its instances stay, and the archive of their namespace waits for a while; other
// namespaces go on. In memory only: a new process collects the instances again, and the committed
// position of the archive decides which lines count. Engine thread only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "base/batch_notes.h"
#include "base/time.h"
#include "model/instance.h"
#include "orchestrator/batch/batch_counts.h"
#include "orchestrator/ports/archiver.h"

namespace millrace {

/// An instance of the page.
struct ArchiveItem {
  InstanceId id;
  InstanceStatus status{};
  uint64_t last_history = 0;
  DeletionReason reason{};
  /// The length of the file behind the line of the instance; nullopt: the instance has no line.
  std::optional<uint64_t> length = std::nullopt;
};

/// What the result of a page says.
enum class PageEnd : uint8_t {
  kNothing,  ///< the page is unknown, or must be written to a new file
  kWritten,
  kFailed,
};

class ArchiveQueue {
 public:
  explicit ArchiveQueue(const BatchCount& batches) : before_(batches) {}

  /// Whether instances may be added. If not, a page is being collected by another part of the
  /// batch, is being written, or has instances that are not deleted yet.
  bool is_free() const { return state_.stage == Stage::kNone; }

  /// Whether the page has instances that are deleted for this reason.
  bool is_of(DeletionReason reason) const {
    return !state_.items.empty() && state_.items.front().reason == reason;
  }
  /// Whether the next page is for the retention: it waits for the page of a purge. So purges and
  /// the retention take turns.
  bool is_reserved() const { return is_reserved_; }
  void reserve(bool is_reserved) { is_reserved_ = is_reserved; }

  /// Whether the archive of the namespace waits, because its last page could not be written.
  bool is_failing(NamespaceNumber ns) const;
  /// The number of the last page of the namespace that could not be written; 0: there is none. The
  /// instances of that page must be added again.
  uint64_t failed_page(NamespaceNumber ns) const;
  /// When the first of the namespaces that wait may go on; nullopt: none waits.
  std::optional<TimePoint> retry_at() const { return retry_at_; }
  /// Lets the namespaces go on that have waited until `now`.
  void end_waits(TimePoint now);

  /// Adds an ended instance to the page. Precondition: is_free() was true when the caller added the
  /// first instance of its page, in this batch; all instances of a page have the same namespace.
  void add(const Instance& head, DeletionReason reason);
  /// Whether the page has as many instances as one page should.
  bool is_full() const;

  /// Whether a page was collected and must be written now.
  bool has_page() const { return state_.stage == Stage::kCollected; }
  /// The page, without its name and its place. `file`: the number of its file. Precondition:
  /// has_page().
  ArchivePage take_page(uint32_t file);
  /// Whether another program changed the file of the last attempt, so that the page needs a new
  /// file.
  bool needs_new_file() const { return state_.needs_new_file; }

  /// Applies the result of a page. The result of an unknown page is ignored. If the page could not
  /// be written, its namespace waits for less than the minute between two passes of the retention.
  PageEnd apply(const ArchivedPage& result, TimePoint now);

  /// The namespace of the page.
  NamespaceNumber ns() const { return state_.ns; }
  /// The file with the lines of the page.
  uint32_t file() const { return state_.file; }
  /// The next instance whose line is on disk or that has no line; null: there is none.
  const ArchiveItem* next() const;
  /// Removes the instance that next() returns.
  void pop();
  /// Drops the page.
  void drop();

  void clear() { state_ = {.number = state_.number}; }
  /// Undoes the changes of a batch that was lost.
  void undo();

 private:
  enum class Stage : uint8_t {
    kNone,
    kCollected,  ///< the current batch adds instances, or the page must be written to a new file
    kWriting,
    kWritten,  ///< some instances must still be deleted
  };
  struct State {
    uint64_t number = 0;  ///< of the last page that was taken
    Stage stage = Stage::kNone;
    NamespaceNumber ns{};
    std::vector<ArchiveItem> items = {};
    uint64_t bytes = 0;  ///< of the rows and histories of the instances
    size_t next = 0;     ///< the index of the instance that next() returns
    uint32_t file = 0;
    bool needs_new_file = false;
  };
  /// The last page of a namespace that could not be written.
  struct Failure {
    uint64_t page = 0;
    std::optional<TimePoint> retry_at = std::nullopt;  ///< nullopt: the namespace may go on
  };

  void note_change();

  State state_;
  BatchNotes<std::optional<State>> before_;  ///< state_ as of the last commit
  /// A lost batch need not undo it: the result of its page is applied again.
  std::map<NamespaceNumber, Failure> failures_;
  std::optional<TimePoint> retry_at_;  ///< the earliest Failure::retry_at
  bool is_reserved_ = false;           ///< set in each step of a pass
};

}  // namespace millrace
