#include "language/fields.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace millrace {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

using Kind = KeyRule::Kind;

constexpr std::array kModes = {Word{"and", "all"}, Word{"or", "any"}};
constexpr KeyRule kLeafKeys[] = {
    {.name = "k"},
    {.name = "n", .kind = Kind::kInteger},
};
constexpr Mapping kLeaf = {.name = "Leaf", .groups = {kLeafKeys}};
constexpr KeyRule kEveryKey[] = {
    {.name = "name"},
    {.name = "transition"},
    {.name = "count", .kind = Kind::kInteger, .min = 1, .max = 20},
    {.name = "least", .kind = Kind::kInteger, .min = 0},
    {.name = "most", .kind = Kind::kInteger, .max = 5},
    {.name = "any", .kind = Kind::kInteger},
    {.name = "ratio", .kind = Kind::kNumber},
    {.name = "scale", .kind = Kind::kNumber, .min = 0, .max = 10},
    {.name = "factor", .kind = Kind::kNumber, .min = 0, .above_min = true},
    {.name = "async", .kind = Kind::kBoolean},
    {.name = "timeout", .kind = Kind::kDuration},
    {.name = "delay", .kind = Kind::kDuration, .zero = true},
    {.name = "backoff", .kind = Kind::kDuration, .milliseconds = true},
    {.name = "pause", .kind = Kind::kDuration, .zero = true, .milliseconds = true},
    {.name = "mode", .kind = Kind::kWord, .words = kModes},
    {.name = "id", .kind = Kind::kIdentifier},
    {.name = "codes", .list = true},
    {.name = "input", .kind = Kind::kCommand},
    {.name = "nested", .kind = Kind::kObject, .object = &kLeaf},
    {.name = "list", .kind = Kind::kObject, .list = true, .object = &kLeaf},
    {.name = "context", .kind = Kind::kPatterns, .spellings = {"filters"}},
    {.name = "mixed", .kind = Kind::kCommand, .list = true},
};
/// A key of every kind, all optional.
constexpr Mapping kEvery = {.name = "Every", .groups = {kEveryKey}};

/// Reads the text with `read`; returns the findings as `line:column path: message [code]`.
std::vector<std::string> reading(std::string_view text, const std::function<void(Fields&)>& read,
                                 const Mapping& grammar = kEvery) {
  Findings findings;
  const std::optional<Node> node = parse_document(text, findings);
  if (node) {
    Fields fields(*node, "", findings, grammar);
    read(fields);
  }
  std::vector<std::string> out;
  for (const Finding& finding : findings.sorted()) {
    out.push_back(fmt::format("{}:{} {}: {} [{}]", finding.at.line, finding.at.column, finding.path,
                              finding.message, finding.code));
  }
  return out;
}

TEST(Fields, ReadEveryType) {
  enum class Mode { kAnd, kOr };
  const char* const text =
      "name: a\ncount: 5\nratio: 2\nscale: 0.5\nasync: true\ntimeout: PT1H\nmode: or\nid: a.b-c_1\n"
      "codes: [x, 'y']\ninput: null\nnested: {k: v}\nlist: [{n: 1}, {n: 2}]\n"
      "context: {source: s, Any Key: 7}\nmixed: [1, a]\n";
  const std::vector<std::string> found = reading(text, [](Fields& fields) {
    EXPECT_EQ(fields.string("name"), "a");
    EXPECT_EQ(fields.integer("count"), 5);
    EXPECT_EQ(fields.number("ratio"), 2.0);
    EXPECT_EQ(fields.number("scale"), 0.5);
    EXPECT_EQ(fields.boolean("async"), true);
    EXPECT_EQ(fields.duration("timeout")->fixed, 1h);
    EXPECT_EQ(fields.one_of<Mode>("mode", {{"and", Mode::kAnd}, {"or", Mode::kOr}}), Mode::kOr);
    EXPECT_EQ(fields.identifier("id"), "a.b-c_1");
    EXPECT_THAT(fields.strings("codes"), ElementsAre("x", "y"));
    ASSERT_NE(fields.node("input"), nullptr);
    EXPECT_EQ(fields.node("input")->kind, Node::Kind::kNull);
    EXPECT_TRUE(fields.object("nested", [](Fields& nested) {
      EXPECT_EQ(nested.path(), "nested");
      EXPECT_EQ(nested.string("k"), "v");
    }));
    std::string order;
    EXPECT_TRUE(fields.objects("list", [&](Fields& item) {
      order += fmt::format("{}={} ", item.path(), *item.integer("n"));
    }));
    EXPECT_EQ(order, "list[0]=1 list[1]=2 ");
    order.clear();
    EXPECT_TRUE(fields.each("context", [&](const Member& member, const std::string& path) {
      order += fmt::format("{}={} ", path, member.value.text);
    }));
    EXPECT_EQ(order, "context.source=s context[\"Any Key\"]=7 ");
    size_t items = 0;
    EXPECT_TRUE(fields.sequence("mixed", [&](const Node&, const std::string&) { ++items; }));
    EXPECT_EQ(items, 2U);
  });
  EXPECT_THAT(found, IsEmpty());
}

