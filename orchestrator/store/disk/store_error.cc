#include "orchestrator/store/disk/store_error.h"

#include <cerrno>

#include <fmt/format.h>
#include <lmdb.h>

namespace millrace {
namespace {

const char* code_of(int error) {
  switch (error) {
    case MDB_MAP_FULL:
    case ENOSPC:
    case EDQUOT:
    case EFBIG:
      return "store.full";
    case MDB_CORRUPTED:
    case MDB_PAGE_NOTFOUND:
    case MDB_INVALID:
    case MDB_PAGE_FULL:
    case MDB_CURSOR_FULL:
      return "store.corrupt";
    case MDB_VERSION_MISMATCH:
      return "store.version";
    case MDB_READERS_FULL:
      return "store.readers";
    case MDB_PANIC:
      return "store.sync";
    default:
      return "store.io";
  }
}

}  // namespace

const char* advice_for(std::string_view code) {
  if (code == "store.full") return "; free space or raise the limit";
  if (code == "store.corrupt") return "; restore the folder from a backup";
  if (code == "store.version") return "; open it with the release that wrote it";
  if (code == "store.readers") return "; too many reads run at a time, try again later";
  if (code == "store.sync") return "; the state of the disk is unknown, restart the server";
  return "";
}

Error store_error(int failed, std::string_view operation, const std::filesystem::path& where) {
  return store_error(failed, operation, where, code_of(failed));
}

Error store_error(int failed, std::string_view operation, const std::filesystem::path& where,
                  const char* code) {
  return {code, fmt::format("{} in {}: {}{}", operation, where.string(), mdb_strerror(failed),
                            advice_for(code))};
}

}  // namespace millrace
