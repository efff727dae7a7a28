// WriteSet: what a batch changes, as a value: it is the unit of the journal, and replays elsewhere.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace millrace {

/// Absolute key (table.h) to the value, or to nullopt for "deleted".
using WriteSet = std::map<std::string, std::optional<std::string>, std::less<>>;

/// Which batches the soft limit stops.
enum class Limit : uint8_t {
  kKept,    ///< the rule
  kPassed,  ///< for what must work when the store is full: cancels, deletes, retention
};

/// Appends its bytes (docs/FORMATS.md).
void append_encoded(std::string& bytes, const WriteSet& writes);

/// Shows its entries in order. False: these are not the bytes of a write-set; what was shown is to
/// be forgotten.
bool each_write(std::string_view bytes,
                const std::function<void(std::string_view absolute_key,
                                         std::optional<std::string_view> value)>& see);

}  // namespace millrace