TEST(Fields, ReadNothingForAnAbsentKey) {
  const std::vector<std::string> found = reading("{}", [](Fields& fields) {
    EXPECT_FALSE(fields.has("name"));
    EXPECT_EQ(fields.string("name"), std::nullopt);
    EXPECT_EQ(fields.integer("count"), std::nullopt);
    EXPECT_EQ(fields.number("ratio"), std::nullopt);
    EXPECT_EQ(fields.boolean("async"), std::nullopt);
    EXPECT_EQ(fields.duration("timeout"), std::nullopt);
    EXPECT_EQ(fields.identifier("id"), std::nullopt);
    EXPECT_EQ(fields.one_of<int>("mode", {{"and", 1}}), std::nullopt);
    EXPECT_EQ(fields.node("input"), nullptr);
    EXPECT_THAT(fields.strings("codes"), IsEmpty());
    EXPECT_FALSE(fields.object("nested", [](Fields&) { FAIL(); }));
    EXPECT_FALSE(fields.objects("list", [](Fields&) { FAIL(); }));
    EXPECT_FALSE(fields.each("context", [](const Member&, const std::string&) { FAIL(); }));
    EXPECT_EQ(fields.at("name"), fields.at());
    EXPECT_EQ(fields.path("context"), "context");
  });
  EXPECT_THAT(found, IsEmpty());
}

