// Errors of the files of the store: each Error has the place, the reason and what to do.
#pragma once

#include <filesystem>
#include <string_view>

#include "base/result.h"

namespace millrace {

/// Converts an MDB_* or errno value into an Error. The code is `store.full`, `store.corrupt`,
/// `store.version`, `store.readers`, `store.sync` or `store.io`. `operation` is a phrase such as
/// "reading live".
Error store_error(int failed, std::string_view operation, const std::filesystem::path& where);
/// Converts an MDB_* or errno value into an Error with the code `code`, where the value alone does
/// not determine the code.
Error store_error(int failed, std::string_view operation, const std::filesystem::path& where,
                  const char* code);

/// What to do after an error with that code, as the end of a message: "; free space or raise the
/// limit". Empty for a code without advice.
const char* advice_for(std::string_view code);

}  // namespace millrace
