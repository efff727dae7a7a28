// The tables, formulas and examples of Steep's manual, calculated by hand.
#include "tests/model/model_world.h"

namespace millrace::reference {
namespace {

TEST(Steep, MultipliesTheDelayUpToItsMaximum) {
  EXPECT_EQ(waits(steep(7, 1 * s, 2, 10 * s), 6),
            (Times{1 * s, 2 * s, 4 * s, 8 * s, 10 * s, 10 * s}));
}
TEST(Steep, MakesTheFiveAttemptsOfItsExample) {
  World w(workflow({action("a", steep(5, 1 * s, 2, 10 * s))}));
  EXPECT_EQ(w.fail_all(), (Times{0, 1 * s, 3 * s, 7 * s, 15 * s}));
  EXPECT_EQ(w.status(), "failed");
  EXPECT_EQ(w.code(), "busy");  // the last error
}
TEST(Steep, MakesOneAttemptByDefault) {
  World w(workflow({action("a", policy(Vocabulary::kSteep, {}))}));
  EXPECT_EQ(w.fail_all(), (Times{0}));
}
TEST(Steep, RetriesAtOnceByDefault) {
  World w(workflow({action("a", policy(Vocabulary::kSteep, 3))}));
  EXPECT_EQ(w.fail_all(), (Times{0, 0, 0}));
}
TEST(Steep, WaitsTheSameDelayBeforeEachRetryByDefault) {
  EXPECT_EQ(waits(steep(9, 3 * s), 3), (Times{3 * s, 3 * s, 3 * s}));
}
TEST(Steep, AppliesTheMaximumDelayOnlyWithABackoff) {
  EXPECT_EQ(waits(steep(9, 20 * s, 1, 10 * s), 2), (Times{20 * s, 20 * s}));
}
TEST(Steep, RetriesWithoutALimitForMaxAttemptsMinusOne) {
  World w(workflow({action("a", steep(-1, 1 * s))}));
  EXPECT_EQ(w.fail_all(60).size(), 61u);
  EXPECT_FALSE(w.ended());
}
TEST(Steep, SkipsAnActionForMaxAttemptsZero) {
  World w(workflow({action("a", steep(0, 1 * s), {}, "b"), delay("b", 1 * s)}));
  EXPECT_EQ(w.calls(), 0);
  EXPECT_EQ(w.at(), "b");
  EXPECT_TRUE(w.data().at("return").is_null());
}
TEST(Steep, CancelsOnInactivityAsInItsExample) {
  World w(
      workflow({caught(action("a", steep(3, 0),
                              {limit("maxInactivity", 5 * min), limit("deadline", 1 * h, true)}),
                       {"*"}, "c"),
                delay("c", 1 * s)}));
  w.take();
  w.to(4 * min), w.beat();
  w.to(9 * min - 1);
  EXPECT_TRUE(w.open());
  w.to(9 * min);
  EXPECT_EQ(w.status(), "cancelled");  // neither a retry policy nor a catch applies
  EXPECT_EQ(w.calls(), 1);
  EXPECT_EQ(w.retry(), Reply::kConflict);
}
TEST(Steep, RaisesAnErrorAtTheDeadlineAsInItsExample) {
  World w(
      workflow({caught(action("a", steep(3, 0),
                              {limit("maxInactivity", 5 * min), limit("deadline", 1 * h, true)}),
                       {"millrace.timeout.*"}, "c"),
                delay("c", 1 * s)}));
  w.take();
  for (Ms t = 4 * min; t < 1 * h; t += 4 * min) w.to(t), w.beat();
  w.to(1 * h);
  EXPECT_EQ(w.at(), "c");
  EXPECT_EQ(w.data()["error"]["code"], "millrace.timeout.scheduleToClose");
  EXPECT_EQ(w.calls(), 1);  // the deadline is final
}
TEST(Steep, RetriesAfterTheErrorsOfMaxInactivityAndMaxRuntime) {
  for (const char* key : {"maxInactivity", "maxRuntime"}) {
    World w(workflow({action("a", steep(2, 2 * s), {limit(key, 10 * s, true)})}));
    w.to(3 * s), w.take();
    w.to(13 * s);
    EXPECT_EQ(w.status(), "waiting");
    EXPECT_EQ(w.retry_at(), 15 * s);
    w.to(15 * s), w.take();
    w.to(25 * s);
    EXPECT_EQ(w.status(), "failed");
    EXPECT_EQ(w.code(),
              std::string("millrace.timeout.") + (key[3] == 'I' ? "heartbeat" : "startToClose"));
  }
}
TEST(Steep, AppliesTheRetryPolicyBeforeACatch) {
  World w(workflow({caught(action("a", steep(2, 1 * s)), {"*"}, "c"), delay("c", 1 * s)}));
  w.fail();
  EXPECT_EQ(w.status(), "waiting");
  w.to(1 * s), w.fail("gone");
  EXPECT_EQ(w.at(), "c");
  EXPECT_EQ(w.data()["error"]["code"], "gone");
}

}  // namespace
}  // namespace millrace::reference
