// Instance rows: an instance read and written whole: its head (head_rows.h), its calls
// (call_rows.h), and the rows that have its JSON texts: input, data, slots, the data that its state
// found, and that of a failed state. Tables `live` and `ended`. Reading takes any View, writing the
// Transaction. A row that is damaged or missing is an error that names it (damage.h).
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

/// What a state has got so far (Instance::slots). Decoding fails with `store.corrupt`.
std::string encode_slots(const std::vector<std::optional<LazyJson>>& slots);
Result<std::vector<std::optional<LazyJson>>> decode_slots(std::string_view bytes);

/// A living instance with its data, but without its input. nullopt: there is none.
Result<std::optional<Instance>> read_living(const View& view, NamespaceNumber space,
                                            const InstanceId& id);

/// The input of a living instance, which read_living leaves out.
Result<LazyJson> read_input(const View& view, const Instance& instance);

/// An instance, living or ended, whole.
Result<std::optional<Instance>> read_instance(const View& view, NamespaceNumber space,
                                              const InstanceId& id);

/// When a living instance last did anything, by its history; nullopt: there is none of that id.
Result<std::optional<TimePoint>> read_last_moved(const View& view, NamespaceNumber space,
                                                 const InstanceId& id);

/// What of an instance is to be written beside its head.
struct Changed {
  bool input = false;
  bool data = false;
  bool ends_history = false;  ///< the data is that of the last record which has some
  bool slots = false;
  bool found_data = false;
  bool failed_data = false;
  const std::vector<Call>* calls = nullptr;  ///< as they stand in the rows; null: there are none
};
/// Writes a living instance, or moves one that has ended to the ended ones.
void write_instance(Transaction& tx, const Instance& instance, Changed changed);

/// Takes the rows of one that has ended away, its history left: it is to be written as a living
/// one.
void erase_ended(Transaction& tx, const Instance& instance);

/// Erases every row of an instance, living or ended, whatever the rows hold. Its history and its
/// idempotency key are left. Returns how many rows there were.
Result<size_t> erase_parts(Transaction& tx, NamespaceNumber space, const InstanceId& id);

/// Removes one that has ended, with its idempotency key. Its history is left, for purge_history().
void erase_instance(Transaction& tx, const Instance& instance);

}  // namespace millrace