TEST(Fields, ReportTheValueFoundAndTheValueExpected) {
  struct Row {
    const char* text;
    std::function<void(Fields&)> read;
    const char* finding;
  };
  const auto mode = [](Fields& f) { f.one_of<int>("mode", {{"and", 1}, {"or", 2}}); };
  const std::vector<Row> rows = {
      {"name: 1.0", [](Fields& f) { f.string("name"); },
       "1:7 name: name is a number; put it in quotes: \"1.0\" [definition.type]"},
      {"name: true", [](Fields& f) { f.string("name"); },
       "1:7 name: name is a boolean; put it in quotes: \"true\" [definition.type]"},
      {"name:", [](Fields& f) { f.string("name"); },
       "1:6 name: name is empty; write a string [definition.type]"},
      {"name: [1]", [](Fields& f) { f.string("name"); },
       "1:7 name: name is a list; write a string [definition.type]"},
      {"async: yes", [](Fields& f) { f.boolean("async"); },
       "1:8 async: async is a string; write true or false [definition.type]"},
      {"any: '5'", [](Fields& f) { f.integer("any"); },
       "1:6 any: any is a string; write a whole number [definition.type]"},
      {"any: 5.5", [](Fields& f) { f.integer("any"); },
       "1:6 any: any is a number; write a whole number [definition.type]"},
      {"count: 21", [](Fields& f) { f.integer("count"); },
       "1:8 count: count is 21; it must be between 1 and 20 [definition.value]"},
      {"least: -1", [](Fields& f) { f.integer("least"); },
       "1:8 least: least is -1; it must be at least 0 [definition.value]"},
      {"most: 6", [](Fields& f) { f.integer("most"); },
       "1:7 most: most is 6; it must be at most 5 [definition.value]"},
      {"any: 18446744073709551615", [](Fields& f) { f.integer("any"); },
       "1:6 any: any is 18446744073709551615; it must be at most 9223372036854775807 "
       "[definition.value]"},
      {"ratio: x", [](Fields& f) { f.number("ratio"); },
       "1:8 ratio: ratio is a string; write a number [definition.type]"},
      {"scale: 10.5", [](Fields& f) { f.number("scale"); },
       "1:8 scale: scale is 10.5; it must be between 0 and 10 [definition.value]"},
      {"factor: 0.0", [](Fields& f) { f.number("factor"); },
       "1:9 factor: factor is 0.0; it must be above 0 [definition.value]"},
      {"timeout: 30", [](Fields& f) { f.duration("timeout"); },
       "1:10 timeout: timeout is a number; write a duration such as \"PT1H\" [definition.type]"},
      {"timeout: 1.5h", [](Fields& f) { f.duration("timeout"); },
       "1:10 timeout: \"1.5h\" is not a duration: only a whole number may stand before a unit; for "
       "a fraction use ISO 8601, such as PT1.5H (byte 1) [duration.malformed]"},
      {"timeout: PT0S", [](Fields& f) { f.duration("timeout"); },
       "1:10 timeout: \"PT0S\" is zero; it must be longer [duration.zero]"},
      {"backoff: 0", [](Fields& f) { f.duration("backoff"); },
       "1:10 backoff: \"0\" is zero; it must be longer [duration.zero]"},
      {"backoff: -1", [](Fields& f) { f.duration("backoff"); },
       "1:10 backoff: \"-1\" is not a duration: it must not be negative (byte 0) "
       "[duration.negative]"},
      {"id: a b", [](Fields& f) { f.identifier("id"); },
       "1:5 id: \"a b\" is not an identifier; write 1 to 128 letters, digits, \".\", \"-\" or "
       "\"_\" "
       "[definition.identifier]"},
      {"mode: adn", mode,
       "1:7 mode: mode is \"adn\"; write one of \"and\", \"or\"; did you mean \"and\"? "
       "[definition.value]"},
      {"mode: 1", mode,
       "1:7 mode: mode is a number; write one of \"and\", \"or\" [definition.type]"},
      {"codes: [a, 1]", [](Fields& f) { f.strings("codes"); },
       "1:12 codes[1]: this is a number; put it in quotes: \"1\" [definition.type]"},
      {"codes: a", [](Fields& f) { f.strings("codes"); },
       "1:8 codes: codes is a string; write a list (\"- item\" lines) [definition.type]"},
      {"nested: a", [](Fields& f) { f.object("nested", [](Fields&) { FAIL(); }); },
       "1:9 nested: nested is a string; write a mapping (\"key: value\" lines) [definition.type]"},
      {"list:\n- a", [](Fields& f) { f.objects("list", [](Fields&) { FAIL(); }); },
       "2:3 list[0]: this is a string; write a mapping (\"key: value\" lines) [definition.type]"},
      {"[1]", [](Fields& f) { f.string("name"); },
       "1:1 : this is a list; write a mapping (\"key: value\" lines) [definition.type]"},
      {"transtion: x", [](Fields&) {},
       "1:1 transtion: \"transtion\" is not a known key here; did you mean \"transition\"? "
       "[definition.unknown_key]"},
      {"colour: x", [](Fields&) {},
       "1:1 colour: \"colour\" is not a known key here [definition.unknown_key]"},
      {"name: x", [](Fields&) {},
       "1:7 name: this release of millrace does not support the key `name` here "
       "[definition.unsupported]"},
      {"filters: {}\ncontext: {}", [](Fields& f) { f.node("context"); },
       "2:1 context: \"filters\" and \"context\" are the same field; write one of them "
       "[definition.both_keys]"},
      {"filters: []",
       [](Fields& f) { f.each("context", [](const Member&, const std::string&) { FAIL(); }); },
       "1:10 filters: filters is a list; write a mapping (\"key: value\" lines) "
       "[definition.type]"},
      {"name: 1\nnested: {k: 2}",
       [](Fields& f) {
         f.has("name");
         f.object("nested", [](Fields& g) {
           g.report("k", "definition.mine", "mine");
           g.has("k");
         });
       },
       "2:13 nested.k: mine [definition.mine]"},
  };
  for (const Row& row : rows) {
    EXPECT_THAT(reading(row.text, row.read), ElementsAre(row.finding)) << row.text;
  }
}

