// The tables, formulas and examples of Stevora's manual, calculated by hand.
#include "tests/model/model_world.h"

namespace millrace::reference {
namespace {

TEST(Stevora, HasDefaultsAndJitterForItsRetryPolicy) {
  const Policy p = read_policy(stevora());
  EXPECT_EQ(p.attempts, 3);
  EXPECT_EQ(wait_after(p, 1), (Interval{750, 1000}));
  EXPECT_EQ(wait_after(p, 2), (Interval{1500, 2000}));
  EXPECT_EQ(wait_after(p, 3), (Interval{3000, 4000}));
  EXPECT_EQ(wait_after(p, 4), (Interval{6000, 8000}));
  EXPECT_EQ(wait_after(p, 15), (Interval{225'000, 300'000}));
  EXPECT_EQ(wait_after(read_policy(stevora(5, 2000, 3)), 3), (Interval{13'500, 18'000}));
  EXPECT_EQ(wait_after(read_policy(stevora({}, 101)), 1), (Interval{75, 101}));  // floored
}
TEST(Stevora, FailsAfterThreeAttemptsWithTheMessageOfStevora) {
  World x(workflow({action("send", stevora())}));
  x.fail("busy");
  EXPECT_EQ(x.status(), "waiting");
  EXPECT_EQ(*x.observe().next_retry_at, (Interval{750, 1000}));
  x.fail_all();
  EXPECT_EQ(x.calls(), 3);
  EXPECT_EQ(x.status(), "failed");
  EXPECT_EQ(x.code(), "busy");
  EXPECT_EQ(*x.observe().error_message, "Step 'send' failed after 3 attempts: it is busy");
}
TEST(Stevora, TakesTheDelayWithItsJitterFromTheEngineUnderTest) {
  World w(workflow({action("a", stevora())}));
  w.fail();
  Observation o;
  o.next_retry_at = Interval{801, 801};
  w.adopt(o);
  w.to(800);
  EXPECT_EQ(w.calls(), 1);
  w.to(801);
  EXPECT_EQ(w.calls(), 2);
}
TEST(Stevora, StartsItsPolicyAgainOnTheRetryCommand) {
  World w(workflow({action("a", stevora(2))}));
  w.fail_all();
  EXPECT_EQ(w.calls(), 2);
  EXPECT_EQ(w.retry(), Reply::kAccepted);
  EXPECT_EQ(w.attempt(), 1);
  w.fail_all();
  EXPECT_EQ(w.calls(), 4);
  EXPECT_EQ(w.status(), "failed");
}
TEST(Stevora, CanGiveAWorkflowItsDefaultPolicy) {
  Definition d = workflow({action("a")});
  d.defaults = Vocabulary::kStevora;
  World w(d);
  EXPECT_EQ(w.fail_all(), (Times{0, 1000, 3000}));
}

}  // namespace
}  // namespace millrace::reference
