// Engine: data of more than 64 KB stays text. jq workers evaluate the programs over it, also those
// that the fast lane could run, and the states read and write its text.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/tables/instance_run.h"

namespace millrace {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

const std::string& much() {
  static const std::string text(kLargeJson, 'x');
  return text;
}

std::vector<std::string> asked_programs(const InstanceRun& run) {
  std::vector<std::string> texts;
  for (const Query& query : run.asked()->evaluation.queries) texts.push_back(query.program);
  return texts;
}

/// The newest effect of that type.
template <class T>
T newest(const InstanceRun& run) {
  for (auto effect = run.effects().rbegin(); effect != run.effects().rend(); ++effect) {
    if (const auto* const found = std::get_if<T>(&*effect)) return *found;
  }
  ADD_FAILURE() << "there is no such effect";
  return {};
}

/// Expects that the instance has completed with that data, and that no row of the trace shows a
/// broken invariant.
void expect_complete(const InstanceRun& run, const Json& data) {
  for (const TraceRow& row : run.rows()) {
    EXPECT_THAT(row.does, Not(Contains(HasSubstr("BROKEN")))) << row.input;
  }
  EXPECT_EQ(run.rows().back().status, "complete");
  EXPECT_EQ(run.instance().data.text(), dump_json(data));
}

TEST(LargeData, IsTransformedByAJqWorker) {
  InstanceRun run(load_right_workflow(R"(
id: large
states: [{id: only, type: noop, transform: {m: jq(.n), text: "<jq(.text)>"}}]
)"),
                  {{"n", 1}, {"text", much()}});
  run.proceed();
  EXPECT_THAT(asked_programs(run), ElementsAre(".n", ".text"));
  EXPECT_EQ(*run.asked()->evaluation.queries[0].input, run.instance().data.text());
  run.evaluated({Json(1), LazyJson::of_tree(much())});
  expect_complete(run, {{"m", 1}, {"text", "<" + much() + ">"}});
}

TEST(LargeData, IsNotMadeByTheFastLane) {
  InstanceRun run(load_right_workflow(R"(
id: doubles
states: [{id: only, type: noop, transform: {m: jq(.n), both: 'jq([.text, .text])'}}]
)"),
                  {{"n", 1}, {"text", std::string(kLargeJson * 3 / 4, 'x')}});
  run.proceed();
  EXPECT_THAT(asked_programs(run), ElementsAre("[.text, .text]"))
      << "the fast lane evaluates the small program";
  run.proceed("restart");
  EXPECT_THAT(asked_programs(run), ElementsAre("[.text, .text]"));
  const Json both = {std::string(kLargeJson * 3 / 4, 'x'), std::string(kLargeJson * 3 / 4, 'x')};
  run.evaluated({LazyJson::of_tree(both)});
  expect_complete(run, {{"m", 1}, {"both", both}});
}

TEST(LargeData, IsMadeByAJqWorkerIfManyProgramsTogetherCopyMuch) {
  InstanceRun run(load_right_workflow(R"(
id: copies
states: [{id: only, type: noop, transform: [jq(.text), jq(.text), jq(.n), jq(.text)]}]
)"),
                  {{"n", 1}, {"text", std::string(kLargeJson / 3, 'x')}});
  run.proceed();
  EXPECT_THAT(asked_programs(run), ElementsAre(".text")) << "the last one does not fit";
  const Json text = run.instance().data.value()["text"];
  run.evaluated({text});
  expect_complete(run, {text, text, 1, text});
}

TEST(LargeData, IsComparedByAJqWorkerInASwitch) {
  const auto workflow = load_right_workflow(R"(
id: chooses
states:
- id: choose
  type: switch
  conditions:
  - {condition: .n == 2, transition: never}
  - {condition: .text, transition: right}
  - {condition: first(.n), transition: never}
- {id: never, type: noop}
- {id: right, type: noop}
)");
  InstanceRun run(workflow, {{"n", 1}, {"text", much()}});
  run.proceed();
  EXPECT_THAT(asked_programs(run), ElementsAre(".n == 2", ".text", "first(.n)"));
  EXPECT_TRUE(run.asked()->evaluation.stop_at_true);
  run.evaluated({Json(false), Json(true)});
  EXPECT_EQ(run.rows().back().state, "choose > right");

  InstanceRun small(workflow, {{"n", 1}, {"text", "x"}});
  small.proceed();
  EXPECT_EQ(small.rows().back().state, "choose > right");
  EXPECT_FALSE(small.asked());
}

TEST(LargeData, OfAnEventIsStoredAsItWasReceived) {
  InstanceRun run(load_right_workflow(R"(
id: waits
states:
- {id: one, type: consumeEvent, event: {type: a}, transition: two}
- {id: two, type: eventAnd, events: [{type: b}, {type: b}, {type: c, capture: event}]}
)"),
                  {{"b", 0}, {"z", 1}});
  const std::string large = "[ 1,\n \"" + much() + "\" ]";
  run.proceed();
  run.event({.id = "1", .source = "/s", .type = "a", .data = large});
  EXPECT_EQ(run.instance().data.text(), R"({"a":)" + large + R"(,"b":0,"z":1})");
  run.event({.id = "2", .source = "/s", .type = "b", .data = large});
  run.event({.id = "3", .source = "/s", .type = "b", .data = "[ 2 ]"});
  run.event({.id = "4", .source = "/s", .type = "c", .data = large});
  EXPECT_EQ(run.rows().back().status, "complete");
  const Json list = {1, much()};
  EXPECT_EQ(
      run.instance().data.value(),
      Json(
          {{"a", list},
           {"b", {list, {2}}},
           {"c",
            {{"specversion", "1.0"}, {"id", "4"}, {"source", "/s"}, {"type", "c"}, {"data", list}}},
           {"z", 1}}));
}

TEST(LargeData, OfAnEventThatIsNotJsonIsStoredAsBase64) {
  InstanceRun run(load_right_workflow(R"(
id: waits
states: [{id: one, type: consumeEvent, event: {type: a}}]
)"));
  run.proceed();
  run.event({.id = "1",
             .source = "/s",
             .type = "a",
             .datacontenttype = "text/plain",
             .data = std::string(kLargeJson + 2, '\0')});
  expect_complete(run, {{"a", std::string((kLargeJson + 2) / 3 * 4, 'A')}});
}

TEST(LargeData, ThatAProgramOnlyPassesOnNeedsNoJqWorker) {
  InstanceRun run(load_right_workflow(R"(
id: same
states: [{id: only, type: noop, transform: .}]
)"),
                  {{"text", much()}});
  run.proceed();
  EXPECT_FALSE(run.asked());
  expect_complete(run, {{"text", much()}});
}

TEST(LargeData, IsNotMadeOfManyResultsThatAreTogetherTooLarge) {
  std::string all = "jq(.)";
  while (all.size() < 1'000) all += ", jq(.)";
  InstanceRun run(load_right_workflow(fmt::format(R"(
id: many
states: [{{id: only, type: noop, transform: [{}]}}]
)",
                                                  all)),
                  {{"text", much()}});
  run.proceed();
  EXPECT_EQ(run.rows().back().status, "failed");
  EXPECT_EQ(*run.instance().error,
            (Error{"direktiv.jq.badCommand", "the result is larger than 4194304 bytes of JSON"}));
}

TEST(LargeData, IsPublishedAsTheDataOfAnEvent) {
  InstanceRun run(load_right_workflow(R"(
id: sends
states:
- {id: all, type: generateEvent, event: {type: t, source: /s}, transition: part}
- {id: part, type: generateEvent, event: {type: t, source: /s, data: 'jq(.text)'}}
)"),
                  {{"text", much()}});
  run.proceed();
  EXPECT_EQ(newest<Publish>(run).event.data, run.instance().data.text());
  EXPECT_THAT(asked_programs(run), ElementsAre(".text"));
  run.evaluated({LazyJson::of_tree(much())});
  EXPECT_EQ(newest<Publish>(run).event.data, dump_json(much()));
  expect_complete(run, {{"text", much()}});
}

TEST(LargeData, IsSetAndReadAsAVariable) {
  InstanceRun run(load_right_workflow(R"(
id: keeps
states:
- id: set
  type: setter
  variables:
  - {key: json, scope: instance, value: jq(.text)}
  - {key: plain, scope: instance, value: jq(.text), mimeType: text/plain}
  transform: {n: 1}
  transition: get
- id: get
  type: getter
  variables: [{key: json, scope: instance}, {key: none, scope: instance}]
)"),
                  {{"text", much() + "\n"}});
  run.proceed();
  EXPECT_THAT(asked_programs(run), ElementsAre(".text", ".text"));
  run.evaluated({LazyJson::of_tree(much() + "\n"), LazyJson::of_tree(much() + "\n")});
  EXPECT_EQ(newest<SetVariable>(run).value->bytes, much() + "\n") << "the text itself";
  expect_complete(run, {{"n", 1}, {"var", {{"json", much() + "\n"}, {"none", nullptr}}}});
}

TEST(LargeData, IsSplitIntoTheCallsOfAForeach) {
  InstanceRun run(load_right_workflow(R"(
id: each
functions: [{id: f, type: subflow, workflow: item}]
states:
- {id: loop, type: foreach, array: .items, action: {function: f, secrets: [s], input: .}}
)"),
                  {{"items", {{{"n", 1}}, {{"n", 2}, {"text", much()}}}}});
  run.set_secret("s", "hush");
  run.proceed();
  EXPECT_THAT(asked_programs(run), ElementsAre(".items"));
  run.evaluated({run.instance().data.value()["items"]});
  const std::string second = R"({"n":2,"secrets":{"s":"hush"},"text":)" + dump_json(much()) + "}";
  std::vector<std::string> inputs;
  for (const Effect& effect : run.effects()) {
    const auto* const start = std::get_if<StartChild>(&effect);
    if (start != nullptr) inputs.push_back(start->input.text());
  }
  EXPECT_THAT(inputs, ElementsAre(R"({"n":1,"secrets":{"s":"hush"}})", second));

  run.returned(0, 0, LazyJson::of_tree(much()));
  run.returned(1, 0, LazyJson::of_text("2"));
  EXPECT_EQ(run.rows().back().status, "complete");
  EXPECT_EQ(run.instance().data.value()["return"], Json({much(), 2}));
}

TEST(LargeData, GetsTheErrorThatACatchHasMatched) {
  InstanceRun run(load_right_workflow(R"(
id: fails
states:
- id: call
  type: generateEvent
  event: {type: 'jq(.a.b)', source: /s}
  catch: [{error: '*', transition: end}]
- {id: end, type: error, error: bad, message: '%s', args: [jq(.text)]}
)"),
                  {{"text", much()}});
  run.proceed();
  run.evaluated({QueryResult(fail("direktiv.jq.badCommand", "no"))});
  EXPECT_EQ(
      run.instance().data.text(),
      R"({"error":{"code":"direktiv.jq.badCommand","msg":"no"},"text":)" + dump_json(much()) + "}");
  run.evaluated({LazyJson::of_tree(much())});
  EXPECT_EQ(run.rows().back().status, "failed");
  EXPECT_EQ(run.instance().error->message, much());
  EXPECT_EQ(run.instance().data.value()["error"]["code"], "bad");
}

TEST(LargeData, ThatIsNotAnObjectGetsNoFurtherKeys) {
  InstanceRun run(load_right_workflow(R"(
id: list
states:
- {id: make, type: noop, transform: .list, transition: wait}
- {id: wait, type: consumeEvent, event: {type: a}}
)"),
                  {{"list", {much()}}});
  run.proceed();
  run.evaluated({LazyJson::of_tree(Json::array({much()}))});
  run.event({.id = "1", .source = "/s", .type = "a"});
  EXPECT_EQ(run.rows().back().status, "failed");
  EXPECT_EQ(run.instance().error->message,
            "\"a\" cannot be added: the data is array, not an object");
}

TEST(LargeData, IsNotNestedDeeperThanOtherData) {
  const auto nested = [](size_t depth) {
    return std::string(depth, '[') + dump_json(much()) + std::string(depth, ']');
  };
  const auto workflow = load_right_workflow(R"(
id: deep
states: [{id: wait, type: consumeEvent, event: {type: a}}]
)");
  InstanceRun most(workflow);
  most.proceed();
  most.event({.id = "1", .source = "/s", .type = "a", .data = nested(kMaxJsonDepth - 1)});
  EXPECT_EQ(most.rows().back().status, "complete");
  InstanceRun over(workflow);
  over.proceed();
  over.event({.id = "1", .source = "/s", .type = "a", .data = nested(kMaxJsonDepth)});
  EXPECT_EQ(over.rows().back().status, "failed");
  EXPECT_EQ(over.instance().error->code, "millrace.limits.data");
}

}  // namespace
}  // namespace millrace
