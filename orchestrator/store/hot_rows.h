// HotRows: the last committed values of the few small rows that almost each batch reads: counters,
// the counts of instances, and the use of the store by namespaces. A Transaction looks here before
// it searches the layers of the store, which costs much more. Only one thread at a time may use an
// object.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "orchestrator/store/disk/table.h"
#include "orchestrator/store/disk/write_set.h"

namespace millrace {

class HotRows {
 public:
  /// Null: the value of the row is not known here. The optional is nullopt if the store does not
  /// have the row. Valid until the next committed() or forget().
  const std::optional<std::string>* find(Table table, std::string_view absolute_key) const;

  /// Notes a value that was read from the store. Does nothing for rows that are not kept here: rows
  /// of other tables, long values, rows that the overlay itself writes, and rows beyond a limit.
  void note(Table table, std::string_view absolute_key, std::optional<std::string_view> value);

  /// Forgets the rows for which a batch writes values that are not kept here, because they are
  /// long.
  void forget_long(const WriteSet& writes);

  /// Replaces the known values by those that a commit has written, which it moves out of `writes`.
  void committed(WriteSet& writes);

  /// Forgets the rows of a write-set that was committed in another way.
  void forget(const WriteSet& writes);

 private:
  std::map<std::string, std::optional<std::string>, std::less<>> rows_;
};

}  // namespace millrace
