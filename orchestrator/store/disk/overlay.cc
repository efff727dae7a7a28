#include "orchestrator/store/disk/overlay.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include "orchestrator/store/disk/log_row.h"
#include "orchestrator/store/disk/store_error.h"
#include "os/crash_point.h"
#include "os/thread.h"

namespace millrace {
namespace {

/// How many bytes one transaction of a checkpoint may change. More bytes would keep the disk busy
/// for longer, and so delay commits; fewer bytes cost more syncs. With a small `checkpoint_bytes`
/// the transactions are small, too.
uint64_t step_bytes(uint64_t checkpoint_bytes) {
  constexpr uint64_t kMost = uint64_t{4} << 20;
  return std::clamp<uint64_t>(checkpoint_bytes / 4, 1, kMost);
}

bool is_full(const Error& error) { return error.code == "store.full"; }

/// Whether a checkpoint that failed with this error cannot succeed later either.
bool is_final(const Error& error) { return error.code == "store.sync"; }

/// All absolute keys.
const KeyRange kEverything{"", "\xff"};

}  // namespace

Overlay::Overlay(std::filesystem::path folder, LmdbFile& file, const OverlayOptions& options)
    : folder_(std::move(folder)), options_(options), file_(file), rate_(options.checkpoint_bytes) {}

Result<std::unique_ptr<Overlay>> Overlay::open(const std::filesystem::path& folder, LmdbFile& file,
                                               const OverlayOptions& options) {
  std::unique_ptr<Overlay> overlay(new Overlay(folder, file, options));
  overlay->size_ = TRY(file.measure());
  const auto checkpointed = TRY(file.checkpointed());
  overlay->journal_ = TRY(
      Journal::open(folder, checkpointed, options.reserve_bytes, overlay->replaying(checkpointed)));
  overlay->commit_ = overlay->journal_->last();
  overlay->thread_ = std::thread([raw = overlay.get()] { raw->run(); });
  overlay->wait_for_checkpoint();  // the checkpoint of the commits that were read from the journal
  return overlay;
}

Result<std::unique_ptr<Overlay>> Overlay::open_to_read(const std::filesystem::path& folder,
                                                       LmdbFile& file,
                                                       const OverlayOptions& options) {
  std::unique_ptr<Overlay> overlay(new Overlay(folder, file, options));
  overlay->size_ = TRY(file.measure());
  const auto checkpointed = TRY(file.checkpointed());
  overlay->commit_ = TRY(Journal::read(folder, checkpointed, overlay->replaying(checkpointed)));
  return overlay;
}

Journal::Replay Overlay::replaying(const std::optional<uint64_t>& checkpointed) {
  return [this, first_of_file = checkpointed.value_or(0) + 1](uint64_t first, uint64_t commit,
                                                              std::string_view write_set) mutable {
    if (std::exchange(first_of_file, first) != first) freeze();
    return replay(commit, write_set);
  };
}

Overlay::~Overlay() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

bool Overlay::take(Layers& layers) const {
  // The memtables and LMDB's version are taken under one lock: a checkpoint that ended in between
  // would add later commits to LMDB's version.
  const std::lock_guard lock(mutex_);
  layers.active = active_.table;
  layers.frozen = frozen_ ? frozen_->table : nullptr;
  layers.commit = commit_.load(std::memory_order_acquire);
  return layers.lmdb.begin();
}

Status Overlay::replay(uint64_t commit, std::string_view write_set) {
  const bool is_whole =
      each_write(write_set, [&](std::string_view key, auto value) { add(commit, key, value); });
  if (is_whole) return {};
  return fail("store.corrupt", fmt::format("commit {} in the journal of {} is not a valid "
                                           "write-set{}",
                                           commit, folder_.string(), advice_for("store.corrupt")));
}

void Overlay::add(uint64_t commit, std::string_view key, std::optional<std::string_view> value) {
  const auto size = value ? std::optional(value->size()) : std::nullopt;
  note(commit, key.size(), size, active_.table->add(commit, key, value));
}

void Overlay::take(uint64_t commit, std::string_view key, std::string&& value) {
  const size_t size = value.size();
  note(commit, key.size(), size, active_.table->take(commit, key, std::move(value)));
}

/// Counts a row that the active memtable has got. `before`: the version that it replaces.
void Overlay::note(uint64_t commit, size_t key, std::optional<size_t> value,
                   const Memtable::Version* before) {
  const auto room = [&](std::optional<size_t> of) {
    return of ? static_cast<int64_t>(file_.room_for(key, *of)) : 0;
  };
  const auto replaced = before == nullptr ? std::nullopt : before->value();
  active_.load.rows = active_.table->rows();
  active_rows_.store(active_.load.rows, std::memory_order_relaxed);
  active_bytes_.store(active_.table->bytes(), std::memory_order_relaxed);
  active_.load.bytes += room(value) - (replaced ? room(replaced->size()) : 0);
  active_.committed_bytes += key + value.value_or(0);
  active_.last = commit;
}

Status Overlay::commit(WriteSet& writes, Limit limit) {
  if (limit == Limit::kKept) TRY(keep_room(writes));
  TRY(make_way(limit));
  Status appended = append(writes, limit);
  if (!appended && is_full(appended.error())) {
    TRY(checkpoint());  // after a checkpoint the other journal file is free, and may have the space
    appended = append(writes, limit);
  }
  TRY(std::move(appended));
  const uint64_t commit = journal_->last();
  for (auto& [key, value] : writes) {
    if (value && value->size() > kLongValue) {
      take(commit, key, *std::move(value));
    } else {
      add(commit, key, value);
    }
  }
  if (log_ != nullptr) add(commit, AbsoluteKey(Table::kMeta, kLogKey).view(), log_row_);
  commit_.store(commit, std::memory_order_release);
  crash_point(CrashPoint::kCommitted);
  return {};
}

/// Writes the commit to the journal, and to the log before that. Error `store.full`: neither has
/// it.
Status Overlay::append(const WriteSet& writes, Limit limit) {
  const std::string_view encoded = journal_->encode(writes);
  if (log_ != nullptr) return append_to_log(encoded, limit);
  TRY(journal_->reserve(0, limit));
  return journal_->append();
}

/// Appends the encoded commit to the log, and then, with its position in the log, to the journal.
/// The space is reserved before, because a commit that the log has cannot be refused any more.
Status Overlay::append_to_log(std::string_view write_set, Limit limit) {
  TRY(Status(log_state_));
  TRY(journal_->reserve(kLogWriteBytes, limit));
  crash_point(CrashPoint::kLogAppending);
  const Result<LogPosition> position = log_->append(write_set);
  if (!position) {
    // Of a commit that is too large the log has nothing, and it takes the next one.
    if (position.error().code == "log.too_large") return tl::unexpected(position.error());
    return log_state_ = tl::unexpected(position.error());
  }
  crash_point(CrashPoint::kLogAppended);
  log_row_ = encode(*position);
  std::string further;
  append_write(further, AbsoluteKey(Table::kMeta, kLogKey).view(), log_row_);
  const Status done = journal_->append(further);
  if (done) return {};
  return log_state_ = fail("store.sync",
                           fmt::format("the log of the cluster has a commit at sequence {} that {} "
                                       "does not have: {}",
                                       position->sequence, folder_.string(), done.error().message));
}

// Space in LMDB.

/// What the rows of the commit need, without what the rows that they replace have.
Overlay::Load Overlay::load_of(const WriteSet& writes) const {
  Load load{.rows = writes.size()};
  for (const auto& [key, value] : writes) {
    if (value) load.bytes += static_cast<int64_t>(file_.room_for(key.size(), value->size()));
  }
  if (log_ != nullptr) {
    ++load.rows;
    load.bytes += static_cast<int64_t>(file_.room_for(1 + kLogKey.size(), kLogRowBytes));
  }
  return load;
}

/// Makes sure that a later checkpoint will have space in LMDB for the rows of this commit, too.
Status Overlay::keep_room(const WriteSet& writes) {
  Load load = waiting();
  Load batch = load_of(writes);
  load.rows += batch.rows;
  load.bytes += batch.bytes;
  if (!has_failed() && find_room(load)) return {};
  // A load is an estimate. After a checkpoint, the size of LMDB is exact, and LMDB has all rows
  // that the batch replaces or deletes.
  TRY(checkpoint());
  LmdbReader reader(file_);
  if (!reader.begin()) return reader.status();
  for (const auto& [key, value] : writes) {
    const auto before = reader.get(table_of(key), key_of(key));
    if (before) batch.bytes -= static_cast<int64_t>(file_.room_for(key.size(), before->size()));
  }
  TRY(reader.status());
  return find_room(batch);
}

Overlay::Load Overlay::waiting() const {
  const std::lock_guard lock(mutex_);
  Load load = active_.load;
  if (frozen_) {
    load.rows += frozen_->load.rows;
    load.bytes += frozen_->load.bytes;
  }
  return load;
}

Status Overlay::find_room(Load load) {
  const LmdbFile::Size size = [&] {
    const std::lock_guard lock(mutex_);
    return size_;
  }();
  const auto room = static_cast<uint64_t>(std::max<int64_t>(load.bytes, 0));
  // LMDB copies each page that it changes.
  const uint64_t copies =
      (std::min(load.rows, size.leaf_pages) + size.branch_pages) * file_.page_bytes();
  const auto check = [&](uint64_t wanted, uint64_t most) -> Status {
    if (wanted <= most) return {};
    return fail("store.full", fmt::format("{} would need {} bytes, the limit is {}; delete "
                                          "instances or raise the limit",
                                          folder_.string(), wanted, most));
  };
  const auto used = static_cast<uint64_t>(
      std::max<int64_t>(static_cast<int64_t>(size.used_bytes) + load.bytes, 0));
  TRY(check(used, options_.soft_limit_bytes));
  TRY(check(used + copies + options_.reserve_bytes, file_.map_bytes()));
  if (options_.reserve_bytes == 0) return {};
  const uint64_t to = size.end_bytes + room + copies + options_.reserve_bytes;
  if (to <= allocated_to_) return {};
  // Allocates `reserve_bytes` more than needed, so that allocate() is rarely called.
  TRY(file_.allocate(size.end_bytes, to + options_.reserve_bytes));
  allocated_to_ = to + options_.reserve_bytes;
  return {};
}

bool Overlay::has_failed() const {
  const std::lock_guard lock(mutex_);
  return failure_.has_value();
}

uint64_t Overlay::used_bytes() const {
  const int64_t load = waiting().bytes;
  const std::lock_guard lock(mutex_);
  return size_.used_bytes + static_cast<uint64_t>(std::max<int64_t>(load, 0));
}

LmdbFile::Size Overlay::file_size() const {
  const std::lock_guard lock(mutex_);
  return size_;
}

uint64_t Overlay::waiting_rows() const {
  const std::lock_guard lock(mutex_);
  return active_rows_.load(std::memory_order_relaxed) + (frozen_ ? frozen_->load.rows : 0);
}

uint64_t Overlay::waiting_bytes() const {
  const std::lock_guard lock(mutex_);
  return active_bytes_.load(std::memory_order_relaxed) + (frozen_ ? frozen_->table->bytes() : 0);
}

// Switching to the next memtable.

/// Freezes the active memtable if it is full and no other memtable is frozen. While another one is
/// frozen, the active one may grow further, but no faster than the checkpoint writes the frozen one
/// to LMDB. So each commit waits a little, instead of one commit waiting for long.
Status Overlay::make_way(Limit limit) {
  const uint64_t bytes = active_.table->bytes();
  {
    std::unique_lock lock(mutex_);
    const auto is_in_time = [&] {
      if (!frozen_ || failure_ || bytes < options_.checkpoint_bytes) return true;
      const auto over = static_cast<double>(bytes - options_.checkpoint_bytes);
      return over * static_cast<double>(frozen_->load.rows) <
             static_cast<double>(options_.checkpoint_bytes) * static_cast<double>(applied_rows_);
    };
    if (!is_in_time()) {
      ++waits_.commits;
      const auto began = std::chrono::steady_clock::now();
      changed_.wait(lock, is_in_time);
      waits_.time += std::chrono::steady_clock::now() - began;
    }
    // If the checkpoint lacks space, commits that free space must continue.
    if (failure_ && !(is_full(*failure_) && limit == Limit::kPassed)) {
      return tl::unexpected(*failure_);
    }
    if (frozen_ || bytes < options_.checkpoint_bytes) return {};
  }
  TRY(switch_memtable());
  wait_for_checkpoint();
  return {};
}

CommitWaits Overlay::commit_waits() const {
  const std::lock_guard lock(mutex_);
  return waits_;
}

/// The bytes that make_way() still permits are half of a memtable then, or fewer.
bool Overlay::is_behind() const {
  const auto bytes = static_cast<double>(active_.table->bytes());
  const auto full = static_cast<double>(options_.checkpoint_bytes);
  const std::lock_guard lock(mutex_);
  if (!frozen_ || failure_) return false;
  const auto applied = static_cast<double>(applied_rows_);
  const auto rows = static_cast<double>(std::max<uint64_t>(frozen_->load.rows, 1));
  return bytes >= full / 2 + full * applied / rows;
}

/// Waits for the end of the checkpoint if the options demand it (simulations). If the checkpoint
/// fails, the next commit returns its error.
void Overlay::wait_for_checkpoint() {
  if (!options_.waits_for_checkpoints) return;
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return !frozen_ || failure_; });
}

