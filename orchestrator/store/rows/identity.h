// The identity of a store: an id that the first open assigns, and a mark of the folder in which it
// was last opened. A store that is found in another folder was copied, moved or restored. Such a
// store gets a new id, because the original store may be in use.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "orchestrator/store/transaction.h"

namespace millrace {

struct StoreIdentity {
  std::array<uint8_t, 16> id{};
  std::string folder;  ///< see Environment::mark()

  bool operator==(const StoreIdentity&) const = default;
};

/// Decodes the row "store" of the table `meta`. Error: a damaged row (damage.h).
Result<StoreIdentity> decode_store_identity(std::string_view row);

/// The identity of the store when it was last opened for a server; nullopt: it never was. Errors: a
/// damaged row, and those of the store.
Result<std::optional<StoreIdentity>> read_store_identity(const View& view);

void write_store_identity(Transaction& tx, const StoreIdentity& identity);

/// Returns the identity of the store. If the store has no identity, or its identity names another
/// folder, identify() writes a new identity with the id that `make_id` returns. Call it before any
/// other Transaction. Errors: those of the store.
Result<StoreIdentity> identify(Environment& environment,
                               const std::function<std::array<uint8_t, 16>()>& make_id);

}  // namespace millrace
