// What is due of an instance while the service of its calls is paused.
#include <gtest/gtest.h>

#include "orchestrator/service/next_filter.h"
#include "tests/unit/service/query_fixture.h"

namespace millrace {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;

class HeldCallsTest : public QueryTest {
 protected:
  static constexpr const char* kPays = R"(
id: pays
functions:
- {id: pay, type: knative-namespace, service: bank}
- {id: note, type: knative-namespace, service: mail}
states:
- id: both
  type: parallel
  actions: [{function: pay}, {function: note}]
  compensate: {function: pay}
)";

  HeldCallsTest() : pays(apply(kPays)) { set_settings({{"paused", {"bank"}}}); }

  static Call running(uint8_t task, TimeoutKind kind, TimePoint deadline) {
    Call call{.status = Call::Status::kRunning, .attempt = 1, .id = numbered_id(task)};
    call.outside = true;
    call.deadlines[static_cast<size_t>(kind)] = deadline;
    return call;
  }
  /// The instance 1 with a call of bank that has `kind`, and one of mail that has ended.
  Instance paying(TimeoutKind kind = TimeoutKind::kScheduleToClose) const {
    Instance instance = waiting_instance(pays, 1);
    instance.calls = {running(70, kind, now + seconds(4)), Call{.status = Call::Status::kFailed}};
    instance.timers = {{TimerKind::kCalls, now + seconds(4)}};
    return instance;
  }
  Json of_one() {
    return answer([&](Queries& queries, const View& view) {
      return queries.instance(view, "default", numbered_id(1));
    });
  }
  Json next() {
    const Json shown = answer([&](Queries& queries, const View& view) {
      return queries.next_firings(view, "default", NextFilter());
    });
    return shown["items"][0];
  }
  void expect_held_at(TimePoint at) {
    const Json one = of_one();
    EXPECT_FALSE(one.contains("deadline")) << one;
    EXPECT_EQ(one["timers"][0]["at"], format_rfc3339(at));
    EXPECT_EQ(one["timers"][0].value("held", false), true);
    EXPECT_EQ(next()["at"], format_rfc3339(at));
    EXPECT_EQ(next().value("paused", false), true);
  }
  void expect_due_at(TimePoint at) {
    const Json one = of_one();
    EXPECT_EQ(one["deadline"], format_rfc3339(at));
    EXPECT_EQ(one["timers"][0]["at"], format_rfc3339(at));
    EXPECT_FALSE(one["timers"][0].contains("held"));
    EXPECT_EQ(next()["at"], format_rfc3339(at));
    EXPECT_FALSE(next().contains("paused"));
  }

  const WorkflowNumber pays;
};

TEST_F(HeldCallsTest, ShowTheTimersOfACallOfAPausedServiceAsHeld) {
  store(paying());
  expect_held_at(now + seconds(4));
  store(paying(TimeoutKind::kScheduleToStart));
  expect_held_at(now + seconds(4));
  set_settings(Json::object());
  expect_due_at(now + seconds(4));
}

TEST_F(HeldCallsTest, ShowTheTimeoutsThatCount) {
  store(paying(TimeoutKind::kHeartbeat));
  expect_due_at(now + seconds(4));
  Instance running_call = paying();
  running_call.calls[0].started = true;
  store(running_call);
  expect_due_at(now + seconds(4));
  Instance cancelled = paying();
  cancelled.cancelling = true;
  store(cancelled);
  expect_due_at(now + seconds(4));
}

TEST_F(HeldCallsTest, ShowTheTimeoutOfAnotherCallWhichCounts) {
  Instance instance = paying();
  instance.calls[1] = running(71, TimeoutKind::kScheduleToClose, now + minutes(5));
  store(instance);
  expect_due_at(now + minutes(5));
  instance.calls[1].status = Call::Status::kBetween;
  instance.calls[1].deadlines = {};
  instance.calls[1].retry_at = now + minutes(2);
  store(instance);
  EXPECT_EQ(of_one()["timers"][0]["at"], format_rfc3339(now + minutes(2)));
  EXPECT_EQ(next()["at"], format_rfc3339(now + minutes(2)));
  EXPECT_FALSE(next().contains("paused"));
}

TEST_F(HeldCallsTest, ShowACompensationOfAPausedServiceAsHeld) {
  Instance instance = paying();
  instance.compensating = PendingEnd{.status = InstanceStatus::kFailed};
  instance.compensations = 1;
  instance.calls.resize(1);
  store(instance);
  expect_held_at(now + seconds(4));
}

TEST_F(HeldCallsTest, ShowTheStoredTimeOfAnInstanceWithVeryManyCalls) {
  Instance instance = paying();
  instance.calls.resize(101, Call{.status = Call::Status::kFailed});
  store(instance);
  EXPECT_EQ(next()["at"], format_rfc3339(now + seconds(4)));
  EXPECT_FALSE(next().contains("paused"));
}

TEST_F(HeldCallsTest, FailIfAReadFails) {
  store(paying());
  expect_each_read_to_count([](Queries& queries, const View& view) {
    return queries.next_firings(view, "default", NextFilter());
  });
}

}  // namespace
}  // namespace millrace
