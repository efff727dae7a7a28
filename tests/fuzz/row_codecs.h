// The decoders of stored rows, by table and key. Any thread.
#pragma once

#include <optional>
#include <string_view>

#include "orchestrator/store/disk/table.h"

namespace millrace::fuzz {

/// Decodes the value of a row with the decoder for its table and key, and returns whether the bytes
/// decode. nullopt: there is no decoder for the row, because it is sealed, is no record, or has a
/// key that no row has. CHECKs that a record which decodes is encoded to bytes that decode to the
/// same record. Records of earlier versions are encoded as records of the newest version.
std::optional<bool> decodes_as_row(Table table, std::string_view key, std::string_view value);

/// CHECKs that keys with several fields that decode are encoded to the same key.
void check_row_key(Table table, std::string_view key);

}  // namespace millrace::fuzz
