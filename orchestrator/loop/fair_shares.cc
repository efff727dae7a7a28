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

template <class T>
void rotate(std::deque<T>& ring) {
  ring.push_back(ring.front());
  ring.pop_front();
}

/// Removes an element, which is the first one in most cases.
template <class T>
void remove_from(std::deque<T>& ring, const T& one) {
  if (ring.front() == one) {
    ring.pop_front();
  } else {
    std::erase(ring, one);
  }
}

}  // namespace

FairShares::Time FairShares::time_for(size_t bytes) const {
  constexpr double kSecond = 1e9;
  if (rate_ == 0) return Time(0);
  return Time(
      static_cast<int64_t>(static_cast<double>(bytes) * kSecond / static_cast<double>(rate_)));
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
  space.ring.push_back(lane.workflow);
  space.all_wait = false;
  if (space.has_work) return;
  begin(space, now);
  ring_.push_back(lane.ns);
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
  remove_from(space.ring, lane.workflow);
  if (space.ring.empty()) {
    end(space, now);
    remove_from(ring_, lane.ns);
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
    rotate(ring_);
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
    rotate(space.ring);
  }
  space.all_wait = true;
  return std::nullopt;
}

void FairShares::charge(const WorkLane& lane, Time time, size_t bytes, Time now) {
  const Time for_bytes = time_for(bytes);
  const auto take = [&](Account& account) {
    settle(account, now);
    account.balance = std::max(account.balance - time - for_bytes, -kMostOwed * limits_.quantum);
  };
  LaneAccount& account = lanes_[lane];
  if (is_heavy(account)) waited_until_ = now;
  const size_t before = account.unit_bytes;
  account.unit_bytes = before - before / kPartOfLastUnit + bytes / kPartOfLastUnit;
  if (is_heavy(account)) writes_from_ = std::max(writes_from_, now) + for_bytes;
  SpaceAccount& space = spaces_[lane.ns];
  space.all_wait = false;
  take(account);
  take(space);
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