TEST(Fields, AcceptZeroAndMillisecondsWhereTheGrammarAllowsThem) {
  const std::vector<std::string> found =
      reading("pause: 0\nbackoff: 1500\ndelay: PT0S", [](Fields& fields) {
        EXPECT_EQ(fields.duration("pause")->fixed, 0ms);
        EXPECT_EQ(fields.duration("backoff")->fixed, 1500ms);
        EXPECT_EQ(fields.duration("delay")->fixed, 0ms);
      });
  EXPECT_THAT(found, IsEmpty());
}

TEST(Fields, FindAKeyInEitherSpelling) {
  for (const char* text : {"filters: {a: 1}", "context: {a: 1}"}) {
    const std::vector<std::string> found = reading(text, [](Fields& fields) {
      EXPECT_TRUE(fields.each(
          "context", [](const Member& member, const std::string&) { EXPECT_EQ(member.key, "a"); }));
      EXPECT_TRUE(fields.has("filters"));
    });
    EXPECT_THAT(found, IsEmpty()) << text;
  }
}

constexpr KeyRule kEntryKeys[] = {
    {.name = "event", .kind = Kind::kObject, .required = true, .object = &kLeaf, .inlined = true},
};
constexpr Mapping kEntry = {.name = "Entry", .groups = {kEntryKeys}};

TEST(Fields, AcceptTheKeysOfAnInlinedMappingInTheOuterMapping) {
  const auto read = [](Fields& fields) {
    if (!fields.object("event", [](Fields& inner) { EXPECT_EQ(inner.string("k"), "v"); })) {
      EXPECT_EQ(fields.string("k"), "v");
    }
  };
  EXPECT_THAT(reading("event: {k: v}", read, kEntry), IsEmpty());
  EXPECT_THAT(reading("k: v", read, kEntry), IsEmpty());
  EXPECT_THAT(reading("event: {k: v}\nn: 1", read, kEntry),
              ElementsAre("2:1 n: \"n\" is not a known key here [definition.unknown_key]"));
  EXPECT_THAT(reading("k: v\nevnt: 1", read, kEntry),
              ElementsAre("2:1 evnt: \"evnt\" is not a known key here; did you mean \"event\"? "
                          "[definition.unknown_key]"));
}

TEST(Fields, DoNotRepeatFindingsOfTheDocument) {
  const std::vector<std::string> found =
      reading("name: .nan\nlist: [*x]\nnested: *y", [](Fields& fields) {
        EXPECT_EQ(fields.string("name"), std::nullopt);
        fields.objects("list", [](Fields&) { FAIL(); });
        fields.object("nested", [](Fields&) { FAIL(); });
      });
  EXPECT_THAT(found, ElementsAre(testing::EndsWith("[definition.number]"),
                                 testing::EndsWith("[definition.alias]"),
                                 testing::EndsWith("[definition.alias]")));
}

constexpr KeyRule kShapeKeys[] = {
    {.name = "type", .kind = Kind::kType, .required = true},
    {.name = "timeout", .kind = Kind::kDuration},
};
constexpr KeyRule kTypeKey[] = {kShapeKeys[0]};
constexpr KeyRule kDelayKeys[] = {{.name = "duration", .kind = Kind::kDuration, .required = true}};
constexpr Mapping kDelay = {
    .name = "Delay", .groups = {kTypeKey, kDelayKeys}, .types = {"delay", "sleep"}};
