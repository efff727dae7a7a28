#include "orchestrator/store/log_follower.h"

#include <algorithm>
#include <string>
#include <tuple>

#include <fmt/format.h>

#include "base/check.h"
#include "orchestrator/store/disk/log_row.h"

namespace millrace {
namespace {

std::string describe(const CommitName& name) {
  if (name == CommitName()) return "no commit";
  return fmt::format("commit {} of epoch {}", name.commit, name.epoch);
}

/// Whether `next` may be the name of the commit after `last`.
bool follows(const CommitName& next, const CommitName& last) {
  if (next.epoch != last.epoch) return next.epoch > last.epoch && next.commit == 1;
  return next.incarnation == last.incarnation && next.commit == last.commit + 1;
}

/// Whether the commit is one of those up to `last`, as far as names and sequences show it.
bool is_known(const LogPosition& commit, const LogPosition& last) {
  if (commit.sequence == last.sequence) return commit == last;
  const auto order = [](const LogPosition& one) {
    return std::tuple(one.name.epoch, one.name.commit);
  };
  return commit.sequence < last.sequence && order(commit) < order(last);
}

/// Error `log.diverged`, if the commit neither follows `last` nor is known.
Result<bool> is_next(const LogCommit& commit, const LogPosition& last) {
  const LogPosition& at = commit.position;
  if (is_known(at, last)) return false;
  const bool is_behind = at.sequence > last.sequence && commit.behind == last.name;
  if (is_behind && follows(at.name, last.name)) return true;
  return fail("log.diverged",
              fmt::format("the log has {} at sequence {}, behind {}; expected what follows {} at "
                          "sequence {}, which is the last commit of this store: the store is not a "
                          "copy of the log",
                          describe(at.name), at.sequence, describe(commit.behind),
                          describe(last.name), last.sequence));
}

/// Whether the store, which loads a snapshot that ends at `to`, has all its rows after the commit
/// at `at`. Error `log.diverged`: the log does not have the commit at which the snapshot ends.
Result<bool> ends_loading(const LogPosition& at, const LogPosition& to) {
  if (at.sequence < to.sequence) return false;
  if (at == to) return true;
  return fail("log.diverged",
              fmt::format("the log has {} at sequence {}; expected {} at sequence {}, at which the "
                          "snapshot ends that this store loads: the snapshot is not one of the log",
                          describe(at.name), at.sequence, describe(to.name), to.sequence));
}

/// Whether a write of the log may have this key: one that a release can have written. The rows of
/// the folder are no part of the log.
bool is_key_of_log(std::string_view absolute_key) {
  if (absolute_key.size() < 2 || absolute_key.size() > 1 + kMaxKeySize) return false;
  if (is_row_of_folder(absolute_key)) return false;
  const Table table = table_of(absolute_key);
  return std::any_of(kTables.begin(), kTables.end(),
                     [&](const TableName& one) { return one.table == table; });
}

}  // namespace

Result<std::unique_ptr<LogFollower>> LogFollower::open(Environment& environment) {
  return open(environment, Loading::kRefused);
}

Result<std::unique_ptr<LogFollower>> LogFollower::open_loading(Environment& environment) {
  return open(environment, Loading::kAccepted);
}

Result<std::unique_ptr<LogFollower>> LogFollower::open(Environment& environment, Loading loading) {
  CHECK(!environment.is_led(), "{} is led; expected a store that follows the log",
        environment.folder().string());
  std::unique_ptr<LogFollower> follower(new LogFollower(environment));
  TRY(follower->read_position(loading));
  return follower;
}

Status LogFollower::read_position(Loading loading) {
  if (const auto to = tx_.get(Table::kMeta, kLoadingKey)) {
    if (loading == Loading::kRefused) return tl::unexpected(joining_error());
    state_.loading_to = TRY(decode_log_position(*to));
  }
  const auto row = tx_.get(Table::kMeta, kLogKey);
  if (row) {
    state_.position = TRY(decode_log_position(*row));
    return {};
  }
  const bool has_rows = tx_.get(Table::kMeta, kFormatKey).has_value();
  TRY(tx_.status());
  if (!has_rows) return {};
  return fail(
      "store.cluster",
      fmt::format("{} has the data of a millrace without a cluster, which are not in the log "
                  "of the cluster; name a new folder",
                  tx_.environment().folder().string()));
}

Status LogFollower::apply(std::span<const LogCommit> commits) {
  State next = state_;
  for (const LogCommit& commit : commits) {
    if (const Status done = apply_to(next, commit); !done) {
      tx_.drop();
      return done;
    }
  }
  if (next.position == position()) return {};
  tx_.put(Table::kMeta, kLogKey, encode(next.position));
  if (is_loading() && !next.loading_to) tx_.erase(Table::kMeta, kLoadingKey);
  TRY(tx_.commit(Limit::kPassed));
  state_ = next;
  return {};
}

/// Writes the commit, unless the store has it, and sets `state` to what the store has then.
Status LogFollower::apply_to(State& state, const LogCommit& commit) {
  if (!TRY(is_next(commit, state.position))) return {};
  if (state.loading_to && TRY(ends_loading(commit.position, *state.loading_to))) {
    state.loading_to.reset();
  }
  TRY(write(commit));
  state.position = commit.position;
  return {};
}

Status LogFollower::write(const LogCommit& commit) {
  bool has_keys = true;
  const bool is_whole = each_write(
      commit.write_set, [&](std::string_view key, std::optional<std::string_view> value) {
        has_keys = has_keys && is_key_of_log(key);
        if (!has_keys) return;
        if (value) {
          tx_.put(table_of(key), key_of(key), std::string(*value));
        } else {
          tx_.erase(table_of(key), key_of(key));
        }
      });
  if (is_whole && has_keys) return {};
  return fail("log.damaged",
              fmt::format("{} in the log, at sequence {}, is not a valid write-set: {}",
                          describe(commit.position.name), commit.position.sequence,
                          is_whole ? "a key is not that of a row" : "it is cut short"));
}

}  // namespace millrace
