// Why an event started no instance, over HTTP on a running server.
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/integration/why_situations.h"

namespace millrace {
namespace {

constexpr const char* kStartsAndEnds = R"(start: {type: event, event: {type: NAME}}
states:
  - {id: end, type: noop}
)";
constexpr const char* kStartsByEither =
    R"(start: {type: eventsXor, events: [{type: NAME}, {type: NAMEtwo}]}
states:
  - {id: end, type: noop}
)";
constexpr const char* kStartsAndRests = R"(start: {type: event, event: {type: NAME}}
states:
  - {id: rest, type: delay, duration: PT1H}
)";
constexpr const char* kStartsOne = R"(singular: true
start: {type: event, event: {type: NAME}}
states:
  - {id: rest, type: delay, duration: PT1H}
)";
constexpr const char* kStartsAtARate = R"(rateLimit: {limit: 1, period: PT1H}
start: {type: event, event: {type: NAME}}
states:
  - {id: end, type: noop}
)";
constexpr const char* kStartsLater = R"(debounce: {period: PT1H}
start: {type: event, event: {type: NAME}}
states:
  - {id: end, type: noop}
)";
constexpr const char* kStartsInBatches = R"(batch: {maxSize: 10, timeout: PT1H}
start: {type: event, event: {type: NAME}}
states:
  - {id: end, type: noop}
)";
constexpr const char* kStartsInOneSlot = R"(concurrency: {limit: 1}
start: {type: event, event: {type: NAME}}
states:
  - {id: rest, type: delay, duration: PT1H}
)";
constexpr const char* kStartsByPair = R"(start:
  type: eventsAnd
  correlate: [orderid]
  events: [{type: NAME}, {type: NAMEtwo}]
states:
  - {id: end, type: noop}
)";
constexpr const char* kStartsByShortPair = R"(start:
  type: eventsAnd
  lifespan: PT0.1S
  correlate: [orderid]
  events: [{type: NAME}, {type: NAMEtwo}]
states:
  - {id: end, type: noop}
)";

Json with_order(std::string order) { return {{"orderid", std::move(order)}}; }

/// A start with these filters gets an event with these members.
Situation starting_with(std::string name, std::string_view filters, Json event,
                        std::string expected) {
  return {
      .name = std::move(name),
      .definition = fmt::format(R"(start: {{type: event, event: {{type: NAME, filters: {{{}}}}}}}
states:
  - {{id: end, type: noop}}
)",
                                filters),
      .steps = {steps::tries_and_sends(std::move(event))},
      .expected = std::move(expected)};
}

/// Two events that were meant for one group, whose values of `orderid` differ.
Situation misspelled(std::string name, std::string first, std::string second, std::string says) {
  return {.name = std::move(name),
          .definition = kStartsByPair,
          .steps = {steps::sends_other(with_order(std::move(first))),
                    steps::sends(with_order(std::move(second)), "two")},
          .expected = "grouped",
          .says = std::move(says)};
}

}  // namespace

