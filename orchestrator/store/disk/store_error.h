// What went wrong with a file of the store, as an Error that says where and what to do.
#pragma once

#include <filesystem>
#include <string_view>

#include "base/result.h"

namespace millrace {

/// The one translation of MDB_* and errno values: `store.full`, `store.corrupt`, `store.version`,
/// `store.readers`, `store.sync` or `store.io`. `operation` reads as "reading live".
Error store_error(int failed, std::string_view operation, const std::filesystem::path& where);
/// Where the value does not tell all.
Error store_error(int failed, std::string_view operation, const std::filesystem::path& where,
                  const char* code);

/// What a sentence about that code ends with: "; free space or raise the limit".
const char* advice_for(std::string_view code);

}  // namespace millrace
