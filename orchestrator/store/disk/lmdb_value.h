// Values of LMDB as texts, and the handles of LMDB's own trees. Only for the sources of LmdbFile.
#pragma once

#include <string_view>

#include <lmdb.h>

namespace millrace {

/// LMDB's handles of its own trees: the list of free pages, and the roots of the named trees.
inline constexpr unsigned kFreeTree = 0;
inline constexpr unsigned kMainTree = 1;

/// LMDB does not write to the bytes of a value that it gets.
inline MDB_val to_val(std::string_view bytes) {
  return {bytes.size(), const_cast<char*>(bytes.data())};
}

inline std::string_view to_view(const MDB_val& val) {
  return {static_cast<const char*>(val.mv_data), val.mv_size};
}

}  // namespace millrace
