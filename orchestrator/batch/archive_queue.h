// ArchiveQueue: the ended instances that must be in the archive before they are deleted. A page of
// them is collected in one batch, written by the Archiver, and deleted by later batches
// (archived_instances.h); then the next page is collected. In memory only: a new process collects
// the instances again, and the committed position of the archive decides which lines count. Engine
// thread only.
#pragma once

#include <cstddef>
#include <cstdint>
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

class ArchiveQueue {
 public:
  explicit ArchiveQueue(const BatchCount& batches) : before_(batches) {}

  /// Whether instances may be added. If not, a page is being collected by another part of the
  /// batch, is being written, or has instances that are not deleted yet.
  bool is_free() const { return state_.stage == Stage::kNone; }
  /// Whether the last page could not be written; it will be written again.
  bool is_failing() const { return state_.stage == Stage::kFailed; }

  /// Adds an ended instance to the page. Precondition: is_free() was true when the caller added the
  /// first instance of its page, in this batch; all instances of a page have the same namespace.
  void add(const Instance& head, DeletionReason reason);
  /// Whether the page has as many instances as one page should.
  bool is_full() const;

  /// Whether a page must be written now: it was collected, or the last attempt to write it failed
  /// at least a minute before `now`.
  bool has_page(TimePoint now) const;
  /// The page, without its name and its place. `file`: the number of its file. Precondition:
  /// has_page().
  ArchivePage take_page(uint32_t file);
  /// Whether another program changed the file of the last attempt, so that the page needs a new
  /// file.
  bool needs_new_file() const { return state_.needs_new_file; }

  /// Applies the result of a page. The result of an unknown page is ignored. Returns whether the
  /// page could be written.
  bool apply(const ArchivedPage& result, TimePoint now);

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

  /// When the page must be written again; nullopt: no attempt has failed.
  std::optional<TimePoint> retry_at() const { return state_.retry_at; }

  void clear() { state_ = {.number = state_.number}; }
  /// Undoes the changes of a batch that was lost.
  void undo();

 private:
  enum class Stage : uint8_t {
    kNone,
    kCollected,  ///< the current batch adds instances, or the page must be written to a new file
    kWriting,
    kWritten,  ///< some instances must still be deleted
    kFailed,
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
    std::optional<TimePoint> retry_at = std::nullopt;
  };

  void note_change();

  State state_;
  BatchNotes<std::optional<State>> before_;  ///< state_ as of the last commit
};

}  // namespace millrace
