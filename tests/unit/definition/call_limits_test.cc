// The limits that workflows have for the calls of one service, compared.
#include "orchestrator/definition/call_limits.h"

#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "language/document.h"
#include "orchestrator/definition/loader.h"

namespace millrace {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

/// A workflow with one call; `keys` are those of its function and of its action.
std::string calling(const std::string& id, const std::string& target,
                    const std::string& of_function, const std::string& of_action = "") {
  return fmt::format(
      "id: {}\nfunctions:\n- {{id: f, type: {}{}}}\nstates:\n- {{id: s, type: action, timeout: 1h, "
      "action: {{function: f{}}}}}\n",
      id, target, of_function, of_action);
}

constexpr const char* kBank = "service, service: bank";

/// `severity path` of the findings in the text beside a workflow `settle`.
std::vector<std::string> found(const std::string& settle, const std::string& text) {
  const Loaded other = load_workflow(settle, nullptr);
  EXPECT_NE(other.workflow, nullptr) << render_text(other.findings, "settle");
  const auto limits = std::make_shared<CallLimits>();
  if (other.workflow) limits->add(*other.workflow);
  EXPECT_NE(load_workflow(text, nullptr).workflow, nullptr) << text;
  Findings findings;
  lint_limits(
      parse_document(text, findings).value(), [&] { return limits; }, findings);
  std::vector<std::string> places;
  for (const Finding& one : findings.sorted()) {
    places.push_back((one.severity == Severity::kNote ? "note " : "warning ") + one.path);
  }
  return places;
}

/// Those of a workflow beside one whose calls of the bank have that limit.
std::vector<std::string> found_beside(const std::string& limit, const std::string& of_function,
                                      const std::string& of_action = "") {
  return found(calling("settle", kBank, ", " + limit),
               calling("pay", kBank, of_function, of_action));
}

TEST(CallLimits, PointOutCallsWithoutTheLimitOfAnotherWorkflow) {
  const std::string slots = "concurrency: {limit: 3, key: jq(.customer)}";
  EXPECT_THAT(found_beside(slots, ""), ElementsAre("warning functions[0].service"));
  EXPECT_THAT(found_beside(slots, ", throttle: {limit: 1, period: PT1M}"),
              ElementsAre("warning functions[0].service"));
  EXPECT_THAT(found_beside(slots, ", " + slots), IsEmpty());
  EXPECT_THAT(found_beside(slots, "", ", " + slots), IsEmpty());
  EXPECT_THAT(found_beside(slots, ", concurrency: {limit: 3, key: .customer}"), IsEmpty())
      << "the same key in another spelling";
  EXPECT_THAT(found_beside("throttle: {limit: 3, period: PT1M}", ""),
              ElementsAre("warning functions[0].service"));
}

TEST(CallLimits, SayWhichLimitIsNotKept) {
  const auto limits = std::make_shared<CallLimits>();
  limits->add(*load_workflow(calling("settle", kBank,
                                     ", concurrency: {limit: 3, key: jq(.customer)}, throttle: "
                                     "{limit: 1, period: PT6S}"),
                             nullptr)
                   .workflow);
  Findings findings;
  const std::string text = calling("pay", kBank, ", concurrency: {limit: 3}");
  lint_limits(
      parse_document(text, findings).value(), [&] { return limits; }, findings);
  EXPECT_EQ(
      render_text(findings, "pay"),
      "pay:3:35: warning: functions[0].service: workflow \"settle\" lets 1 call of the service "
      "\"bank\" be handed out in PT6S, and calls of this function have no `throttle`, so they "
      "neither count nor wait; write `throttle: {limit: 1, period: PT6S}` in the function, "
      "unless its calls may exceed the limit [lint.limit_not_kept]\n"
      "pay:3:54: warning: functions[0].concurrency: these calls do not count together with "
      "those of workflow \"settle\", whose `concurrency` for the service \"bank\" has the key "
      "jq(.customer); write the same `key` in both, or none [lint.limit_not_kept]\n");
}

TEST(CallLimits, SayHowManyFurtherWorkflowsHaveTheLimit) {
  const auto limits = std::make_shared<CallLimits>();
  const auto message = [&](const std::string& pay) {
    Findings findings;
    lint_limits(
        parse_document(calling("pay", kBank, pay), findings).value(), [&] { return limits; },
        findings);
    return findings.sorted().empty() ? std::string() : findings.sorted().front().message;
  };
  const auto add = [&](const std::string& id, int limit) {
    const std::string slots = fmt::format(", concurrency: {{limit: {}}}", limit);
    limits->add(*load_workflow(calling(id, kBank, slots), nullptr).workflow);
  };
  add("book", 2);
  add("order", 2);
  EXPECT_THAT(message(""), HasSubstr("run at once (and 1 more has such a limit), and calls of"));
  add("settle", 5);
  EXPECT_THAT(message(""), HasSubstr("run at once (and 2 more have such limits), and calls of"));
  EXPECT_THAT(message(", concurrency: {limit: 3}"),
              HasSubstr("run at once (and 1 more has such a limit), and these calls go by"));
  add("pay", 9);
  EXPECT_THAT(message(""), HasSubstr("(and 2 more have such limits)")) << "not the workflow itself";
}

TEST(CallLimits, CompareKeys) {
  const std::string slots = "concurrency: {limit: 3, key: jq(.customer)}";
  EXPECT_THAT(found_beside(slots, ", concurrency: {limit: 3}"),
              ElementsAre("warning functions[0].concurrency"));
  EXPECT_THAT(found_beside("concurrency: {limit: 3}", "", ", " + slots),
              ElementsAre("warning states[0].action.concurrency"));
  EXPECT_THAT(found_beside(slots, ", concurrency: {limit: 3, key: jq(.id)}"),
              ElementsAre("note functions[0].concurrency.key"));
  EXPECT_THAT(found_beside("concurrency: {limit: 3, key: {a: jq(.b), c: 1}}",
                           ", concurrency: {limit: 3, key: {a: jq(.b), c: 1}}"),
              IsEmpty());
}

TEST(CallLimits, PointOutCallsThatExceedTheLimitOfAnotherWorkflow) {
  EXPECT_THAT(found_beside("concurrency: {limit: 3}", ", concurrency: {limit: 5}"),
              ElementsAre("warning functions[0].concurrency"));
  EXPECT_THAT(found_beside("concurrency: {limit: 3}", ", concurrency: {limit: 2}"), IsEmpty());
  const char* const in_an_hour = "throttle: {limit: 3, period: PT1H}";
  const auto beside_an_hour = [&](const char* limit) {
    return found_beside(in_an_hour, fmt::format(", throttle: {}", limit));
  };
  for (const char* const limit : {"{limit: 4, period: PT1H}", "{limit: 3, period: PT1M}",
                                  "{limit: 1, period: 59m}", "{limit: 4, period: PT2H}"}) {
    EXPECT_THAT(beside_an_hour(limit), ElementsAre("warning functions[0].throttle")) << limit;
  }
  for (const char* const limit :
       {"{limit: 3, period: PT60M}", "{limit: 2, period: 1h}", "{limit: 3, period: PT2H}"}) {
    EXPECT_THAT(beside_an_hour(limit), IsEmpty()) << limit;
  }
  EXPECT_THAT(found_beside("concurrency: {limit: 3, key: jq(.a)}",
                           ", concurrency: {limit: 5, key: jq(.b)}"),
              ElementsAre("note functions[0].concurrency.key"))
      << "the calls need not count together";
}

TEST(CallLimits, SayByWhatALimitIsExceeded) {
  const auto message = [](const std::string& settle, const std::string& pay) {
    const auto limits = std::make_shared<CallLimits>();
    limits->add(*load_workflow(calling("settle", kBank, ", " + settle), nullptr).workflow);
    Findings findings;
    lint_limits(
        parse_document(calling("pay", kBank, ", " + pay), findings).value(), [&] { return limits; },
        findings);
    return findings.sorted().empty() ? std::string() : findings.sorted().front().message;
  };
  EXPECT_EQ(message("concurrency: {limit: 3}", "concurrency: {limit: 5}"),
            "workflow \"settle\" lets 3 calls of the service \"bank\" run at once, and these calls "
            "go by their own limit of 5, so there may be more; write `concurrency: {limit: 3}`, "
            "unless these calls may go beyond it");
  EXPECT_EQ(message("throttle: {limit: 3, period: PT1H}", "throttle: {limit: 1, period: PT1M}"),
            "workflow \"settle\" lets 3 calls of the service \"bank\" be handed out in PT1H, and "
            "these calls end the count of those that are older than PT1M, so there may be more; "
            "write `throttle: {limit: 3, period: PT1H}`, unless these calls may go beyond it");
}

TEST(CallLimits, AreThoseOfOneTarget) {
  const std::string slot = ", concurrency: {limit: 1}";
  const std::string bank = calling("settle", kBank, slot);
  for (const char* const other :
       {"service, service: stock", "service, global: true, service: bank",
        "knative-global, service: bank", "container, image: bank", "subflow, workflow: bank"}) {
    EXPECT_THAT(found(bank, calling("pay", other, "")), IsEmpty()) << other;
  }
  EXPECT_THAT(found(bank, calling("pay", "knative-namespace, service: bank", "")),
              ElementsAre("warning functions[0].service"));
  EXPECT_THAT(found(calling("settle", "knative-global, service: bank", slot),
                    calling("pay", "service, global: true, service: bank", "")),
              ElementsAre("warning functions[0].service"));
  EXPECT_THAT(found(calling("settle", "container, image: tool", slot),
                    calling("pay", "container-pool, image: tool", "")),
              ElementsAre("warning functions[0].image"));
  EXPECT_THAT(found(bank, calling("settle", kBank, "")), IsEmpty()) << "its own earlier revision";
}

TEST(CallLimits, CountCompensationsAndAllActions) {
  const std::string undo =
      "id: pay\nfunctions:\n- {id: f, type: subflow, workflow: other}\n"
      "- {id: u, type: service, service: bank}\ncompensate: true\nstates:\n"
      "- {id: s, type: action, action: {function: f}, compensate: {function: u}}\n";
  const std::string slot = ", concurrency: {limit: 1}";
  EXPECT_THAT(found(calling("settle", kBank, slot), undo),
              ElementsAre("warning functions[1].service"));
  const std::string unused = calling("pay", "subflow, workflow: other", "") +
                             "- {id: t, type: foreach, array: jq(.a), action: {function: f}}\n";
  EXPECT_THAT(found(calling("settle", kBank, slot), unused), IsEmpty());
  const std::string parallel =
      "id: settle\nfunctions: [{id: f, type: service, service: bank}]\nstates:\n"
      "- {id: s, type: parallel, actions: [{function: f}, {function: f, concurrency: {limit: "
      "1}}]}\n";
  EXPECT_THAT(found(parallel, calling("pay", kBank, "")),
              ElementsAre("warning functions[0].service"));
}

/// The messages about the calls of other workflows, of a definition with that limit.
std::vector<std::string> found_in_others(const std::vector<std::string>& others) {
  const auto limits = std::make_shared<CallLimits>();
  for (const std::string& one : others) limits->add(*load_workflow(one, nullptr).workflow);
  Findings findings;
  const std::string text = calling("settle", kBank, ", concurrency: {limit: 3}");
  lint_calls_beside(
      parse_document(text, findings).value(), [&] { return limits; }, findings);
  std::vector<std::string> messages;
  for (const Finding& one : findings.sorted()) {
    EXPECT_EQ(one.path, "functions[0].concurrency");
    messages.push_back(one.message.substr(0, one.message.find(", so")));
  }
  return messages;
}

TEST(CallLimits, PointOutCallsOfOtherWorkflowsWithoutTheLimit) {
  EXPECT_THAT(
      found_in_others({calling("pay", kBank, ""), calling("stock", "service, service: s", ""),
                       calling("refund", kBank, ", concurrency: {limit: 1}"),
                       calling("settle", kBank, "")}),
      ElementsAre("calls of workflow \"pay\" of the service \"bank\" have no `concurrency`"));
  EXPECT_EQ(beginning_on_calls_of("pay"), "calls of workflow \"pay\"");
  std::vector<std::string> many;
  for (int i = 0; i < 8; ++i) many.push_back(calling(fmt::format("pay{}", i), kBank, ""));
  const std::vector<std::string> found = found_in_others(many);
  ASSERT_EQ(found.size(), 6U);
  EXPECT_EQ(found.back(),
            "calls of 3 further workflows of the service \"bank\" have no "
            "`concurrency`");
}

TEST(CallLimits, PointOutCallsOfOtherWorkflowsThatExceedTheLimit) {
  const auto exceeding = [](const std::string& limit) {
    return calling("pay", kBank, ", concurrency: " + limit);
  };
  EXPECT_THAT(found_in_others(
                  {exceeding("{limit: 4}"), calling("settle", kBank, ", concurrency: {limit: 9}")}),
              ElementsAre("calls of workflow \"pay\" of the service \"bank\" go by their own limit "
                          "of 4"));
  EXPECT_THAT(found_in_others({exceeding("{limit: 3}")}), IsEmpty());
  EXPECT_THAT(found_in_others({exceeding("{limit: 4, key: jq(.a)}")}), IsEmpty());
}

TEST(CallLimits, AreNotAskedForWithoutCallsOfServices) {
  Findings findings;
  const std::string text = calling("pay", "subflow, workflow: other", "");
  lint_limits(
      parse_document(text, findings).value(),
      []() -> std::shared_ptr<const CallLimits> {
        ADD_FAILURE();
        return nullptr;
      },
      findings);
  EXPECT_THAT(findings.sorted(), IsEmpty());
}

}  // namespace
}  // namespace millrace
