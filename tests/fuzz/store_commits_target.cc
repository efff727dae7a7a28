// A store beside a map, one command in each line, with the same rows in both:
//   +KEY VALUE  puts a row; a value that begins with * is made a hundred times as long
//   -KEY        erases a row
//   !           commits, ~ drops what is not committed
//   c           makes a checkpoint, j also cuts the journals
//   o           opens the store again; after ok, it is closed without a checkpoint next time
//   ?           compares the rows
// Covers: orchestrator/store/disk/overlay.cc orchestrator/store/disk/memtable.cc
// Covers: orchestrator/store/transaction.cc orchestrator/store/disk/environment.cc
// Covers: orchestrator/store/disk/lmdb_file.cc orchestrator/store/disk/lmdb_trees.cc
#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "orchestrator/store/disk/environment.h"
#include "orchestrator/store/transaction.h"
#include "tests/fuzz/properties.h"
#include "tests/fuzz/target.h"
#include "tests/support/folder.h"

namespace millrace::fuzz {
namespace {

constexpr size_t kMostCommandBytes = 16'384;
constexpr int kMostCommands = 200;
constexpr size_t kMostLongValue = 20'000;
constexpr Table kBothTables[] = {Table::kLive, Table::kHistory};

using MappedRows = std::map<std::string, std::string>;  ///< by absolute key

std::string mapped_key(Table table, std::string_view key) {
  return std::string(AbsoluteKey(table, key).view());
}

MappedRows rows_of_view(const View& view, Direction direction) {
  MappedRows rows;
  for (const Table table : kBothTables) {
    std::optional<std::string> last;
    view.scan(table, {}, {}, direction, [&](std::string_view key, std::string_view value) {
      CHECK(!last || (*last < key) == (direction == Direction::kForward) || *last == key,
            "the rows of a scan are not in order");
      CHECK(!last || *last != key, "a scan shows a row twice");
      last = key;
      rows.emplace(mapped_key(table, key), value);
      return true;
    });
  }
  CHECK(view.status(), "a read fails: {}", view.status().error().message);
  return rows;
}

class StoreBesideMap {
 public:
  StoreBesideMap() { open(true); }

  void run(std::string_view line) {
    if (line.empty()) return;
    const std::string_view rest = line.substr(1);
    switch (line.front()) {
      case '+':
        return put(rest);
      case '-':
        if (is_key(rest)) {
          tx_->erase(table_of_key(rest), rest);
          next_.erase(mapped_key(table_of_key(rest), rest));
        }
        return;
      case '!':
        return commit();
      case '~':
        tx_->drop();
        next_ = committed_;
        return;
      case 'c':
        commit();
        return check_done(environment_->checkpoint());
      case 'j':
        commit();
        return check_done(environment_->shrink_journals());
      case 'o':
        return open(rest != "k");
      case '?':
        return compare();
      default:
        return;
    }
  }

  void compare() const {
    CHECK(rows_of_view(*tx_, Direction::kForward) == next_, "the batch has other rows");
    CHECK(rows_of_view(*tx_, Direction::kBackward) == next_, "the batch has other rows backward");
    const Result<Snapshot> view = Snapshot::take(*environment_);
    CHECK(view, "there is no snapshot: {}", view.error().message);
    CHECK(rows_of_view(*view, Direction::kForward) == committed_, "the store has other rows");
    for (const auto& [key, value] : next_) {
      const auto found = tx_->get(millrace::table_of(key), key_of(key));
      CHECK(found == std::string_view(value), "a row has another value");
    }
  }

 private:
  static bool is_key(std::string_view key) { return !key.empty() && key.size() <= kMaxKeySize; }
  static Table table_of_key(std::string_view key) { return kBothTables[key.size() % 2]; }

  static void check_done(const Status& done) {
    CHECK(done, "the store refuses: {}", done.error().message);
  }

  void put(std::string_view row) {
    const std::string_view key = row.substr(0, row.find(' '));
    if (!is_key(key)) return;
    std::string value(row.substr(std::min(key.size() + 1, row.size())));
    if (value.starts_with('*')) value.resize(std::min(value.size() * 100, kMostLongValue), '*');
    tx_->put(table_of_key(key), key, value);
    next_[mapped_key(table_of_key(key), key)] = std::move(value);
  }

  void commit() {
    check_done(tx_->commit());
    committed_ = next_;
  }

  /// Closes the store, if it is open, and opens it.
  void open(bool checkpoints_at_close) {
    tx_.reset();
    environment_.reset();
    auto opened =
        Environment::open(folder_.path() / "data", {.map_bytes = uint64_t{1} << 30,
                                                    .reserve_bytes = 0,
                                                    .checkpoint_bytes = 512,
                                                    .waits_for_checkpoints = true,
                                                    .checkpoints_at_close = checkpoints_at_close});
    CHECK(opened, "the store does not open: {}", opened.error().message);
    environment_ = *std::move(opened);
    tx_.emplace(*environment_);
    next_ = committed_;
  }

  const Folder folder_{fast_folder()};
  std::unique_ptr<Environment> environment_;
  std::optional<Transaction> tx_;
  MappedRows next_;       ///< with the rows of the batch
  MappedRows committed_;  ///< as of the last commit
};

}  // namespace

FUZZ_TARGET(store_commits) {
  if (bytes.size() > kMostCommandBytes) return;
  StoreBesideMap both;
  for (int commands = 0; !bytes.empty() && commands < kMostCommands; ++commands) {
    const auto [line, rest] = first_line_and_rest(bytes);
    both.run(line);
    bytes = rest;
  }
  both.compare();
  both.run("o");
  both.compare();
}

}  // namespace millrace::fuzz
