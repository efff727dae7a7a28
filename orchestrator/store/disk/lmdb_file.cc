#include "orchestrator/store/disk/lmdb_file.h"

#include <algorithm>
#include <cerrno>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <lmdb.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/codec.h"
#include "orchestrator/store/disk/lmdb_value.h"
#include "orchestrator/store/disk/page_check.h"
#include "orchestrator/store/disk/page_layout.h"
#include "orchestrator/store/disk/store_error.h"

namespace millrace {
namespace {

/// Trees that grow with the number of all past instances and that millrace does not read when it
/// starts. If such a tree has more leaf pages than kMostLeafPages (2 GiB), open() does not check
/// its leaf pages.
constexpr auto kLargeTrees = {Table::kEnded, Table::kHistory, Table::kIdempotency,
                              Table::kVariables};
constexpr uint64_t kMostLeafPages = uint64_t{512} << 10;

constexpr uint64_t kLeastMapBytes = uint64_t{1} << 30;
constexpr unsigned kMaxReaders = 512;

/// Whether the disk has less than 1 MiB left. LMDB reports a write that a full disk cut short like
/// any other input/output error.
bool disk_is_full(const std::filesystem::path& folder) {
  constexpr uint64_t kNothingLeft = uint64_t{1} << 20;
  struct statvfs disk {};
  return ::statvfs(folder.c_str(), &disk) == 0 &&
         uint64_t{disk.f_bavail} * disk.f_frsize < kNothingLeft;
}

}  // namespace

void CloseEnv::operator()(MDB_env* env) const { mdb_env_close(env); }
void AbortTxn::operator()(MDB_txn* txn) const { mdb_txn_abort(txn); }
void CloseCursor::operator()(MDB_cursor* cursor) const { mdb_cursor_close(cursor); }

// LmdbFile.

Result<std::unique_ptr<LmdbFile>> LmdbFile::open(const std::filesystem::path& folder,
                                                 uint64_t map_bytes) {
  std::unique_ptr<LmdbFile> file(new LmdbFile(folder, map_bytes));
  PageCheckOptions pages{.most_damages = 1, .most_leaf_pages = kMostLeafPages};
  for (const Table table : kLargeTrees) pages.large_trees.emplace_back(table_name(table));
  TRY(file->refuse_damaged_pages(pages));
  TRY(file->open_map(0));
  TRY(file->fill_to_length());
  TRY(file->check_trees());
  TRY(file->open_trees());
  return file;
}

Result<std::unique_ptr<LmdbFile>> LmdbFile::open_to_read(const std::filesystem::path& folder,
                                                         uint64_t map_bytes) {
  std::unique_ptr<LmdbFile> file(new LmdbFile(folder, map_bytes));
  // LMDB's own lock is not used, because it is a file that readers write. The lock of Environment
  // already excludes other writers.
  TRY(file->refuse_damaged_pages({.most_damages = 1}));
  TRY(file->open_map(MDB_RDONLY | MDB_NOLOCK));
  TRY(file->find_trees());
  return file;
}

Error LmdbFile::error(int failed, std::string_view operation) const {
  return store_error(failed, operation, folder_);
}

Status LmdbFile::refuse_damaged_pages(const PageCheckOptions& options) const {
  const std::filesystem::path path = folder_ / "data.mdb";
  std::error_code ignored;
  const uint64_t size = std::filesystem::file_size(path, ignored);
  if (ignored || size == 0) return {};  // there is no store yet
  PageCheck check = TRY(PageCheck::open(path));
  const PageReport report = check.run(options);
  if (report.count == 0) return {};
  std::string others;
  if (report.count > 1) others = fmt::format(", and {} more", report.count - 1);
  return fail(
      "store.corrupt",
      fmt::format("data.mdb in {} is damaged: {}{}; `millrace verify --data {}` lists all "
                  "damages; keep a copy of the folder and restore the last backup that passes "
                  "`millrace verify`",
                  folder_.string(), to_string(report.damages.front()), others, folder_.string()));
}

Status LmdbFile::open_map(unsigned flags) {
  // MDB_NOTLS: a transaction belongs to its object, not to a thread. No form of MDB_NOSYNC is used,
  // because a power cut could then destroy the file. MDB_WRITEMAP is not used, because a stray
  // write in memory could then change the file.
  for (;; map_bytes_ /= 4) {
    MDB_env* made = nullptr;
    int failed = mdb_env_create(&made);
    if (failed != 0) return tl::unexpected(error(failed, "opening"));
    env_.reset(made);
    mdb_env_set_maxdbs(made, kTables.size() + 1);
    mdb_env_set_maxreaders(made, kMaxReaders);
    mdb_env_set_mapsize(made, map_bytes_);
    failed = mdb_env_open(made, folder_.c_str(), MDB_NOTLS | flags, 0600);
    if (failed == 0) break;
    env_.reset();
    if (failed != ENOMEM || map_bytes_ / 4 < kLeastMapBytes) {
      return tl::unexpected(error(failed, "opening"));
    }
  }
  MDB_stat stat;
  mdb_env_stat(env_.get(), &stat);
  page_bytes_ = stat.ms_psize;
  MDB_envinfo info;
  mdb_env_info(env_.get(), &info);
  map_bytes_ = info.me_mapsize;
  return {};
}

int LmdbFile::descriptor() const {
  int file = -1;
  mdb_env_get_fd(env_.get(), &file);
  return file;
}

Status LmdbFile::fill_to_length() {
  // Free pages after the end of the file were never written. To access the memory map at such a
  // page raises SIGBUS.
  MDB_envinfo info;
  mdb_env_info(env_.get(), &info);
  struct stat found {};
  if (::fstat(descriptor(), &found) != 0) return tl::unexpected(error(errno, "opening"));
  const auto wanted = static_cast<off_t>((info.me_last_pgno + 1) * page_bytes_);
  if (found.st_size < wanted && ::ftruncate(descriptor(), wanted) != 0) {
    return tl::unexpected(error(errno, "opening"));
  }
  return {};
}

Result<TxnHandle> LmdbFile::begin(unsigned flags) const {
  MDB_txn* txn = nullptr;
  const int failed = mdb_txn_begin(env_.get(), nullptr, flags, &txn);
  if (failed != 0) return tl::unexpected(error(failed, "beginning a transaction"));
  return TxnHandle(txn);
}

Result<std::optional<uint64_t>> LmdbFile::checkpointed() const {
  if (journal_tree_ == kNoTree) return std::optional<uint64_t>();
  const TxnHandle txn = TRY(begin(MDB_RDONLY));
  MDB_val key = to_val(kCheckpointedKey);
  MDB_val value;
  const int failed = mdb_get(txn.get(), journal_tree_, &key, &value);
  if (failed == MDB_NOTFOUND) return std::optional<uint64_t>();
  if (failed != 0) return tl::unexpected(error(failed, "reading the last checkpoint"));
  Reader reader(to_view(value));
  const uint64_t commit = reader.u64();
  if (!reader.done()) return tl::unexpected(error(MDB_CORRUPTED, "reading the last checkpoint"));
  return std::optional(commit);
}

Result<LmdbFile::Size> LmdbFile::measure() const {
  Size size;
  MDB_envinfo info;
  mdb_env_info(env_.get(), &info);
  size.end_bytes = (info.me_last_pgno + 1) * page_bytes_;
  const TxnHandle txn = TRY(begin(MDB_RDONLY));
  uint64_t pages = lmdb::kMetaPages;  // of all trees so far
  const auto measure_tree = [&](unsigned tree) -> Result<MDB_stat> {
    MDB_stat stat;
    const int failed = mdb_stat(txn.get(), tree, &stat);
    if (failed != 0) return tl::unexpected(error(failed, "measuring"));
    pages += stat.ms_branch_pages + stat.ms_leaf_pages + stat.ms_overflow_pages;
    return stat;
  };
  for (const unsigned own : {kFreeTree, kMainTree}) TRY(measure_tree(own));
  if (journal_tree_ != kNoTree) TRY(measure_tree(journal_tree_));
  const uint64_t pages_without_rows = pages;
  for (const auto& [table, name, since] : kTables) {
    if (tree(table) == kNoTree) continue;
    const MDB_stat stat = TRY(measure_tree(tree(table)));
    size.branch_pages += stat.ms_branch_pages;
    size.leaf_pages += stat.ms_leaf_pages;
  }
  size.used_bytes = (pages - pages_without_rows) * page_bytes_;
  size.free_bytes = size.end_bytes - std::min(size.end_bytes, pages * page_bytes_);
  return size;
}

Result<PageReport> LmdbFile::check_pages(const PageCheckOptions& options) const {
  // The read transaction prevents LMDB from reusing the pages of its version. The write transaction
  // writes nothing; it prevents changes of the meta page of that version until the check has read
  // the page.
  TxnHandle reader;
  std::optional<PageCheck> check;
  {
    const TxnHandle writer = TRY(begin(0));
    reader = TRY(begin(MDB_RDONLY));
    check.emplace(TRY(PageCheck::open(folder_ / "data.mdb")));
  }
  return check->run(options);
}

uint64_t LmdbFile::room_for(size_t key_size, size_t value_size) const {
  constexpr uint64_t kNodeHead = 8;
  constexpr uint64_t kPageHead = 16;
  uint64_t in_leaf = kNodeHead + key_size + value_size;
  uint64_t own = 0;
  if (in_leaf > (page_bytes_ - kPageHead) / 2) {
    own = (kPageHead + value_size + page_bytes_ - 1) / page_bytes_ * page_bytes_;
    in_leaf = kNodeHead + key_size + sizeof(uint64_t);
  }
  return own + 2 * in_leaf;
}

Status LmdbFile::allocate(uint64_t from, uint64_t to) {
  const auto bytes = static_cast<off_t>(to - from);
  if (::fallocate(descriptor(), 0, static_cast<off_t>(from), bytes) != 0 &&
      (errno == ENOSPC || errno == EDQUOT || errno == EFBIG)) {
    return tl::unexpected(error(errno, "reserving space"));
  }
  return {};
}

// LmdbReader.

bool LmdbReader::begin() {
  if (has_started_) return true;
  if (!status_) return false;
  if (txn_ == nullptr) {
    Result<TxnHandle> started = file_->begin(MDB_RDONLY);
    if (!started) {
      status_ = tl::unexpected(started.error());
      return false;
    }
    txn_ = std::move(*started);
  } else if (const int failed = mdb_txn_renew(txn_.get()); failed != 0) {
    status_ = tl::unexpected(file_->error(failed, "beginning to read"));
    return false;
  }
  return has_started_ = true;
}

void LmdbReader::release() {
  if (has_started_) mdb_txn_reset(txn_.get());
  has_started_ = false;
  status_ = {};
}

void LmdbReader::fail(Error error) {
  if (status_) status_ = tl::unexpected(std::move(error));
}

void LmdbReader::note(int failed, Table table) const {
  if (!status_) return;
  status_ = tl::unexpected(file_->error(failed, fmt::format("reading {}", table_name(table))));
}

std::optional<std::string_view> LmdbReader::get(Table table, std::string_view key) const {
  if (file_->tree(table) == LmdbFile::kNoTree) return std::nullopt;
  MDB_val k = to_val(key);
  MDB_val value;
  const int failed = mdb_get(txn_.get(), file_->tree(table), &k, &value);
  if (failed == 0) return to_view(value);
  if (failed != MDB_NOTFOUND) note(failed, table);
  return std::nullopt;
}

size_t LmdbReader::count(Table table) const {
  if (file_->tree(table) == LmdbFile::kNoTree) return 0;
  MDB_stat stat{};
  const int failed = mdb_stat(txn_.get(), file_->tree(table), &stat);
  if (failed != 0) note(failed, table);
  return stat.ms_entries;
}

// LmdbCursor.

LmdbCursor::LmdbCursor(const LmdbReader& reader, const KeyRange& range, Direction direction)
    : reader_(reader), table_(table_of(range.low)), direction_(direction) {
  if (reader.file_->tree(table_) == LmdbFile::kNoTree) return;
  MDB_cursor* opened = nullptr;
  const int failed = mdb_cursor_open(reader.txn_.get(), reader.file_->tree(table_), &opened);
  if (failed != 0) {
    reader_.note(failed, table_);
    return;
  }
  cursor_.reset(opened);
  const std::string_view end =
      table_of(range.high) == table_ ? key_of(range.high) : std::string_view();
  if (direction == Direction::kForward) {
    bound_ = end;
    seek(key_of(range.low));
  } else {
    bound_ = key_of(range.low);
    seek_before(end);
  }
}

void LmdbCursor::next() { move(direction_ == Direction::kForward ? MDB_NEXT : MDB_PREV); }

void LmdbCursor::seek(std::string_view key) {
  if (key.empty()) return move(MDB_FIRST);
  key_ = key;
  move(MDB_SET_RANGE);
}

void LmdbCursor::seek_before(std::string_view key) {
  if (key.empty()) return move(MDB_LAST);
  key_ = key;
  const int found = get(MDB_SET_RANGE);
  if (found == MDB_NOTFOUND) return move(MDB_LAST);
  if (found != 0) return reader_.note(found, table_);
  move(MDB_PREV);
}

void LmdbCursor::move(int operation) {
  const int failed = get(operation);
  if (failed != 0 && failed != MDB_NOTFOUND) reader_.note(failed, table_);
  valid_ = failed == 0 && is_inside();
}

int LmdbCursor::get(int operation) {
  MDB_val key = to_val(key_);
  MDB_val value{};
  const int failed =
      mdb_cursor_get(cursor_.get(), &key, &value, static_cast<MDB_cursor_op>(operation));
  key_ = to_view(key);
  value_ = to_view(value);
  return failed;
}

bool LmdbCursor::is_inside() const {
  if (direction_ == Direction::kBackward) return key_ >= bound_;
  return bound_.empty() || key_ < bound_;
}

// LmdbWriter.

Result<LmdbWriter> LmdbWriter::begin(LmdbFile& file) {
  TxnHandle txn = TRY(file.begin(0));
  return LmdbWriter(file, std::move(txn));
}

int LmdbWriter::open_table(Table table) {
  MDB_cursor* opened = nullptr;
  if (const int failed = mdb_cursor_open(txn_.get(), file_->tree(table), &opened); failed != 0) {
    return failed;
  }
  cursor_.reset(opened);
  table_ = table;
  MDB_val key;
  MDB_val value;
  const int failed = mdb_cursor_get(opened, &key, &value, MDB_LAST);
  if (failed != 0 && failed != MDB_NOTFOUND) return failed;
  last_ = failed == 0 ? to_view(key) : std::string_view();
  return 0;
}

Result<uint64_t> LmdbWriter::write(std::string_view absolute_key,
                                   std::optional<std::string_view> value) {
  const Table table = table_of(absolute_key);
  const std::string_view key = key_of(absolute_key);
  const auto failed_with = [&](int failed) {
    return tl::unexpected(file_->error(failed, fmt::format("checkpointing {}", table_name(table))));
  };
  if (table_ != table) {
    if (const int failed = open_table(table); failed != 0) return failed_with(failed);
  }
  MDB_val k = to_val(key);
  if (!value) {
    // A row that was deleted soon after it was written never reached LMDB.
    MDB_val ignored;
    int failed = mdb_cursor_get(cursor_.get(), &k, &ignored, MDB_SET);
    if (failed == MDB_NOTFOUND) return uint64_t{0};
    if (failed == 0) failed = mdb_cursor_del(cursor_.get(), 0);
    if (failed != 0) return failed_with(failed);
    return file_->page_bytes_;
  }
  // MDB_APPEND fills pages instead of splitting them in halves. With MDB_APPEND, rows of 1 KB need
  // two thirds of the space and small rows slightly less space; the writes take no longer.
  MDB_val v = to_val(*value);
  const bool is_past_end = key > last_;
  if (is_past_end) last_ = key;
  const int failed = mdb_cursor_put(cursor_.get(), &k, &v, is_past_end ? MDB_APPEND : 0);
  if (failed != 0) return failed_with(failed);
  return key.size() + value->size() + (is_past_end ? 0 : file_->page_bytes_);
}

Status LmdbWriter::set_checkpointed(uint64_t commit) {
  Writer row;
  row.u64(commit);
  MDB_val key = to_val(LmdbFile::kCheckpointedKey);
  MDB_val value = to_val(row.view());
  const int failed = mdb_put(txn_.get(), file_->journal_tree_, &key, &value, 0);
  if (failed != 0) return tl::unexpected(file_->error(failed, "ending a checkpoint"));
  return {};
}

Status LmdbWriter::commit() {
  cursor_.reset();
  const int failed = mdb_txn_commit(txn_.release());
  if (failed != 0) return tl::unexpected(commit_error(failed));
  return {};
}

Error LmdbWriter::commit_error(int failed) const {
  constexpr std::string_view kOperation = "committing a checkpoint";
  // If pages of the transaction could not be written, nothing has changed: no root points to them.
  // But if the failure occurred while the root was written (then LMDB refuses to begin a new
  // transaction), or in the sync of the pages (which may have lost other pages), the state of the
  // disk is unknown.
  const Result<TxnHandle> next = file_->begin(0);
  if (!next) return next.error();
  if (failed != EIO) return file_->error(failed, kOperation);
  return store_error(failed, kOperation, file_->folder_,
                     disk_is_full(file_->folder_) ? "store.full" : "store.sync");
}

}  // namespace millrace
