// Playing scenarios: virtual time, given events and commands, and reports of failed expectations.
#include "scenarios/play.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "base/check.h"
#include "tests/unit/scenarios/texts.h"

namespace millrace {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

/// A workflow that waits up to an hour for a payment. After the payment it waits a day, then ships.
constexpr const char* kOrder = R"(
id: order
states:
  - id: wait
    type: consumeEvent
    event: {type: paid, context: {customer: jq(.customer)}}
    timeout: 1h
    transform: {amount: jq(.paid.amount)}
    transition: rest
    catch: [{error: direktiv.stateTimeout, transition: lost}]
  - {id: rest, type: delay, duration: 1d, transition: ship}
  - {id: ship, type: generateEvent, event: {type: shipped, source: /order, data: {n: jq(.amount)}}}
  - {id: lost, type: error, error: order.lost, message: it was not paid}
)";

/// The outcome of a file with one scenario. `lines` are its lines without their indentation.
PlayOutcome outcome_of(const std::string& workflow, const std::string& lines,
                       const PlayLimits& limits = {}) {
  std::string text = "scenarios:\n  - name: x\n    ";
  for (const char c : lines) text += c == '\n' ? "\n    " : std::string(1, c);
  Findings findings;
  const ScenarioFile file = read_scenarios(text, {{"order.yaml", workflow}}, findings);
  CHECK(!findings.has_errors(), "{}", render_text(findings, "scenarios"));
  const Evaluator none = [](const Evaluation&, const auto&) { CHECK(false, "jq is not needed"); };
  return play(file.scenarios.at(0), file.workflows, none, limits);
}

/// `line:column path: message` of each mismatch; the scenario starts in line 1.
std::string mismatches(const PlayOutcome& outcome) {
  std::string text;
  for (const Mismatch& one : outcome.mismatches) {
    text += fmt::format("{}:{} {}: {}\n", one.at.line - 2, one.at.column, one.path, one.message);
  }
  return text;
}

constexpr const char* kPaidAfterHalfAnHour =
    "start: {input: {customer: c-1}}\n"
    "given: [{at: 30m, event: {type: paid, source: /s, customer: c-1, data: {amount: 5}}}]\n";

TEST(Play, LetsVirtualTimePassWithoutRealWaits) {
  const PlayOutcome outcome =
      outcome_of(kOrder, std::string(kPaidAfterHalfAnHour) +
                             "expect:\n"
                             "  status: complete\n"
                             "  states: [wait, rest, ship]\n"
                             "  output: {amount: 5}\n"
                             "  outputContains: {}\n"
                             "  published: [{type: shipped, data: {n: 5}}]\n"
                             "  took: P1DT30M\n"
                             "  instances: 1\n");
  EXPECT_EQ(mismatches(outcome), "");
  EXPECT_TRUE(outcome.passed());
  EXPECT_TRUE(outcome.story.empty());
}

TEST(Play, LetsAServiceAcceptATaskAndAnswerItByACallback) {
  const char* const asks = R"(
id: order
functions: [{id: ask, type: knative-namespace, service: approvals}]
states:
  - id: ask
    type: action
    action: {function: ask, startToCloseTimeout: 100d, heartbeatTimeout: 1h, retries: {maximumAttempts: 1}}
)";
  struct Row {
    const char* does;
    const char* expected;
  };
  const Row rows[] = {
      {"takes: 30m, return: {approved: true}",
       "{status: complete, took: 30m, output: {return: {approved: true}}}"},
      {"takes: 48h, heartbeat: 50m", "{status: complete, took: 48h}"},
      {"takes: 48h", "{status: failed, took: 1h, error: {code: millrace.timeout.heartbeat}}"},
      {"takes: 30m, error: {code: refused}", "{status: failed, took: 30m, error: {code: refused}}"},
      {"never: ends", "{status: failed, error: {code: millrace.timeout.heartbeat}}"},
  };
  for (const Row& row : rows) {
    EXPECT_EQ(mismatches(outcome_of(
                  asks, fmt::format("functions: {{ask: {{accepts: true, {}}}}}\nstart: {{}}\n"
                                    "expect: {}",
                                    row.does, row.expected))),
              "")
        << row.does;
  }
}

/// A workflow that fails, and has then to undo the booking of a hotel.
constexpr const char* kTrip = R"(
id: order
functions:
- {id: book-hotel, type: service, service: hotels}
- {id: cancel-hotel, type: service, service: hotels}
compensate: true
states:
- id: book
  type: action
  action: {function: book-hotel}
  compensate: {function: cancel-hotel}
  transition: fail
