// Errors of the files of the store: each Error has the place, the reason and what to do.
#pragma once

#include <filesystem>
#include <string_view>

#include "base/result.h"

namespace millrace {

/// Converts an MDB_* or errno value; nothing else does. The code is `store.full`, `store.corrupt`,
/// `store.version`, `store.readers`, `store.sync` or `store.io`. `operation` is a phrase such as
/// "reading live".
Error store_error(int failed, std::string_view operation, const std::filesystem::path& where);
/// Converts an MDB_* or errno value with the code that the caller gives, where the value alone does
/// not determine it.
Error store_error(int failed, std::string_view operation, const std::filesystem::path& where,
                  const char* code);

/// What to do about that code, for the end of a message: "; free space or raise the limit". Empty
/// for other codes.
const char* advice_for(std::string_view code);

}  // namespace millrace
