#include "tests/support/dumped_store.h"

#include <charconv>
#include <fstream>
#include <sstream>
#include <string_view>

#include <lmdb.h>

#include "base/check.h"
#include "tests/support/file_bytes.h"

namespace millrace {
namespace {

/// The bytes that the hexadecimal digits stand for; `-` stands for no bytes.
std::string bytes_of(std::string_view text) {
  if (text == "-") return {};
  CHECK(text.size() % 2 == 0, "{} has an odd number of digits", text);
  std::string bytes;
  for (size_t at = 0; at < text.size(); at += 2) {
    const char* const digits = text.data() + at;
    uint8_t byte = 0;
    const auto read = std::from_chars(digits, digits + 2, byte, 16);
    CHECK(read.ec == std::errc() && read.ptr == digits + 2, "{} is not hexadecimal", text);
    bytes.push_back(static_cast<char>(byte));
  }
  return bytes;
}

void must(int failed) { CHECK(failed == 0, "{}", mdb_strerror(failed)); }

/// LMDB does not change what the value points to.
MDB_val to_val(const std::string& bytes) {
  return {.mv_size = bytes.size(), .mv_data = const_cast<char*>(bytes.data())};
}

/// Adds the trees with their rows to data.mdb in the folder. A missing file is created.
void write_trees(const std::filesystem::path& folder,
                 const std::map<std::string, StoreDump::Rows>& trees) {
  MDB_env* environment = nullptr;
  must(mdb_env_create(&environment));
  must(mdb_env_set_mapsize(environment, size_t{64} << 20));
  must(mdb_env_set_maxdbs(environment, static_cast<MDB_dbi>(trees.size())));
  must(mdb_env_open(environment, folder.c_str(), 0, 0600));
  MDB_txn* txn = nullptr;
  must(mdb_txn_begin(environment, nullptr, 0, &txn));
  for (const auto& [name, rows] : trees) {
    MDB_dbi tree = 0;
    must(mdb_dbi_open(txn, name.c_str(), MDB_CREATE, &tree));
    for (const auto& [key, value] : rows) {
      MDB_val key_val = to_val(key);
      MDB_val value_val = to_val(value);
      must(mdb_put(txn, tree, &key_val, &value_val, 0));
    }
  }
  must(mdb_txn_commit(txn));
  mdb_env_close(environment);
}

}  // namespace

StoreDump read_dump(const std::string& name) {
  const std::filesystem::path folder = "tests/simulation/stores";
  StoreDump dump;
  dump.secret_key = file_bytes(folder / (name + ".key"));
  std::istringstream lines(file_bytes(folder / (name + ".rows")));
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string tree;
    std::string key;
    std::string value;
    words >> tree >> key >> value;
    StoreDump::Rows& rows = dump.trees[tree];
    if (key.empty()) continue;  // the tree has no rows
    CHECK(!value.empty(), "a row of {} in {} has no value", tree, name);
    rows.emplace(bytes_of(key), bytes_of(value));
  }
  CHECK(!dump.trees.empty() && !dump.secret_key.empty(), "there is no dump {}", name);
  return dump;
}

void write_dump(const StoreDump& dump, const std::filesystem::path& folder) {
  CHECK(std::filesystem::create_directory(folder), "{} exists", folder.string());
  std::ofstream(folder / "secret-key") << dump.secret_key;
  write_trees(folder, dump.trees);
}

void add_tree(const std::filesystem::path& folder, const std::string& name) {
  write_trees(folder, {{name, {{"key", "value"}}}});
}

}  // namespace millrace