- {id: fail, type: error, error: no.flight, message: there is no flight}
)";

TEST(Play, NamesTheFunctionsWhoseTasksNoEntryAnswersIfAnExpectationFails) {
  const auto trip = [](const char* functions, const char* status) {
    return outcome_of(kTrip, fmt::format("functions: {}\nstart: {{}}\nexpect: {{status: {}}}",
                                         functions, status));
  };
  const PlayOutcome outcome = trip("{book-hotel: {}}", "failed");
  EXPECT_EQ(mismatches(outcome),
            "3:22 scenarios[0].expect.status: expected \"failed\", got \"running\"\n");
  EXPECT_THAT(outcome.unanswered,
              ElementsAre("the function \"cancel-hotel\" has no entry in `functions`, so its tasks "
                          "are not answered"));
  EXPECT_THAT(trip("{book-hotel: {}, cancel-hotel: {}}", "complete").unanswered, IsEmpty());
  EXPECT_THAT(trip("{book-hotel: {}, cancel-hotel: {never: begins}}", "failed").unanswered,
              IsEmpty())
      << "the scenario says that the task is not answered";
}

TEST(Play, ExpectsAnInstanceThatWaitsForACompensationOrIsPaused) {
  const char* const lines = "functions: {book-hotel: {}}\nstart: {}\nexpect: {status: running}";
  EXPECT_EQ(mismatches(outcome_of(kTrip, lines)), "");
  EXPECT_EQ(mismatches(outcome_of(kTrip,
                                  "start: {}\ngiven: [{at: 1h, pause: true}]\n"
                                  "expect: {status: paused}")),
            "");
}

TEST(Play, MakesVariablesOfTheFilesThatAFunctionWrites) {
  const auto workflow = [](const char* function) {
    return fmt::format(R"(
id: order
functions: [{{id: print, {}}}]
states:
  - id: print
    type: action
    action: {{function: print}}
    catch: [{{error: torn, transition: read}}]
    transition: read
  - id: read
    type: getter
    variables: [{{key: letter}}, {{key: note, scope: workflow}}, {{key: all, scope: namespace}}]
)",
                       function);
  };
  const char* const service = "type: service, service: printers";
  const char* const container = "type: container, image: printer";
  const char* const written =
      "{letter: {pages: 2}, note: aGVsbG8=, all: 7}";  // Base64 of hello, which is not JSON
  struct Row {
    const char* function;
    const char* does;
    const char* read;
  };
  const Row rows[] = {
      {container, "return: 1", written},
      {container, "error: {code: torn}", written},
      {container, "return: 1, accepts: true", "{letter: null, note: null, all: null}"},
      {service, "return: 1, accepts: true, takes: 1h", written},
  };
  for (const Row& row : rows) {
    const std::string lines = fmt::format(
        "functions:\n"
        "  print:\n"
        "    {{{}, files: {{instance: {{letter: {{pages: 2}}}}, workflow: {{note: hello}},\n"
        "     namespace: {{all: 7}}}}}}\n"
        "start: {{}}\n"
        "expect: {{status: complete, outputContains: {{var: {}}}}}",
        row.does, row.read);
    EXPECT_EQ(mismatches(outcome_of(workflow(row.function), lines)), "") << row.does;
  }
}

TEST(Play, CountsMonthsByTheCalendar) {
  const char* const months = "id: order\nstates:\n  - {id: wait, type: delay, duration: P1M}\n";
  EXPECT_EQ(mismatches(outcome_of(months, "start: {}\nexpect: {took: P1M}")), "");
  EXPECT_EQ(mismatches(outcome_of(months, "start: {}\nexpect: {took: 30d}")), "");  // September
}

TEST(Play, ComparesTheTimesOfAttemptsAndNotTheirTexts) {
  const char* const later =
      "id: order\nfunctions: [{id: ship, type: service, service: ship}]\nstates:\n"
      "  - {id: wait, type: delay, duration: PT25H, transition: ship}\n"
      "  - {id: ship, type: action, action: {function: ship}}\n";
  for (const char* const time : {"25h", "1d1h", "P1DT1H", "1500 min"}) {
    EXPECT_EQ(mismatches(outcome_of(later, fmt::format("functions: {{ship: {{}}}}\nstart: {{}}\n"
                                                       "expect: {{attempts: [{}]}}",
                                                       time))),
              "")
        << time;
  }
  EXPECT_THAT(mismatches(outcome_of(
                  later, "functions: {ship: {}}\nstart: {}\nexpect: {attempts: [25h, 26h]}")),
              HasSubstr("expected [\"25h\",\"26h\"], got [\"1d1h\"]"));
}

