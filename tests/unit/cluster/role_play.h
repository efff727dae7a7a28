// RolePlay: plays a table of facts on a NodeRole, and checks the actions after each. Between two
// rows, the role is asked at each of its next times, and must have nothing to do then.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "cluster/node_role.h"

namespace millrace {

using RoleTime = NodeRole::Time;

/// A fact that is reported to a role; `now` is when.
using RoleFact = std::function<void(NodeRole&, RoleTime now)>;

/// A row of a table: at that time, in milliseconds, comes the fact, and leads to the actions.
struct RoleRow {
  int at = 0;
  RoleFact fact;
  std::string actions;
};

inline RoleTime time_at(int milliseconds) { return RoleTime(Duration(milliseconds)); }

inline std::string text_of(const std::vector<NodeAction>& actions) {
  using What = NodeAction::What;
  std::string text;
  const auto add = [&](const std::string& one) { text += (text.empty() ? "" : ", ") + one; };
  for (const NodeAction& action : actions) {
    switch (action.what) {
      case What::kOpenReader:
        add("open");
        break;
      case What::kAppendBegin:
        add(fmt::format("begin behind {} unclean {}", action.expects, action.unclean));
        break;
      case What::kStartEngine:
        add(action.is_careful ? "start carefully" : "start");
        break;
      case What::kAppendBeat:
        add("beat");
        break;
      case What::kServe:
        add("serve");
        break;
      case What::kStopServing:
        add("stop serving");
        break;
      case What::kDrain:
        add("drain");
        break;
      case What::kAppendEnd:
        add("end");
        break;
      case What::kReplace:
        add("replace");
        break;
      case What::kExit:
        add("exit");
        break;
    }
  }
  return text;
}

class RolePlay {
 public:
  explicit RolePlay(NodeRole::Settings settings = {}, uint64_t position = 6)
      : role_(settings, position) {}

  RolePlay& play(const std::vector<RoleRow>& rows) {
    for (const RoleRow& row : rows) {
      wait_until(row.at);
      row.fact(role_, now_);
      EXPECT_EQ(text_of(role_.take_actions(now_)), row.actions) << "at " << row.at << " ms";
      EXPECT_EQ(text_of(role_.take_actions(now_)), "") << "again at " << row.at << " ms";
    }
    return *this;
  }

  /// The process is stopped until that time: it asks for no action.
  RolePlay& sleep_until(int at) {
    now_ = time_at(at);
    return *this;
  }

  NodeRole& role() { return role_; }
  bool may_serve(int at) const { return role_.may_serve(time_at(at)); }
  /// The code of the reason; empty: the node is ready.
  std::string not_ready(int at) const {
    const auto reason = role_.not_ready(time_at(at));
    return reason ? reason->code : "";
  }

 private:
  void wait_until(int at) {
    for (auto next = role_.next_time(now_); next && *next < time_at(at);
         next = role_.next_time(now_)) {
      ASSERT_GT(*next, now_);
      now_ = *next;
      EXPECT_EQ(text_of(role_.take_actions(now_)), "")
          << "at " << now_.time_since_epoch() / Duration(1) << " ms, before " << at << " ms";
    }
    now_ = time_at(at);
  }