/// Freezes the active memtable, and continues with a new one and in the other journal file.
Status Overlay::switch_memtable() {
  TRY(journal_->switch_file());
  const std::lock_guard lock(mutex_);
  freeze();
  changed_.notify_all();
  return {};
}

void Overlay::freeze() {
  frozen_ = std::exchange(active_, {});
  active_rows_.store(0, std::memory_order_relaxed);
  active_bytes_.store(0, std::memory_order_relaxed);
  applied_rows_ = 0;
}

Status Overlay::checkpoint() {
  TRY(drain());
  if (active_.table->empty()) return {};
  TRY(switch_memtable());
  return drain();
}

Status Overlay::shrink_journals() {
  TRY(checkpoint());
  return journal_->shrink();
}

/// Waits until no memtable is frozen.
Status Overlay::drain() {
  std::unique_lock lock(mutex_);
  if (failure_ && !is_final(*failure_)) {
    failure_.reset();  // clears the error, because there may be space by now
    changed_.notify_all();
  }
  changed_.wait(lock, [&] { return !frozen_ || failure_; });
  if (failure_) return tl::unexpected(*failure_);
  return {};
}

// The checkpoint thread.

void Overlay::run() {
  name_thread("checkpoint");
  // Commits wait for a checkpoint that falls behind, so the thread keeps its share of a processor.
  run_behind_others(0);
  while (true) {
    Level level;  // destroyed without the mutex, because to free a memtable takes long
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [&] { return stopping_ || (frozen_ && !failure_); });
      if (stopping_) return;
      level = *frozen_;
    }
    Status done = apply_timed(level);
    if (stopping_) return;
    const Result<LmdbFile::Size> size = file_.measure();
    if (done && !size) done = tl::unexpected(size.error());
    if (!done) {
      spdlog::error("the checkpoint failed, but no commit is lost: the journal has them: {}",
                    done.error().message);
    }
    {
      const std::lock_guard lock(mutex_);
      if (done) {
        frozen_.reset();
        size_ = *size;
      } else {
        failure_ = done.error();
      }
    }
    changed_.notify_all();
    if (!done && is_final(done.error()) && options_.on_failure) options_.on_failure(done.error());
  }
}

