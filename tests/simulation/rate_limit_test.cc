// The `rateLimit` of a workflow through the whole engine: each kind of start, restarts, and rows.
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/simulation/world.h"

namespace millrace {
namespace {

using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

std::string limited(const std::string& limit, const std::string& start = "{type: default}",
                    const std::string& id = "one") {
  return fmt::format("id: {}\nrateLimit: {}\nstart: {}\nstates:\n- {{id: end, type: noop}}\n", id,
                     limit, start);
}

constexpr const char* kTwoAnHour = "{limit: 2, period: PT1H, key: jq(.customer)}";
constexpr const char* kLimitedByEvent = "{type: event, event: {type: begin}}";

class RateLimits : public testing::Test {
 protected:
  /// The error of a call with that input; empty: it has started an instance.
  Error call(const Json& input = Json::object(), const std::string& key = "") {
    const Answered answered = world.command(
        StartInstance{.ns = "default", .workflow = "one", .input = input, .idempotency_key = key});
    world.run_until_idle();
    return **answered ? Error() : (**answered).error();
  }
  static Json of(const char* customer) { return {{"customer", customer}}; }
  void publish(const char* customer) {
    world.publish("begin", fmt::format("e-{}", ++published_), of(customer));
    world.run_until_idle();
  }
  size_t rows(std::string_view prefix) const {
    size_t count = 0;
    for (const auto& [key, value] : world.rows()) count += key.starts_with(prefix) ? 1 : 0;
    return count;
  }
  double limited_starts() { return world.metric("millrace_starts_limited_total"); }