constexpr Mapping kWait = {.name = "Wait", .groups = {kShapeKeys}, .types = {"wait"}};
constexpr const Mapping* kShapes[] = {&kDelay, &kWait};
constexpr Mapping kShape = {.name = "Shape", .groups = {kShapeKeys}, .kinds = kShapes};

TEST(Fields, AcceptOnlyTheKeysOfTheGivenType) {
  const auto read = [](Fields& fields) {
    const auto type = fields.one_of<int>("type", {{"delay", 1}, {"sleep", 1}, {"wait", 2}});
    if (!type) return fields.pass_over();
    EXPECT_EQ(fields.takes("timeout"), *type == 2);
    if (fields.takes("duration")) fields.required_duration("duration");
    if (fields.takes("timeout")) {
      fields.duration("timeout");
    } else if (fields.has("timeout")) {
      fields.report("timeout", "definition.not_here", "not here");
    }
  };
  EXPECT_THAT(reading("{type: wait, timeout: PT1H}", read, kShape), IsEmpty());
  EXPECT_THAT(reading("{type: sleep, duration: PT1H}", read, kShape), IsEmpty());
  EXPECT_THAT(reading("{type: delay, timeout: PT1H}", read, kShape),
              ElementsAre("1:1 duration: \"duration\" is missing; write for example duration: PT1M "
                          "[definition.missing]",
                          "1:24 timeout: not here [definition.not_here]"));
  EXPECT_THAT(reading("{type: wait, duration: PT1H}", read, kShape),
              ElementsAre("1:14 duration: \"duration\" is not a known key here "
                          "[definition.unknown_key]"));
  EXPECT_THAT(reading("{type: other, duration: PT1H}", read, kShape),
              ElementsAre("1:8 type: type is \"other\"; write one of \"delay\", \"sleep\", "
                          "\"wait\" [definition.value]"));
}

using FieldsDeathTest = testing::Test;

TEST(FieldsDeathTest, EndTheProcessOnAReadThatTheGrammarDoesNotAllow) {
  const auto reads = [](const std::function<void(Fields&)>& read) { reading("{}", read); };
  EXPECT_DEATH(reads([](Fields& f) { f.string("nmae"); }), "no key nmae in the grammar of Every");
  EXPECT_DEATH(reads([](Fields& f) { f.string("count"); }), "count of Every is read as");
  EXPECT_DEATH(reads([](Fields& f) { f.objects("nested", [](Fields&) {}); }), "nested of Every");
  EXPECT_DEATH(reads([](Fields& f) { f.object("list", [](Fields&) {}); }), "list of Every");
  EXPECT_DEATH(reads([](Fields& f) { f.require("name"); }), "name of Every is not required");
  EXPECT_DEATH(reads([](Fields& f) { f.one_of<int>("mode", {{"xor", 1}}); }), "no word xor");
}

// The grammar of a small workflow language.

constexpr KeyRule kRetriesKeys[] = {
    {.name = "max_attempts", .kind = Kind::kInteger, .required = true, .min = 0},
    {.name = "delay", .kind = Kind::kDuration, .zero = true},
};
constexpr Mapping kRetries = {.name = "Retries", .groups = {kRetriesKeys}};
constexpr KeyRule kEventKeys[] = {
    {.name = "type", .required = true},
    {.name = "context", .kind = Kind::kPatterns},
};
constexpr Mapping kEvent = {.name = "Event", .groups = {kEventKeys}};
constexpr std::array kTypes = {Word{"delay", ""}, Word{"action", ""}, Word{"consumeEvent", ""}};
constexpr KeyRule kStateKeys[] = {
    {.name = "id", .kind = Kind::kIdentifier, .required = true},
    {.name = "type", .kind = Kind::kWord, .required = true, .words = kTypes},
    {.name = "duration", .kind = Kind::kDuration},
    {.name = "timeout", .kind = Kind::kDuration},
    {.name = "transition"},
    {.name = "retries", .kind = Kind::kObject, .object = &kRetries},
    {.name = "event", .kind = Kind::kObject, .object = &kEvent},
};
constexpr Mapping kState = {.name = "State", .groups = {kStateKeys}};
constexpr KeyRule kWorkflowKeys[] = {
    {.name = "id", .kind = Kind::kIdentifier, .required = true},
    {.name = "name"},
    {.name = "singular", .kind = Kind::kBoolean},
    {.name = "states", .kind = Kind::kObject, .list = true, .required = true, .object = &kState},
};
constexpr Mapping kSmallWorkflow = {.name = "SmallWorkflow", .groups = {kWorkflowKeys}};