  NodeRole role_;
  RoleTime now_{};
};

// Facts.

/// Nothing but time.
inline RoleFact passes() {
  return [](NodeRole&, RoleTime) {};
}
inline RoleFact opened() {
  return [](NodeRole& role, RoleTime) { role.reader_opened(); };
}
inline RoleFact closed() {
  return [](NodeRole& role, RoleTime) { role.reader_closed(); };
}
inline RoleFact says(uint64_t pending) {
  return [=](NodeRole& role, RoleTime now) { role.broker_heard(pending, now); };
}
inline RoleFact new_leader() {
  return [](NodeRole& role, RoleTime now) { role.leader_changed(now); };
}
/// The message was read, and is not applied.
inline RoleFact read(LogHeard message) {
  return [=](NodeRole& role, RoleTime now) { role.heard(message, now); };
}
inline RoleFact applied(uint64_t sequence) {
  return [=](NodeRole& role, RoleTime) { role.applied(sequence); };
}
/// A message was read and applied.
inline RoleFact heard(LogHeard message) {
  return [=](NodeRole& role, RoleTime now) {
    role.heard(message, now);
    role.applied(message.sequence);
  };
}
inline RoleFact commit(uint64_t sequence, uint64_t pending = 0) {
  return heard({.what = LogHeard::What::kCommit, .sequence = sequence, .pending = pending});
}
inline RoleFact beat(uint64_t sequence) {
  return heard({.what = LogHeard::What::kBeat, .sequence = sequence});
}
inline RoleFact end(uint64_t sequence, uint64_t pending = 0) {
  return heard({.what = LogHeard::What::kEnd, .sequence = sequence, .pending = pending});
}
inline RoleFact foreign(uint64_t sequence) {
  return heard({.what = LogHeard::What::kForeign, .sequence = sequence});
}
/// Of another node.
inline RoleFact begin(uint64_t sequence, uint64_t unclean = 0) {
  return heard({.what = LogHeard::What::kBegin, .sequence = sequence, .unclean = unclean});
}
inline RoleFact own_begin(uint64_t sequence, uint64_t unclean = 1, uint64_t pending = 0) {
  return heard({.what = LogHeard::What::kBegin,
                .sequence = sequence,
                .pending = pending,
                .is_own = true,
                .unclean = unclean});
}
inline RoleFact begin_taken(int sent) {
  return [=](NodeRole& role, RoleTime) { role.begin_taken(time_at(sent)); };
}
inline RoleFact begin_failed() {
  return [](NodeRole& role, RoleTime) { role.begin_failed(); };
}
inline RoleFact loaded() {
  return [](NodeRole& role, RoleTime now) { role.engine_loaded(now); };
}
inline RoleFact turn() {
  return [](NodeRole& role, RoleTime now) { role.turn_completed(now); };
}
inline RoleFact beat_taken(int sent) {
  return [=](NodeRole& role, RoleTime) { role.beat_taken(time_at(sent)); };
}
inline RoleFact commit_started() {
  return [](NodeRole& role, RoleTime) { role.commit_started(); };
}
inline RoleFact commit_taken(int sent) {
  return [=](NodeRole& role, RoleTime now) { role.commit_taken(time_at(sent), now); };
}
inline RoleFact epoch_lost() {
  return [](NodeRole& role, RoleTime) { role.epoch_lost(); };
}
inline RoleFact drained() {
  return [](NodeRole& role, RoleTime) { role.drained(); };
}
inline RoleFact end_taken() {
  return [](NodeRole& role, RoleTime) { role.end_taken(); };
}
inline RoleFact clock_is_off(Duration offset) {
  return [=](NodeRole& role, RoleTime) { role.clock_measured(offset); };
}
inline RoleFact stop_asked() {
  return [](NodeRole& role, RoleTime now) { role.stop_asked(now); };
}

// Tables that begin others. The position of the folder is 6.

/// A standby that has read and applied the log up to 7 at time 0.
inline std::vector<RoleRow> caught_up() {
  return {{0, clock_is_off(Duration(0)), "open"}, {0, opened(), ""}, {0, commit(7), ""}};
}

/// A node that is the active from 2010 on, with the `begin` at 8; its engine is loaded at 2600.
inline std::vector<RoleRow> leading() {
  std::vector<RoleRow> rows = caught_up();
  for (const RoleRow& row : std::vector<RoleRow>{{1000, says(0), ""},
                                                 {2000, passes(), "begin behind 7 unclean 1"},
                                                 {2010, begin_taken(2000), "start"},
                                                 {2500, passes(), "beat"},
                                                 {2510, beat_taken(2500), ""},
                                                 {2600, loaded(), "serve"}}) {
    rows.push_back(row);
  }
  return rows;
}

}  // namespace millrace
