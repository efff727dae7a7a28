#include "orchestrator/batch/retention.h"

#include <algorithm>
#include <array>
#include <chrono>

#include "orchestrator/batch/archived_instances.h"
#include "orchestrator/batch/ended_instances.h"
#include "orchestrator/store/rows/head_rows.h"
#include "orchestrator/store/rows/index_build.h"
#include "orchestrator/store/rows/index_rows.h"

namespace millrace {
namespace {

constexpr Duration kBetweenPasses = std::chrono::minutes(1);

/// How many instances a walk reads at once: of each workflow first a few, because most walks end at
/// the first instance.
constexpr size_t kReadAtOnce = 50;
constexpr size_t kReadFirst = 4;

/// Two times of which the second is later can, some months later, be in the opposite order, by less
/// than this: 30 January 12:00 and 31 January 11:00 both become 28 February.
constexpr Duration kMonthsDisorder = std::chrono::days(4);

constexpr std::array kAllEnded = {InstanceStatus::kComplete, InstanceStatus::kFailed,
                                  InstanceStatus::kCancelled, InstanceStatus::kTimedOut};
constexpr std::array kFailures = {InstanceStatus::kFailed, InstanceStatus::kTimedOut};
constexpr std::array kNoFailures = {InstanceStatus::kComplete, InstanceStatus::kCancelled};

/// No instance with that id or a higher one is due by its age before this time: an instance ends
/// later than its id was made, by any length of time. If an event started the instance, and the
/// clock of the broker was ahead of the engine time, the time is too late, by that difference; then
/// the instance is deleted later by as much.
TimePoint earliest_due(const Span& age, const InstanceId& id) {
  return age.after(time_of(id)) - (age.months > 0 ? kMonthsDisorder : Duration(0));
}

bool is_old(const Span& age, const Instance& head, TimePoint now) {
  return age.after(*head.ended_at) <= now;
}

/// Whether no rule deletes the instance: one of its compensations has failed for good, or a cancel
/// has stopped it, so that an operator has to make it or to pass over it.
bool is_kept(const Instance& head) { return head.compensation_error.has_value(); }

/// The highest id below `id`.
InstanceId id_before(InstanceId id) {
  for (size_t i = id.bytes.size(); i-- > 0;) {
    if (id.bytes[i]-- != 0) break;
  }
  return id;
}

}  // namespace

std::optional<TimePoint> Retention::next_pass() const {
  if (is_running() || batch_.catalog.retaining().empty()) return std::nullopt;
  return state_.began ? *state_.began + kBetweenPasses : TimePoint();
}

/// To be called before the current batch changes the state: keeps the old state for undo().
void Retention::note_change() {
  auto* const before = before_.now();
  if (before != nullptr && !*before) *before = state_;
}

/// Notes that an instance of the current namespace stays and is due by its age at that time, or
/// later.
void Retention::note_due(TimePoint due) {
  const auto [known, is_new] = next_due_.emplace(state_.at->ns, due);
  if (!is_new) known->second = std::min(known->second, due);
}

void Retention::end_pass(TimePoint now) {
  state_.at.reset();
  batch_.outcome.pass_end = RetentionPassEnd{.at = now, .next_due = next_due_};
}

void Retention::set_plan() {
  const auto goes_on = [this](const Position& at) { return !waits_for_page(at); };
  batch_.retention = {
      .has_steps = any_left(goes_on), .is_running = is_running(), .next_pass = next_pass()};
}

/// Whether the pass is about to delete instances of a namespace with an archive, and the archive
/// can take none now.
bool Retention::waits_for_archive(const Position& at) const {
  return at.stage != Stage::kHistories &&
         millrace::waits_for_archive(batch_, at.ns, DeletionReason::kRetention);
}

/// Whether the namespace waits until a page of the archive is written. It does not wait if its own
/// page could not be written.
bool Retention::waits_for_page(const Position& at) const {
  return waits_for_archive(at) && !batch_.archive.is_failing(at.ns);
}

/// Whether `is` is true for the position in any namespace that the pass has not finished.
template <class Is>
bool Retention::any_left(const Is& is) const {
  if (!is_running()) return false;
  const auto& retaining = batch_.catalog.retaining();
  return is(*state_.at) ||
         std::any_of(state_.others.begin(), state_.others.end(),
                     [&](const auto& other) { return is(*other.second); }) ||
         std::any_of(retaining.upper_bound(state_.last), retaining.end(),
                     [&](NamespaceNumber ns) { return is(Position{.ns = ns}); });
}

/// Gives the turn to the next namespace with a higher number that has an unfinished walk, or begins
/// one. Returns whether there is one.
bool Retention::give_turn_after(NamespaceNumber ns) {
  const auto& retaining = batch_.catalog.retaining();
  const auto begins = retaining.upper_bound(std::max(ns, state_.last));
  const auto goes_on = state_.others.upper_bound(ns);
  const bool is_last = goes_on == state_.others.end();
  if (begins != retaining.end() && (is_last || *begins < goes_on->first)) {
    next_due_.erase(*begins);  // it is noted again
    state_.at = Position{.ns = *begins};
  } else if (!is_last) {
    state_.at = *goes_on->second;
    state_.others.erase(goes_on);
  } else {
    return false;
  }
  state_.last = std::max(state_.last, state_.at->ns);
  return true;
}

/// Ends the turn of a namespace. After the last namespace with an unfinished walk comes the first
/// one; if the pass has taken longer than a minute, the finished ones begin another walk then.
/// Returns whether another namespace has the turn.
bool Retention::end_turn(TimePoint now, bool is_finished) {
  const NamespaceNumber before = state_.at->ns;
  if (!is_finished) {
    state_.others.emplace(before, std::make_shared<const Position>(*std::move(state_.at)));
  }
  if (give_turn_after(before)) return true;
  if (state_.others.empty()) return false;
  if (*state_.began + kBetweenPasses <= now) {
    state_.began = now;
    state_.last = NamespaceNumber(0);
  }
  give_turn_after(NamespaceNumber(0));
  return state_.at->ns != before;
}

/// Gives the turn to the next namespace for whose position `is` is true, the current one included.
/// Returns whether there is one.
template <class Is>
bool Retention::give_turn(TimePoint now, const Is& is) {
  size_t left = state_.others.size() + batch_.catalog.retaining().size();
  for (; !is(*state_.at); --left) {
    if (left == 0 || !end_turn(now, false)) return false;
  }
  return true;
}

void Retention::clear() {
  state_ = {};
  histories_.clear();
  batch_.retention = {.has_steps = true};  // the next batch finds out
}

void Retention::undo() {
  if (const auto before = before_.take()) state_ = *before;
  histories_.clear();
  set_plan();
}

Result<bool> Retention::go_on(TimePoint now, const WorkBudget* unit) {
  TRY(run(now, unit));
  set_plan();
  return batch_.retention.has_steps && purges_.size() < Purges::kMost;
}

/// Takes the next step of a pass, if one is running or due.
Status Retention::run(TimePoint now, const WorkBudget* unit) {
  ArchiveQueue& archive = batch_.archive;
  archive.end_waits(now);
  const bool is_reserved = archive.is_reserved() && archive.is_free();
  archive.reserve(false);
  if (const auto next = next_pass(); next && *next <= now) {
    note_change();
    const NamespaceNumber first = *batch_.catalog.retaining().begin();
    state_ = {.began = now, .at = Position{.ns = first}, .last = first, .others = {}};
    next_due_.clear();
  }
  if (!is_running() || purges_.size() >= Purges::kMost) return {};
  note_change();
  if (is_reserved) {
    give_turn(now, [this](const Position& at) {
      return at.stage != Stage::kHistories && batch_.catalog.settings(at.ns).retention.archive;
    });
  }
  PurgeBudget budget{.unit = unit};
  // Such purges have done their part of this batch. A purge of a history that an earlier portion of
  // this batch has left does nothing yet.
  if (purges_.has_earlier()) budget.rows /= 4;
  TRY(take_turns(now, budget));
  const auto waits = [this](const Position& at) { return waits_for_page(at); };
  archive.reserve(archive.is_of(DeletionReason::kRequest) && any_left(waits));
  return {};
}

/// Continues the pass in the namespace that has the turn, and in the next ones as long as each is
/// finished within the budget. A namespace that waits for a page of the archive misses its turn.
Status Retention::take_turns(TimePoint now, PurgeBudget& budget) {
  while (is_running() && !budget.is_spent()) {
    if (!give_turn(now, [this](const Position& at) { return !waits_for_page(at); })) return {};
    const NamespaceNumber ns = state_.at->ns;
    // The settings of a namespace may have lost their rules since the pass began.
    if (batch_.catalog.retaining().contains(ns)) {
      // While the archive cannot be written, the pass deletes no instances of the namespace.
      if (waits_for_archive(*state_.at)) {
        state_.at = Position{.ns = ns, .stage = Stage::kHistories};
      }
      if (!TRY(sweep(now, batch_.catalog.settings(ns).retention, budget))) {
        end_turn(now, false);
        return {};
      }
    }
    if (!end_turn(now, true)) end_pass(now);
  }
  return {};
}

// Each function with the result bool returns whether its part of the pass is finished; false: the
// budget is spent, and the next step continues.

Result<bool> Retention::sweep(TimePoint now, const RetentionSettings& settings,
                              PurgeBudget& budget) {
  const auto is_at = [&](Stage stage) { return state_.at->stage == stage; };
  const auto go_to = [&](Stage stage) {
    state_.at = Position{.ns = state_.at->ns, .stage = stage};
  };
  if (is_at(Stage::kWorkflows)) {
    if (settings.has_rules() && !TRY(sweep_workflows(now, settings, budget))) return false;
    go_to(Stage::kBytes);
  }
  if (is_at(Stage::kBytes)) {
    // The bytes of instances that the archive has not got yet are still counted.
    if (waits_for_archive(*state_.at)) return false;
    if (!TRY(sweep_for_bytes(settings, budget))) return false;
    go_to(Stage::kHistories);
  }
  return histories_.go_on(state_.at->ns, state_.at->histories, budget);
}

Result<bool> Retention::sweep_workflows(TimePoint now, const RetentionSettings& settings,
                                        PurgeBudget& budget) {
  while (!budget.is_spent()) {
    if (!state_.at->is_within && !TRY(begin_workflow(budget))) return true;
    if (!TRY(sweep_workflow(now, settings, budget))) return false;
    state_.at = Position{.ns = state_.at->ns, .done = state_.at->workflow};
  }
  return false;
}

/// Goes to the next workflow that has instances; returns whether there is one.
Result<bool> Retention::begin_workflow(PurgeBudget& budget) {
  Position& at = *state_.at;
  budget.count(0);
  const auto first = TRY(first_by_status(batch_.tx, at.ns, at.done.value_or(WorkflowNumber(0)),
                                         at.done ? std::optional(kAllEnded.back()) : std::nullopt,
                                         batch_.damages.noting()));
  if (!first) return false;
  at = Position{
      .ns = at.ns, .done = at.done, .is_within = true, .workflow = first->place.revision.workflow};
  return true;
}

/// Deletes instances of the current workflow by age and count: first those with the rule `ended`,
/// then those with the rule `failed`, if that is another rule.
Result<bool> Retention::sweep_workflow(TimePoint now, const RetentionSettings& settings,
                                       PurgeBudget& budget) {
  Position& at = *state_.at;
  const std::string_view id = id_of(at.workflow);
  const RetentionRule* const ended = settings.rule_of(id, InstanceStatus::kComplete);
  const RetentionRule* const failed = settings.rule_of(id, InstanceStatus::kFailed);
  const bool is_shared = ended == failed;
  if (!at.is_failed) {
    // After a change of the settings, the walk has other instances and begins again.
    if (is_shared != at.is_shared) restart(at);
    at.is_shared = is_shared;
    const Statuses statuses = is_shared ? Statuses(kAllEnded) : Statuses(kNoFailures);
    if (ended != nullptr && !TRY(sweep_statuses(now, *ended, statuses, budget))) return false;
    if (is_shared) return true;
    restart(at);
    at.is_failed = true;
  }
  return failed == nullptr || TRY(sweep_statuses(now, *failed, kFailures, budget));
}

/// Begins the walk through the instances of the current workflow again.
void Retention::restart(Position& at) {
  at.behind.reset();
  at.kept = 0;
  at.too_many.reset();
}

Result<bool> Retention::sweep_statuses(TimePoint now, const RetentionRule& rule, Statuses statuses,
                                       PurgeBudget& budget) {
  Position& at = *state_.at;
  if (!rule.age && !rule.count) return true;
  uint64_t too_many = TRY(count_too_many(rule, statuses));
  while (!budget.is_spent()) {
    const size_t most = at.behind ? kReadAtOnce : kReadFirst;
    const auto ids = TRY(next_ids(statuses, most, budget));
    for (const auto& [id, status] : ids) {
      const bool is_one_too_many = too_many > 0;
      if (!is_one_too_many) {
        if (!rule.age) return true;
        if (const TimePoint due = earliest_due(*rule.age, id); due > now) {
          note_due(due);
          return true;
        }
      }
      if (budget.is_spent()) return false;
      const auto head = TRY(read_deletable(batch_, at.ns, id, status, budget));
      const bool may_go = head && !is_kept(*head);
      if (may_go && (is_one_too_many || is_old(*rule.age, *head, now))) {
        if (!TRY(remove(*head, budget))) return false;
      } else {
        ++at.kept;
        if (may_go && rule.age) note_due(rule.age->after(*head->ended_at));
      }
      at.behind = id;
      if (too_many > 0) --too_many;
      if (at.too_many.value_or(0) > 0) --*at.too_many;
    }
    if (ids.size() < most) return true;
  }
  return false;
}

/// How many of the next instances are too many for `count`. The instances that end or are deleted
/// during the walk must not make it delete an instance that `count` keeps, so the lower of two
/// numbers counts: from the begin of the walk, and from now.
Result<uint64_t> Retention::count_too_many(const RetentionRule& rule, Statuses statuses) {
  Position& at = *state_.at;
  if (!rule.count || is_index_incomplete(batch_.tx)) return uint64_t{0};
  const auto counted = batch_.index.count(batch_.tx, at.ns, at.workflow, statuses);
  if (!counted && is_damaged_row(counted.error())) {
    batch_.damages.note(counted.error());
    return uint64_t{0};
  }
  const uint64_t count = TRY(counted);
  const uint64_t stay = *rule.count + at.kept;
  const uint64_t now = count > stay ? count - stay : 0;
  at.too_many = std::min(at.too_many.value_or(now), now);
  return *at.too_many;
}

/// The next ids of the current workflow with one of the statuses, ascending; fewer than `most` if
/// there are no more.
Result<std::vector<std::pair<InstanceId, InstanceStatus>>> Retention::next_ids(
    Statuses statuses, size_t most, PurgeBudget& budget) {
  const Position& at = *state_.at;
  std::vector<std::pair<InstanceId, InstanceStatus>> ids;
  for (const InstanceStatus status : statuses) {
    size_t read = 0;
    TRY(each_by_status(
        batch_.tx, at.ns, at.workflow, status, at.behind,
        [&](const InstanceId& id) {
          ids.emplace_back(id, status);
          budget.count(sizeof(id.bytes));
          return ++read < most;
        },
        batch_.damages.noting()));
  }
  std::sort(ids.begin(), ids.end());
  if (ids.size() > most) ids.resize(most);
  return ids;
}

/// Deletes the oldest ended instances of the namespace while it has more bytes than the rules of
/// these instances allow.
Result<bool> Retention::sweep_for_bytes(const RetentionSettings& settings, PurgeBudget& budget) {
  Position& at = *state_.at;
  const auto least = settings.least_bytes();
  if (!least || is_index_incomplete(batch_.tx)) return true;
  const auto measured = batch_.index.bytes(batch_.tx, at.ns);
  if (!measured && is_damaged_row(measured.error())) {
    batch_.damages.note(measured.error());
    return true;
  }
  uint64_t used = TRY(measured);
  if (!at.is_within && used > *least) {
    if (!TRY(find_first_for_bytes(settings, used, budget))) return false;
    if (!at.found) return true;
    at.is_within = true;
    at.behind = id_before(*at.found);
  }
  while (used > *least) {
    if (budget.is_spent()) return false;
    const std::vector<Instance> heads = TRY(next_heads(budget));
    for (const Instance& head : heads) {
      if (budget.is_spent()) return false;
      const RetentionRule* const rule =
          settings.rule_of(id_of(head.revision.workflow), head.status);
      const Status owned = batch_.catalog.check_owner(head);
      if (!owned) {
        batch_.damages.note(owned.error());
      } else if (rule != nullptr && rule->bytes && used > *rule->bytes && !is_kept(head)) {
        if (!TRY(remove(head, budget))) return false;
        const IndexedInstance removed = indexed(head);
        used -= std::min(used, removed.row_bytes + removed.history_bytes);
      }
      at.behind = head.id;
    }
    if (heads.size() < kReadAtOnce) return true;
  }
  return true;
}

/// Finds the instance with the lowest id that sweep_for_bytes() may have to delete, by the first
/// instance of each workflow and status. Instances that are kept for ever need not be looked at up
/// to that id.
Result<bool> Retention::find_first_for_bytes(const RetentionSettings& settings, uint64_t used,
                                             PurgeBudget& budget) {
  Position& at = *state_.at;
  while (!budget.is_spent()) {
    const auto one = TRY(first_by_status(batch_.tx, at.ns, at.searched, at.searched_status,
                                         batch_.damages.noting()));
    if (!one) return true;
    budget.count(sizeof(one->id.bytes));
    at.searched = one->place.revision.workflow;
    at.searched_status = one->place.status;
    if (!has_ended(*at.searched_status)) continue;
    const RetentionRule* const rule = settings.rule_of(id_of(at.searched), *at.searched_status);
    const bool may_go = rule != nullptr && rule->bytes && used > *rule->bytes;
    if (may_go && (!at.found || one->id < *at.found)) at.found = one->id;
  }
  return false;
}

/// The heads of the next ended instances; fewer than kReadAtOnce if there are no more.
Result<std::vector<Instance>> Retention::next_heads(PurgeBudget& budget) {
  std::vector<Instance> heads;
  TRY(each_ended(
      batch_.tx, state_.at->ns, state_.at->behind,
      [&](const Instance& head) {
        budget.count(head.part_bytes[static_cast<size_t>(Part::kHead)]);
        heads.push_back(head);
        return heads.size() < kReadAtOnce;
      },
      batch_.damages.noting()));
  return heads;
}

/// Deletes the instance, or adds it to the page of the archive; returns false if it must be called
/// again (see delete_ended()).
Result<bool> Retention::remove(const Instance& head, PurgeBudget& budget) {
  return archive_or_delete(batch_, head, DeletionReason::kRetention, budget,
                           [&](uint64_t row) { purges_.begin_history(head.ns, row); });
}

std::string_view Retention::id_of(WorkflowNumber workflow) const {
  const WorkflowEntry* const entry = batch_.catalog.find_workflow(workflow);
  return entry != nullptr ? std::string_view(entry->id) : std::string_view();
}

}  // namespace millrace