void read_workflow(Fields& workflow) {
  workflow.required_identifier("id");
  workflow.string("name");
  workflow.boolean("singular");
  workflow.require("states");
  workflow.objects("states", [](Fields& state) {
    state.required_identifier("id");
    state.require("type");
    state.one_of<int>("type", {{"delay", 1}, {"action", 2}, {"consumeEvent", 3}});
    state.duration("duration");
    state.duration("timeout");
    state.string("transition");
    state.object("retries", [](Fields& retries) {
      retries.require("max_attempts");
      retries.integer("max_attempts");
      retries.duration("delay");
    });
    state.object("event", [](Fields& event) {
      event.required_string("type");
      event.each("context", [&](const Member& member, const std::string& path) {
        if (member.value.kind == Node::Kind::kMapping) {
          event.findings().error("definition.type", path, member.value.at, "no mappings here");
        }
      });
    });
  });
}

TEST(Fields, ReportEveryMistakeOfADefinition) {
  Findings findings;
  const std::optional<Node> node = parse_document(
      R"(id: my flow
singular: yes
nmae: first
states:
- id: sleep
  type: dealy
  duration: 1.5h
  transition: 5
- type: action
  retries:
    delay: PT0S
    max_attempts: -1
- id: wait
  type: consumeEvent
  id: again
  timeout: 30
  event:
    type: booking
    context:
      source: {a: b}
)",
      findings);
  ASSERT_TRUE(node);
  {
    Fields fields(*node, "", findings, kSmallWorkflow);
    read_workflow(fields);
  }
  EXPECT_EQ(
      render_text(findings, "w.yaml"),
      R"(w.yaml:1:5: error: id: "my flow" is not an identifier; write 1 to 128 letters, digits, ".", "-" or "_" [definition.identifier]
w.yaml:2:11: error: singular: singular is a string; write true or false [definition.type]
w.yaml:3:1: error: nmae: "nmae" is not a known key here; did you mean "name"? [definition.unknown_key]
w.yaml:6:9: error: states[0].type: type is "dealy"; write one of "delay", "action", "consumeEvent"; did you mean "delay"? [definition.value]
w.yaml:7:13: error: states[0].duration: "1.5h" is not a duration: only a whole number may stand before a unit; for a fraction use ISO 8601, such as PT1.5H (byte 1) [duration.malformed]
w.yaml:8:15: error: states[0].transition: transition is a number; put it in quotes: "5" [definition.type]
w.yaml:9:3: error: states[1].id: "id" is missing [definition.missing]
w.yaml:12:19: error: states[1].retries.max_attempts: max_attempts is -1; it must be at least 0 [definition.value]
w.yaml:15:3: error: states[2].id: the key "id" is repeated; it is already on line 13 [definition.duplicate_key]
w.yaml:16:12: error: states[2].timeout: timeout is a number; write a duration such as "PT1H" [definition.type]
w.yaml:20:15: error: states[2].event.context.source: no mappings here [definition.type]
)");
}

TEST(Fields, ReadADefinitionWithManyUnknownKeysToItsEnd) {
  std::string text;
  for (int i = 0; i < 20'000; ++i) text += fmt::format("transitio{}: 1\n", i);
  Findings findings;
  const Node node = *parse_document(text, findings);
  {
    Fields fields(node, "", findings, kSmallWorkflow);
    read_workflow(fields);
  }
  EXPECT_EQ(findings.sorted().size(), Findings::kMost);
  EXPECT_EQ(findings.omitted(), 20'002 - Findings::kMost);
}

}  // namespace
}  // namespace millrace
