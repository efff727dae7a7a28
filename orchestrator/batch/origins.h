// Origins: which messages of origin streams the events of sources were made from, so that each
// message takes effect once, however often its event is in the event stream. The rows change in the
// commit of the event. Engine thread only.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string_view>

#include "base/result.h"
#include "model/origin_mark.h"
#include "orchestrator/memory/damages.h"
#include "orchestrator/store/rows/source_rows.h"
#include "orchestrator/store/transaction.h"

namespace millrace {

class Origins {
 public:
  /// What an event with a mark is.
  enum class Verdict : uint8_t {
    kNew,       ///< its message is noted as applied; the event is to be applied in this batch
    kRepeated,  ///< its message was applied before
    /// The mark was not made with the key of this store, or not for this event.
    kForged,
    /// The store has no row of the origin stream: the source was deleted, or reads another stream
    /// since long. Or the row is damaged.
    kUnknown,
    kTooManyGaps,  ///< see kMostGaps; the source reads the message again
  };

  Origins(Transaction& tx, Damages& damages) : tx_(tx), damages_(damages) {}

  /// Judges the mark of an event of that namespace, and notes a new message as applied. Errors:
  /// those of the store.
  Result<Verdict> take(std::string_view ns, const OriginMark& mark);

  /// The record of an origin stream, with the changes of the current batch; null: the store has
  /// none, or it is damaged. A caller that changes the record must call change().
  Result<OriginRecord*> find(const OriginStream& origin);
  /// Notes that the record of find() has changed.
  void change(const OriginStream& origin) { unwritten_.insert(origin); }
  /// Replaces or adds a record.
  void put(const OriginStream& origin, const OriginRecord& record);
  /// Erases a record and its row.
  void erase(const OriginStream& origin);

  /// Writes what has changed since the last call into the batch.
  void write();
  /// Forgets what is in memory: the batch was lost, or the store was read again.
  void clear();

 private:
  Transaction& tx_;
  Damages& damages_;
  std::map<OriginStream, OriginRecord> known_;  ///< as in the store, with unwritten changes
  std::set<OriginStream> unwritten_;
};

}  // namespace millrace
