// Engine: the history of an instance has every record in order, with the data of each state that
// waited or acted.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/tables/instance_run.h"

namespace millrace {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;

Duration seconds_of(int64_t count) { return std::chrono::seconds(count); }

Event event_of(std::string type, std::string id, std::string data) {
  return {.id = std::move(id), .source = "test", .type = std::move(type), .data = std::move(data)};
}

TEST(Engine, RecordsTheHistoryOfAnInstanceInOrder) {
  InstanceRun run(load_right_workflow(R"(
id: life
states:
- {id: start, type: noop, log: jq(.n), transform: "{m: .n}", transition: send}
- {id: send, type: generateEvent, event: {type: out, source: s}, delay: 1m, log: sending,
   transition: wait}
- {id: wait, type: consumeEvent, event: {type: t}, transition: rest}
- {id: rest, type: delay, duration: 5s, transition: fix}
- {id: fix, type: error, error: one, message: first, transition: fail}
- {id: fail, type: noop, transform: .m.x, catch: [{error: other}, {error: "*", transition: all}]}
- {id: all, type: eventAnd, events: [{type: a}, {type: b}]}
)"),
                  {{"n", 1}});
  run.proceed();
  run.set_time(run_start() + seconds_of(1));
  run.event(event_of("t", "e1", "2"));
  run.at(seconds_of(6));
  run.event(event_of("a", "e2", "3"));
  run.event(event_of("a", "e3", "3"));
  run.event(event_of("b", "e4", "4"));
  const std::string error =
      R"({"code":"direktiv.jq.badCommand","msg":"Cannot index number with string \"x\""})";
  EXPECT_THAT(print_history(run.history()),
              ElementsAre("0s entered start",                    //
                          R"(0s log start {"value":1})",         //
                          R"(0s entered send / {"m":1})",        //
                          R"(0s log send {"value":"sending"})",  //
                          R"(0s published send {"at":"2024-01-01T00:01:00.000Z",)"
                          R"("id":"00000000-0000-7000-8000-000000000001-2-0","type":"out"})",
                          R"(0s entered wait / {"m":1})",
                          R"(1s woken wait {"id":"e1","source":"test","type":"t"})",
                          R"(1s entered rest / {"m":1,"t":2})",            //
                          "6s elapsed rest",                               //
                          "6s entered fix",                                //
                          R"(6s fixed fix {"code":"one","msg":"first"})",  //
                          "6s entered fail",                               //
                          "6s raised fail " + error,                       //
                          R"(6s caught fail {"error":"*"})",               //
                          R"(6s entered all / {"error":)" + error + R"(,"m":1,"t":2})",
                          R"(6s woken all {"id":"e2","source":"test","type":"a"})",
                          R"(6s woken all {"id":"e4","source":"test","type":"b"})",
                          R"(6s ended all {"status":"failed"})"));
}

TEST(Engine, RecordsATimeoutAndTheEndThatItCauses) {
  InstanceRun run(load_right_workflow(R"(
id: timeout
states: [{id: wait, type: consumeEvent, event: {type: t}, timeout: 5s}]
)"));
  run.proceed();
  run.at(seconds_of(7));
  EXPECT_THAT(print_history(run.history()),
              ElementsAre("0s entered wait / {}",
                          R"(7s raised wait {"code":"direktiv.stateTimeout","msg":)"
                          R"("state \"wait\" timed out at 2024-01-01T00:00:05.000Z"})",
                          R"(7s ended wait {"status":"failed"})"));
}

