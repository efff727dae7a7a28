// Instance rows: reads and writes all rows of an instance: its head (head_rows.h), its calls
// (call_rows.h), and the rows with its JSON texts: input, data, slots, the data at the entry of its
// state, the data of a failed state, and the starting event. Tables `live` and `ended`. Functions
// that read take any View, functions that write the Transaction. A damaged or missing row gives an
// error that names it (damage.h).
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "model/instance.h"
#include "orchestrator/store/transaction.h"

namespace millrace {

/// The bytes of Instance::slots: the results that a state has received so far. Decoding fails with
/// `store.corrupt`.
std::string encode_slots(const std::vector<std::optional<LazyJson>>& slots);
Result<std::vector<std::optional<LazyJson>>> decode_slots(std::string_view bytes);

/// A live instance with its data, without its input and its starting event; nullopt: there is none.
Result<std::optional<Instance>> read_live(const View& view, NamespaceNumber ns,
                                          const InstanceId& id);

/// The head of the live instance that made the call, with this one of its calls; the other calls
/// are empty. nullopt: there is no such live instance.
Result<std::optional<Instance>> read_caller(const View& view, NamespaceNumber ns,
                                            const Caller& call);

/// The calls of the instance with that live head, from the index `first` on, at most `most`.
Result<std::vector<Call>> read_some_calls(const View& view, const Instance& head, size_t first,
                                          size_t most);

/// The input of a live instance, which read_live() leaves out.
Result<LazyJson> read_input(const View& view, const Instance& instance);

/// The starting event of an instance that was read (Instance::start_event), which read_live()
/// leaves out; null: it has none. Errors: a damaged or missing row, and those of the store.
Result<LazyJson> read_start_event(const View& view, const Instance& instance);

/// A complete instance, live or ended; nullopt: there is none.
Result<std::optional<Instance>> read_instance(const View& view, NamespaceNumber ns,
                                              const InstanceId& id);

/// The time of the last history record of a live instance; nullopt if no live instance has
/// that id.
Result<std::optional<TimePoint>> read_last_moved(const View& view, NamespaceNumber ns,
                                                 const InstanceId& id);

/// Which rows of an instance must be written in addition to its head.
struct Changed {
  bool is_new = false;  ///< `live` has no rows of the instance; the starting event is written, if
                        ///< there is one
  bool input = false;
  bool data = false;
  bool ends_history = false;  ///< the last history record with data has the instance's data
  bool slots = false;
  bool found_data = false;
  bool failed_data = false;
  const std::vector<Call>* calls = nullptr;  ///< calls as the rows have them; null: none
  /// If there are no more calls than rows: the indexes of all calls that differ from their rows;
  /// null: any may differ.
  const std::vector<size_t>* changed_calls = nullptr;
  uint32_t compensations = 0;  ///< the number of rows of compensations
  /// Gets whether a purge must erase rows of dropped compensations; null: all are erased at once.
  bool* leaves_compensations = nullptr;
  /// Gets the indexes of the calls whose rows were written; null: they are not needed.
  std::vector<size_t>* written_calls = nullptr;
};
/// Writes a live instance, or moves an instance that has ended from `live` to `ended`. Updates the
/// sizes of the rows (Instance::part_bytes), and clears Instance::new_compensations.
void write_instance(Transaction& tx, Instance& instance, Changed changed);

/// Erases the row with the data of a live instance: without it, its data is its input. Updates the
/// sizes of the rows.
void erase_data(Transaction& tx, Instance& instance);

/// Writes the head of an instance whose other rows are unchanged. Updates the size of the head.
void write_head(Transaction& tx, Instance& instance);

/// Gives an ended instance a row with its data if only a record of its last history row has the
/// data. Used before that record is erased. Updates the sizes of the rows. Errors: a damaged row,
/// and those of the store.
Status store_final_data(Transaction& tx, Instance& instance);

/// Erases the rows of an ended instance, but neither its history nor its compensations. Used before
/// the instance is written as a live instance. Updates the sizes of the rows.
void revive_rows(Transaction& tx, Instance& instance);

/// The result of erase_parts().
struct ErasedParts {
  size_t rows = 0;                 ///< the number of erased rows
  bool has_compensations = false;  ///< a purge must erase the rows of compensations that are left
};
/// Erases every row of an instance in `live` and `ended`, also damaged rows; of its compensations
/// at most kErasedCompensations. The history and the idempotency key of the instance stay.
Result<ErasedParts> erase_parts(Transaction& tx, NamespaceNumber ns, const InstanceId& id);

/// Erases the rows of an ended instance, of its compensations at most `most`, and its idempotency
/// key. purge_history() then erases its history. Returns whether a purge must erase other
/// compensations.
bool erase_instance(Transaction& tx, const Instance& instance, uint32_t most = kMostCompensations);

}  // namespace millrace
