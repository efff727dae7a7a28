// Visit: limits on the data, the events and the variables of a state. An event must fit into one
// message, and data must not nest too deep. Beyond a limit the state raises an error, which a
// `catch` may match.
#include "states/visit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cloudevents/json_format.h"
#include "tests/tables/instance_run.h"

namespace millrace {
namespace {

using testing::_;
using testing::Contains;
using testing::Each;
using testing::SizeIs;
using testing::StartsWith;
using testing::VariantWith;

constexpr size_t kMostBytes = (1024 - 16) * 1024;

Json nested(size_t depth) {
  Json value = 1;
  for (size_t i = 0; i < depth; ++i) value = Json::array({std::move(value)});
  return value;
}

Event event_of(Json data) {
  return {.id = "e", .source = "test", .type = "t", .data = dump_json(data)};
}

std::string error_of(const InstanceRun& run) {
  return run.instance().error ? run.instance().error->code : "";
}

/// Runs the instance. A jq worker evaluates a program over large data; its result is `.text`.
void run_all(InstanceRun& run) {
  run.proceed();
  if (run.instance().parked) {
    run.evaluated({LazyJson::of_tree(run.instance().data.value()["text"])});
  }
  while (run.last().unfinished) run.proceed();
}

std::vector<Event> published(const InstanceRun& run) {
  std::vector<Event> events;
  for (const Effect& effect : run.effects()) {
    if (const auto* const publish = std::get_if<Publish>(&effect)) events.push_back(publish->event);
  }
  return events;
}

/// The size of the event that the instance has published, without its text of one character.
size_t size_of_rest(const InstanceRun& run) {
  return encode_json_event(published(run).at(0)).size() - 1;
}

/// Runs a workflow that generates this event; `text` is a value of its data.
InstanceRun send(const char* event, std::string text) {
  InstanceRun run(load_right_workflow(std::string("{id: send, states: [{id: send, "
                                                  "type: generateEvent, event: {") +
                                      event + "}}]}"),
                  {{"text", std::move(text)}});
  run_all(run);
  return run;
}

TEST(Visit, LimitsAnEventToTheSizeOfOneMessage) {
  const char* const parts[] = {
      "type: t, source: s, data: jq(.text)",
      "type: t, source: s, data: jq(.text), datacontenttype: text/plain",
      "type: t, source: jq(.text), data: 1",
      "type: jq(.text), source: s, data: 1",
      "type: t, source: s, data: 1, context: {subject: jq(.text)}",
      "type: t, source: s, data: 1, context: {dataschema: 'a:jq(.text)'}",
      "type: t, source: s, data: 1, context: {other: jq(.text)}",
  };
  for (const char* const event : parts) {
    // The size of the event without the text gives the longest text that fits.
    const InstanceRun empty = send(event, "x");
    ASSERT_THAT(published(empty), SizeIs(1)) << event;
    const size_t rest = size_of_rest(empty);
    // `.` is not a Base64 character, so text/plain sends the text unchanged.
    const InstanceRun just = send(event, std::string(kMostBytes - rest, '.'));
    EXPECT_THAT(published(just), SizeIs(1)) << event;
    const InstanceRun over = send(event, std::string(kMostBytes - rest + 1, '.'));
    EXPECT_EQ(error_of(over), "millrace.event.tooLarge") << event;
    EXPECT_THAT(over.effects(), Each(VariantWith<Evaluate>(_))) << event;
  }
}

TEST(Visit, MeasuresAnEventInTheEncodingInWhichItIsSent) {
  // A tab is two bytes of JSON, other control characters are six: \u0001.
  for (const auto& [character, bytes] : {std::pair('\t', 2), std::pair('\x01', 6)}) {
    const char* const event = "type: t, source: s, data: jq(.text), datacontenttype: text/plain";
    const InstanceRun one = send(event, ".");
    ASSERT_THAT(published(one), SizeIs(1));
    const size_t most = (kMostBytes - size_of_rest(one)) / static_cast<size_t>(bytes);
    EXPECT_EQ(error_of(send(event, std::string(most, character))), "") << bytes;
    EXPECT_EQ(error_of(send(event, std::string(most + 1, character))), "millrace.event.tooLarge")
        << bytes;
  }
}

TEST(Visit, RaisesAnErrorThatACatchMatchesIfAnEventIsTooLarge) {
  InstanceRun run(load_right_workflow(R"(
id: send
states:
- id: send
  type: generateEvent
  event: {type: t, source: s}
  catch: [{error: millrace.event.tooLarge}]
)"),
                  {{"text", std::string(kMostBytes, 'x')}});
  run.proceed();
  EXPECT_EQ(run.instance().status, InstanceStatus::kComplete);
}

TEST(Visit, LimitsTheNestingOfDataAfterATransformTo128Levels) {
  const auto workflow = load_right_workflow(
      "{id: deep, states: [{id: deep, type: noop, transform: {a: {b: jq(.deep)}}}]}");
  InstanceRun just(workflow, {{"deep", nested(126)}});
  just.proceed();
  EXPECT_EQ(just.instance().status, InstanceStatus::kComplete);
  InstanceRun over(workflow, {{"deep", nested(127)}});
  over.proceed();
  EXPECT_EQ(error_of(over), "millrace.limits.data");
}

TEST(Visit, LimitsTheNestingOfDataThatHoldsAnEventTo128Levels) {
  struct Row {
    const char* state;
    size_t most;  ///< the maximum depth of the payload
  };
  const Row rows[] = {
      {"type: consumeEvent, event: {type: t}", 127},
      {"type: eventXor, events: [{type: t}]", 127},
      {"type: eventAnd, events: [{type: t}]", 127},
      {"type: consumeEvent, event: {type: t, capture: event}", 126},
  };
  for (const Row& row : rows) {
    const auto workflow =
        load_right_workflow(std::string("{id: deep, states: [{id: deep, ") + row.state + "}]}");
    InstanceRun just(workflow);
    just.proceed();
    just.event(event_of(nested(row.most)));
    EXPECT_EQ(just.instance().status, InstanceStatus::kComplete) << row.state;
    EXPECT_FALSE(nests_deeper(just.instance().data.value(), kMaxJsonDepth)) << row.state;
    InstanceRun over(workflow);
    over.proceed();
    over.event(event_of(nested(row.most + 1)));
    EXPECT_EQ(error_of(over), "millrace.limits.data") << row.state;
  }
}

TEST(Visit, RaisesAnErrorThatACatchMatchesIfTheDataNestsTooDeep) {
  InstanceRun run(load_right_workflow(R"(
id: deep
states:
- id: wait
  type: consumeEvent
  event: {type: t}
  catch: [{error: millrace.limits.data}]
)"));
  run.proceed();
  run.event(event_of(nested(128)));
  EXPECT_EQ(run.instance().status, InstanceStatus::kComplete);
  EXPECT_THAT(run.rows().back().does, Contains(StartsWith("raises millrace.limits.data")));
}

/// A workflow that sets a variable to `value` and reads it.
std::shared_ptr<const Workflow> storing(const std::string& value) {
  return load_right_workflow(R"(
id: storing
states:
- id: set
  type: setter
  variables: [{key: a, value: ')" +
                             value + R"('}]
  transition: get
- id: get
  type: getter
  variables: [{key: a}, {key: b, scope: namespace}]
)");
}

TEST(Visit, LimitsAVariableToFourMebibytes) {
  // The two quotation marks of the JSON string and the `<` count. The result of the jq program,
  // which has the same limit, is shorter.
  const auto workflow = storing("<jq(.text)");
  InstanceRun just(workflow, {{"text", std::string(kMaxVariableBytes - 3, 'x')}});
  run_all(just);
  EXPECT_EQ(error_of(just), "");
  EXPECT_EQ(just.instance().status, InstanceStatus::kComplete);
  InstanceRun over(workflow, {{"text", std::string(kMaxVariableBytes - 2, 'x')}});
  run_all(over);
  EXPECT_EQ(error_of(over), "millrace.limits.variable");
  EXPECT_THAT(over.effects(), Each(VariantWith<Evaluate>(_)));
}

TEST(Visit, LimitsTheVariablesOfOneGetterToFourMebibytes) {
  for (const auto& [bytes, code] : {std::pair(kMaxVariableBytes - 3, ""),
                                    std::pair(kMaxVariableBytes - 2, "millrace.limits.data")}) {
    InstanceRun run(storing("jq(.text)"), {{"text", "x"}});
    run.set_variable(VariableScope::kNamespace, "b",
                     Variable{.content_type = "text/plain", .bytes = std::string(bytes, '.')});
    run.proceed();
    EXPECT_EQ(error_of(run), code);
  }
}

TEST(Visit, SetsManyBytesOfVariablesInSeveralSteps) {
  const auto workflow = load_right_workflow(R"(
id: much
states:
- {id: a, type: setter, variables: [{key: a, value: 1234}], transition: b}
- {id: b, type: setter, variables: [{key: b, value: 1234}], transition: c}
- {id: c, type: setter, variables: [{key: c, value: 1234}]}
)");
  InstanceRun run(workflow, Json::object(), {.bytes_per_step = 8});
  run.proceed();
  EXPECT_TRUE(run.last().unfinished);
  EXPECT_EQ(run.effects().size(), 2u);
  run.proceed();
  EXPECT_FALSE(run.last().unfinished);
  EXPECT_EQ(run.effects().size(), 3u);
  EXPECT_EQ(run.instance().status, InstanceStatus::kComplete);
}

}  // namespace
}  // namespace millrace
