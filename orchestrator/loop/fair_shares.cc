#include "orchestrator/loop/fair_shares.h"

#include <algorithm>
#include <utility>

namespace millrace {
namespace {

/// The most quanta that an account owes: more would only make next() slow.
constexpr int kMostOwed = 64;

/// The last unit of a lane is this part of the average of what its units write: a fourth.
constexpr size_t kPartOfLastUnit = 4;

/// How many accounts are kept before those that are idle and owe nothing are forgotten.
constexpr size_t kAccountsKept = 1'024;

/// After so many units with a smaller ring, one account less counts as a sharer.
constexpr uint32_t kUnitsBelow = 64;

/// An account is sparse if it has used less than this part of its share: a half.
constexpr int kPartOfShare = 2;

/// Removes the element if it is the first one. Returns whether it was.
template <class T>
bool remove_first(std::deque<T>& ring, const T& one) {
  if (ring.empty() || ring.front() != one) return false;
  ring.pop_front();
  return true;
}

}  // namespace

template <class Key>
void FairShares::Ring<Key>::note_size() {
  if (size() >= sharers) {
    sharers = size();
    below = 0;
  } else if (sharers > 1 && ++below >= kUnitsBelow) {
    --sharers;
    below = 0;
  }
}

template <class Key>
void FairShares::Ring<Key>::rotate() {
  std::deque<Key>& from = sparse.empty() ? others : sparse;
  others.push_back(from.front());
  from.pop_front();
}

/// In most cases it is the first one of its list.
template <class Key>
void FairShares::Ring<Key>::remove(const Key& one) {
  if (remove_first(sparse, one) || remove_first(others, one)) return;
  if (std::erase(sparse, one) == 0) std::erase(others, one);
}

FairShares::Time FairShares::time_for(size_t bytes, uint64_t rate) {
  constexpr double kSecond = 1e9;
  if (rate == 0) return Time(0);
  return Time(
      static_cast<int64_t>(static_cast<double>(bytes) * kSecond / static_cast<double>(rate)));
}

/// Gives an account the quantum for its next turn.
void FairShares::grant(Account& account) const {
  account.balance = std::min(account.balance + limits_.quantum, limits_.quantum);
}

/// The time without work pays what an account owes.
void FairShares::settle(Account& account, Time now) {
  if (account.has_work) return;
  account.balance = std::min(account.balance + (now - account.idle_since), Time(0));
  account.idle_since = now;
}

/// What the account has used beyond half of its share, now that all have used `by_all`. `sharers`:
/// among how many it is shared.
FairShares::Time FairShares::used(const Account& account, Time by_all, size_t sharers) {
  const auto parts = kPartOfShare * static_cast<int64_t>(sharers);
  const Time since = std::max(by_all - account.used_at, Time(0));
  return std::max(account.used - since / parts, Time(0));
}

/// Takes the cost of a unit from the account. `by_all`: what all have used, with this unit.
void FairShares::take(Account& account, Time cost, Time by_all, size_t sharers, Time now) const {
  const Time most = kMostOwed * limits_.quantum;
  settle(account, now);
  account.balance = std::max(account.balance - cost, -most);
  account.used = std::min(used(account, by_all, sharers) + cost, most);
  account.used_at = by_all;
}

/// Puts an account that has work from now on into its ring.
template <class Key>
void FairShares::put(Account& account, Time by_all, Ring<Key>& ring, const Key& key) const {
  const bool is_sparse =
      used(account, by_all, std::max(ring.sharers, ring.size() + 1)) < limits_.quantum;
  (is_sparse ? ring.sparse : ring.others).push_back(key);
}

void FairShares::begin(Account& account, Time now) const {
  if (!std::exchange(account.is_suspended, false)) {
    settle(account, now);
    grant(account);
  }
  account.has_work = true;
}

void FairShares::end(Account& account, Time now) {
  account.has_work = false;
  account.idle_since = now;
}

void FairShares::add(const WorkLane& lane, Time now) {
  if (lanes_.size() > std::max(forget_above_, kAccountsKept)) forget_idle(now);
  LaneAccount& account = lanes_[lane];
  if (account.has_work) return;
  begin(account, now);
  SpaceAccount& space = spaces_[lane.ns];
  put(account, space.used_by_all, space.ring, lane.workflow);
  space.all_wait = false;
  if (space.has_work) return;
  begin(space, now);
  put(space, used_by_all_, ring_, lane.ns);
}

void FairShares::remove(const WorkLane& lane, Time now) { take_out(lane, now); }

void FairShares::suspend(const WorkLane& lane, Time now) {
  LaneAccount* const account = take_out(lane, now);
  if (account == nullptr) return;
  account->is_suspended = true;
  SpaceAccount& space = spaces_[lane.ns];
  space.is_suspended = !space.has_work;
}

/// Takes the lane out of the rings. Returns its account; null: it has no work.
FairShares::LaneAccount* FairShares::take_out(const WorkLane& lane, Time now) {
  const auto found = lanes_.find(lane);
  if (found == lanes_.end() || !found->second.has_work) return nullptr;
  end(found->second, now);
  SpaceAccount& space = spaces_[lane.ns];
  space.ring.remove(lane.workflow);
  if (space.ring.empty()) {
    end(space, now);
    ring_.remove(lane.ns);
  }
  return &found->second;
}

std::optional<WorkLane> FairShares::next(Time now) {
  const bool may_write = next_at() <= now;
  for (size_t skipped = 0; skipped < ring_.size();) {
    const NamespaceNumber ns = ring_.front();
    SpaceAccount& space = spaces_[ns];
    const auto workflow = next_of(ns, space, may_write);
    if (workflow && space.balance > Time(0)) return WorkLane{ns, *workflow};
    if (workflow) grant(space);
    skipped = workflow ? 0 : skipped + 1;
    ring_.rotate();
  }
  return std::nullopt;
}

/// The workflow of the namespace whose work comes next; nullopt: all of them wait for the rate.
std::optional<WorkflowNumber> FairShares::next_of(NamespaceNumber ns, SpaceAccount& space,
                                                  bool may_write) {
  if (space.all_wait && !may_write) return std::nullopt;
  for (size_t skipped = 0; skipped < space.ring.size();) {
    LaneAccount& account = lanes_[{ns, space.ring.front()}];
    const bool waits = is_heavy(account) && !may_write;
    if (!waits && account.balance > Time(0)) return space.ring.front();
    if (!waits) grant(account);
    skipped = waits ? skipped + 1 : 0;
    space.ring.rotate();
  }
  space.all_wait = true;
  return std::nullopt;
}

void FairShares::charge(const WorkLane& lane, Time time, size_t bytes, Time now) {
  const Time for_bytes = time_for(bytes, rate_);
  const Time cost = time + for_bytes;
  LaneAccount& account = lanes_[lane];
  if (is_heavy(account)) waited_until_ = now;
  const size_t before = account.unit_bytes;
  account.unit_bytes = before - before / kPartOfLastUnit + bytes / kPartOfLastUnit;
  if (is_heavy(account)) {
    const Time wait = std::max(for_bytes, time_for(bytes, heavy_rate_));
    writes_from_ = std::min(std::max(writes_from_, now) + wait, now + limits_.longest_debt);
  }
  SpaceAccount& space = spaces_[lane.ns];
  space.all_wait = false;
  space.used_by_all += cost;
  used_by_all_ += cost;
  space.ring.note_size();
  ring_.note_size();
  take(account, cost, space.used_by_all, space.ring.sharers, now);
  take(space, cost, used_by_all_, ring_.sharers, now);
}

/// Forgets the accounts that have no work and owe nothing. The next search is due when there are
/// twice as many as now, so that the searches cost little for each account that is added.
void FairShares::forget_idle(Time now) {
  const auto is_even = [now](const auto& entry) {
    const Account& account = entry.second;
    return !account.has_work && account.balance + (now - account.idle_since) >= Time(0);
  };
  std::erase_if(lanes_, is_even);
  std::erase_if(spaces_, is_even);
  forget_above_ = 2 * lanes_.size();
}

}  // namespace millrace