TEST(Play, ReportsAFailedExpectationAtItsPosition) {
  struct Row {
    const char* expected;
    const char* message;
  };
  const Row rows[] = {
      {"status: failed", "expected \"failed\", got \"complete\""},
      {"states: [wait, lost]", "expected [\"wait\",\"lost\"], got [\"wait\",\"rest\",\"ship\"]"},
      {"states: []", "expected [], got [\"wait\",\"rest\",\"ship\"]"},
      {"compensated: [wait]", "expected [\"wait\"], got []"},
      {"compensations: [{state: wait}]", "expected [{\"state\":\"wait\"}], got []"},
      {"compensationsLeft: [{state: wait}]", "expected [{\"state\":\"wait\"}], got []"},
      {"waits: slot",
       "expected \"slot\", but the instance waits for no limit; its status is complete"},
      {"output: {amount: 6}", ".amount: expected 6, got 5"},
      {"output: {}", ".amount: not expected, got 5"},
      {"outputContains: {x: 1}", ".x: expected 1, but it is missing"},
      {"error: {code: order.lost}", "the instance has no error; its status is complete"},
      {"published: []", "expected [], got [{"},
      {"published: [{type: shopped}]", "[0].type: expected \"shopped\", got \"shipped\""},
      {"published: [{data: {n: 5}}, {}]", "expected [{\"data\":{\"n\":5}},{}], got [{"},
      {"attempts: [25h]", "expected [\"25h\"], got []"},
      {"took: 30m", "expected 30m, got 1d30m"},
      {"took: 0s", "expected 0s, got 1d30m"},
      {"instances: 2", "expected 2, got 1"},
  };
  for (const Row& row : rows) {
    const PlayOutcome outcome =
        outcome_of(kOrder, fmt::format("{}expect: {{{}}}", kPaidAfterHalfAnHour, row.expected));
    EXPECT_FALSE(outcome.passed()) << row.expected;
    EXPECT_EQ(outcome.mismatches.size(), 1U) << row.expected;
    EXPECT_THAT(mismatches(outcome), HasSubstr(row.message));
    const std::string aspect(row.expected, std::string_view(row.expected).find(':'));
    EXPECT_THAT(mismatches(outcome), HasSubstr("scenarios[0].expect." + aspect));
    EXPECT_TRUE(mismatches(outcome).starts_with("3:")) << mismatches(outcome);
    ASSERT_FALSE(outcome.story.empty());
    EXPECT_EQ(outcome.story[0], "what happened to order:");
    EXPECT_EQ(outcome.story[2], "  0s       entered    wait");
    EXPECT_THAT(outcome.story[3], HasSubstr("  30m      woken      wait {"));
    EXPECT_THAT(outcome.story[5], HasSubstr("  1d30m    elapsed    rest"));
  }
}

TEST(Play, ReportsFailedExpectationsInTheOrderOfTheFile) {
  EXPECT_EQ(
      mismatches(outcome_of(kOrder, std::string(kPaidAfterHalfAnHour) + "expect:\n"
                                                                        "  took: 1h\n"
                                                                        "  status: failed\n")),
      "4:13 scenarios[0].expect.took: expected 1h, got 1d30m\n"
      "5:15 scenarios[0].expect.status: expected \"failed\", got \"complete\"\n");
}

TEST(Play, DeliversAGivenEventToTheInstanceThatWaitsForIt) {
  const auto states = [](const std::string& given) {
    return mismatches(outcome_of(kOrder,
                                 "start: {input: {customer: c-1}}\n"
                                 "given:\n" +
                                     given + "expect: {states: [wait, rest, ship]}\n"));
  };
  EXPECT_EQ(states("  - {at: 59m, event: {type: paid, source: /s, customer: c-1}}\n"), "");
  EXPECT_THAT(states("  - {at: 1h, event: {type: paid, source: /s, customer: c-1}}\n"),
              HasSubstr("got [\"wait\",\"lost\"]"))
      << "the deadline passes before the event";
  EXPECT_THAT(states("  - {at: 1m, event: {type: paid, source: /s, customer: c-2}}\n"),
              HasSubstr("got [\"wait\",\"lost\"]"));
}

