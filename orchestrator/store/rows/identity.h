// Which store this is: an id that the first open gives it, and the folder that it lay in when it
// was last opened. A store that is found in another folder was copied, moved or restored: it gets a
// new id, for the other one may be at work.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "orchestrator/store/disk/environment.h"

namespace millrace {

struct StoreIdentity {
  std::array<uint8_t, 16> id{};
  std::string folder;  ///< Environment::mark()

  bool operator==(const StoreIdentity&) const = default;
};

/// The row `meta` "store". Errors: `store.corrupt`.
Result<StoreIdentity> decode_store_identity(std::string_view row);

/// Reads it, or makes it with `make_id` where there is none or the folder is another one. Before
/// any other Transaction. Errors: those of the store.
Result<StoreIdentity> identify(Environment& environment,
                               const std::function<std::array<uint8_t, 16>()>& make_id);

}  // namespace millrace
