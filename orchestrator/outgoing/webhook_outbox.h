// WebhookOutbox: sends lifecycle events to the webhooks of a namespace. Each delivery is a row from
// the commit of the event until the receiver has accepted it. A failed delivery is repeated by the
// retry policy of the webhook, and becomes a dead letter after the last attempt. Engine thread
// only; results of deliveries come in through on_result().
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "base/batch_notes.h"
#include "base/result.h"
#include "orchestrator/memory/catalog.h"
#include "orchestrator/memory/damages.h"
#include "orchestrator/outgoing/webhook_queue.h"
#include "orchestrator/ports/webhook_sender.h"
#include "orchestrator/store/rows/task_rows.h"
#include "orchestrator/store/transaction.h"

namespace millrace {

/// The result of one attempt.
struct WebhookResult {
  uint64_t number = 0;
  std::optional<WebhookFailure> failure;  ///< nullopt: the event was accepted
};

class WebhookOutbox {
 public:
  using OnResult = std::function<void(WebhookResult)>;

  /// `on_result` is called on any thread.
  WebhookOutbox(WebhookSender& sender, const Catalog& catalog, Damages& damages,
                const BatchCount& batches, OnResult on_result);

  /// Reads the deliveries from the store.
  Status load(const View& view);

  /// During a batch: adds a delivery to be made after the commit.
  void add(Transaction& tx, uint64_t number, const WebhookRecord& record);
  /// Removes a delivery whose row is erased.
  void drop(const DueWebhook& delivery);
  /// Applies the result of an attempt: erases the row, or sets the time of the next attempt. If a
  /// record is returned, the delivery is given up, and the caller makes the event a dead letter.
  Result<std::optional<WebhookRecord>> on_result(Transaction& tx, const WebhookResult& outcome,
                                                 TimePoint now);

  /// Undoes the changes of a batch that was lost.
  void undo();

  /// After the commit: sends the deliveries that are due. Deliveries that cannot be read stay due;
  /// the first such error is returned.
  Status pump(const View& view, TimePoint now);
  /// When pump() next has work; nullopt: nothing is due, or what is due waits for room in the
  /// window (WebhookQueue).
  std::optional<TimePoint> next_due() const;

 private:
  /// A change of the current batch.
  struct Undo {
    enum class What : uint8_t {
      kAdded,    ///< the delivery became due
      kDropped,  ///< the delivery was due
      kSettled,  ///< the delivery was in flight
    };
    What what{};
    DueWebhook delivery;
  };
  void note(Undo::What what, const DueWebhook& delivery);
  void put(const DueWebhook& delivery);
  void make_due(const DueWebhook& delivery);
  Status send(const View& view, uint64_t number, TimePoint now);

  WebhookSender& sender_;
  const Catalog& catalog_;
  Damages& damages_;
  OnResult on_result_;
  WebhookQueue queue_;
  bool has_due_ = false;  ///< false: no delivery is due, so a turn asks nothing of the queue
  BatchNotes<std::vector<Undo>> undo_;
};

}  // namespace millrace