TEST(Play, GivesEventsThatNameTheInstance) {
  const char* const asks =
      "id: order\n"
      "states:\n"
      "  - id: wait\n"
      "    type: consumeEvent\n"
      "    event: {type: paid, context: {reply: jq($instance.id)}}\n"
      "    transform: {paid: jq(.paid)}\n";
  EXPECT_EQ(
      mismatches(outcome_of(asks,
                            "start: {}\n"
                            "given:\n"
                            "- {at: 1m, event: {type: paid, source: /s, reply: x, data: 1}}\n"
                            "- at: 2m\n"
                            "  event: {type: paid, source: /s, reply: jq($instance.id), data: 2}\n"
                            "expect: {status: complete, took: 2m, output: {paid: 2}}\n")),
      "");
  EXPECT_EQ(
      mismatches(outcome_of(asks,
                            "given: [{event: {type: paid, source: /s, reply: jq($instance.id)}}]\n"
                            "expect: {instances: 0}\n")),
      "1:13 scenarios[0].given[0]: there is no instance of order yet\n");
}

TEST(Play, EndsAlthoughAnInstanceWaitsForEver) {
  const char* const patient =
      "id: order\nstates:\n  - {id: wait, type: consumeEvent, event: {type: paid}}\n";
  EXPECT_EQ(mismatches(outcome_of(patient, "start: {}\nexpect: {status: waiting}")), "");
  EXPECT_EQ(mismatches(outcome_of(patient, "start: {}\nexpect: {took: 1h, output: {}}")),
            "2:20 scenarios[0].expect.took: the instance has not ended; its status is waiting\n"
            "2:32 scenarios[0].expect.output: the instance has no output; its status is waiting\n");
}

TEST(Play, ExpectsTheLimitForWhichAStartOrACallWaits) {
  const char* const limited =
      "id: order\n"
      "start: {type: event, event: {type: paid}}\n"
      "concurrency: {limit: 1}\n"
      "functions:\n"
      "- {id: f, type: service, service: s, throttle: {limit: 1, period: PT1H}}\n"
      "states:\n"
      "- {id: each, type: foreach, array: '[1, 2]', action: {function: f}}\n";
  const std::string given =
      "functions: {f: {never: ends}}\n"
      "given: [{event: {type: paid, source: s}}, {event: {type: paid, source: s}}]\n"
      "until: 59m\nexpect:\n";
  EXPECT_EQ(mismatches(outcome_of(limited, given + "- {status: waiting, waits: throttle}\n"
                                                   "- {instance: 2, status: pending, waits: slot}\n"
                                                   "- {instance: 1, instances: 2}\n")),
            "");
  const std::string wrong =
      mismatches(outcome_of(limited, given + "- {status: pending, waits: slot}\n"
                                             "- {instance: 2, waits: throttle}\n"
                                             "- {instance: 3, status: waiting}\n"));
  EXPECT_THAT(wrong, HasSubstr("expected \"pending\", got \"waiting\""));
  EXPECT_THAT(wrong, HasSubstr("expected \"slot\", but it waits for the throttle; its status is "
                               "waiting"));
  EXPECT_THAT(wrong, HasSubstr("expected \"throttle\", but it waits for the slot; its status is "
                               "pending"));
  EXPECT_THAT(wrong, HasSubstr("there is no instance 3 of order"));
}

TEST(Play, ExpectsCompensationsWithTheirInputs) {
  const char* const undone =
      "id: order\n"
      "compensate: true\n"
      "functions:\n"
      "- {id: refund, type: service, service: s}\n"
      "- {id: release, type: service, service: s}\n"
      "states:\n"
      "- {id: pay, type: noop, compensate: {function: refund, input: jq(.paid)}, transition: "
      "seat}\n"
      "- {id: seat, type: noop, compensate: {function: release}, transition: stop}\n"
      "- {id: stop, type: error, error: no.seat, message: none}\n";
  const std::string start = "start: {input: {paid: {amount: 5, by: card}}}\n";
  EXPECT_EQ(mismatches(outcome_of(
                undone, "functions: {refund: {takes: 1m}, release: {takes: 1m}}\n" + start +
                            "expect:\n"
                            "  compensations: [{state: seat, input: {paid: {amount: 5}}},\n"
                            "    {state: pay, input: {amount: 5}}]\n"
                            "  compensationsLeft: []\n")),
            "");
  const std::string fails = "functions: {refund: {}, release: {error: {code: full}}}\n" + start;
  EXPECT_EQ(mismatches(outcome_of(
                undone, fails + "expect:\n"
                                "  compensations: []\n"
                                "  compensationsLeft: [{state: seat, error: {code: full}},\n"
                                "    {state: pay, input: {by: card}}]\n")),
            "");
  const std::string wrong = mismatches(outcome_of(
      undone, fails + "expect: {compensationsLeft: [{state: pay}, {error: {code: full}}]}\n"));
  EXPECT_THAT(wrong, HasSubstr("[0].state: expected \"pay\", got \"seat\""));
  EXPECT_THAT(wrong, HasSubstr("[1].error: expected {\"code\":\"full\"}, but it is missing"));
}

