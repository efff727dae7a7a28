// The verbs `explain`, `schema`, `openapi`, `lint` and `graph`.
#include <string>
#include <string_view>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "language/grammar.h"
#include "tests/unit/cli/cli_fixture.h"

namespace millrace {
namespace {

class LanguageVerbs : public CliTest {};

TEST_F(LanguageVerbs, ExplainsTheKeysOfTheLanguage) {
  struct Row {
    const char* key;
    const char* out;
  };
  const Row rows[] = {
      {"states.action.retries.delay",
       "delay: a duration such as \"PT1H\" or \"1h 30m\"\n"
       "  The wait before the second attempt.\n"
       "  jq(…) in it is evaluated\n"
       "  default: PT0S\n"
       "  in: RetryDefinition, SteepRetryPolicy\n"},
      {"actions.Retry",
       "retries: RetryPolicy, or a string such as \"fixed(3, 1s)\": three attempts, with a second "
       "before each further one\n"
       "  When and how often a failed call of the function is retried.\n"
       "    direktiv           Direktiv's: an error is retried if its code is listed and no "
       "`catch` "
       "matches.\n"
       "    steep              Steep's: every error is retried; `catch` applies when no attempt is "
       "left.\n"
       "    temporal           Temporal's: all errors but listed ones are retried; `catch` applies "
       "afterwards.\n"
       "    stevora            Stevora's: every error is retried; `catch` applies when no attempt "
       "is "
       "left.\n"
       "  also written: retry\n"
       "  in: ActionDefinition\n"},
      {"exponentialBackoff",
       "exponentialBackoff: a number above 0\n"
       "  The factor between one wait and the next; more than zero.\n"
       "  default: 1\n"
       "  in: SteepRetryPolicy\n"
       "  an addition of millrace: Direktiv does not have this key\n"},
      {"stevora",
       "StevoraRetryPolicy (vocabulary: stevora)\n"
       "  Stevora's: every error is retried; `catch` applies when no attempt is left.\n"
       "    maxAttempts        How many attempts in all.\n"
       "    backoffMs          The wait before the second attempt, in milliseconds; jitter "
       "shortens it by up to a quarter.\n"
       "    backoffMultiplier  The factor between one wait and the next.\n"
       "    maxBackoffMs       The longest wait, in milliseconds.\n"
       "    vocabulary         The vocabulary of the policy, if its keys fit several "
       "vocabularies.\n"
       "  defined by: Stevora, \"The RetryPolicy Interface\"\n"},
      {"consumeEvent.event.capture",
       "capture: one of\n"
       "  The part of the event that is stored in the data, under the type of the event.\n"
       "    payload            the event's data\n"
       "    event              the complete CloudEvent in JSON format: attributes at .[TYPE].NAME, "
       "the payload at .[TYPE].data\n"
       "  default: payload\n"
       "  in: ConsumeEventDefinition\n"
       "  an addition of millrace: Direktiv does not have this key\n"},
      {"max_attempts",
       "max_attempts: a whole number from 0 to 1000000\n"
       "  How many attempts are made after the first one.\n"
       "  required\n"
       "  in: RetryDefinition\n"},
      {"errordefinition",
       "ErrorDefinition\n"
       "  What happens after an error; the first entry that matches the code of the error "
       "applies.\n"
       "    error              The error codes that this entry catches. Required.\n"
       "    transition         The state that follows the error; without one the instance ends "
       "as complete.\n"
       "    continueAsNew      In place of `transition`: a query whose result, with the error "
       "under "
       ".error, is the input of the next run of the instance.\n"
       "  defined by: Direktiv, \"ErrorDefinition\"\n"},
  };
  for (const Row& row : rows) {
    const CommandOutput printed = run({"explain", row.key});
    EXPECT_EQ(printed.code, 0) << row.key;
    EXPECT_EQ(printed.out, row.out) << row.key;
  }
  const CommandOutput instance = run({"explain", "$instance"});
  EXPECT_EQ(instance.code, 0);
  EXPECT_NE(
      instance.out.find("    attempt            the number of the attempt of this state, from "
                        "1\n"),
      std::string::npos)
      << instance.out;
  // `delay` is a key of two mappings and a type of state.
  const CommandOutput all = run({"explain", "delay"});
  EXPECT_NE(all.out.find("DelayState (type: delay)\n"), std::string::npos) << all.out;
  EXPECT_NE(all.out.find("in: RetryDefinition, SteepRetryPolicy\n"), std::string::npos) << all.out;
  EXPECT_NE(all.out.find("in: GenerateEventState\n"), std::string::npos) << all.out;

  const CommandOutput near = run({"explain", "transiton"});
  EXPECT_EQ(near.code, 3);
  EXPECT_EQ(near.err, "millrace: unknown key \"transiton\"; did you mean \"transition\"?\n");
  EXPECT_EQ(run({"explain", "states.action.colour"}).code, 3);
  EXPECT_EQ(run({"explain", "schemas.delay"}).code, 3);
  EXPECT_EQ(run({"explain", "noop."}).code, 3);
  EXPECT_EQ(run({"explain", ""}).code, 3);
}

/// A key whose value is a mapping is explained with the keys or the kinds of this mapping.
TEST_F(LanguageVerbs, ExplainsEachKeyOfTheGrammarWithThoseOfItsValue) {
  size_t keys = 0;
  const auto expect_parts = [&](const std::string& out, const Mapping& mapping) {
    const auto expect = [&](std::string_view part) {
      EXPECT_NE(out.find(fmt::format("\n    {:<18} ", part)), std::string::npos) << part << out;
    };
    for (const Mapping* const kind : mapping.kinds) expect(kind->types[0]);
    if (!mapping.kinds.empty()) return;
    for (const KeyRule* const key : mapping.keys()) expect(key->name);
  };
  for (const Mapping* const mapping : all_mappings()) {
    if (!mapping->kinds.empty()) continue;
    for (const KeyRule* const key : mapping->keys()) {
      const CommandOutput printed = run({"explain", std::string(key->name)});
      ASSERT_EQ(printed.code, 0) << key->name;
      EXPECT_NE(printed.out.find(key->meaning), std::string::npos) << key->name << printed.out;
      if (key->object != nullptr) expect_parts(printed.out, *key->object);
      ++keys;
    }
  }
  EXPECT_GT(keys, 200U);
}

TEST_F(LanguageVerbs, PrintsASchemaForEditors) {
  const CommandOutput printed = run({"schema"});
  EXPECT_EQ(printed.code, 0);
  EXPECT_EQ(Json::parse(printed.out).at("$schema"), "http://json-schema.org/draft-07/schema#");
}

TEST_F(LanguageVerbs, PrintsTheDescriptionOfTheApiWithoutAServer) {
  env_["MILLRACE_URL"] = "http://127.0.0.1:1";
  const CommandOutput printed = run({"openapi"});
  EXPECT_EQ(printed.code, 0);
  const Json document = Json::parse(printed.out);
  EXPECT_EQ(document.at("openapi"), "3.1.0");
  EXPECT_EQ(document.at("paths").at("/v1/ns").at("get").at("operationId"), "listNamespaces");
}

TEST_F(LanguageVerbs, LintsWithoutAServer) {
  env_["MILLRACE_URL"] = "http://127.0.0.1:1";
  const std::string good = file("good.yaml", "id: good\n");
  const std::string bad = file("bad.yaml", "broken: 1\n");
  EXPECT_EQ(run({"lint", good}).code, 0);
  const CommandOutput text = run({"lint", good, bad});
  EXPECT_EQ(text.code, 7);
  EXPECT_EQ(text.out,
            bad + ":2:7: error: states[0].broken: there is no such key [definition.unknown_key]\n");
  const CommandOutput json = run({"lint", good, bad, "-o", "json"});
  EXPECT_EQ(json.code, 7);
  const Json report = Json::parse(json.out);
  EXPECT_EQ(report["files"][0], (Json{{"file", good}, {"errors", Json::array()}}));
  EXPECT_EQ(report["files"][1]["errors"][0]["line"], 2);
  EXPECT_EQ(run({"lint", "-o", "yaml", good}).code, 2);
  EXPECT_EQ(run({"lint", "-", "-o", "text"}, "broken").code, 7);

  const CommandOutput doubtful = run({"lint", "-"}, "id: a\ndoubtful: 1\n");
  EXPECT_EQ(doubtful.code, 0);
  EXPECT_EQ(doubtful.out,
            "-:2:7: warning: states[0]: hardly; mend it [lint.doubt]\n"
            "-:2:8: note: states[0]: by the way; keep it [lint.note]\n");
  EXPECT_EQ(run({"lint", "--strict", "-"}, "id: a\ndoubtful: 1\n").code, 7);
  EXPECT_EQ(run({"lint", "--strict", good}).code, 0);
}

TEST_F(LanguageVerbs, PrintsTheGraphOfADefinitionWithoutAServer) {
  env_["MILLRACE_URL"] = "http://127.0.0.1:1";
  const CommandOutput graph = run({"graph", "-"}, "id: a\nstates: [{id: one, type: noop}]\n");
  EXPECT_EQ(graph.code, 0);
  EXPECT_EQ(graph.out,
            "flowchart TD\n  start_((start))\n  start_ --> s0\n"
            "  s0[\"one<br/><i>noop</i>\"]\n  s0 --> end_\n  end_(((end)))\n");
  const CommandOutput broken = run({"graph", "-"}, "broken: 1\n");
  EXPECT_EQ(broken.code, 7);
  EXPECT_EQ(broken.out, "");
  EXPECT_EQ(broken.err,
            "-:2:7: error: states[0].broken: there is no such key [definition.unknown_key]\n");
  EXPECT_EQ(run({"graph", "/nowhere/at/all"}).code, 2);
}

}  // namespace
}  // namespace millrace
