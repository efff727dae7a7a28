#include "language/grammar.h"

#include <map>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "policies/duration.h"

namespace millrace {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using Kind = KeyRule::Kind;

const Mapping& mapping(std::string_view name) {
  for (const Mapping* one : all_mappings()) {
    if (one->name == name) return *one;
  }
  throw std::invalid_argument(std::string(name));
}

std::vector<std::string_view> names_of(const Mapping& mapping) {
  std::vector<std::string_view> names;
  for (const KeyRule* key : mapping.keys()) names.push_back(key->name);
  return names;
}

TEST(Grammar, NamesEachMappingOnceAndEachOfItsKeysOnce) {
  std::set<std::string_view> mappings;
  for (const Mapping* one : all_mappings()) {
    EXPECT_TRUE(mappings.insert(one->name).second) << one->name;
    std::set<std::string_view> keys;
    for (const KeyRule* key : one->keys()) {
      for (const std::string_view name : key->names()) {
        EXPECT_TRUE(keys.insert(name).second) << one->name << "." << name;
        EXPECT_EQ(one->find(name), key);
      }
    }
  }
  EXPECT_GE(mappings.size(), 40U);
}

TEST(Grammar, HasAMeaningForEachMappingEachKeyAndEachWord) {
  for (const Mapping* one : all_mappings()) {
    EXPECT_THAT(one->meaning, EndsWith(".")) << one->name;
    EXPECT_NE(one->section, "") << one->name;
    for (const KeyRule* key : one->keys()) {
      EXPECT_THAT(key->meaning, EndsWith(".")) << one->name << "." << key->name;
      for (const Word& word : key->words) EXPECT_NE(word.meaning, "") << word.word;
    }
  }
}

TEST(Grammar, SetsOnlyFieldsThatFitTheKindOfAKey) {
  for (const Mapping* one : all_mappings()) {
    for (const KeyRule* key : one->keys()) {
      SCOPED_TRACE(std::string(one->name) + "." + std::string(key->name));
      EXPECT_EQ(key->kind == Kind::kObject, key->object != nullptr);
      EXPECT_FALSE(key->instead && key->object == nullptr);
      EXPECT_FALSE(key->above_min && !key->min);
      EXPECT_EQ(key->kind == Kind::kWord, !key->words.empty());
      EXPECT_EQ(key->kind == Kind::kType,
                key->name == one->chooser() && (!one->kinds.empty() || !one->types[0].empty()));
      EXPECT_FALSE(key->required && !key->otherwise.empty());
      if (key->min || key->max) {
        EXPECT_THAT((std::set{Kind::kInteger, Kind::kNumber}), Contains(key->kind));
      }
      if (key->kind == Kind::kWord && !key->otherwise.empty()) {
        std::vector<std::string_view> words;
        for (const Word& word : key->words) words.push_back(word.word);
        EXPECT_THAT(words, Contains(key->otherwise));
      }
      if (key->kind == Kind::kDuration && !key->otherwise.empty()) {
        EXPECT_TRUE(Span::parse(key->otherwise));
      }
    }
  }
}

TEST(Grammar, FindsTheKindOfAMappingByEachOfItsTypeNames) {
  const Mapping& states = state_grammar();
  EXPECT_EQ(states.kind("eventXor"), states.kind("eventsXor"));
  EXPECT_EQ(states.kind("eventAnd"), &mapping("EventAndState"));
  EXPECT_EQ(states.kind("eventand"), nullptr);
  EXPECT_EQ(states.kind(""), nullptr);
  for (const Mapping* one : all_mappings()) {
    std::set<std::string_view> words;
    for (const Mapping* kind : one->kinds) {
      EXPECT_NE(kind->types[0], "") << kind->name;
      for (const std::string_view word : kind->types) {
        if (word.empty()) continue;
        EXPECT_TRUE(words.insert(word).second) << word;
        EXPECT_EQ(one->kind(word), kind);
      }
    }
  }
}

/// The keys in the tables of Direktiv's reference. Keys that only millrace has are not in these
/// tables.
TEST(Grammar, HasEveryKeyOfDirektivsTables) {
  const std::map<std::string, std::vector<std::string>> document = {
      {"Workflow",
       {"id", "name", "description", "version", "singular", "functions", "schemas", "states",
        "timeouts", "start"}},
      {"GlobalFunctionDefinition", {"id", "type", "service", "files"}},
      {"NamespacedFunctionDefinition", {"id", "type", "service", "files"}},
      {"ReusableFunctionDefinition", {"id", "type", "image", "files", "cmd", "size", "scale"}},
      {"SubflowFunctionDefinition", {"id", "type", "workflow"}},
      {"IsolatedFunctionDefinition", {"id", "type", "image", "files", "cmd", "size", "scale"}},
      {"FunctionFileDefinition", {"key", "scope", "as", "type"}},
      {"SchemaDefinition", {"id", "schema"}},
      {"ErrorDefinition", {"error", "transition"}},
      {"ActionState", {"action", "async", "timeout", "transform", "transition"}},
      {"ActionDefinition", {"function", "input", "secrets", "retries"}},
      {"RetryDefinition", {"max_attempts", "delay", "multiplier", "codes"}},
      {"ConsumeEventState", {"event", "timeout", "transform", "transition"}},
      {"ConsumeEventDefinition", {"type", "context"}},
      {"DelayState", {"duration", "transform", "transition"}},
      {"ErrorState", {"error", "message", "args", "transform", "transition"}},
      {"EventAndState", {"events", "timeout", "transform", "transition"}},
      {"EventXorState", {"events", "timeout"}},
      {"EventConditionDefinition", {"event", "transition", "transform"}},
      {"ForeachState", {"array", "action", "timeout", "transform", "transition"}},
      {"GenerateEventState", {"event", "transform", "delay", "transition"}},
      {"GenerateEventDefinition", {"type", "source", "data", "datacontenttype", "context"}},
      {"GetterState", {"variables", "transform", "transition"}},
      {"VariableGetterDefinition", {"key", "scope"}},
      {"NoopState", {"transform", "transition"}},
      {"ParallelState", {"actions", "mode", "timeout", "transform", "transition"}},
      {"SetterState", {"variables", "transform", "transition"}},
      {"VariableSetterDefinition", {"key", "scope", "value"}},
      {"SwitchState", {"conditions", "defaultTransition", "defaultTransform"}},
      {"SwitchConditionDefinition", {"condition", "transition", "transform"}},
      {"ValidateState", {"subject", "schema", "transform", "transition"}},
      {"TimeoutDefinition", {"interrupt", "kill"}},
      {"ScheduledStartDefinition", {"type", "state", "cron"}},
      {"EventStartDefinition", {"type", "state", "event"}},
      {"StartEventDefinition", {"type", "filters"}},
      {"EventsXorStartDefinition", {"type", "state", "events"}},
      {"EventsAndStartDefinition", {"type", "state", "events", "lifespan", "correlate"}},
  };
  for (const auto& [name, keys] : document) {
    std::multiset<std::string> wanted(keys.begin(), keys.end());
    const Mapping& table = mapping(name);
    if (name.ends_with("State")) wanted.insert({"id", "type", "log", "catch", "retries"});
    std::multiset<std::string> found;
    for (const KeyRule* key : table.keys()) {
      if (!key->own) found.emplace(key->name);
    }
    EXPECT_EQ(found, wanted) << name;
  }
  EXPECT_THAT(names_of(mapping("StateDefinition")),
              ElementsAre("id", "type", "log", "catch", "retries", "compensate", "timeout",
                          "transform", "transition", "continueAsNew"));
}

}  // namespace
}  // namespace millrace