std::vector<Situation> situations_of_starts() {
  using namespace steps;
  return {
      {"start", kStartsAndEnds, {sends()}, "started", "the event started the instance"},
      {"starttry", kStartsAndEnds, {tries()}, "started", "the event would start an instance"},
      {"starteither", kStartsByEither, {sends(Json::object(), "two")}, "started"},
      {"newer",
       "",
       {sends(), applies(kStartsAndEnds)},
       "before",
       "before the definition with this start was applied"},
      starting_with("startfits", "source: '^bank'", Json::object(), "started"),
      starting_with("startsource", "source: '^shop'", Json::object(), "predicate -"),
      starting_with("startcase", "orderid: '^o-1$'", with_order("O-1"), "predicate case"),
      starting_with("startspace", "orderid: '^o-1$'", with_order("o-1 "), "predicate space"),
      starting_with("startdata", "orderid: '^o-1$'", {{"data", with_order("o-1")}},
                    "predicate data"),
      starting_with("startsteps", "orderid: '^(?=(a+)+$)'", with_order(std::string(200, 'a') + "!"),
                    "limit -"),
      {"startcopy", kStartsAndEnds, {sends_other(), copies()}, "duplicate"},
      {"startcopytry", kStartsAndEnds, {sends_other(), tries_copy()}, "duplicate"},
      {"startaddressed",
       kStartsAndEnds,
       {applies(kStartsAndEnds, "other"), sends(), replays("workflow=NAMEother")},
       "predicate",
       "but to the workflow `startaddressedother`"},
      {"startaddressee", kStartsAndEnds, {sends(), replays("workflow=NAME")}, "started"},
      // A group of events.
      {"group",
       kStartsByPair,
       {sends(with_order("a"))},
       "grouped",
       "the event waits in a group for `grouptwo` with `orderid` \"a\"",
       {{"waitsFor", Json::array({"grouptwo"})}}},
      {"grouptry",
       kStartsByPair,
       {tries(with_order("a"))},
       "grouped",
       "the event would wait in a group"},
      {"groupwhole",
       kStartsByPair,
       {sends_other(with_order("a")), sends(with_order("a"), "two")},
       "started"},
      {"groupwholetry",
       kStartsByPair,
       {sends_other(with_order("a")), tries(with_order("a"), "two")},
       "started"},
      misspelled("groupcase", "a", "A", "the two differ in upper and lower case only"),
      misspelled("groupspace", "a", "a ", "the two differ in white space at the ends only"),
      misspelled("groupzeros", "7", "007", "the two differ in leading zeros only"),
      misspelled("grouptypo", "A-1031", "A-1301", "the two differ in one typo only"),
      {"nogroup", kStartsByPair, {sends()}, "correlation", "`orderid`"},
      {"nogrouptry", kStartsByPair, {tries()}, "correlation", "`orderid`"},
      {"nogroupdata",
       kStartsByPair,
       {sends({{"data", with_order("a")}})},
       "correlation data",
       "`orderid`"},
      {"groupleft",
       kStartsByShortPair,
       {sends(with_order("a")), is_judged("lifespan")},
       "lifespan",
       "its lifespan ended"},
      {"partnerleft",
       kStartsByShortPair,
       {sends(with_order("a")), is_judged("lifespan"), sends(with_order("a"), "two"),
        is_judged("lifespan")},
       "lifespan",
       ", of the type `partnerleft`, has left the group: its lifespan ended"},
      {"groupclosed",
       kStartsByPair,
       {sends(with_order("a")), drops_group(), is_judged("lifespan")},
       "lifespan",
       "the start was changed or the group was dropped, which closed it"},
      // Something holds the start back.
      {"single", kStartsOne, {sends_other(), sends()}, "skipped", "the start was skipped"},
      {"singletry", kStartsOne, {sends_other(), tries()}, "skipped", "would be skipped"},
      {"limited",
       kStartsAtARate,
       {sends_other(), sends()},
       "rateLimit",
       "rate limit of workflow limited (1 in PT1H): it was used up, so the start was skipped"},
      {"limitedtry",
       kStartsAtARate,
       {sends_other(), tries()},
       "rateLimit",
       "it is used up, so the start would be skipped"},
      {"debounced", kStartsLater, {sends()}, "debounced", "which has put off the start"},
      {"debouncedtry", kStartsLater, {tries()}, "debounced", "which would put off the start"},
      {"batched", kStartsInBatches, {sends()}, "batched", "the event is in the input of an"},
      {"batchedtry", kStartsInBatches, {tries()}, "batched", "the event would be in the input of"},
      {"slottry",
       kStartsInOneSlot,
       {sends_other(), tries()},
       "started",
       "which would wait for a slot of its `concurrency` (limit 1): no start waits before it"},
      {"held",
       kStartsAndEnds,
       {posts("workflows/NAME/pause"), sends()},
       "paused",
       "`millrace -n default workflow resume held`"},
      {"heldtry",
       kStartsAndEnds,
       {posts("workflows/NAME/pause"), tries()},
       "paused",
       "`millrace -n default workflow resume heldtry`"},
      {"quota",
       kStartsAndRests,
       {sends_other(), sets({{"quotas", {{"instances", 1}}}}), sends()},
       "dead",
       "the event became a dead letter"},
      {"quotatry",
       kStartsAndRests,
       {sends_other(), sets({{"quotas", {{"instances", 1}}}}), tries()},
       "dead",
       "the start would be refused, and the event would become a dead letter"},
  };
}

namespace {

TEST_F(WhySituations, SayWhyNothingStarted) { run(situations_of_starts()); }

}  // namespace
}  // namespace millrace
