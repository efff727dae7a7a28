// Pending input rows: the inputs that the `batch` of a workflow has collected, of which the pending
// start (pending_start_rows.h) has the number and the bytes. Table `meta`: a row `pending-input/`
// for each input, under the id of the instance that will start and the number of the input. So
// adding an input writes none of the others again. Functions that read take any View, functions
// that write the Transaction. A damaged row gives an error that names it (damage.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/ids.h"
#include "base/lazy_json.h"
#include "base/result.h"
#include "model/consumed_events.h"
#include "model/instance.h"
#include "orchestrator/store/rows/damage.h"
#include "orchestrator/store/transaction.h"

namespace millrace {

inline constexpr std::string_view kPendingInputKey = "pending-input/";

struct PendingInputPlace {
  NamespaceNumber ns{};
  InstanceId instance;  ///< that will start with the input
  uint32_t number = 0;  ///< from 0 on, in the order of arrival

  bool operator==(const PendingInputPlace&) const = default;
};

struct PendingInput {
  LazyJson input;           ///< an object
  ConsumedEvents consumed;  ///< the events that made the request, if the workflow looks back
  Sealing sealed;           ///< not encoded: whether the row is sealed
};
std::string encode(const PendingInput& input);
/// Decoding fails with `store.corrupt`.
Result<PendingInput> decode_pending_input(std::string_view bytes);

void write_pending_input(Transaction& tx, const PendingInputPlace& place,
                         const PendingInput& input);

/// The input at that place; nullopt: there is none. Error: a damaged row.
Result<std::optional<PendingInput>> read_pending_input(const View& view,
                                                       const PendingInputPlace& place);

/// Visits the inputs with which an instance will start, in the order of arrival. `damaged` receives
/// the errors of damaged rows, which are passed over. Errors: those of the store.
Status each_pending_input(const View& view, NamespaceNumber ns, const InstanceId& instance,
                          const std::function<void(PendingInput input)>& visit,
                          const OnDamage& damaged);

/// Erases the inputs of an instance, the oldest ones, at most `most`. Returns whether none is left.
/// Errors: those of the store.
Result<bool> erase_pending_inputs(Transaction& tx, NamespaceNumber ns, const InstanceId& instance,
                                  size_t most);

/// The place in the key of a row `pending-input/`; nullopt: its key has another form.
std::optional<PendingInputPlace> pending_input_place(std::string_view key);
/// The namespace in the key of a row `pending-input/`, for the counted rows; nullopt: as above.
std::optional<NamespaceNumber> namespace_of_pending_input(std::string_view key);

}  // namespace millrace
