// Stores as a release of millrace left them, from dumps of their rows
// (tests/simulation/stores/README.md), and as no release leaves them.
#pragma once

#include <filesystem>
#include <map>
#include <string>

namespace millrace {

/// The rows of a store, and its secret key.
struct StoreDump {
  using Rows = std::map<std::string, std::string>;  ///< the values by their keys

  std::map<std::string, Rows> trees;  ///< by the names of the trees in LMDB; may have no rows
  std::string secret_key;             ///< the content of the key file
};

/// Reads the files NAME.rows and NAME.key in tests/simulation/stores. A file that is missing or is
/// not a dump ends the test program.
StoreDump read_dump(const std::string& name);

/// Makes the data folder `folder`, which must not exist, with data.mdb and the key file. The file
/// data.mdb has the trees of the dump and no others.
void write_dump(const StoreDump& dump, const std::filesystem::path& folder);

/// Adds a tree with one row to data.mdb in the data folder, which no Environment may have open.
void add_tree(const std::filesystem::path& folder, const std::string& name);

}  // namespace millrace