TEST(Engine, RecordsACancel) {
  InstanceRun run(load_right_workflow(R"(
id: cancel
states: [{id: rest, type: delay, duration: 5s}]
)"));
  run.proceed();
  run.set_time(run_start() + seconds_of(2));
  run.cancel({"direktiv.cancels.api", "stopped"});
  EXPECT_THAT(print_history(run.history()),
              ElementsAre("0s entered rest / {}",
                          R"(2s cancelled rest {"code":"direktiv.cancels.api","msg":"stopped"})",
                          R"(2s ended rest {"status":"cancelled"})"));
}

TEST(Engine, RecordsNothingForAStimulusThatChangesNothing) {
  InstanceRun run(load_right_workflow(R"(
id: stale
states: [{id: rest, type: delay, duration: 5s}]
)"));
  run.proceed();
  const size_t records = run.history().size();
  run.fire(TimerKind::kDelay, run_start() + seconds_of(4));
  run.fire(TimerKind::kStateTimeout, run_start() + seconds_of(5));
  run.proceed("restart");
  run.event(event_of("t", "e1", "1"));
  EXPECT_EQ(run.history().size(), records);
}

// The fast lane evaluates the log of the state; the rest of the state needs a jq worker. The state
// is executed again from its beginning for each result, but its log is recorded once.
TEST(Engine, RecordsALogOnceHoweverOftenItsStateWaitsForAJqWorker) {
  InstanceRun run(load_right_workflow(R"(
id: log
states:
- {id: sum, type: generateEvent, log: jq(.n), event: {type: t, source: s, data: jq(first(.n + 1))},
   transform: first(.n + 2)}
)"),
                  {{"n", 1}});
  run.proceed();
  run.proceed("restart");
  run.evaluated({Json(2)});
  run.proceed("restart");
  run.evaluated({Json(3)});
  EXPECT_THAT(print_history(run.history()),
              ElementsAre(R"(0s entered sum / {"n":1})", R"(0s log sum {"value":1})",
                          R"(0s published sum {"id":"00000000-0000-7000-8000-000000000001-0-0",)"
                          R"("type":"t"})",
                          R"(0s ended sum {"status":"complete"})"));
}

TEST(Engine, RecordsTheStateWhoseLogRaisedAnError) {
  InstanceRun run(load_right_workflow(R"(
id: log
states: [{id: only, type: noop, log: jq(.n.x), catch: [{error: "*"}]}]
)"),
                  {{"n", 1}});
  run.proceed();
  EXPECT_THAT(print_history(run.history()),
              ElementsAre("0s entered only", HasSubstr("0s raised only"),
                          HasSubstr("0s caught only"), R"(0s ended only {"status":"complete"})"));
}

TEST(Engine, RefusesALogRecordAbove64KiB) {
  const auto workflow = load_right_workflow(R"(
id: log
states: [{id: only, type: noop, log: jq(.text), catch: [{error: millrace.limits.*}]}]
)");
  // The data is large, so a jq worker evaluates the value.
  const auto run_with = [&](const std::string& text) {
    InstanceRun run(workflow, {{"text", text}});
    run.proceed();
    run.evaluated({LazyJson::of_tree(text)});
    return run;
  };
  const InstanceRun just = run_with(std::string(65'536 - 2, 'x'));
  EXPECT_THAT(print_history(just.history()), Contains(HasSubstr("0s log only")));
  const InstanceRun over = run_with(std::string(65'536 - 1, 'x'));
  EXPECT_THAT(over.rows().back().does,
              Contains("raises millrace.limits.log: the value of `log` is 65537 bytes of JSON; a "
                       "record holds at most 65536"));
  EXPECT_EQ(over.rows().back().status, "complete");
}

// The record of the entry has the data from before the state changed the data.
TEST(Engine, RecordsTheDataThatAStateWasEnteredWith) {
  InstanceRun run(load_right_workflow(R"(
id: data
states:
- {id: wait, type: consumeEvent, event: {type: t}, transform: "{gone: true}", transition: rest}
- {id: rest, type: delay, duration: 1s}
)"),
                  {{"a", 1}});
  run.proceed();
  run.event(event_of("t", "e1", "2"));
  const auto lines = print_history(run.history());
  EXPECT_EQ(lines.front(), R"(0s entered wait / {"a":1})");
  EXPECT_EQ(lines.back(), R"(0s entered rest / {"gone":true})");
}

}  // namespace
}  // namespace millrace
