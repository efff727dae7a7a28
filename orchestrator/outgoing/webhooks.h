// Hooks: deliveries of CloudEvents about instances to the URLs that a namespace's settings name.
// Each is a row from the commit of what it tells until the receiver has taken it; one that failed
// is made again by the policy of its setting, and becomes a dead letter when that is used up.
// Engine thread only; what became of a delivery comes in through settle().
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "base/batch_notes.h"
#include "base/result.h"
#include "orchestrator/memory/catalog.h"
#include "orchestrator/memory/damages.h"
#include "orchestrator/ports/webhook_sender.h"
#include "orchestrator/store/rows/task_rows.h"
#include "orchestrator/store/transaction.h"

namespace millrace {

/// What became of one attempt.
struct WebhookResult {
  uint64_t number = 0;
  std::optional<WebhookFailure> failure;  ///< none: it was taken
};

class Hooks {
 public:
  using Settled = std::function<void(WebhookResult)>;

  /// `settled` is called on any thread.
  Hooks(WebhookSender& sender, const Catalog& catalog, Damages& damages, const BatchCount& batches,
        Settled settled)
      : sender_(sender),
        catalog_(catalog),
        damages_(damages),
        settled_(std::move(settled)),
        undo_(batches) {}

  /// Finds what the store holds.
  Status load(const View& view);

  /// While a batch is in hand: a delivery that is to be made once it is on disk.
  void add(Transaction& tx, uint64_t number, const HookRecord& record);
  /// The row is erased: nothing is sent of it any more.
  void drop(uint64_t number, TimePoint due);
  /// Takes in what became of an attempt: erases the row, or notes when the next one is due. A
  /// record that comes back is given up, and is to become a dead letter.
  Result<std::optional<HookRecord>> settle(Transaction& tx, const WebhookResult& outcome,
                                           TimePoint now);

  /// The batch in hand is lost.
  void undo();

  /// Once it is on disk: sends what is due. What cannot be read for that stays due; the error is
  /// the first of those.
  Status pump(const View& view, TimePoint now);
  /// When pump() has something to do by itself.
  std::optional<TimePoint> next_due() const;

 private:
  /// What the batch in hand has changed.
  struct Undo {
    uint64_t number = 0;
    std::optional<TimePoint> added;    ///< to what is due
    std::optional<TimePoint> dropped;  ///< from it
    bool settled = false;              ///< it was under way
  };
  void note(const Undo& change);
  Status send(const View& view, uint64_t number, TimePoint now);

  WebhookSender& sender_;
  const Catalog& catalog_;
  Damages& damages_;
  Settled settled_;
  std::set<std::pair<TimePoint, uint64_t>> due_;
  std::set<uint64_t> under_way_;
  BatchNotes<std::vector<Undo>> undo_;
};

}  // namespace millrace