TEST(Play, EndsAtTheTimeThatTheKeyUntilSets) {
  const std::string start = "start: {input: {customer: c-1}}\n";
  EXPECT_EQ(mismatches(outcome_of(kOrder, start + "until: 59m\nexpect: {status: waiting}")), "");
  EXPECT_EQ(mismatches(outcome_of(kOrder, start + "until: 1h\nexpect: {status: failed}")), "");
}

TEST(Play, CancelsTheInstanceOfTheScenario) {
  const std::string start = "start: {input: {customer: c-1}}\n";
  EXPECT_EQ(mismatches(outcome_of(kOrder, start + "given: [{at: 5m, cancel: true}]\n"
                                                  "expect: {status: cancelled, took: 5m}")),
            "");
  EXPECT_THAT(mismatches(outcome_of(kOrder, start + "given: [{at: 2h, cancel: true}]\n"
                                                    "expect: {status: failed}")),
              HasSubstr("2:13 scenarios[0].given[0]: instance "));
  EXPECT_EQ(mismatches(outcome_of(kOrder,
                                  "given: [{at: 2h, cancel: true}]\n"
                                  "expect: {instances: 0}")),
            "1:13 scenarios[0].given[0]: there is no instance of order yet\n");
}

TEST(Play, ReportsThatThereIsNoInstance) {
  EXPECT_EQ(mismatches(outcome_of(kOrder,
                                  "given: [{event: {type: paid, source: /s}}]\n"
                                  "expect: {status: complete}")),
            "2:22 scenarios[0].expect.status: there is no instance of order\n");
}

TEST(Play, RecordsTheSameHistoriesEachTimeItPlaysAScenario) {
  const auto story = [] {
    return outcome_of(kOrder, std::string(kPaidAfterHalfAnHour) + "expect: {status: failed}").story;
  };
  EXPECT_EQ(story(), story());
}

TEST(Play, AbandonsAScenarioWhoseWorkflowNeverEnds) {
  const char* const ticking = R"(
id: order
states:
  - {id: a, type: delay, duration: 1s, transition: b}
  - {id: b, type: noop, transition: a}
)";
  const std::string lines = "start: {}\nexpect: {status: complete}";
  const std::string endless = mismatches(outcome_of(ticking, lines, {.jumps = 50}));
  EXPECT_TRUE(endless.starts_with("0:5 : abandoned after ")) << endless;
  EXPECT_THAT(endless, HasSubstr("another deadline is always due; \"until\" ends a scenario"));
  EXPECT_EQ(mismatches(outcome_of(ticking, "start: {}\nuntil: 10s\nexpect: {status: waiting}",
                                  {.jumps = 50})),
            "");
  EXPECT_THAT(mismatches(outcome_of(ticking, lines, {.real_time = Duration(-1)})),
              HasSubstr("abandoned after 0s of virtual time: the test took too long"));
  EXPECT_THAT(mismatches(outcome_of(ticking, lines, {.interrupted = [] { return true; }})),
              HasSubstr("the test took too long"));
}

TEST(Play, EndsALoopWithoutWaitsAtTheLimitOfTransitions) {
  const char* const spinning = R"(
id: order
states:
  - {id: a, type: noop, transition: b}
  - {id: b, type: noop, transition: a}
)";
  const PlayOutcome outcome = outcome_of(spinning,
                                         "start: {}\nexpect: {status: failed, states: [a], "
                                         "error: {code: millrace.limits.transitions}}");
  ASSERT_EQ(outcome.mismatches.size(), 1U);
  EXPECT_LT(outcome.mismatches[0].message.size(), 1000U);
  EXPECT_LT(outcome.story.size(), 50U) << "the story has only the start and the end of the loop";
  EXPECT_THAT(outcome.story.back(), HasSubstr("ended"));
}

TEST(Play, EndsAChainOfGeneratedEventsAtTheLimitOfHops) {
  const char* const echoing = R"(
id: order
start: {type: event, event: {type: echo}}
states:
  - {id: a, type: generateEvent, event: {type: echo, source: /order}}
)";
  EXPECT_EQ(mismatches(outcome_of(echoing,
                                  "given: [{event: {type: echo, source: /s}}]\n"
                                  "expect: {instances: 101}")),
            "");
}

}  // namespace
}  // namespace millrace