  World world;
  int published_ = 0;
};

TEST_F(RateLimits, CountNumbersThatAreEqualAsOneKey) {
  world.apply(limited("{limit: 1, period: PT1H, key: jq(.n)}"));
  EXPECT_EQ(call({{"n", 1}}), Error());
  EXPECT_EQ(call({{"n", 1.0}}).code, "millrace.rateLimit");
  EXPECT_EQ(call({{"n", "1"}}), Error()) << "a text is no number";
}

TEST_F(RateLimits, AreShownAsTheReasonOfAStartThatDebounceHasPutOff) {
  world.apply(
      "id: one\nrateLimit: {limit: 1, period: PT1H}\ndebounce: {period: PT1S, key: "
      "jq(.customer)}\nstates:\n- {id: end, type: noop}\n");
  EXPECT_EQ(call(of("c-1")), Error());
  EXPECT_EQ(call(of("c-2")), Error());
  world.run_for(seconds(1));
  const Snapshot view = Snapshot::take(world.environment()).value();
  const Json items = world.queries().queues(view, "default", 9, "", "").value()["items"];
  ASSERT_THAT(items, SizeIs(1));
  EXPECT_EQ(items[0]["reason"], "debounce");
  EXPECT_EQ(items[0]["refusal"]["code"], "millrace.rateLimit");
}

TEST_F(RateLimits, RefuseACallAndSayWhenTheNextIsPermitted) {
  world.apply(limited(kTwoAnHour));
  EXPECT_EQ(call(of("c-1")), Error());
  world.clock.advance(minutes(20));
  EXPECT_EQ(call(of("c-1")), Error());
  world.clock.advance(Duration(500));
  const Error refused = call(of("c-1"));
  EXPECT_EQ(refused.code, "millrace.rateLimit");
  EXPECT_EQ(refused.retry_after, 2'400U) << "40 minutes less half a second, rounded up";
  EXPECT_EQ(refused.message,
            "the `rateLimit` of workflow \"one\" is used up for the key \"c-1\" (2 in PT1H); the "
            "next start of this key is permitted in 2400 s");
  EXPECT_EQ(limited_starts(), 1);
  world.clock.advance(seconds(2'399));
  EXPECT_EQ(call(of("c-1")).retry_after, 1U);
  world.clock.advance(seconds(1));
  EXPECT_EQ(call(of("c-1")), Error());
  EXPECT_THAT(world.instances(), SizeIs(3));
}

TEST_F(RateLimits, CountEachKeyAlone) {
  world.apply(limited(kTwoAnHour));
  for (const char* const customer : {"c-1", "c-1", "c-2", "c-2"}) {
    EXPECT_EQ(call(of(customer)), Error()) << customer;
  }
  EXPECT_EQ(call(of("c-1")).code, "millrace.rateLimit");
  EXPECT_EQ(call(of("c-2")).code, "millrace.rateLimit");
  EXPECT_EQ(call(), Error()) << "null is a key, too";
  EXPECT_EQ(call(Json{{"customer", nullptr}}), Error());
  EXPECT_EQ(call().code, "millrace.rateLimit");
}

TEST_F(RateLimits, ReadTheInputAsTheInstanceWouldHaveIt) {
  world.apply(limited("{limit: 1, period: PT1H, key: [jq(.input), a]}"));
  EXPECT_EQ(call(5), Error());
  EXPECT_EQ(call(6), Error());
  EXPECT_THAT(call(5).message, HasSubstr("for the key [5,\"a\"] (1 in PT1H)"));
}

TEST_F(RateLimits, CountAllStartsWithoutAKey) {
  world.apply(limited("{limit: 1, period: PT1H}"));
  EXPECT_EQ(call(of("c-1")), Error());
  EXPECT_EQ(call(of("c-2")).message,
            "the `rateLimit` of workflow \"one\" is used up (1 in PT1H); the next start is "
            "permitted in 3600 s");
}

TEST_F(RateLimits, KeepTheInstanceOfAnIdempotencyKey) {
  world.apply(limited("{limit: 1, period: PT1H}"));
  const Json none = Json::object();
  EXPECT_EQ(call(none, "k"), Error());
  EXPECT_EQ(call(none, "k"), Error()) << "the same call is no second start";
  EXPECT_EQ(call(none, "other").code, "millrace.rateLimit");
  world.clock.advance(hours(1));
  EXPECT_EQ(call(none, "other"), Error()) << "a refusal is not stored under the key";
}

TEST_F(RateLimits, SkipEventsAndCountThem) {
  world.apply(limited("{limit: 2, period: PT1H, key: jq(.begin.customer)}", kLimitedByEvent));
  for (const char* const customer : {"c-1", "c-1", "c-1", "c-2"}) publish(customer);
  EXPECT_THAT(world.instances(), SizeIs(3));
  EXPECT_EQ(limited_starts(), 1);
  EXPECT_THAT(world.dead_letters(), IsEmpty());
  world.run_for(hours(1));
  EXPECT_THAT(world.instances(), SizeIs(3)) << "a skipped event does not wait";
  publish("c-1");
  EXPECT_THAT(world.instances(), SizeIs(4));
}

TEST_F(RateLimits, UseUpTheEventsOfAGroup) {
  world.apply(limited("{limit: 1, period: PT1H}",
                      "{type: eventsAnd, correlate: [order], events: [{type: a}, {type: b}]}"));
  for (const char* const order : {"1", "2"}) {
    world.publish("a", fmt::format("a{}", order), nullptr, {{"order", std::string(order)}});
    world.publish("b", fmt::format("b{}", order), nullptr, {{"order", std::string(order)}});
    world.run_until_idle();
  }
  EXPECT_THAT(world.instances(), SizeIs(1));
  EXPECT_EQ(limited_starts(), 1);
  EXPECT_EQ(rows("groups/"), 0U);
}

TEST_F(RateLimits, SkipTicks) {
  world.apply(limited("{limit: 1, period: PT150M}", "{type: scheduled, cron: '@hourly'}"));
  world.run_for(hours(1));
  EXPECT_THAT(world.instances(), SizeIs(1));
  EXPECT_EQ(world.refusal(TriggerSchedule{"default", "one"}).code, "millrace.rateLimit");
  world.run_for(hours(5));
  // Of the ticks 1 to 6, the second and third come within 150 minutes of the first.
  EXPECT_THAT(world.instances(), SizeIs(2));
  EXPECT_EQ(limited_starts(), 1 + 4);
}

constexpr const char* kLimitedCaller = R"(
id: caller
functions: [{id: one, type: subflow, workflow: one}]
states:
- id: call
  type: action
  action: {function: one, input: {customer: c-1}}
  catch: [{error: millrace.rateLimit, transition: caught}]
- {id: caught, type: noop}
)";

TEST_F(RateLimits, FailTheCallOfASubflow) {
  world.apply(limited("{limit: 1, period: PT1H, key: jq(.customer)}"));
  world.apply(kLimitedCaller);
  const std::string first = world.start("caller")["id"];
  const std::string second = world.start("caller")["id"];
  EXPECT_THAT(world.history(first), testing::Not(testing::Contains("entered caught")));
  EXPECT_THAT(world.history(second), testing::Contains("entered caught"));
  EXPECT_EQ(world.status(second), "complete");
}

TEST_F(RateLimits, RefuseAStartWhoseKeyCannotBeEvaluated) {
  world.apply(limited("{limit: 1, period: PT1H, key: jq(.customer.id)}"));
  const Error failed = call(of("c-1"));
  EXPECT_EQ(failed.code, "millrace.startKey");
  EXPECT_THAT(failed.message, HasSubstr("rateLimit.key: "));
  EXPECT_THAT(failed.message, HasSubstr("correct the jq program, or the input that it reads"));
  const Error large = call({{"text", std::string(size_t{70} << 10, 'x')}});
  EXPECT_EQ(large.code, "millrace.startKey");
  EXPECT_THAT(large.message, HasSubstr("has more than 64 KB"));
  world.apply(limited("{limit: 1, period: PT1H, key: jq(.begin.customer.id)}", kLimitedByEvent));
  publish("c-1");
  EXPECT_THAT(world.dead_letters(), ElementsAre("millrace.startKey"));
  EXPECT_THAT(world.instances(), IsEmpty());
}

TEST_F(RateLimits, DoNotCountAStartThatSomethingElseRefuses) {
  world.apply(
      "id: one\nsingular: true\nrateLimit: {limit: 2, period: PT1H}\nstates:\n"
      "- {id: wait, type: consumeEvent, event: {type: go}}\n");
  EXPECT_EQ(call(), Error());
  for (int i = 0; i < 5; ++i) EXPECT_EQ(call().code, "direktiv.mutex");
  world.publish("go", "1");
  world.run_until_idle();
  EXPECT_EQ(call(), Error()) << "the second of two";
  world.publish("go", "2");
  world.run_until_idle();
  EXPECT_EQ(call().code, "millrace.rateLimit");
}

TEST_F(RateLimits, ApplyAChangedDefinitionToTheStartsSoFar) {
  world.apply(limited("{limit: 2, period: PT1H}"));
  EXPECT_EQ(call(), Error());
  EXPECT_EQ(call(), Error());
  world.apply(limited("{limit: 3, period: PT1H}"));
  EXPECT_EQ(call(), Error());
  EXPECT_EQ(call().code, "millrace.rateLimit");
  world.apply(limited("{limit: 3, period: PT1M}"));
  world.clock.advance(minutes(1));
  EXPECT_EQ(call(), Error());
}

TEST_F(RateLimits, AreTheSameAfterEachRestart) {
  world.apply(limited("{limit: 3, period: PT1H, key: jq(.begin.customer)}", kLimitedByEvent));
  int deaths = 0;
  for (int i = 0; i < 36; ++i) {
    world.publish("begin", fmt::format("e-{}", i), of(i % 2 == 0 ? "c-1" : "c-2"));
    for (int steps = 0; steps < 20 && world.step(); ++steps) world.restart_at(deaths++);
    world.run_until_idle();
    world.clock.advance(minutes(5));
  }
  EXPECT_GT(deaths, 36);
  // Each of the two has an event in ten minutes: those at 0, 10, 20, 60, 70, 80, … minutes start.
  EXPECT_THAT(world.instances(), SizeIs(18));
}

TEST_F(RateLimits, EraseTheRowsOfKeysThatCountNoMore) {
  world.apply(limited(kTwoAnHour));
  for (int i = 0; i < 600; ++i) call(of(fmt::format("c-{}", i).c_str()));
  EXPECT_EQ(rows("meta/start-rate/"), 600U);
  EXPECT_EQ(rows("meta/start-rates/"), 1U);
  world.clock.advance(minutes(30));
  call(of("c-7"));
  world.clock.advance(minutes(30));
  for (int i = 0; i < 3; ++i) call(of("c-x"));
  world.clock.advance(minutes(2));
  call(of("c-y"));
  EXPECT_EQ(rows("meta/start-rate/"), 3U) << "c-7, c-x and c-y";
  world.restart();
  world.run_until_idle();
  world.clock.advance(hours(2));
  world.must(PutVariable{.place = {.ns = "default"}, .key = "k", .value = {.bytes = "1"}});
  EXPECT_EQ(rows("meta/start-rate"), 0U) << "nor a row that lists or counts them";
}

TEST_F(RateLimits, HaveAQuotaOfKeys) {
  world.must(CreateNamespace{.name = "default",
                             .settings = Json::parse(R"({"quotas": {"startKeys": 2}})")});
  world.apply(limited(kTwoAnHour));
  EXPECT_EQ(call(of("c-1")), Error());
  EXPECT_EQ(call(of("c-2")), Error());
  EXPECT_EQ(call(of("c-3")).code, "millrace.quota.startKeys");
  EXPECT_EQ(call(of("c-1")), Error()) << "a key that is known";
  world.clock.advance(hours(2));
  EXPECT_EQ(call(of("c-3")), Error()) << "the rows that count no more are erased first";
}

}  // namespace
}  // namespace millrace