/// Applies the level, and measures the rate of checkpoints.
Status Overlay::apply_timed(const Level& level) {
  if (options_.waits_for_checkpoints) return apply(level);
  const auto now = [this]() -> std::chrono::nanoseconds {
    if (options_.checkpoint_clock) return options_.checkpoint_clock();
    return std::chrono::steady_clock::now().time_since_epoch();
  };
  const std::chrono::nanoseconds began = now();
  TRY(apply(level));
  if (!stopping_) rate_.add(level.committed_bytes, now() - began);
  return {};
}

Status Overlay::apply(const Level& level) {
  // If space is short, smaller transactions may still succeed: the pages that one transaction frees
  // are reused by the next but one.
  std::string from;
  Status done;
  for (uint64_t most = step_bytes(options_.checkpoint_bytes); most > 0; most /= 16) {
    done = apply(level, from, most);
    if (done || !is_full(done.error())) break;
  }
  return done;
}

/// Brings the rows from key `from` on into LMDB, and sets `from` to the first key that LMDB does
/// not have yet. One transaction changes about `most_bytes`.
Status Overlay::apply(const Level& level, std::string& from, uint64_t most_bytes) {
  const KeyRange range{from, kEverything.high};
  Memtable::Cursor rows(*level.table, level.last, range, Direction::kForward);
  while (true) {
    LmdbWriter writer = TRY(LmdbWriter::begin(file_));
    uint64_t applied = 0;
    for (uint64_t bytes = 0; rows.valid() && bytes < most_bytes; rows.next(), ++applied) {
      bytes += TRY(writer.write(rows.key(), rows.value()));
    }
    if (!rows.valid()) TRY(writer.set_checkpointed(level.last));
    TRY(writer.commit());
    if (!rows.valid()) break;
    crash_point(CrashPoint::kCheckpointStep);
    from = rows.key();
    if (stopping_) return {};
    const std::lock_guard lock(mutex_);
    applied_rows_ += applied;
    changed_.notify_all();
  }
  crash_point(CrashPoint::kCheckpointed);
  return {};
}

}  // namespace millrace
